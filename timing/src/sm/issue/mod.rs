//! Issue of a sub-core: which of the warps that can goes first.

mod gto;
mod lrr;
mod oldest;
mod two_level;

use serde::{Deserialize, Serialize};

use crate::restore::{Fits, fits};
use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// Warp scheduling policy.
    pub enum Policy {
        /// Greedy then oldest: the warp that issued last, then the oldest.
        Gto = "gto",
        /// Loose round robin: the warp after the one that issued last.
        Lrr = "lrr",
        /// The oldest warp.
        Oldest = "oldest",
        /// Two-level: a few active warps in round robin; a warp that waits for memory leaves the
        /// active set.
        TwoLevel = "two-level",
    }
}

crate::specification! {
    /// Warp schedulers of an SM, one per sub-core.
    pub struct IssueSpec in "issue" {
        /// Warp scheduling policy.
        policy: Policy [""],
        /// Instructions that a warp scheduler issues a cycle.
        width: u32 ["instructions per core cycle"],
        /// Active warps of the two-level policy.
        active_warps: u32 ["warps"],
        /// Memory instructions with operands that may wait for the memory pipeline.
        memory_queue: u32 ["instructions"],
    }
}

impl IssueSpec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let positive =
            [("width", self.width), ("active_warps", self.active_warps), ("memory_queue", self.memory_queue)];
        match positive.iter().find(|(_, value)| *value == 0) {
            Some((name, _)) => Err(document.wrong("issue", name, "must be at least 1")),
            None => Ok(()),
        }
    }
}

/// What decides between the warps of a sub-core. Warps are numbers below 32, sets of them masks.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Order {
    /// Issued last.
    last: u32,
    /// Those that are there.
    present: u32,
    /// For each of these, those that have been there for longer.
    older: [u32; 32],
    /// Active, with two levels.
    active: u32,
}

impl Order {
    /// Whether one that was read can be, with the warps that are there.
    pub fn check(&self, present: u32) -> Fits {
        fits(self.last < 32 && self.active & !present == 0, "no such warp can have been issued")?;
        let mut by_age: Vec<u32> = (0..32).filter(|warp| present >> warp & 1 != 0).collect();
        by_age.sort_by_key(|&warp| self.older[warp as usize].count_ones());
        let mut before = 0;
        let ordered = by_age.into_iter().all(|warp| {
            let is_next = self.older[warp as usize] == before;
            before |= 1 << warp;
            is_next
        });
        fits(ordered && self.present == present, "other warps are in the order of age")
    }

    /// A warp begins.
    pub fn add(&mut self, warp: u32) {
        self.older[warp as usize % 32] = self.present;
        self.present |= 1 << warp;
    }

    /// A warp is gone.
    pub fn remove(&mut self, warp: u32) {
        let others = !(1 << warp);
        self.older.iter_mut().for_each(|older| *older &= others);
        self.present &= others;
        self.active &= others;
    }

    /// One of the warps that can be issued; there is at least one.
    #[inline(always)]
    pub fn pick(&mut self, spec: &IssueSpec, eligible: u32, waits_for_memory: u32) -> u32 {
        let warp = match spec.policy {
            Policy::Gto => gto::pick(self, eligible),
            Policy::Lrr => lrr::pick(self, eligible),
            Policy::Oldest => oldest::pick(self, eligible),
            Policy::TwoLevel => two_level::pick(self, eligible, waits_for_memory, spec.active_warps),
        };
        self.last = warp;
        warp
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn picks(policy: Policy, steps: &[(u32, u32)]) -> Vec<u32> {
        let spec = IssueSpec { policy, width: 1, active_warps: 2, memory_queue: 1 };
        let mut order = Order::default();
        // Warp 3 is the oldest.
        [3, 0, 1, 2].into_iter().for_each(|warp| order.add(warp));
        steps.iter().map(|&(eligible, memory)| order.pick(&spec, eligible, memory)).collect()
    }

    #[test]
    fn gto_stays_with_a_warp_and_then_takes_the_oldest() {
        assert_eq!(picks(Policy::Gto, &[(0b0110, 0), (0b1111, 0), (0b1101, 0), (0b1111, 0)]), [1, 1, 3, 3]);
    }

    #[test]
    fn lrr_takes_each_in_turn() {
        assert_eq!(picks(Policy::Lrr, &[(0b1111, 0), (0b1111, 0), (0b0011, 0), (0b1001, 0)]), [1, 2, 0, 3]);
    }

    #[test]
    fn oldest_takes_the_oldest_each_time() {
        assert_eq!(picks(Policy::Oldest, &[(0b0111, 0), (0b1111, 0), (0b0110, 0)]), [0, 3, 1]);
    }

    #[test]
    fn two_levels_keep_to_the_active_warps_until_one_waits_for_memory() {
        let steps = [(0b1111, 0), (0b1111, 0), (0b1111, 0), (0b0111, 0b1000), (0b0111, 0b1000)];
        let picked = picks(Policy::TwoLevel, &steps);
        assert_eq!(picked[..3].iter().filter(|warp| ![0, 3].contains(*warp)).count(), 0, "{picked:?}");
        assert_eq!(picked[3..], [0, 1]);
    }
}
