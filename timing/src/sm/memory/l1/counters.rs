//! Counters of an L1 data cache.

use serde::{Deserialize, Serialize};
use warp_stream::AccessKind;

use super::{L1, SourceCounters};
use crate::sm::memory::access::Access;
use crate::sm::memory::shared::Passes;
use crate::statistics::Counters;

crate::counters! {
    /// L1 data cache.
    pub struct L1Counters in "l1" {
        /// Warp loads, loads that bypass the cache included.
        loads: "loads" = "",
        /// Passes of loads, stores and atomic operations of global and local memory.
        passes: "passes" = "",
        /// Extra passes of global and local loads through conflicts in tag banks or data banks. One
        /// pass per part of the warp that spans at most a line is the minimum.
        load_conflicts: "passes" = "",
        /// Extra passes of stores through bank conflicts, beyond those that their sectors need.
        store_conflicts: "passes" = "",
        /// Extra passes of atomic operations through bank conflicts.
        atomic_conflicts: "passes" = "",
        /// Lines that loads looked up.
        load_lines: "lines" = "",
        /// Lines that loads looked up with a tag hit, whatever their sectors: a hit as Volta's
        /// profiler counts it.
        load_line_hits: "lines" = "",
        /// Sectors that loads looked up.
        load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        /// Load sectors that hit.
        load_sector_hits: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
        /// Load sectors that were already outstanding.
        load_sectors_merged: "sectors" = "",
        /// Load sectors that missed.
        load_sector_misses: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum",
        /// Sectors that misses requested from L2.
        sectors_fetched: "sectors" = "l1tex__m_xbar2l1tex_read_sectors.sum",
        /// Sectors of loads that bypass the cache.
        load_sectors_bypassed: "sectors" = "",
        /// Lines that stores looked up.
        store_lines: "lines" = "",
        /// Lines that stores looked up and hit.
        store_line_hits: "lines" = "",
        /// Sectors that stores wrote to lines that hit.
        store_sector_hits: "sectors" = "",
        /// Sectors that stores wrote.
        store_sectors: "sectors" = "l1tex__m_l1tex2xbar_write_sectors.sum",
        /// Outstanding lines, summed over cycles.
        miss_occupancy: "lines x core cycles" = "",
        /// Cycles in which an SM had an outstanding line.
        miss_cycles: "core cycles" = "",
        /// Most lines of an SM outstanding at once.
        most_misses: most "lines" = "",
        /// Lines evicted.
        evictions: "lines" = "",
        /// Cycles in which a miss waited because every line of its set was reserved.
        line_reservation_failures: "cycles" = "",
        /// Cycles in which a miss waited because the maximum of lines was outstanding.
        miss_reservation_failures: "cycles" = "",
        /// Cycles in which a miss waited because its line had its maximum of waiting accesses.
        merge_reservation_failures: "cycles" = "",
        /// Cycles in which a request waited because the queue out of the SM was full.
        queue_reservation_failures: "cycles" = "",
    } with {
        /// Sectors by memory space.
        sources: SourceCounters,
        /// Loads served by the cache.
        load_hits: LoadHitLatencies,
        /// Loads that waited for L2, with a TLB hit.
        load_misses: LoadMissLatencies,
        /// Loads that waited for the L1 TLB.
        load_tlb_waits: LoadTlbWaitLatencies,
    }
}

crate::latencies! {
    /// Latency of loads that hit entirely: address stage of the memory pipeline to data at the
    /// write-back latch.
    pub struct LoadHitLatencies in "l1" { load_hits: "loads", load_hit_latency: "core cycles" }
}

crate::latencies! {
    /// Latency of loads that waited for L2 at least in part, through a miss or a bypass, with a TLB
    /// hit.
    pub struct LoadMissLatencies in "l1" { load_misses: "loads", load_miss_latency: "core cycles" }
}

crate::latencies! {
    /// Latency of loads that first waited for the L1 TLB, through a request of their own or of
    /// another load of the line.
    pub struct LoadTlbWaitLatencies in "l1" { load_tlb_waits: "loads", load_tlb_wait_latency: "core cycles" }
}

/// Reason why L1 cannot accept an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stall {
    /// Every line of the set is reserved.
    Line,
    /// The maximum of lines is outstanding.
    Miss,
    /// The line has its maximum of waiting accesses.
    Merge,
    /// The queue out of the SM is full.
    Queue,
}

impl L1Counters {
    /// Counts the passes of an access to global or local memory.
    #[inline]
    pub(in crate::sm::memory) fn count_passes(&mut self, kind: AccessKind, passes: Passes) {
        self.passes += u64::from(passes.passes);
        *match kind {
            AccessKind::Load => &mut self.load_conflicts,
            AccessKind::Store => &mut self.store_conflicts,
            AccessKind::Atomic | AccessKind::Reduction => &mut self.atomic_conflicts,
        } += u64::from(passes.conflicts);
    }

    /// Counts a completed load.
    #[inline]
    pub(in crate::sm::memory) fn count_latency(&mut self, load: &Access) {
        let cycles = load.ready.saturating_sub(load.start);
        match (load.missed, load.untranslated) {
            (_, true) => self.load_tlb_waits.add_one(cycles),
            (true, false) => self.load_misses.add_one(cycles),
            (false, false) => self.load_hits.add_one(cycles),
        }
    }

    /// Counts stalled cycles.
    pub(in crate::sm::memory) fn count_stall(&mut self, stall: Stall, cycles: u64) {
        let counter = match stall {
            Stall::Line => &mut self.line_reservation_failures,
            Stall::Miss => &mut self.miss_reservation_failures,
            Stall::Merge => &mut self.merge_reservation_failures,
            Stall::Queue => &mut self.queue_reservation_failures,
        };
        *counter += cycles;
    }
}

impl L1 {
    /// The counters.
    pub fn counts(&self) -> L1Counters {
        self.counters.with_sums()
    }

    /// Counts outstanding lines up to a core cycle, at their current number.
    pub(super) fn count_misses(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.counted);
        self.counters.miss_occupancy += u64::from(self.misses) * cycles;
        self.counters.miss_cycles += if self.misses > 0 { cycles } else { 0 };
        self.counted = cycle;
    }

    /// Adds outstanding lines that are not counted yet, up to a core cycle.
    pub(in crate::sm) fn add_pending_misses(&self, counters: &mut L1Counters, cycle: u64) {
        let cycles = if self.misses > 0 { cycle.saturating_sub(self.counted) } else { 0 };
        counters.miss_occupancy += u64::from(self.misses) * cycles;
        counters.miss_cycles += cycles;
    }

    /// Restarts per-launch maxima.
    pub fn restart_counts(&mut self) {
        self.counters.restart();
        self.counters.most_misses = u64::from(self.misses);
    }
}
