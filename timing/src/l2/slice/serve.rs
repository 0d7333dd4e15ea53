//! Requests served in their order, without queues: the tags and counts of an analytical L2.

use super::{Atomic, L2Spec, Line, MemoryRequest, RequestKind, Slice, Tags};

/// Effects of a request on DRAM, and its time at the atomic unit.
#[derive(Debug, Clone, Copy, Default)]
pub struct Served {
    /// Sectors read from DRAM.
    pub fetched: u32,
    /// Set if the request waits for these sectors.
    pub waits: bool,
    /// Sectors written back to DRAM.
    pub written_back: u32,
    /// L2 cycle of the last atomic operation; 0 without any.
    pub performed: u64,
}

impl Slice {
    /// Serves a request for a line of this slice whose last sector is looked up at an L2 cycle.
    pub fn serve(&mut self, spec: &L2Spec, cycle: u64, line: u64, request: &MemoryRequest) -> Served {
        let set = Tags::set(spec, line);
        let found = self.tags.find(spec, set, line);
        let absent = Line::default();
        let state = found.map_or(&absent, |slot| self.tags.line(slot));
        let sectors = request.sectors & 0xf;
        let (missing, fetched) = spec.missing_and_fetched(state, request);
        let hit = match request.kind {
            RequestKind::Write => sectors & (state.readable | state.modified),
            _ => sectors & state.readable,
        };
        let partial = fetched & state.modified;
        let writes = request.kind != RequestKind::Read && sectors != 0;
        self.count(request, sectors, hit, 0, found.is_some());
        let Some(slot) = found.or_else(|| self.tags.victim(spec, set)) else { return Served::default() };
        let mut written_back = 0;
        if writes && let Some(cleaned) = self.cleaned(spec, set, slot) {
            self.counters.cleanings += 1;
            written_back += self.clean(spec, cleaned);
        }
        if found.is_some() {
            self.tags.touch(spec, slot);
        } else {
            if self.tags.tag(slot).is_some() {
                self.counters.evictions += 1;
                written_back += self.clean(spec, slot);
            }
            self.tags.allocate(spec, slot, line);
        }
        self.counters.fetches += u64::from(fetched.count_ones());
        self.counters.partial_fetches += u64::from(partial.count_ones());
        if writes {
            self.write(spec, slot, sectors, request);
        }
        self.tags.make_readable(slot, fetched);
        let atomic = Atomic::of(spec, request);
        self.counters.atomic_conflicts += atomic.map_or(0, |atomic| atomic.conflicts());
        let atomic_unit = &mut self.exit.atomic;
        let performed = atomic.map_or(0, |atomic| atomic_unit.perform(spec, cycle, request.line, atomic));
        Served { fetched: fetched.count_ones(), waits: missing != 0, written_back, performed }
    }

    /// Serves a read whose level load rates give; the tags stay as they are.
    pub fn serve_at(&mut self, spec: &L2Spec, in_dram: bool, request: &MemoryRequest) -> Served {
        let sectors = request.sectors & 0xf;
        let (hit, fetched) = if in_dram { (0, spec.wanted(sectors).count_ones()) } else { (sectors, 0) };
        self.count(request, sectors, hit, 0, !in_dram);
        self.counters.fetches += u64::from(fetched);
        Served { fetched, waits: in_dram, ..Served::default() }
    }

    /// Counts the latency of a served request in L2 cycles.
    pub fn count_served(&mut self, waited: bool, latency: u64) {
        match waited {
            true => self.counters.request_misses.add_one(latency),
            false => self.counters.request_hits.add_one(latency),
        }
    }

    /// Marks a line clean, and returns the number of sectors that were dirty.
    fn clean(&mut self, spec: &L2Spec, slot: u32) -> u32 {
        let modified = self.tags.clean(spec, slot);
        let partial = modified & !self.tags.line(slot).complete();
        self.counters.write_backs += u64::from(modified.count_ones());
        self.counters.partial_write_backs += u64::from(partial.count_ones());
        modified.count_ones()
    }
}
