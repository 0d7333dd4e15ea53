//! An L2 slice, which serves requests in order at one sector a cycle and replies once all sectors
//! are valid.

mod check;
mod count;
mod hang_report;
mod serve;
mod warm;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use self::check::{Expected, Surroundings};
pub use self::serve::Served;
use super::atomic::{Atomic, AtomicUnit};
use super::tags::{Line, Tags};
use super::waiting::Waiting;
use super::{L2Counters, L2Spec};
use crate::clock::Clock;
use crate::hang_report::SliceStall as Stall;
use crate::message::{MemoryReply, MemoryRequest, Performed, RequestKind, SECTORS, Timed};
use crate::policy::dram_scheduler::NO_SOURCE;

/// A request in the slice's queue.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Arrival {
    /// L2 cycle of arrival.
    cycle: u64,
    /// Line number within the slice.
    line: u64,
    /// First slot of the line's set.
    set: u32,
    request: Timed<MemoryRequest>,
}

/// Remaining work for a request after its sectors are valid.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Work {
    /// L2 cycle of arrival.
    arrived: u64,
    /// L2 cycle of the last sector's lookup.
    looked_up: u64,
    /// Demand on the atomic unit.
    atomic: Option<Atomic>,
    /// Core cycle of the request's departure from the SM.
    sent: u64,
    reply: MemoryReply,
}

/// DRAM accesses of a slice to sectors of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramAccess {
    /// Line number within the slice.
    pub line: u64,
    /// Mask of sectors.
    pub sectors: u8,
    /// Slot for reads.
    pub slot: u32,
    /// Requesting SM, or [`NO_SOURCE`].
    pub source: u16,
    /// Set for writes.
    pub write: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Fill {
    /// L2 cycle of arrival.
    cycle: u64,
    slot: u32,
    /// Mask of sectors.
    sectors: u8,
}

/// A reply leaving a slice.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Reply {
    /// Core cycle of the request's departure from the SM.
    pub sent: u64,
    /// The reply.
    pub message: MemoryReply,
}

/// Output of the slices.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outbox {
    /// Replies with their slice and their core cycle of arrival at the crossbar.
    pub replies: Vec<(u64, u32, Reply)>,
    /// Deferred requests that reached their slices.
    pub performed: Vec<Performed>,
}

/// An L2 slice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slice {
    input: VecDeque<Arrival>,
    /// Requests taken from the input since the last query.
    taken: u32,
    tags: Tags,
    waiting: Waiting,
    /// Outstanding sectors, and the L2 cycle up to which they were counted.
    outstanding: u32,
    counted: u64,
    fills: VecDeque<Fill>,
    misses: VecDeque<DramAccess>,
    /// Number of sectors in `misses`.
    #[serde(skip)]
    missed: u32,
    free_at: u64,
    stalled: Option<Stalled>,
    /// L2 cycle of the next event; `u64::MAX` for none.
    #[serde(skip)]
    next: u64,
    /// Free reply entries at the crossbar.
    reply_room: u32,
    exit: Exit,
    counters: L2Counters,
}

/// Stall of the first request.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Stalled {
    cause: Stall,
    /// L2 cycle at which the stall began.
    since: u64,
    /// Set if no condition has changed since.
    blocked: bool,
    /// Condition that ends the stall.
    needs: Needs,
}

/// Matches any slot or set.
const ANY: u32 = u32::MAX;

/// Resources that a stalled request needs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Needs {
    /// MSHRs, or entries of the DRAM queue.
    room: u32,
    /// First slot of the line's set.
    set: u32,
    /// Slot of the line, if allocated.
    slot: Option<u32>,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs { room: 0, set: ANY, slot: Some(ANY) }
    }
}

impl Needs {
    /// Tells whether sectors of a slot affect the request.
    fn has_slot(&self, slot: u32) -> bool {
        self.slot.is_some_and(|own| own == slot || own == ANY)
    }

