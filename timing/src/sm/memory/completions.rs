//! Instructions whose results wait for a sub-core's write-back latch.

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

use crate::restore::{Fits, fits, near};

/// Instructions by the cycle in which their results are there, the earliest first.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Completions {
    queue: VecDeque<(u64, u32)>,
}

impl Completions {
    /// Adds an instruction; behind those of the same cycle.
    #[inline]
    pub fn add(&mut self, cycle: u64, instruction: u32) {
        if self.queue.back().is_none_or(|(last, _)| *last <= cycle) {
            return self.queue.push_back((cycle, instruction));
        }
        let later = self.queue.iter().rev().take_while(|(other, _)| *other > cycle).count();
        self.queue.insert(self.queue.len() - later, (cycle, instruction));
    }

    /// Takes the first one whose result is there.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> Option<u32> {
        self.queue.pop_front_if(|(ready, _)| *ready <= cycle).map(|(_, instruction)| instruction)
    }

    /// Those that wait.
    pub fn instructions(&self) -> impl Iterator<Item = u32> {
        self.queue.iter().map(|(_, instruction)| *instruction)
    }

    /// Whether those that were read can be at a cycle.
    pub fn check(&self, now: u64) -> Fits {
        fits(self.queue.iter().all(|(cycle, _)| near(*cycle, now)), "a result is there too late")
    }

    /// When the first result is there. Core cycles.
    pub fn next(&self) -> Option<u64> {
        self.queue.front().map(|(cycle, _)| *cycle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn results_leave_in_the_order_in_which_they_are_there() {
        let mut completions = Completions::default();
        for (cycle, instruction) in [(5, 0), (3, 1), (5, 2), (4, 3)] {
            completions.add(cycle, instruction);
        }
        assert_eq!(completions.take(2), None);
        let order: Vec<u32> = std::iter::from_fn(|| completions.take(10)).collect();
        assert_eq!(order, [1, 3, 0, 2]);
    }
}
