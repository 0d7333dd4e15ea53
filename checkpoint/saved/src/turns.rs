//! Order of API calls among a program's threads.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Consecutive calls of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The thread's name.
    pub thread: u64,
    /// Number of calls.
    pub calls: u64,
}

/// Calls up to a point.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// Runs of calls, in order.
    pub runs: Vec<Run>,
}

impl Turns {
    /// Records a call of a thread.
    pub fn add(&mut self, thread: u64) {
        match self.runs.last_mut().filter(|last| last.thread == thread) {
            Some(last) => last.calls += 1,
            None => self.runs.push(Run { thread, calls: 1 }),
        }
    }

    /// Number of threads with calls.
    pub fn threads(&self) -> usize {
        self.runs.iter().map(|run| run.thread).collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn consecutive_calls_of_a_thread_form_one_run() {
        let mut turns = Turns::default();
        [7, 7, 7, 9, 7].into_iter().for_each(|thread| turns.add(thread));
        let runs = [(7, 3), (9, 1), (7, 1)].map(|(thread, calls)| Run { thread, calls });
        assert_eq!((turns.runs.as_slice(), turns.threads()), (runs.as_slice(), 2));
    }
}
