//! One slice: takes requests in order, a sector each cycle, and replies when it has what was asked
//! for.

mod check;
mod count;
mod hang_report;
mod warm;

use std::collections::VecDeque;

use serde::{Deserialize, Serialize};

pub use self::check::{Expected, Surroundings};
use super::atomic::{Atomic, AtomicUnit};
use super::tags::{Line, Tags};
use super::waiting::Waiting;
use super::{L2Counters, L2Spec};
use crate::clock::Clock;
use crate::hang_report::SliceStall as Stall;
use crate::message::{MemoryReply, MemoryRequest, Performed, RequestKind, SECTORS, Timed};
use crate::policy::dram_scheduler::NO_SOURCE;

/// A request at the slice.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Arrival {
    /// L2 cycle.
    cycle: u64,
    /// Number of the line within the slice.
    line: u64,
    /// First slot of the line's set.
    set: u32,
    request: Timed<MemoryRequest>,
}

/// Work left for a request once its sectors have arrived.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub(super) struct Work {
    /// L2 cycle of its arrival.
    arrived: u64,
    /// L2 cycle of the last sector's look-up.
    looked_up: u64,
    /// Operation of the atomic unit.
    atomic: Option<Atomic>,
    /// Core cycle at which the request was sent.
    sent: u64,
    reply: MemoryReply,
}

/// Accesses of a slice to its channel, to sectors of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct DramAccess {
    /// Number of the line within the slice.
    pub line: u64,
    /// Sectors of the line, one bit each.
    pub sectors: u8,
    /// Slot that reads are for.
    pub slot: u32,
    /// The SM that asks, or [`NO_SOURCE`].
    pub source: u16,
    /// The accesses write.
    pub write: bool,
}

#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Fill {
    /// L2 cycle.
    cycle: u64,
    slot: u32,
    /// One bit each.
    sectors: u8,
}

/// A reply that leaves a slice.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
pub struct Reply {
    /// Core cycle at which its request was sent.
    pub sent: u64,
    /// The reply.
    pub message: MemoryReply,
}

/// Output of slices to the rest of the memory side.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Outbox {
    /// Replies, by the core cycle at which they are at the crossbar, with the slice.
    pub replies: Vec<(u64, u32, Reply)>,
    /// Deferred requests that have reached their slices.
    pub performed: Vec<Performed>,
}

/// A slice.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Slice {
    input: VecDeque<Arrival>,
    /// Requests taken from the input since this was last asked.
    taken: u32,
    tags: Tags,
    waiting: Waiting,
    /// Sectors on their way from DRAM, and the L2 cycle up to which they were counted.
    outstanding: u32,
    counted: u64,
    fills: VecDeque<Fill>,
    misses: VecDeque<DramAccess>,
    /// Sectors of these.
    #[serde(skip)]
    missed: u32,
    free_at: u64,
    stalled: Option<Stalled>,
    /// L2 cycle of the next thing to do; `u64::MAX` for nothing.
    #[serde(skip)]
    next: u64,
    /// Replies that the crossbar has room for.
    reply_room: u32,
    exit: Exit,
    counters: L2Counters,
}

/// The first request has to wait.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Stalled {
    cause: Stall,
    /// L2 cycle.
    since: u64,
    /// Nothing has changed since.
    blocked: bool,
    /// Resources that the request needs.
    needs: Needs,
}

/// Stands for any slot, and any set.
const ANY: u32 = u32::MAX;

/// Resources that a stalled request needs.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Needs {
    /// MSHRs, or places on the way to DRAM.
    room: u32,
    /// First slot of its line's set.
    set: u32,
    /// Slot of the line, if it has one.
    slot: Option<u32>,
}

impl Default for Needs {
    fn default() -> Needs {
        Needs { room: 0, set: ANY, slot: Some(ANY) }
    }
}

impl Needs {
    /// Sectors of a slot matter to the request.
    fn has_slot(&self, slot: u32) -> bool {
        self.slot.is_some_and(|own| own == slot || own == ANY)
    }

    /// The request may replace the line in a slot.
    fn has_way(&self, spec: &L2Spec, slot: u32) -> bool {
        self.set == ANY || (self.set..self.set + spec.ways).contains(&slot)
    }
}

