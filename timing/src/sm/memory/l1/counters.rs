//! What an L1 data cache counts.

use serde::{Deserialize, Serialize};
use warp_stream::AccessKind;

use super::{L1, SourceCounters};
use crate::sm::memory::access::Access;
use crate::sm::memory::shared::Passes;

crate::counters! {
    /// L1 data cache.
    pub struct L1Counters in "l1" {
        /// Loads of warps, those that pass by the cache among them.
        loads: "loads" = "",
        /// Passes of loads, stores and atomic operations of global and local memory.
        passes: "passes" = "",
        /// Passes of loads of global and local memory beyond one for each part of the warp that asks for no more than a line's bytes: for
        /// lines that share a tag bank, and words that share a data bank.
        load_conflicts: "passes" = "",
        /// The same of stores, beyond the passes that their sectors take in any case.
        store_conflicts: "passes" = "",
        /// The same of atomic operations.
        atomic_conflicts: "passes" = "",
        /// Lines that loads look up.
        load_lines: "lines" = "",
        /// Those whose tag is there, whatever their sectors: what the profiler of Volta calls a hit.
        load_line_hits: "lines" = "",
        /// Sectors that loads look up.
        load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        /// Those that are there.
        load_sector_hits: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_hit.sum",
        /// Those that are on their way already.
        load_sectors_merged: "sectors" = "",
        /// Those that are neither.
        load_sector_misses: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld_lookup_miss.sum",
        /// Sectors that misses ask L2 for.
        sectors_fetched: "sectors" = "l1tex__m_xbar2l1tex_read_sectors.sum",
        /// Sectors of loads that pass by the cache.
        load_sectors_bypassed: "sectors" = "",
        /// Lines that stores look up.
        store_lines: "lines" = "",
        /// Those that are there.
        store_line_hits: "lines" = "",
        /// Sectors that stores write to these.
        store_sector_hits: "sectors" = "",
        /// Sectors that stores write.
        store_sectors: "sectors" = "l1tex__m_l1tex2xbar_write_sectors.sum",
        /// Lines on their way, summed over cycles.
        miss_occupancy: "lines x core cycles" = "",
        /// Cycles in which an SM has some.
        miss_cycles: "core cycles" = "",
        /// Lines that were on their way to one SM at once.
        most_misses: most "lines" = "",
        /// Lines evicted to make place.
        evictions: "lines" = "",
        /// Cycles in which a miss waits because all lines of its set are reserved.
        line_reservation_failures: "cycles" = "",
        /// Cycles in which a miss waits because as many lines are on their way as can be.
        miss_reservation_failures: "cycles" = "",
        /// Cycles in which a miss waits because as many accesses wait for its line as can.
        merge_reservation_failures: "cycles" = "",
        /// Cycles in which a request waits because as many wait to leave as can.
        queue_reservation_failures: "cycles" = "",
    } with {
        /// Sectors by the memory that they are of.
        sources: SourceCounters,
        /// Loads that the cache answers.
        load_hits: LoadHitLatencies,
        /// Those that it does not answer, translated at once.
        load_misses: LoadMissLatencies,
        /// The others.
        load_tlb_waits: LoadTlbWaitLatencies,
    }
}

crate::latencies! {
    /// Loads of warps of which all was there, from the memory pipeline's address stage to the data at the write-back latch.
    pub struct LoadHitLatencies in "l1" { load_hits: "loads", load_hit_latency: "core cycles" }
}

crate::latencies! {
    /// Loads of warps that wait for L2, for a part of them at least, as they miss or pass by the cache, and for no translation.
    pub struct LoadMissLatencies in "l1" { load_misses: "loads", load_miss_latency: "core cycles" }
}

crate::latencies! {
    /// Those of which the request of a line waits for the L1 TLB before, be it their own or that of another load for the line.
    pub struct LoadTlbWaitLatencies in "l1" { load_tlb_waits: "loads", load_tlb_wait_latency: "core cycles" }
}

/// Why an access cannot be taken.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Stall {
    /// All lines of the set are reserved.
    Line,
    /// As many lines are on their way as can be.
    Miss,
    /// As many accesses wait for the line as can.
    Merge,
    /// As many requests wait to leave as can.
    Queue,
}

impl L1Counters {
    /// An access of global or local memory makes so many passes.
    #[inline]
    pub(in crate::sm::memory) fn count_passes(&mut self, kind: AccessKind, passes: Passes) {
        self.passes += u64::from(passes.passes);
        *match kind {
            AccessKind::Load => &mut self.load_conflicts,
            AccessKind::Store => &mut self.store_conflicts,
            AccessKind::Atomic | AccessKind::Reduction => &mut self.atomic_conflicts,
        } += u64::from(passes.conflicts);
    }

    /// A load has ended.
    #[inline]
    pub(in crate::sm::memory) fn count_latency(&mut self, load: &Access) {
        let cycles = load.ready.saturating_sub(load.start);
        match (load.missed, load.untranslated) {
            (_, true) => self.load_tlb_waits.add_one(cycles),
            (true, false) => self.load_misses.add_one(cycles),
            (false, false) => self.load_hits.add_one(cycles),
        }
    }

    /// Nothing was taken for so many cycles.
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
    /// What it has counted.
    pub fn counts(&self) -> L1Counters {
        self.counters.with_sums()
    }

    /// As many lines as now have been on their way up to a core cycle.
    pub(super) fn count_misses(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.counted);
        self.counters.miss_occupancy += u64::from(self.misses) * cycles;
        self.counters.miss_cycles += if self.misses > 0 { cycles } else { 0 };
        self.counted = cycle;
    }

    /// What is the highest since a launch began starts anew.
    pub fn restart_counts(&mut self) {
        self.counters.most_misses = u64::from(self.misses);
    }
}