    /// Tells whether the request may evict the line in a slot.
    fn has_way(&self, spec: &L2Spec, slot: u32) -> bool {
        self.set == ANY || (self.set..self.set + spec.ways).contains(&slot)
    }
}

/// Allocation of a request.
#[derive(Debug, Clone, Copy)]
struct Place {
    slot: u32,
    /// Slot of a line to be written back without eviction.
    cleaned: Option<u32>,
}

/// Reply path of a slice, with its atomic unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Exit {
    slice: u32,
    atomic: AtomicUnit,
}

impl Exit {
    /// Completes a request whose sectors are valid at an L2 cycle. Returns its latency in L2
    /// cycles.
    // Inlined to avoid store-forwarding stalls on the work item.
    #[inline(always)]
    fn reply(&mut self, spec: &L2Spec, clock: Clock, cycle: u64, work: &Work, out: &mut Outbox) -> u64 {
        let mut done = cycle.max(work.looked_up);
        if let Some(atomic) = work.atomic {
            done = done.max(self.atomic.perform(spec, cycle, work.reply.line, atomic));
        }
        let leaves = done + u64::from(spec.latency);
        let reply = Reply { sent: work.sent, message: work.reply };
        out.replies.push((clock.to_core(leaves), self.slice, reply));
        leaves.saturating_sub(work.arrived)
    }
}

/// The lowest `most` sectors of a mask.
fn lowest(sectors: u8, most: u32) -> u8 {
    let (mut taken, mut rest) = (0, sectors);
    for _ in 0..most.min(SECTORS) {
        taken |= rest & rest.wrapping_neg();
        rest &= !taken;
    }
    taken
}

impl L2Spec {
    /// Sectors of a line that a request must wait for, and the sectors it fetches.
    fn missing_and_fetched(&self, line: &Line, request: &MemoryRequest) -> (u8, u8) {
        let sectors = request.sectors & 0xf;
        if request.kind == RequestKind::Write {
            return (0, self.write_allocation.fetched(line, sectors));
        }
        let missing = sectors & !line.readable;
        (missing, self.wanted(missing) & !(line.readable | line.pending))
    }
}

impl Slice {
    /// An empty slice with `reply_room` free reply entries.
    pub fn new(spec: &L2Spec, number: u32, reply_room: u32) -> Slice {
        Slice {
            input: VecDeque::new(),
            taken: 0,
            tags: Tags::new(spec),
            waiting: Waiting::new(spec.sets() * spec.ways),
            outstanding: 0,
            counted: 0,
            fills: VecDeque::new(),
            misses: VecDeque::new(),
            missed: 0,
            free_at: 0,
            stalled: None,
            next: u64::MAX,
            reply_room,
            exit: Exit { slice: number, ..Exit::default() },
            counters: L2Counters::default(),
        }
    }

    /// Accepts a request at a core cycle for a line of this slice. Requests arrive in cycle order.
    #[inline(always)]
    pub fn arrive(
        &mut self,
        spec: &L2Spec,
        clock: Clock,
        cycle: u64,
        line: u64,
        request: Timed<MemoryRequest>,
    ) {
        let set = Tags::set(spec, line);
        self.tags.prefetch_host(spec, set);
        self.input.push_back(Arrival { cycle: clock.from_core(cycle), line, set, request });
        if self.input.len() == 1 {
            self.look_ahead();
        }
    }

    /// Accepts fetched sectors at a core cycle. They arrive in cycle order.
    pub fn fill(&mut self, clock: Clock, cycle: u64, slot: u32, sectors: u8) {
        let cycle = clock.from_core(cycle);
        self.fills.push_back(Fill { cycle, slot, sectors });
        self.tags.prefetch_host_fill(slot);
        self.waiting.prefetch_host(slot);
        self.next = self.next.min(cycle);
    }

    /// Requests taken from the input since the last call.
    pub fn taken(&mut self) -> u32 {
        std::mem::take(&mut self.taken)
    }

