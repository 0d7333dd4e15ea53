//! CTA barriers (`bar`, `barrier`; PTX manual 9.7.13.1): threads arrive, and when enough have, a generation passes.

use serde::{Deserialize, Serialize};

/// Named barriers a CTA has.
pub const BARRIERS: usize = 16;

/// Number of the barrier of the cluster, behind the named ones.
pub const CLUSTER_BARRIER: usize = BARRIERS;

/// One named barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Barrier {
    /// Threads that have arrived in this generation.
    arrived: u32,
    /// Threads wanted; 0 means all of the CTA.
    wanted: u32,
    /// Counts completions.
    pub generation: u32,
    holding: u32,
    last_holding: u32,
    last_arrived: u32,
}

impl Barrier {
    /// `threads` threads arrive, `holding` of them with a true predicate; `wanted` is how many the barrier takes
    /// (0: all of the CTA, of which `live` have not exited). True when that completes the barrier.
    pub fn arrive(&mut self, threads: u32, holding: u32, wanted: u32, live: u32) -> bool {
        self.arrived += threads;
        self.holding += holding;
        self.wanted = wanted;
        self.check(live)
    }

    /// Completes the barrier if enough have arrived; to be called too when threads exit.
    pub fn check(&mut self, live: u32) -> bool {
        let wanted = if self.wanted == 0 { live } else { self.wanted };
        if self.arrived == 0 || self.arrived < wanted {
            return false;
        }
        self.last_arrived = self.arrived;
        self.last_holding = self.holding;
        self.arrived = 0;
        self.holding = 0;
        self.generation = self.generation.wrapping_add(1);
        true
    }

    /// Threads of the last generation whose predicate held.
    pub fn popc(&self) -> u32 {
        self.last_holding
    }

    /// Did the predicate hold for all threads of the last generation?
    pub fn all(&self) -> bool {
        self.last_holding == self.last_arrived
    }

    /// Did the predicate hold for any thread of the last generation?
    pub fn any(&self) -> bool {
        self.last_holding != 0
    }

    /// Threads that wait for all others of the CTA.
    pub fn waiting_for_all(&self) -> u32 {
        if self.wanted == 0 { self.arrived } else { 0 }
    }

    /// Can a barrier be in this state? Arrivals are so few that further ones can be counted.
    pub(crate) fn is_possible(&self) -> bool {
        const MOST: u32 = 1 << 20;
        self.arrived < MOST && self.holding <= self.arrived
    }

    /// Threads that have arrived and wait for others.
    pub fn waiting(&self) -> u32 {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_barrier_of_all_completes_with_the_last_live_thread() {
        let mut barrier = Barrier::default();
        assert!(!barrier.arrive(32, 3, 0, 64));
        assert!(barrier.arrive(32, 4, 0, 64));
        assert_eq!((barrier.generation, barrier.popc(), barrier.any(), barrier.all()), (1, 7, true, false));
    }

    #[test]
    fn exits_complete_a_barrier_of_all_but_not_one_of_a_number() {
        let mut all = Barrier::default();
        assert!(!all.arrive(32, 0, 0, 64));
        assert!(all.check(32));
        let mut counted = Barrier::default();
        assert!(!counted.arrive(32, 0, 64, 64));
        assert!(!counted.check(32));
    }
}
