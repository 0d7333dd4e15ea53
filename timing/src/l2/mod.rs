//! L2 slices: tags, sector states, misses, atomic operations.
//!
//! A line has 128 B in four sectors. A sector has bytes that were written and may be readable as a whole or on its way
//! from DRAM; how writes allocate decides when it is which. Slices are write-back.

mod atomic;
mod slice;
mod sources;
mod tags;
mod waiting;
mod write;

pub use slice::{DramAccess, Expected, Outbox, Reply, Slice, Stall};
pub use sources::{Lookups, SourceCounters};

use crate::message::LINE_BYTES;
use crate::partition::Hash;
use crate::policy::replacement::Replacement;
use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// What a write to a sector that is not there does.
    pub enum WriteAllocation {
        /// Marks the bytes; the sector is fetched when it is read before all of it was written (Khairy et al.).
        LazyFetchOnRead = "lazy-fetch-on-read",
        /// Fetches the line and merges.
        FetchOnWrite = "fetch-on-write",
        /// Marks the bytes and takes the sector for readable.
        WriteValidate = "write-validate",
    }
}

crate::choice! {
    /// What a miss fetches.
    pub enum Fetch {
        /// The sectors that are missing.
        Sector = "sector",
        /// The sectors that are missing, and those that share 64 B with them.
        SectorPair = "sector-pair",
        /// All sectors of the line.
        Line = "line",
    }
}

crate::specification! {
    /// L2 slices.
    pub struct L2Spec in "l2" {
        /// Bytes of a slice.
        size: u32 ["B"],
        /// Lines of a set.
        ways: u32 ["lines"],
        /// How lines are spread over sets.
        set_hash: Hash ["choice"],
        /// Which line of a set makes room.
        replacement: Replacement ["choice"],
        /// Modified lines of a slice from which on a write that makes one more writes one of its set back, the one that was not
        /// used for longest, which stays.
        modified: u32 ["lines"],
        /// What writes to missing sectors do.
        write_allocation: WriteAllocation ["choice"],
        /// What misses fetch.
        fetch: Fetch ["choice"],
        /// From the look-up of a sector, or from its arrival from DRAM, to the reply at the crossbar.
        latency: u32 ["L2 cycles"],
        /// Sectors that may be on their way from DRAM.
        mshrs: u32 ["sectors"],
        /// Requests that may wait for such a sector.
        merges: u32 ["requests"],
        /// Accesses to DRAM that wait for room in the channel's queues.
        miss_queue: u32 ["sectors"],
        /// Lanes of a request at one address whose atomic operations are combined to one.
        atomic_lanes: u32 ["lanes"],
        /// Between atomic operations at one address.
        atomic_interval: u32 ["L2 cycles"],
    }
}

