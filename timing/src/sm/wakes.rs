//! Wake-up times of a sub-core's warps: a small timing wheel of masks.

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;

use crate::restore::{Validity, ensure};

/// Reach in cycles.
const REACH: u64 = 63;

/// Warps by wake-up cycle, for the next [`REACH`] cycles. Cycles with entries must not be skipped.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Wakes {
    /// Masks of warps, indexed by the cycle's low six bits.
    warps: Vec<u32>,
    /// Mask of the nonempty entries.
    occupied: u64,
}

impl Default for Wakes {
    fn default() -> Wakes {
        Wakes { warps: vec![0; 64], occupied: 0 }
    }
}

impl Wakes {
    /// Checks restored wake-ups of warps below a number.
    pub fn check(&self, warps: u32) -> Validity {
        ensure(self.warps.len() == 64, "the size of the wake-up wheel differs")?;
        let there = (1_u64 << warps) - 1;
        let below = self.warps.iter().all(|warps| u64::from(*warps) & !there == 0);
        let marked =
            (0..).zip(&self.warps).all(|(bit, warps)| (*warps != 0) == (self.occupied >> bit & 1 != 0));
        ensure(below && marked, "a wake-up belongs to a missing warp")
    }

    /// Wakes a warp in a cycle after `now`, or earlier if that is beyond reach. Returns the wake-up
    /// cycle.
    pub fn add(&mut self, now: u64, cycle: u64, warp: u32) -> u64 {
        let cycle = cycle.min(now + REACH);
        self.warps[(cycle % 64) as usize] |= 1 << warp;
        self.occupied |= 1 << (cycle % 64);
        cycle
    }

    /// Prefetches the host's cache lines.
    pub fn prefetch_host(&self) {
        read_all(&self.warps);
    }

    /// Removes and returns the warps to wake at a cycle.
    #[inline]
    pub fn take(&mut self, cycle: u64) -> u32 {
        if self.occupied >> (cycle % 64) & 1 == 0 {
            return 0;
        }
        self.occupied &= !(1 << (cycle % 64));
        std::mem::take(&mut self.warps[(cycle % 64) as usize])
    }

    /// The next wake-up after `now`; `u64::MAX` for none.
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
    fn warps_wake_in_their_cycle() {
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
    fn wake_up_beyond_reach_is_early() {
        let mut wakes = Wakes::default();
        assert_eq!(wakes.add(10, 1000, 2), 73);
        assert_eq!(wakes.next_event(10), 73);
    }
}