    /// Returns credits for replies.
    pub fn give_back(&mut self, replies: u32) {
        self.reply_room += replies;
        if replies > 0 {
            self.retry(Stall::Reply);
        }
    }

    /// The next DRAM accesses.
    pub fn next_miss(&self) -> Option<&DramAccess> {
        self.misses.front()
    }

    /// Takes the next DRAM accesses, up to `most` sectors of one line.
    pub fn take_miss(&mut self, spec: &L2Spec, most: u32) -> Option<DramAccess> {
        let first = self.misses.front_mut()?;
        let taken = DramAccess { sectors: lowest(first.sectors, most), ..*first };
        first.sectors &= !taken.sectors;
        if first.sectors == 0 {
            self.misses.pop_front();
        }
        self.missed -= taken.sectors.count_ones();
        if let Some(Stalled { needs, .. }) = self.stalled
            && self.missed + needs.room <= spec.miss_queue
        {
            self.retry(Stall::Dram);
        }
        Some(taken)
    }

    /// L2 cycle of the next event; `u64::MAX` for none.
    pub fn next_event(&self) -> u64 {
        self.next
    }

    /// Recomputes the next event.
    fn look_ahead(&mut self) {
        let fill = self.fills.front().map_or(u64::MAX, |fill| fill.cycle);
        let blocked = self.stalled.is_some_and(|stalled| stalled.blocked);
        self.next = match self.input.front() {
            Some(arrival) if !blocked => fill.min(arrival.cycle.max(self.free_at)),
            _ => fill,
        };
    }

    /// Tells whether nothing is queued or outstanding.
    pub fn is_idle(&self) -> bool {
        self.input.is_empty() && self.misses.is_empty() && self.outstanding == 0
    }

    /// Replies that queued requests will cause, with the deferred effect of each request.
    pub fn under_way(&self) -> impl Iterator<Item = (MemoryReply, Option<u32>)> {
        let requests = self.input.iter().map(|arrival| &arrival.request.message);
        let requests = requests.map(|request| (request.reply(), request.deferred));
        requests.chain(self.waiting.works().map(|work| (work.reply, None)))
    }

    /// Invalidates all lines and drops dirty data.
    pub fn invalidate(&mut self) {
        self.tags.invalidate();
        if let Some(stalled) = &mut self.stalled {
            stalled.needs = Needs::default();
        }
    }

    /// Simulates an L2 cycle.
    pub fn step(&mut self, spec: &L2Spec, clock: Clock, cycle: u64, out: &mut Outbox) {
        self.take_fills(spec, clock, cycle, out);
        self.take_request(spec, clock, cycle, out);
        self.look_ahead();
    }

    fn take_fills(&mut self, spec: &L2Spec, clock: Clock, cycle: u64, out: &mut Outbox) {
        while let Some(fill) = self.fills.front().copied().filter(|fill| fill.cycle <= cycle) {
            self.fills.pop_front();
            self.filled(spec, clock, cycle, fill, out);
        }
    }

    fn take_request(&mut self, spec: &L2Spec, clock: Clock, cycle: u64, out: &mut Outbox) {
        let Some(first) = self.input.front() else { return };
        if first.cycle.max(self.free_at) > cycle || self.stalled.is_some_and(|stalled| stalled.blocked) {
            return;
        }
        let arrival = *first;
        if let Some(Stalled { cause, since, .. }) = self.stalled.take() {
            *self.stall_cycles(cause) += cycle - since;
        }
        match self.look_up(spec, clock, cycle, &arrival, out) {
            Ok(()) => {
                self.input.pop_front();
                self.taken += 1;
                if let Some(next) = self.input.front() {
                    self.tags.prefetch_host_line(spec, next.set, next.line);
                }
            }
            Err((cause, needs)) => {
                self.stalled = Some(Stalled { cause, since: cycle, blocked: true, needs });
            }
        }
    }

    /// Retries the first request if it stalls for this reason.
    fn retry(&mut self, cause: Stall) {
        if let Some(stalled) = &mut self.stalled
            && stalled.cause == cause
        {
            stalled.blocked = false;
            self.look_ahead();
        }
    }