impl L2Spec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("l2", name, reason));
        if let Some((name, _)) = [("ways", self.ways), ("size", self.size)].iter().find(|(_, of)| *of == 0) {
            return wrong(name, "nothing could be held");
        }
        if !u64::from(self.size).is_multiple_of(u64::from(self.ways) * LINE_BYTES) {
            let keys = [("l2", "ways"), ("l2", "size")];
            return Err(document.disagree(&keys, "the slice's lines are no whole number of sets"));
        }
        if self.ways > tags::MOST_WAYS {
            return wrong("ways", "more than 64");
        }
        if self.size > 1 << 28 {
            return wrong("size", "more than 256 MiB");
        }
        if self.modified == 0 {
            return wrong("modified", "no line could be written to");
        }
        if self.mshrs < 4 {
            return wrong("mshrs", "a line has four sectors");
        }
        if self.merges == 0 {
            return wrong("merges", "no request could wait");
        }
        if !(1..=32).contains(&self.atomic_lanes) {
            return wrong("atomic_lanes", "a warp has 1 to 32");
        }
        if self.atomic_interval == 0 {
            return wrong("atomic_interval", "at most one is performed a cycle");
        }
        if self.miss_queue < 8 {
            return wrong("miss_queue", "four sectors to fetch and four to write back have to fit");
        }
        Ok(())
    }

    /// Sectors that are fetched where some are missing, whether they are there or not.
    fn wanted(&self, missing: u8) -> u8 {
        match self.fetch {
            Fetch::Sector => missing,
            Fetch::SectorPair => missing | missing << 1 & 0b1010 | missing >> 1 & 0b0101,
            Fetch::Line if missing == 0 => 0,
            Fetch::Line => 0xf,
        }
    }

    /// Lines of a slice.
    pub fn lines(&self) -> u64 {
        u64::from(self.size) / LINE_BYTES
    }

    /// Sets of a slice.
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
        /// Sectors with atomic operations.
        sectors_atomic: "sectors" = "lts__t_sectors_op_atom.sum",
        /// Sectors with reductions.
        sectors_reduction: "sectors" = "lts__t_sectors_op_red.sum",
        /// Sectors read that were readable.
        read_hits: "sectors" = "lts__t_sectors_op_read_lookup_hit.sum",
        /// Sectors written that were there or on their way.
        write_hits: "sectors" = "lts__t_sectors_op_write_lookup_hit.sum",
        /// Sectors with atomic operations that were readable.
        atomic_hits: "sectors" = "lts__t_sectors_op_atom_lookup_hit.sum",
        /// Sectors with reductions that were readable.
        reduction_hits: "sectors" = "lts__t_sectors_op_red_lookup_hit.sum",
        /// Sectors that were there.
        hits: "sectors" = "lts__t_sectors_lookup_hit.sum",
        /// Sectors that were not.
        misses: "sectors" = "lts__t_sectors_lookup_miss.sum",
        /// Missed sectors that were on their way already.
        pending_hits: "sectors" = "",
        /// Requests whose line had its tag, whatever its sectors.
        tag_hits: "requests" = "lts__t_tag_requests_hit.sum",
        /// Requests whose line had no tag.
        tag_misses: "requests" = "lts__t_tag_requests_miss.sum",
        /// Sectors fetched from DRAM.
        fetches: "sectors" = "",
        /// Sectors fetched of which some bytes had been written.
        partial_fetches: "sectors" = "",
        /// Lines that made room.
        evictions: "lines" = "",
        /// Lines written back that stay.
        cleanings: "lines" = "",
        /// Sectors written back to DRAM.
        write_backs: "sectors" = "",
        /// Sectors written back of which not all bytes had been written.
        partial_write_backs: "sectors" = "",
        /// Sectors for global memory.
        sectors_global: "sectors" = "",
        /// Sectors for local memory.
        sectors_local: "sectors" = "",
        /// Sectors for textures and surfaces.
        sectors_texture: "sectors" = "",
        /// Sectors for constants.
        sectors_constant: "sectors" = "",
        /// Sectors for instructions.
        sectors_instruction: "sectors" = "",
        /// Sectors for copy engines.
        sectors_copy: "sectors" = "",
        /// Cycles in which the tags were used, one sector each.
        tag_cycles: "L2 cycles" = "lts__t_sectors.sum",
        /// Cycles of atomic units.
        atomic_cycles: "L2 cycles" = "",
        /// Operations of requests at an address beyond the first there.
        atomic_conflicts: "operations" = "",
        /// Sectors on their way from DRAM, each of which has an MSHR, summed over cycles.
        mshr_occupancy: "sectors x L2 cycles" = "",
        /// Cycles in which a slice has some.
        mshr_cycles: "L2 cycles" = "",
        /// MSHRs of a slice that were used at once.
        most_mshrs: most "sectors" = "",
        /// Cycles in which requests waited for an MSHR.
        mshr_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited because too many waited for their sector.
        merge_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited because all lines of their set were on their way.
        set_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited for room on the way to DRAM.
        dram_stalls: "L2 cycles" = "",
        /// Cycles in which requests waited for room for replies.
        reply_stalls: "L2 cycles" = "",
    } with {
        /// Sectors by who asks for them.
        sources: SourceCounters,
        /// Requests that do not wait for DRAM.
        request_hits: HitLatencies,
        /// The others.
        request_misses: MissLatencies,
    }
}

crate::latencies! {
    /// Requests that do not wait for DRAM, writes among them, from their arrival at the slice to the reply's leaving it.
    pub struct HitLatencies in "l2" { request_hits: "requests", hit_latency: "L2 cycles" }
}

crate::latencies! {
    /// Requests that wait for a sector from DRAM, from their arrival at the slice to the reply's leaving it.
    pub struct MissLatencies in "l2" { request_misses: "requests", miss_latency: "L2 cycles" }
}
