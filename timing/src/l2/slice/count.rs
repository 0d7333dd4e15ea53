//! Counting of a slice.

use super::{L2Counters, MemoryRequest, Slice, Stall};
use crate::statistics::Counters;

impl Slice {
    /// Counters so far.
    pub fn counters(&self) -> L2Counters {
        L2Counters { atomic_cycles: self.exit.atomic.cycles, ..self.counters }.with_sums()
    }

    /// Restarts counters that hold a maximum.
    pub fn restart_counts(&mut self) {
        self.counters.restart();
        self.counters.most_mshrs = u64::from(self.outstanding);
    }

    /// Counts a lookup: sectors, hits, and outstanding sectors.
    pub(super) fn count(
        &mut self,
        request: &MemoryRequest,
        sectors: u8,
        hit: u8,
        pending: u8,
        tag_hit: bool,
    ) {
        let counters = &mut self.counters;
        let (all, hits) = (u64::from(sectors.count_ones()), u64::from(hit.count_ones()));
        counters.requests += 1;
        counters.tag_hits += u64::from(tag_hit);
        counters.tag_misses += u64::from(!tag_hit);
        counters.hits += hits;
        counters.misses += all - hits;
        counters.pending_hits += u64::from(pending.count_ones());
        counters.tag_cycles += all.max(1);
        counters.sources.count(request.requester, request.kind, all, hits);
    }

    /// Adds the occupancy of outstanding sectors up to an L2 cycle.
    pub(super) fn count_outstanding(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.counted);
        self.counters.mshr_occupancy += u64::from(self.outstanding) * cycles;
        self.counters.mshr_cycles += if self.outstanding > 0 { cycles } else { 0 };
        self.counted = cycle;
    }

    /// Counter of cycles in which requests waited for this.
    pub(super) fn stall_cycles(&mut self, cause: Stall) -> &mut u64 {
        match cause {
            Stall::Mshr => &mut self.counters.mshr_stalls,
            Stall::Merge => &mut self.counters.merge_stalls,
            Stall::Set => &mut self.counters.set_stalls,
            Stall::Dram => &mut self.counters.dram_stalls,
            Stall::Reply => &mut self.counters.reply_stalls,
        }
    }
}
