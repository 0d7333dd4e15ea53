//! In which order a program's threads have made their calls.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

/// Calls of a thread between which no other has made one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Run {
    /// The thread's name.
    pub thread: u64,
    /// How many.
    pub calls: u64,
}

/// Calls up to a point, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Turns {
    /// One after the other.
    pub runs: Vec<Run>,
}

impl Turns {
    /// A thread makes a call.
    pub fn add(&mut self, thread: u64) {
        match self.runs.last_mut().filter(|last| last.thread == thread) {
            Some(last) => last.calls += 1,
            None => self.runs.push(Run { thread, calls: 1 }),
        }
    }

    /// How many threads have made them.
    pub fn threads(&self) -> usize {
        self.runs.iter().map(|run| run.thread).collect::<BTreeSet<_>>().len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_of_a_thread_are_told_together_until_another_makes_one() {
        let mut turns = Turns::default();
        [7, 7, 7, 9, 7].into_iter().for_each(|thread| turns.add(thread));
        let runs = [(7, 3), (9, 1), (7, 1)].map(|(thread, calls)| Run { thread, calls });
        assert_eq!((turns.runs.as_slice(), turns.threads()), (runs.as_slice(), 2));
    }
}
