//! Scoreboard of a warp: availability of registers and predicates.
//!
//! Each entry has two cycles: one for arithmetic uses, and one for late uses. Late uses take
//! fixed-latency results later than arithmetic does.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;

use crate::restore::{Validity, ensure};

/// Unknown availability.
pub const UNKNOWN: u64 = u64::MAX;

/// Table encoding of [`UNKNOWN`].
const PENDING: u16 = u16::MAX;

/// Least distance in core cycles between the table's base and new entries, once a warp has run
/// longer. The distance exceeds the latency of every known result.
const BEFORE: u64 = 1 << 15;

/// Largest offset in core cycles of a new entry, leaving room for late uses below [`PENDING`].
const FARTHEST: u64 = PENDING as u64 - (1 << 13);

/// Arithmetic use of a register or predicate.
pub fn own(number: u16) -> u32 {
    2 * u32::from(number)
}

/// Late use of a register or predicate.
pub fn late(number: u16) -> u32 {
    2 * u32::from(number) + 1
}

/// First issue cycle of dependents for each register and predicate. Entries are small because those
/// of all warps are read constantly.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Scoreboard {
    /// Base of the table in core cycles.
    base: u64,
    /// Offsets for arithmetic and late uses.
    ready: Vec<[u16; 2]>,
}

impl Scoreboard {
    /// Clears the scoreboard for a new warp; every register is available.
    pub fn reset(&mut self, cycle: u64, count: usize) {
        self.base = cycle;
        self.ready.clear();
        self.ready.resize(count, [0; 2]);
    }

    /// Checks a restored scoreboard at a cycle.
    pub fn check(&self, count: usize, now: u64) -> Validity {
        ensure(self.ready.len() == count && self.base <= now, "a scoreboard belongs to another kernel")
    }

    /// Clears the scoreboard of an absent warp.
    pub fn clear(&mut self) {
        *self = Scoreboard::default();
    }

    /// Prefetches the host's cache lines.
    pub fn prefetch_host(&self) {
        read_all(&self.ready);
    }

    /// The first cycle at which all uses ([`own`], [`late`]) are available; [`UNKNOWN`] if one
    /// waits for memory.
    pub fn ready_at(&self, uses: &[u32]) -> u64 {
        let ready = self.ready.as_flattened();
        let latest = uses.iter().map(|&number| ready[number as usize]).max().unwrap_or(0);
        if latest == PENDING { UNKNOWN } else { self.base + u64::from(latest) }
    }

    /// The first unavailable register or predicate among the uses at a cycle.
    pub fn first_missing(&self, uses: &[u32], cycle: u64) -> Option<u16> {
        let missing = uses.iter().find(|number| self.ready_at(&[**number]) > cycle);
        missing.map(|number| (number / 2) as u16)
    }

    /// Makes registers or predicates available from a cycle on, for all uses.
    pub fn set(&mut self, numbers: &[u16], cycle: u64) {
        if cycle.saturating_sub(self.base) >= FARTHEST {
            self.rebase(cycle);
        }
        self.put(numbers, cycle.saturating_sub(self.base) as u16);
    }

    /// Delays the late use of an entry after [`set`](Self::set).
    pub fn lag(&mut self, number: u16, cycles: u32) {
        let [_, late] = &mut self.ready[usize::from(number)];
        *late = late.saturating_add(cycles.min(u32::from(PENDING)) as u16).min(PENDING - 1);
    }

    /// Marks registers or predicates as waiting for memory.
    pub fn set_unknown(&mut self, numbers: &[u16]) {
        self.put(numbers, PENDING);
    }

    fn put(&mut self, numbers: &[u16], ready: u16) {
        numbers.iter().for_each(|&number| self.ready[usize::from(number)] = [ready; 2]);
    }

    /// Moves the base to a later cycle.
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
    fn latest_source_decides_readiness() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(100, 8);
        scoreboard.set(&[1, 2], 110);
        scoreboard.set(&[3], 120);
        assert_eq!(scoreboard.ready_at(&[own(0)]), 100);
        assert_eq!(scoreboard.ready_at(&[1, 3, 0].map(own)), 120);
        assert_eq!(scoreboard.first_missing(&[0, 2, 3].map(late), 110), Some(3));
    }

    #[test]
    fn late_use_waits_longer() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set(&[1], 10);
        scoreboard.lag(1, 3);
        assert_eq!([own(1), late(1)].map(|number| scoreboard.ready_at(&[number])), [10, 13]);
        scoreboard.set(&[1], 20);
        assert_eq!(scoreboard.ready_at(&[late(1)]), 20);
    }

    #[test]
    fn late_uses_do_not_depend_on_the_warps_start() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        for cycle in 0..1 << 18 {
            scoreboard.set(&[1], cycle);
            scoreboard.lag(1, 20);
            assert_eq!([own(1), late(1)].map(|number| scoreboard.ready_at(&[number])), [cycle, cycle + 20]);
        }
    }

    #[test]
    fn memory_results_have_unknown_readiness() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[2]);
        assert_eq!(scoreboard.ready_at(&[own(2)]), UNKNOWN);
        scoreboard.set(&[2], 7);
        assert_eq!(scoreboard.ready_at(&[own(2)]), 7);
    }

    #[test]
    fn warp_may_outlive_the_scoreboards_range() {
        let mut scoreboard = Scoreboard::default();
        scoreboard.reset(0, 4);
        scoreboard.set_unknown(&[1]);
        scoreboard.set(&[2], 1 << 33);
        assert_eq!(scoreboard.ready_at(&[own(2)]), 1 << 33);
        assert_eq!(scoreboard.ready_at(&[own(1)]), UNKNOWN);
        assert!(scoreboard.ready_at(&[own(3)]) < 1 << 33);
        // Later entries preserve earlier ones.
        let cycle = (1 << 33) + (1 << 15);
        [cycle - 5, cycle]
            .into_iter()
            .zip([0, 3])
            .for_each(|(cycle, number)| scoreboard.set(&[number], cycle));
        assert_eq!([0, 3].map(|number| scoreboard.ready_at(&[own(number)])), [cycle - 5, cycle]);
    }
}
