//! Issue interval of a warp's atomic operations on global memory.
//!
//! A warp's next atomic operation waits until the lanes of the last one have left the SM; lanes at
//! one address leave serially. L2 models the execution (`l2::atomic`).

use warp_stream::{LaneMask, WARP_SIZE};

use crate::gpu_file::{Document, SpecificationError};

crate::specification! {
    /// Atomic operations on global memory as they leave an SM.
    pub struct AtomicSpec in "atomic" {
        /// Interval between a warp's atomic operations with at most one lane per address.
        interval: u32 ["core cycles"],
        /// Interval with all lanes at one address; intermediate cases are interpolated.
        interval_of_warp: u32 ["core cycles"],
    }
}

impl AtomicSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        match self.interval_of_warp < self.interval {
            true => Err(document.disagree(
                &[("atomic", "interval_of_warp"), ("atomic", "interval")],
                "the interval of a warp must be at least that of a lane",
            )),
            false => Ok(()),
        }
    }

    /// Core cycles from an operation to the warp's next.
    pub(crate) fn interval(&self, active: LaneMask, addresses: &[u64; WARP_SIZE]) -> u64 {
        let further = u64::from(self.interval_of_warp - self.interval);
        let lanes = u64::from(lanes_at_an_address(active, addresses).max(1));
        u64::from(self.interval) + further * (lanes - 1) / (WARP_SIZE as u64 - 1)
    }
}

/// Largest number of lanes at one address.
fn lanes_at_an_address(active: LaneMask, addresses: &[u64; WARP_SIZE]) -> u32 {
    let mut most = 0;
    let mut left = active;
    while left.count_ones() > most {
        let first = addresses[left.trailing_zeros() as usize];
        let there = (0..WARP_SIZE).filter(|&lane| left >> lane & 1 != 0 && addresses[lane] == first);
        let there = there.fold(0, |mask, lane| mask | 1 << lane);
        most = most.max(u32::count_ones(there));
        left &= !there;
    }
    most
}

#[cfg(test)]
mod tests {
    use super::*;

    const SPEC: AtomicSpec = AtomicSpec { interval: 31, interval_of_warp: 76 };

    #[test]
    fn atomic_interval_grows_linearly_with_lanes() {
        for (lanes, cycles) in [(0, 31), (1, 31), (2, 32), (8, 41), (16, 52), (32, 76)] {
            let active = (u64::from(u32::MAX) >> (32 - lanes)) as u32;
            assert_eq!(SPEC.interval(active, &[64; WARP_SIZE]), cycles, "{lanes} lanes");
        }
    }

    #[test]
    fn lanes_at_distinct_addresses_do_not_conflict() {
        assert_eq!(SPEC.interval(!0, &std::array::from_fn(|lane| 4 * lane as u64)), 31);
    }

    #[test]
    fn most_contended_address_decides() {
        let address = |lane| if lane % 4 == 3 { 8 } else { 100 + 4 * lane as u64 };
        assert_eq!(lanes_at_an_address(!0, &std::array::from_fn(address)), 8);
    }
}
