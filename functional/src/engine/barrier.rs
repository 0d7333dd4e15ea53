//! CTA barriers (`bar`, `barrier`; PTX manual 9.7.13.1): a generation completes when enough threads have
//! arrived.

use serde::{Deserialize, Serialize};

/// Named barriers per CTA.
pub const BARRIERS: usize = 16;

/// Number of the cluster barrier, after the named barriers.
pub const CLUSTER_BARRIER: usize = BARRIERS;

/// A named barrier.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Barrier {
    /// Threads that arrived in this generation.
    arrived: u32,
    /// Required threads; 0 means all of the CTA.
    wanted: u32,
    /// Number of completed generations.
    pub generation: u32,
    holding: u32,
    last_holding: u32,
    last_arrived: u32,
}

impl Barrier {
    /// Records the arrival of `threads` threads, `holding` of them with a true predicate. `wanted` is the
    /// required number (0: all `live` threads of the CTA). Returns true if the barrier completes.
    pub fn arrive(&mut self, threads: u32, holding: u32, wanted: u32, live: u32) -> bool {
        self.arrived += threads;
        self.holding += holding;
        self.wanted = wanted;
        self.check(live)
    }

    /// Completes the barrier if enough threads have arrived; also needed after threads exit.
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

    /// Threads of the last generation with a true predicate.
    pub fn popc(&self) -> u32 {
        self.last_holding
    }

    /// True if the predicate held for all threads of the last generation.
    pub fn all(&self) -> bool {
        self.last_holding == self.last_arrived
    }

    /// True if the predicate held for any thread of the last generation.
    pub fn any(&self) -> bool {
        self.last_holding != 0
    }

    /// Threads that wait for all others of the CTA.
    pub fn waiting_for_all(&self) -> u32 {
        if self.wanted == 0 { self.arrived } else { 0 }
    }

    /// True if the state is plausible: arrivals are few enough that counting cannot overflow.
    pub(crate) fn is_possible(&self) -> bool {
        const MOST: u32 = 1 << 20;
        self.arrived < MOST && self.holding <= self.arrived
    }

    /// Threads that have arrived and wait.
    pub fn waiting(&self) -> u32 {
        self.arrived
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cta_barrier_completes_with_the_last_live_thread() {
        let mut barrier = Barrier::default();
        assert!(!barrier.arrive(32, 3, 0, 64));
        assert!(barrier.arrive(32, 4, 0, 64));
        assert_eq!((barrier.generation, barrier.popc(), barrier.any(), barrier.all()), (1, 7, true, false));
    }

    #[test]
    fn exits_complete_cta_barriers_but_no_counted_ones() {
        let mut all = Barrier::default();
        assert!(!all.arrive(32, 0, 0, 64));
        assert!(all.check(32));
        let mut counted = Barrier::default();
        assert!(!counted.arrive(32, 0, 64, 64));
        assert!(!counted.check(32));
    }
}
