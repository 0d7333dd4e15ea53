//! L2 slices: tags, sector states, misses, atomic operations.
//!
//! A line has 128 B in four sectors. Each sector tracks its written bytes and may be valid, or
//! outstanding to DRAM. The write allocation policy determines the transitions. Slices are
//! write-back.

mod atomic;
mod slice;
mod sources;
mod tags;
mod waiting;
mod write;

pub use slice::{DramAccess, Expected, Outbox, Reply, Served, Slice, Surroundings};
pub use sources::{Lookups, SourceCounters};

use crate::gpu_file::{Document, SpecificationError};
use crate::message::{LINE_BYTES, MemoryRequest, RequestKind};
use crate::policy::address_map::AddressMap;
use crate::policy::replacement::Replacement;

crate::choice! {
    /// Behaviour of a write that misses its sector.
    pub enum WriteAllocation {
        /// Record the written bytes; fetch the sector when a read finds it incomplete (Khairy et
        /// al.).
        LazyFetchOnRead = "lazy-fetch-on-read",
        /// Fetch the line and merge.
        FetchOnWrite = "fetch-on-write",
        /// Record the written bytes and treat the sector as valid.
        WriteValidate = "write-validate",
    }
}

crate::choice! {
    /// Sectors that a miss fetches.
    pub enum Fetch {
        /// The missing sectors.
        Sector = "sector",
        /// The missing sectors and their partners in the same 64 B.
        SectorPair = "sector-pair",
        /// All sectors of the line.
        Line = "line",
    }
}

crate::specification! {
    /// L2 slices.
    pub struct L2Spec in "l2" {
        /// Size of a slice.
        size: u32 ["B"],
        /// Associativity.
        ways: u32 ["lines"],
        /// Mapping of lines to sets.
        set_hash: AddressMap ["choice"],
        /// Replacement policy.
        replacement: Replacement ["choice"],
        /// Dirty lines of a slice at which a further write cleans its set's least recently used
        /// dirty line. The cleaned line stays.
        modified: u32 ["lines"],
        /// Behaviour of a write that misses its sector.
        write_allocation: WriteAllocation ["choice"],
        /// Sectors that a miss fetches.
        fetch: Fetch ["choice"],
        /// Lookup of a sector, or its arrival from DRAM, to the reply at the crossbar.
        latency: u32 ["L2 cycles"],
        /// MSHRs: sectors that may be outstanding to DRAM.
        mshrs: u32 ["sectors"],
        /// Requests that may wait for one outstanding sector.
        merges: u32 ["requests"],
        /// DRAM accesses that may wait for room in the channel's queues.
        miss_queue: u32 ["sectors"],
        /// Cycles of a sector that a write covers in part: the slice reads, merges and writes the
        /// sector with its check bits.
        partial_write: u32 ["L2 cycles"],
        /// Lanes at one address whose atomic operations combine into one.
        atomic_lanes: u32 ["lanes"],
        /// Interval between atomic operations at one address.
        atomic_interval: u32 ["L2 cycles"],
    }
}

impl L2Spec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("l2", name, reason));
        if let Some((name, _)) = [("ways", self.ways), ("size", self.size)].iter().find(|(_, of)| *of == 0) {
            return wrong(name, "must be at least 1");
        }
        if !u64::from(self.size).is_multiple_of(u64::from(self.ways) * LINE_BYTES) {
            let keys = [("l2", "ways"), ("l2", "size")];
            return Err(document.disagree(&keys, "the slice must hold a whole number of sets"));
        }
        if self.ways > tags::MOST_WAYS {
            return wrong("ways", "must be at most 64");
        }
        if self.size > 1 << 28 {
            return wrong("size", "must be at most 256 MiB");
        }
        if self.modified == 0 {
            return wrong("modified", "must be at least 1");
        }
        if self.mshrs < 4 {
            return wrong("mshrs", "must be at least 4, the sectors of a line");
        }
        if self.merges == 0 {
            return wrong("merges", "must be at least 1");
        }
        if !(1..=32).contains(&self.atomic_lanes) {
            return wrong("atomic_lanes", "must be 1 to 32");
        }
        if self.atomic_interval == 0 {
            return wrong("atomic_interval", "must be at least 1");
        }
        if !(1..=32).contains(&self.partial_write) {
            return wrong("partial_write", "must be 1 to 32");
        }
        if self.miss_queue < 8 {
            return wrong("miss_queue", "four sectors to fetch and four to write back have to fit");
        }
        Ok(())
    }

    /// Sectors to fetch when some are missing, including sectors that are already valid.
    fn wanted(&self, missing: u8) -> u8 {
        match self.fetch {
            Fetch::Sector => missing,
            Fetch::SectorPair => missing | missing << 1 & 0b1010 | missing >> 1 & 0b0101,
            Fetch::Line if missing == 0 => 0,
            Fetch::Line => 0xf,
        }
    }

    /// Cycles for which a request occupies a slice: one a sector, and those of partial writes.
    #[inline(always)]
    pub(crate) fn occupancy(&self, request: &MemoryRequest) -> u64 {
        let sectors = (request.sectors & 0xf).count_ones().max(1);
        let partial = match request.kind {
            RequestKind::Write if self.partial_write > 1 && request.bytes != u128::MAX => {
                request.partial_sectors().count_ones()
            }
            _ => 0,
        };
        u64::from(sectors + partial * (self.partial_write - 1))
    }

    /// Number of lines in a slice.
    pub fn lines(&self) -> u64 {
        u64::from(self.size) / LINE_BYTES
    }

    /// Number of sets in a slice.
    pub fn sets(&self) -> u32 {
        self.size / (self.ways * LINE_BYTES as u32)
    }
}

