//! Scoreboard of a warp: when each register and predicate is there.

use serde::{Deserialize, Serialize};

use crate::restore::{Fits, fits};

/// Nobody knows when.
pub const UNKNOWN: u64 = u64::MAX;

/// The same in the table.
const PENDING: u32 = u32::MAX;

/// When registers and predicates are there: the first cycle in which an instruction that needs them can be issued.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Scoreboard {
    /// What the table counts from. Core cycles.
    base: u64,
    ready: Vec<u32>,
}

impl Scoreboard {
    /// All are there: a warp begins.
    pub fn reset(&mut self, cycle: u64, count: usize) {
        self.base = cycle;
        self.ready.clear();
        self.ready.resize(count, 0);
    }

    /// Whether one that was read can be at a cycle, of so many registers and predicates.
    pub fn check(&self, count: usize, now: u64) -> Fits {
        fits(self.ready.len() == count && self.base <= now, "a scoreboard is of another kernel")
    }

    /// Of a warp that is not there.
    pub fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// The first cycle at which all of these are there; [`UNKNOWN`] if an answer from memory decides.
    pub fn ready_at(&self, numbers: &[u16]) -> u64 {
        let latest = numbers.iter().map(|&number| self.ready[usize::from(number)]).max().unwrap_or(0);
        if latest == PENDING { UNKNOWN } else { self.base + u64::from(latest) }
    }

    /// The first of these that is not there at a cycle.
    pub fn first_missing(&self, numbers: &[u16], cycle: u64) -> Option<u16> {
        numbers.iter().copied().find(|number| self.ready_at(&[*number]) > cycle)
    }

    /// These will be there at a cycle.
    pub fn set(&mut self, numbers: &[u16], cycle: u64) {
        if cycle - self.base >= u64::from(PENDING) {
            self.rebase(cycle);
        }
        let ready = (cycle - self.base) as u32;
        numbers.iter().for_each(|&number| self.ready[usize::from(number)] = ready);
    }

    /// An answer from memory will tell when these are there.
    pub fn set_unknown(&mut self, numbers: &[u16]) {
        numbers.iter().for_each(|&number| self.ready[usize::from(number)] = PENDING);
    }

    /// Counts from a later cycle: a warp has run for billions of them.
    fn rebase(&mut self, cycle: u64) {
        let step = (cycle - self.base).saturating_sub(1 << 16);
        self.base += step;
        for ready in self.ready.iter_mut().filter(|ready| **ready != PENDING) {
            *ready = u64::from(*ready).saturating_sub(step) as u32;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_latest_of_all_that_is_needed_decides() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(100, 8);
        scoreboard.set(&[1, 2], 110);
        scoreboard.set(&[3], 120);
        assert_eq!(scoreboard.ready_at(&[0]), 100);
        assert_eq!(scoreboard.ready_at(&[1, 3, 0]), 120);
        assert_eq!(scoreboard.first_missing(&[0, 2, 3], 110), Some(3));
    }

    #[test]
    fn what_memory_has_to_answer_is_there_at_no_known_time() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[2]);
        assert_eq!(scoreboard.ready_at(&[2]), UNKNOWN);
        scoreboard.set(&[2], 7);
        assert_eq!(scoreboard.ready_at(&[2]), 7);
    }

    #[test]
    fn a_warp_may_run_for_more_cycles_than_the_table_counts() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[1]);
        scoreboard.set(&[2], 1 << 33);
        assert_eq!(scoreboard.ready_at(&[2]), 1 << 33);
        assert_eq!(scoreboard.ready_at(&[1]), UNKNOWN);
        assert!(scoreboard.ready_at(&[3]) < 1 << 33);
    }
}