    /// Tells whether the arrival of a slot's sectors may end the stall.
    fn retry_filled(&mut self, spec: &L2Spec, slot: u32, whole: bool) {
        let Some(Stalled { cause, blocked, needs, .. }) = &mut self.stalled else { return };
        let other_way = whole && needs.has_way(spec, slot);
        *blocked &= match cause {
            Stall::Mshr => self.outstanding + needs.room > spec.mshrs && !needs.has_slot(slot),
            Stall::Merge => !needs.has_slot(slot),
            Stall::Set => !other_way,
            Stall::Dram => {
                if other_way || needs.has_slot(slot) {
                    needs.room = 0;
                }
                true
            }
            Stall::Reply => true,
        };
    }

    fn filled(&mut self, spec: &L2Spec, clock: Clock, cycle: u64, fill: Fill, out: &mut Outbox) {
        let whole = self.tags.fill(spec, fill.slot, fill.sectors);
        self.count_outstanding(cycle);
        self.outstanding -= fill.sectors.count_ones();
        let Slice { waiting, exit, counters, .. } = self;
        let misses = &mut counters.request_misses;
        let mut ready = |work: &Work| misses.add_one(exit.reply(spec, clock, cycle, work, out));
        let mut sectors = fill.sectors;
        while sectors != 0 {
            waiting.arrived(fill.slot, sectors.trailing_zeros(), &mut ready);
            sectors &= sectors - 1;
        }
        self.retry_filled(spec, fill.slot, whole);
    }

    /// Looks up a request and starts its fetches. A stalled request changes nothing.
    fn look_up(
        &mut self,
        spec: &L2Spec,
        clock: Clock,
        cycle: u64,
        arrival: &Arrival,
        out: &mut Outbox,
    ) -> Result<(), (Stall, Needs)> {
        let request = &arrival.request.message;
        let set = arrival.set;
        let found = self.tags.find(spec, set, arrival.line);
        let absent = Line::default();
        let line = found.map_or(&absent, |slot| self.tags.line(slot));
        let sectors = request.sectors & 0xf;
        let (missing, fetched) = spec.missing_and_fetched(line, request);
        let hit = match request.kind {
            RequestKind::Write => sectors & (line.readable | line.pending | line.modified),
            _ => sectors & line.readable,
        };
        let pending = missing & line.pending;
        let partial = fetched & line.modified;
        let writes = request.kind != RequestKind::Read && sectors != 0;
        let Place { slot, cleaned } = self.room(spec, set, found, pending, fetched, writes)?;
        if let Some(cleaned) = cleaned {
            self.counters.cleanings += 1;
            self.write_back(spec, cleaned);
        }
        if found.is_none() {
            self.evict(spec, slot);
            self.tags.allocate(spec, slot, arrival.line);
        } else {
            self.tags.touch(spec, slot);
        }
        self.count(request, sectors, hit, pending, found.is_some());
        self.counters.partial_fetches += u64::from(partial.count_ones());
        self.fetch(spec, cycle, slot, arrival.line, fetched, request.sm);
        if writes {
            self.write(spec, slot, sectors, request);
        }
        self.reply_room -= 1;
        if let Some(deferred) = request.deferred {
            out.performed.push(Performed { cycle: clock.to_core(cycle), sm: request.sm, deferred });
        }
        let last = cycle + spec.occupancy(request) - 1;
        self.free_at = last + 1;
        let atomic = Atomic::of(spec, request);
        self.counters.atomic_conflicts += atomic.map_or(0, |atomic| atomic.conflicts());
        let (arrived, sent) = (arrival.cycle, arrival.request.cycle);
        let work = Work { arrived, looked_up: last, atomic, sent, reply: request.reply() };
        if missing == 0 {
            let latency = self.exit.reply(spec, clock, cycle, &work, out);
            self.counters.request_hits.add_one(latency);
        } else {
            self.waiting.add(slot, missing, work);
        }
        Ok(())
    }

