//! When warps of a sub-core have to be looked at again: a small timing wheel of masks.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;

use crate::restore::{Validity, ensure};

/// Cycles ahead that it reaches.
const REACH: u64 = 63;

/// Warps by the cycle at which they are looked at, for the next [`REACH`] cycles. No cycle that has
/// something may be left out.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wakes {
    /// Sets of warps by the cycle's last six bits.
    warps: Vec<u32>,
    /// Cycles that have warps to wake.
    occupied: u64,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes { warps: vec![0; 64], occupied: 0 }
    }
}

impl Wakes {
    /// Checks restored wakes, of warps below a number.
    pub fn check(&self, warps: u32) -> Validity {
        ensure(self.warps.len() == 64, "warps are looked at in other cycles")?;
        let there = (1_u64 << warps) - 1;
        let below = self.warps.iter().all(|warps| u64::from(*warps) & !there == 0);
        let marked =
            (0..).zip(&self.warps).all(|(bit, warps)| (*warps != 0) == (self.occupied >> bit & 1 != 0));
        ensure(below && marked, "warps are looked at that there are not")
    }

    /// A warp is looked at in a cycle after `now`, or earlier if that is too far ahead; gives that
    /// cycle.
    pub fn add(&mut self, now: u64, cycle: u64, warp: u32) -> u64 {
        let cycle = cycle.min(now + REACH);
        self.warps[(cycle % 64) as usize] |= 1 << warp;
        self.occupied |= 1 << (cycle % 64);
        cycle
    }

    /// Prefetches the wakes to the host's caches.
    pub fn prefetch_host(&self) {
        read_all(&self.warps);
    }

    /// Warps that are looked at in a cycle.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> u32 {
        if self.occupied >> (cycle % 64) & 1 == 0 {
            return 0;
        }
        self.occupied &= !(1 << (cycle % 64));
        std::mem::take(&mut self.warps[(cycle % 64) as usize])
    }

    /// The next cycle after `now` in which a warp is looked at; `u64::MAX` for none.
    pub fn next_event(&self, now: u64) -> u64 {
        match self.occupied.rotate_right(((now + 1) % 64) as u32) {
            0 => u64::MAX,
            ahead => now + 1 + u64::from(ahead.trailing_zeros()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn warps_are_looked_at_in_their_cycle() {
        let mut wakes = Wakes::default();
        wakes.add(100, 130, 3);
        wakes.add(100, 104, 1);
        wakes.add(100, 130, 0);
        assert_eq!(wakes.next_event(100), 104);
        assert_eq!(wakes.take(104), 0b10);
        assert_eq!(wakes.next_event(104), 130);
        assert_eq!(wakes.take(130), 0b1001);
        assert_eq!(wakes.next_event(130), u64::MAX);
    }

    #[test]
    fn a_cycle_that_is_too_far_is_told_earlier() {
        let mut wakes = Wakes::default();
        assert_eq!(wakes.add(10, 1000, 2), 73);
        assert_eq!(wakes.next_event(10), 73);
    }
}