crate::counters! {
    /// L2 slices.
    pub struct L2Counters in "l2" {
        /// Requests looked up.
        requests: "requests" = "lts__t_requests.sum",
        /// Sectors read.
        sectors_read: "sectors" = "lts__t_sectors_op_read.sum",
        /// Sectors written.
        sectors_written: "sectors" = "lts__t_sectors_op_write.sum",
        /// Sectors of atomic operations.
        sectors_atomic: "sectors" = "lts__t_sectors_op_atom.sum",
        /// Sectors of reductions.
        sectors_reduction: "sectors" = "lts__t_sectors_op_red.sum",
        /// Read hits.
        read_hits: "sectors" = "lts__t_sectors_op_read_lookup_hit.sum",
        /// Sectors written that were valid or outstanding.
        write_hits: "sectors" = "lts__t_sectors_op_write_lookup_hit.sum",
        /// Atomic operations' sectors that hit.
        atomic_hits: "sectors" = "lts__t_sectors_op_atom_lookup_hit.sum",
        /// Reductions' sectors that hit.
        reduction_hits: "sectors" = "lts__t_sectors_op_red_lookup_hit.sum",
        /// Sectors that hit.
        hits: "sectors" = "lts__t_sectors_lookup_hit.sum",
        /// Sectors that missed.
        misses: "sectors" = "lts__t_sectors_lookup_miss.sum",
        /// Missed sectors that were already outstanding.
        pending_hits: "sectors" = "",
        /// Requests whose line was allocated, whatever its sectors.
        tag_hits: "requests" = "lts__t_tag_requests_hit.sum",
        /// Requests whose line was not allocated.
        tag_misses: "requests" = "lts__t_tag_requests_miss.sum",
        /// Sectors fetched from DRAM.
        fetches: "sectors" = "",
        /// Sectors fetched to complete partly written ones.
        partial_fetches: "sectors" = "",
        /// Lines evicted.
        evictions: "lines" = "",
        /// Dirty lines written back that stay in the cache.
        cleanings: "lines" = "",
        /// Sectors written back to DRAM.
        write_backs: "sectors" = "",
        /// Partly written sectors written back.
        partial_write_backs: "sectors" = "",
        /// Sectors of global memory.
        sectors_global: "sectors" = "",
        /// Sectors of local memory.
        sectors_local: "sectors" = "",
        /// Sectors of textures and surfaces.
        sectors_texture: "sectors" = "",
        /// Sectors of constants.
        sectors_constant: "sectors" = "",
        /// Sectors of instructions.
        sectors_instruction: "sectors" = "",
        /// Sectors of copy engines.
        sectors_copy: "sectors" = "",
        /// Cycles of tag lookups, one a sector.
        tag_cycles: "L2 cycles" = "lts__t_sectors.sum",
        /// Busy cycles of atomic units.
        atomic_cycles: "L2 cycles" = "",
        /// Atomic operations of a request at an address beyond the first there.
        atomic_conflicts: "operations" = "",
        /// MSHRs in use, summed over cycles.
        mshr_occupancy: "sectors x L2 cycles" = "",
        /// Cycles in which a slice had an MSHR in use.
        mshr_cycles: "L2 cycles" = "",
        /// Most MSHRs of a slice in use at once.
        most_mshrs: most "sectors" = "",
        /// Cycles in which requests waited for an MSHR.
        mshr_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited because their sector had its maximum of waiting
        /// requests.
        merge_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited because every line of their set was outstanding.
        set_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited for room on the way to DRAM.
        dram_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited for room for their replies.
        reply_stalls: "L2 cycles" = "",
    } with {
        /// Sectors by requester.
        sources: SourceCounters,
        /// Requests served without DRAM.
        request_hits: HitLatencies,
        /// Requests that waited for DRAM.
        request_misses: MissLatencies,
    }
}

crate::latencies! {
    /// Latency of requests served without DRAM, writes included: arrival at the slice to departure
    /// of the reply.
    pub struct HitLatencies in "l2" { request_hits: "requests", hit_latency: "L2 cycles" }
}

crate::latencies! {
    /// Latency of requests that wait for a DRAM sector: arrival at the slice to departure of the
    /// reply.
    pub struct MissLatencies in "l2" { request_misses: "requests", miss_latency: "L2 cycles" }
}