/// Where a request finds its place.
#[derive(Debug, Clone, Copy)]
struct Place {
    slot: u32,
    /// A slot whose line is written back for it, and stays.
    cleaned: Option<u32>,
}

/// Where replies leave a slice, with its atomic unit.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
struct Exit {
    slice: u32,
    atomic: AtomicUnit,
}

impl Exit {
    /// A request's sectors are there at an L2 cycle. Gives the L2 cycles from its arrival to the
    /// reply's leaving.
    // In line: what was put together for it a moment ago is not read again from memory, in other
    // pieces.
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

/// The lowest `most` sectors of a mask, or all.
fn lowest(sectors: u8, most: u32) -> u8 {
    let (mut taken, mut rest) = (0, sectors);
    for _ in 0..most.min(SECTORS) {
        taken |= rest & rest.wrapping_neg();
        rest &= !taken;
    }
    taken
}

impl L2Spec {
    /// Sectors of a line that a request has to wait for, and those that it fetches.
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
    /// A slice with nothing in it, and room for so many replies.
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

    /// A request arrives at a core cycle, for a line of this slice; none that arrives later comes
    /// before it.
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

    /// Sectors that were fetched arrive at a core cycle, none before those that arrived already.
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

    /// The crossbar has room for so many replies more.
    pub fn give_back(&mut self, replies: u32) {
        self.reply_room += replies;
        if replies > 0 {
            self.retry(Stall::Reply);
        }
    }

    /// The accesses to DRAM that come next.
    pub fn next_miss(&self) -> Option<&DramAccess> {
        self.misses.front()
    }

    /// Takes the accesses to DRAM that come next, of those to one line so many at most.
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

    /// The L2 cycle of the next thing to do; `u64::MAX` for nothing.
    pub fn next_event(&self) -> u64 {
        self.next
    }

    /// Finds the next thing to do.
    fn look_ahead(&mut self) {
        let fill = self.fills.front().map_or(u64::MAX, |fill| fill.cycle);
        let blocked = self.stalled.is_some_and(|stalled| stalled.blocked);
        self.next = match self.input.front() {
            Some(arrival) if !blocked => fill.min(arrival.cycle.max(self.free_at)),
            _ => fill,
        };
    }

    /// The slice has no request and expects no sector.
    pub fn is_idle(&self) -> bool {
        self.input.is_empty() && self.misses.is_empty() && self.outstanding == 0
    }

    /// Replies that will come of what is here, with what will be performed when the request is
    /// looked up.
    pub fn under_way(&self) -> impl Iterator<Item = (MemoryReply, Option<u32>)> {
        let requests = self.input.iter().map(|arrival| &arrival.request.message);
        let requests = requests.map(|request| (request.reply(), request.deferred));
        requests.chain(self.waiting.works().map(|work| (work.reply, None)))
    }

    /// Forgets all lines; what was modified is lost without being written back.
    pub fn invalidate(&mut self) {
        self.tags.invalidate();
        if let Some(stalled) = &mut self.stalled {
            stalled.needs = Needs::default();
        }
    }

    /// Does what is to be done at an L2 cycle.
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

    /// If the first request waits for this, it may be able to go on.
    fn retry(&mut self, cause: Stall) {
        if let Some(stalled) = &mut self.stalled
            && stalled.cause == cause
        {
            stalled.blocked = false;
            self.look_ahead();
        }
    }

    /// Sectors of a slot have come: whether the first request may be able to go on.
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

    /// Looks a request up and starts what it needs; nothing has changed if it has to wait.
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
        let last = cycle + u64::from(sectors.count_ones().max(1)) - 1;
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

    /// The slot for a request, if there is room for all it needs.
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

    /// The line that is written back where a slot's line, or what comes in its place, becomes one
    /// more that is modified.
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

    /// Writes back what differs from DRAM in a slot's line.
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

    /// Sectors, if there are any, are on their way to DRAM.
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
    fn sectors_leave_from_the_lowest_on() {
        assert_eq!([0, 1, 2, 3, 9].map(|most| lowest(0b1101, most)), [0, 0b1, 0b101, 0b1101, 0b1101]);
    }
}