    /// The slot for a request, if all its resources are available.
    fn room(
        &self,
        spec: &L2Spec,
        set: u32,
        found: Option<u32>,
        pending: u8,
        fetched: u8,
        writes: bool,
    ) -> Result<Place, (Stall, Needs)> {
        let stalled = |cause, room| Err((cause, Needs { room, set, slot: found }));
        if self.reply_room == 0 {
            return stalled(Stall::Reply, 0);
        }
        let fetches = fetched.count_ones();
        if fetches > 0 && self.outstanding + fetches > spec.mshrs {
            return stalled(Stall::Mshr, fetches);
        }
        if self.missed + fetches > spec.miss_queue {
            return stalled(Stall::Dram, fetches);
        }
        let Some(slot) = found.or_else(|| self.tags.victim(spec, set)) else {
            return stalled(Stall::Set, 0);
        };
        let modified = |slot| self.tags.line(slot).modified.count_ones();
        let cleaned = if writes { self.cleaned(spec, set, slot) } else { None };
        let evicted = if found.is_some() { 0 } else { modified(slot) };
        let write_backs = evicted + cleaned.map_or(0, modified);
        if self.missed + fetches + write_backs > spec.miss_queue {
            return stalled(Stall::Dram, fetches + write_backs);
        }
        if pending != 0 && self.waiting.is_full(slot, pending, spec.merges) {
            return stalled(Stall::Merge, 0);
        }
        Ok(Place { slot, cleaned })
    }

    /// The line to clean if a write adds another dirty line to the set.
    fn cleaned(&self, spec: &L2Spec, set: u32, slot: u32) -> Option<u32> {
        let one_more = self.tags.line(slot).modified == 0;
        (one_more && self.tags.modified() >= spec.modified).then(|| self.tags.oldest_modified(spec, set))?
    }

    fn evict(&mut self, spec: &L2Spec, slot: u32) {
        if self.tags.tag(slot).is_none() {
            return;
        }
        self.counters.evictions += 1;
        self.write_back(spec, slot);
    }

    /// Writes back the dirty sectors of a slot's line.
    fn write_back(&mut self, spec: &L2Spec, slot: u32) {
        let Some(number) = self.tags.tag(slot) else { return };
        let modified = self.tags.clean(spec, slot);
        let line = *self.tags.line(slot);
        let partial = modified & !line.complete();
        self.counters.write_backs += u64::from(modified.count_ones());
        self.counters.partial_write_backs += u64::from(partial.count_ones());
        self.miss(DramAccess { line: number, sectors: modified, slot, source: NO_SOURCE, write: true });
    }

    fn fetch(&mut self, spec: &L2Spec, cycle: u64, slot: u32, number: u64, sectors: u8, source: u16) {
        if sectors == 0 {
            return;
        }
        self.tags.expect(spec, slot, sectors);
        self.count_outstanding(cycle);
        self.outstanding += sectors.count_ones();
        self.counters.most_mshrs = self.counters.most_mshrs.max(u64::from(self.outstanding));
        self.counters.fetches += u64::from(sectors.count_ones());
        self.miss(DramAccess { line: number, sectors, slot, source, write: false });
    }

    /// Queues DRAM accesses for sectors, if any.
    fn miss(&mut self, access: DramAccess) {
        if access.sectors != 0 {
            self.missed += access.sectors.count_ones();
            self.misses.push_back(access);
        }
    }

    fn write(&mut self, spec: &L2Spec, slot: u32, sectors: u8, request: &MemoryRequest) {
        self.tags.modify(spec, slot, sectors, request.bytes);
        let line = self.tags.line(slot);
        let readable = spec.write_allocation.readable(line, sectors) & !line.pending;
        self.tags.make_readable(slot, readable);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lowest_sectors_leave_first() {
        assert_eq!([0, 1, 2, 3, 9].map(|most| lowest(0b1101, most)), [0, 0b1, 0b101, 0b1101, 0b1101]);
    }
}
