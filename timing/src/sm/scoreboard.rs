//! Scoreboard of a warp: when each register and predicate is there.
//!
//! Each has two numbers: its own, by which arithmetic waits for it, and that of its late use, by
//! which what takes results of fixed latency later than arithmetic does waits for it.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;

use crate::restore::{Validity, ensure};

/// Nobody knows when.
pub const UNKNOWN: u64 = u64::MAX;

/// Marker of an unknown time in the table.
const PENDING: u16 = u16::MAX;

/// What the table counts from is so far before what is noted in it, at least, once a warp has run
/// for longer. Core cycles; more than any result of known time takes.
const BEFORE: u64 = 1 << 15;

/// So far from what the table counts from results are noted: what is late of them comes up to
/// [`PENDING`] later. Core cycles.
const FARTHEST: u64 = PENDING as u64 - (1 << 13);

/// The use of a register or predicate by arithmetic.
pub fn own(number: u16) -> u32 {
    2 * u32::from(number)
}

/// Use of a register or predicate by an operand that is read late.
pub fn late(number: u16) -> u32 {
    2 * u32::from(number) + 1
}

/// When registers and predicates are there: the first cycle in which an instruction that needs them
/// can be issued. In few bytes: those of all warps are looked at all the time.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Scoreboard {
    /// Origin of the table's times. Core cycles.
    base: u64,
    /// Of each its own number, and that of its late use.
    ready: Vec<[u16; 2]>,
}

impl Scoreboard {
    /// All are there: a warp of a program with so many registers and predicates begins.
    pub fn reset(&mut self, cycle: u64, count: usize) {
        self.base = cycle;
        self.ready.clear();
        self.ready.resize(count, [0; 2]);
    }

    /// Checks a restored scoreboard at a cycle, of so many registers and predicates.
    pub fn check(&self, count: usize, now: u64) -> Validity {
        ensure(self.ready.len() == count && self.base <= now, "a scoreboard is of another kernel")
    }

    /// Of a warp that is not there.
    pub fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// Prefetches the table to the host's caches.
    pub fn prefetch_host(&self) {
        read_all(&self.ready);
    }

    /// The first cycle at which all of these uses ([`own`], [`late`]) are possible; [`UNKNOWN`] if
    /// an answer from memory decides.
    pub fn ready_at(&self, uses: &[u32]) -> u64 {
        let ready = self.ready.as_flattened();
        let latest = uses.iter().map(|&number| ready[number as usize]).max().unwrap_or(0);
        if latest == PENDING { UNKNOWN } else { self.base + u64::from(latest) }
    }

    /// The first of what these uses are of that is not there at a cycle.
    pub fn first_missing(&self, uses: &[u32], cycle: u64) -> Option<u16> {
        let missing = uses.iter().find(|number| self.ready_at(&[**number]) > cycle);
        missing.map(|number| (number / 2) as u16)
    }

    /// These will be there at a cycle, in every use.
    pub fn set(&mut self, numbers: &[u16], cycle: u64) {
        if cycle.saturating_sub(self.base) >= FARTHEST {
            self.rebase(cycle);
        }
        self.put(numbers, cycle.saturating_sub(self.base) as u16);
    }

    /// The late use of one that is [`set`](Self::set) already comes so many cycles later.
    pub fn lag(&mut self, number: u16, cycles: u32) {
        let [_, late] = &mut self.ready[usize::from(number)];
        *late = late.saturating_add(cycles.min(u32::from(PENDING)) as u16).min(PENDING - 1);
    }

    /// An answer from memory will tell when these are there.
    pub fn set_unknown(&mut self, numbers: &[u16]) {
        self.put(numbers, PENDING);
    }

    fn put(&mut self, numbers: &[u16], ready: u16) {
        numbers.iter().for_each(|&number| self.ready[usize::from(number)] = [ready; 2]);
    }

    /// Counts from a later cycle.
    #[cold]
    fn rebase(&mut self, cycle: u64) {
        let step = (cycle - self.base).saturating_sub(BEFORE);
        self.base += step;
        for ready in self.ready.as_flattened_mut().iter_mut().filter(|ready| **ready != PENDING) {
            *ready = u64::from(*ready).saturating_sub(step) as u16;
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
        assert_eq!(scoreboard.ready_at(&[own(0)]), 100);
        assert_eq!(scoreboard.ready_at(&[1, 3, 0].map(own)), 120);
        assert_eq!(scoreboard.first_missing(&[0, 2, 3].map(late), 110), Some(3));
    }

    #[test]
    fn a_late_use_waits_for_longer() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set(&[1], 10);
        scoreboard.lag(1, 3);
        assert_eq!([own(1), late(1)].map(|number| scoreboard.ready_at(&[number])), [10, 13]);
        scoreboard.set(&[1], 20);
        assert_eq!(scoreboard.ready_at(&[late(1)]), 20);
    }

    #[test]
    fn late_uses_are_late_whenever_the_warp_began() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        for cycle in 0..1 << 18 {
            scoreboard.set(&[1], cycle);
            scoreboard.lag(1, 20);
            assert_eq!([own(1), late(1)].map(|number| scoreboard.ready_at(&[number])), [cycle, cycle + 20]);
        }
    }

    #[test]
    fn what_memory_has_to_answer_is_there_at_no_known_time() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[2]);
        assert_eq!(scoreboard.ready_at(&[own(2)]), UNKNOWN);
        scoreboard.set(&[2], 7);
        assert_eq!(scoreboard.ready_at(&[own(2)]), 7);
    }

    #[test]
    fn a_warp_may_run_for_more_cycles_than_the_table_counts() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[1]);
        scoreboard.set(&[2], 1 << 33);
        assert_eq!(scoreboard.ready_at(&[own(2)]), 1 << 33);
        assert_eq!(scoreboard.ready_at(&[own(1)]), UNKNOWN);
        assert!(scoreboard.ready_at(&[own(3)]) < 1 << 33);
        // What is noted a little later leaves what was noted before.
        let cycle = (1 << 33) + (1 << 15);
        [cycle - 5, cycle]
            .into_iter()
            .zip([0, 3])
            .for_each(|(cycle, number)| scoreboard.set(&[number], cycle));
        assert_eq!([0, 3].map(|number| scoreboard.ready_at(&[own(number)])), [cycle - 5, cycle]);
    }
}
