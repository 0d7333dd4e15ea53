//! Arbitration: each structure serves the sub-cores' pipelines round robin.

use serde::{Deserialize, Serialize};
use warp_stream::{AccessKind, CacheOperator, MemoryOperation, MemorySpace, OperationClass};

use super::access::{Access, Line, Structure};
use super::l1::{Load, Lookup, Stall};
use super::pipeline::Organisation;
use super::{FILL, MemoryUnit, SUB_CORES, State};
use crate::fidelity::{self, FrontEnd};
use crate::message::{MemoryRequest, RequestKind};
use crate::restore::near;
use crate::slab::NONE;

/// Arbiter of a structure.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Arbiter {
    /// Next free core cycle.
    free: u64,
    /// Next pipeline in the round robin.
    turn: usize,
}

impl Arbiter {
    /// Checks a restored arbiter at a cycle for a number of pipelines.
    pub fn check(&self, pipelines: usize, now: u64) -> bool {
        self.turn < pipelines && near(self.free, now)
    }
}

/// Pipelines in a mask.
pub(super) fn pipelines(mut mask: u32) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let pipeline = mask.trailing_zeros();
        mask &= mask.wrapping_sub(1);
        (pipeline < u32::BITS).then_some(pipeline as usize)
    })
}

/// Tells whether a load bypasses L1.
pub(super) fn bypasses(operation: &MemoryOperation, deferred: Option<u32>) -> bool {
    matches!(operation.cache, CacheOperator::Coherent | CacheOperator::GlobalOnly) || deferred.is_some()
}

impl MemoryUnit {
    /// Each structure accepts requests of one access. With a common data stage, L1 and shared
    /// memory alternate.
    #[inline(always)]
    pub(super) fn grant(&mut self, cycle: u64, performed: &mut Vec<u32>) {
        let shared_waits = self.state.waiting[Structure::Shared as usize] != 0;
        let l1_turn = self.state.l1_turn;
        if shared_waits && !l1_turn {
            self.grant_shared(cycle, performed);
        }
        self.grant_l1(cycle);
        if shared_waits && l1_turn {
            self.grant_shared(cycle, performed);
        }
        if self.state.waiting[Structure::Constant as usize] != 0
            && let Some((pipeline, number)) = self.candidate(Structure::Constant, cycle, 0)
        {
            self.take_constant(pipeline, number, cycle, performed);
        }
    }

    /// Shared memory accepts the next access, if possible.
    // Not inlined: in most kernels no access waits.
    #[inline(never)]
    fn grant_shared(&mut self, cycle: u64, performed: &mut Vec<u32>) {
        if let Some((pipeline, number)) = self.candidate(Structure::Shared, cycle, 0) {
            self.take_whole(pipeline, number, cycle, performed);
        }
    }

    /// Occupies L1 or shared memory until a cycle.
    fn occupy(&mut self, structure: Structure, free: u64, turn: usize) {
        self.state.arbiters[structure as usize] = Arbiter { free, turn };
        if self.gpu.l1.unified {
            let other = if structure == Structure::L1 { Structure::Shared } else { Structure::L1 };
            self.state.arbiters[other as usize].free = free;
            self.state.l1_turn = other == Structure::L1;
        }
    }

    /// The next pipeline whose first access for a structure has a computed address, and that
    /// access. Skips the pipelines in the mask `tried`.
    #[inline(always)]
    fn candidate(&self, structure: Structure, cycle: u64, tried: u32) -> Option<(usize, u32)> {
        let Arbiter { free, turn } = self.state.arbiters[structure as usize];
        if free > cycle {
            return None;
        }
        let available = &self.state.available[structure as usize];
        let ready = |pipeline: &usize| available[*pipeline] <= cycle;
        let waiting = self.state.waiting[structure as usize] & !tried;
        let after = waiting & u32::MAX << turn;
        let pipeline = pipelines(after).find(ready).or_else(|| pipelines(waiting & !after).find(ready))?;
        let first = self.state.pipelines[pipeline].waiting[structure as usize].front()?;
        Some((pipeline, first.access))
    }

    /// Next core cycle at which a request can be accepted.
    pub(super) fn next_grant(&self, cycle: u64) -> u64 {
        let mut next = u64::MAX;
        for (structure, available) in self.state.available.iter().enumerate() {
            let blocked =
                structure == Structure::L1 as usize && self.state.stalled.is_some() && !self.state.changed;
            if self.state.waiting[structure] != 0 && !blocked {
                let first = available.iter().fold(u64::MAX, |first, cycle| first.min(*cycle));
                next = next.min(first.max(self.state.arbiters[structure].free).max(cycle + 1));
            }
        }
        next
    }

    /// The pipeline after another in the round robin.
    fn after(&self, pipeline: usize) -> usize {
        if pipeline + 1 < self.state.pipelines.len() { pipeline + 1 } else { 0 }
    }

    /// Shared memory accepts an access.
    fn take_whole(&mut self, pipeline: usize, number: u32, cycle: u64, performed: &mut Vec<u32>) {
        let access = &mut self.state.accesses[number];
        let latency = match access.class {
            OperationClass::Shuffle => self.gpu.shared.shuffle_latency,
            _ => self.gpu.shared.latency,
        };
        let passes = u64::from(access.passes);
        access.taken = access.total;
        access.ready = cycle + passes - 1 + u64::from(latency);
        performed.extend(access.deferred);
        let turn = self.after(pipeline);
        self.occupy(Structure::Shared, cycle + passes, turn);
        self.leave_buffer(Structure::Shared, pipeline, 1, true);
        self.finish(number);
    }

    /// The constant cache accepts a request of an access.
    #[cold]
    fn take_constant(&mut self, pipeline: usize, number: u32, cycle: u64, performed: &mut Vec<u32>) {
        let State { accesses, lines, constants, arbiters, pipelines, .. } = &mut self.state;
        let access = &mut accesses[number];
        let line = lines.remove(access.first);
        access.first = line.next;
        access.taken += 1;
        let is_ideal = self.gpu.fidelity.front_end == FrontEnd::Ideal;
        if is_ideal || constants.look_up(line.address, number) {
            access.ready = access.ready.max(cycle + u64::from(self.gpu.constant.latency));
        } else {
            access.unanswered += 1;
        }
        let last = access.taken == access.total;
        performed.extend(access.deferred.filter(|_| last));
        let next = pipeline + usize::from(last);
        let turn = if next < pipelines.len() { next } else { 0 };
        arbiters[Structure::Constant as usize] = Arbiter { free: cycle + 1, turn };
        self.leave_buffer(Structure::Constant, pipeline, 1, last);
        self.finish(number);
    }

    /// Removes requests from a pipeline's buffer. The last one removes the access from the queue.
    #[inline(always)]
    fn leave_buffer(&mut self, structure: Structure, pipeline: usize, requests: u16, last: bool) {
        let spec = &self.gpu.memory_pipeline;
        let unit = &mut self.state.pipelines[pipeline];
        unit.buffered -= u32::from(requests);
        self.drained |= 1 << pipeline;
        if unit.buffered == 0 && spec.organisation == Organisation::PerSm {
            self.released = (1 << SUB_CORES) - 1;
        }
        let queue = &mut unit.waiting[structure as usize];
        if last {
            queue.pop_front();
        }
        let first = queue.front().map(|first| &self.state.accesses[first.access]);
        self.state.available[structure as usize][pipeline] =
            first.map_or(u64::MAX, |access| access.next_available(spec.rate()));
        match first {
            None => self.state.waiting[structure as usize] &= !(1 << pipeline),
            Some(first) if structure == Structure::L1 && last => {
                self.state.lines.prefetch_host(first.first);
                self.prefetch_host_queued(pipeline);
            }
            Some(_) => {}
        }
    }

    /// Prefetches the host's cache lines for the first accesses of a pipeline.
    fn prefetch_host_queued(&self, pipeline: usize) {
        let queue = &self.state.pipelines[pipeline].waiting[Structure::L1 as usize];
        if let Some(first) = queue.front() {
            self.state.l1.prefetch_host_entry(first.line);
        }
        if let Some(second) = queue.get(1) {
            self.state.accesses.prefetch_host(second.access);
            self.state.l1.prefetch_host(second.line);
        }
    }

    /// L1 accepts lines of one access, or determines why it cannot.
    #[inline(always)]
    fn grant_l1(&mut self, cycle: u64) {
        if let Some((stall, since)) = self.state.stalled {
            if !self.state.changed {
                return;
            }
            self.state.l1.counters.count_stall(stall, cycle - since);
        }
        self.state.changed = false;
        self.state.stalled = None;
        let mut stalled = None;
        let mut tried = 0;
        while let Some((pipeline, number)) = self.candidate(Structure::L1, cycle, tried) {
            match self.take_lines(pipeline, number, cycle) {
                Ok(()) => {
                    self.state.arbiters[Structure::L1 as usize].turn = self.after(pipeline);
                    if let Some(stall) = stalled {
                        self.state.l1.counters.count_stall(stall, 1);
                    }
                    return;
                }
                Err(stall) => stalled = stalled.or(Some(stall)),
            }
            tried |= 1 << pipeline;
        }
        self.state.stalled = stalled.map(|stall| (stall, cycle));
    }

    /// L1 accepts the lines of an access due in a cycle. An access is spread evenly over its
    /// passes.
    ///
    /// # Errors
    /// L1 can accept none.
    #[inline(always)]
    fn take_lines(&mut self, pipeline: usize, number: u32, cycle: u64) -> Result<(), Stall> {
        let access = &self.state.accesses[number];
        let available = access.available(cycle, self.gpu.memory_pipeline.rate());
        let quota = (access.total - access.taken).div_ceil(access.passes.max(1)).min(available);
        let mut taken = 0;
        while taken < quota {
            let first = self.state.accesses[number].first;
            match self.take_line(number, first, cycle) {
                Ok(()) => {}
                Err(stall) if taken == 0 => return Err(stall),
                Err(_) => break,
            }
            self.state.lines.discard(first);
            let access = &mut self.state.accesses[number];
            access.first = self.state.lines[first].next;
            access.taken += 1;
            taken += 1;
            if access.first != NONE {
                self.state.lines.prefetch_host(access.first);
            }
        }
        let access = &mut self.state.accesses[number];
        access.passes = access.passes.saturating_sub(1);
        let last = access.taken == access.total;
        let rest = if last { u64::from(access.passes) } else { 0 };
        if last && access.ready != 0 {
            access.ready += rest;
        }
        let turn = self.state.arbiters[Structure::L1 as usize].turn;
        self.occupy(Structure::L1, cycle + 1 + rest, turn);
        self.leave_buffer(Structure::L1, pipeline, taken, last);
        self.finish(number);
        Ok(())
    }

    /// L1 accepts a line of an access.
    #[inline]
    fn take_line(&mut self, number: u32, first: u32, cycle: u64) -> Result<(), Stall> {
        let State { accesses, lines, outgoing, tlb, l1, .. } = &mut self.state;
        let access = &mut accesses[number];
        let spec = &self.gpu.l1;
        let queue_has_room = outgoing.len() + tlb.len() < spec.miss_queue as usize;
        if !access.is_load() || bypasses(&access.operation, access.deferred) {
            return if queue_has_room { self.pass_line(number, first, cycle) } else { Err(Stall::Queue) };
        }
        let line = &lines[first];
        if self.gpu.fidelity.l1 == fidelity::L1::Ideal {
            let texture = access.operation.space == MemorySpace::Texture;
            let latency = if texture { self.gpu.texture.latency } else { spec.latency };
            access.ready = access.ready.max(cycle + u64::from(latency));
            return Ok(());
        }
        let load = Load {
            line: line.address,
            sectors: line.sectors,
            access: number,
            requester: access.requester(),
            warp: access.warp,
        };
        match l1.load(spec, cycle, load, queue_has_room)? {
            Lookup::Hit => {
                let texture = access.operation.space == MemorySpace::Texture;
                let latency = if texture { self.gpu.texture.latency } else { spec.latency };
                access.ready = access.ready.max(cycle + u64::from(latency));
            }
            Lookup::Wait { fetch, entry } => {
                (access.unanswered, access.missed) = (access.unanswered + 1, true);
                let mut waits = false;
                if fetch != 0 {
                    let (access, line) = (*access, Line { sectors: fetch, ..*line });
                    waits = self.ask(cycle, &access, &line, RequestKind::Read, entry | FILL);
                }
                let waits = self.state.l1.note_translation(entry, waits);
                self.state.accesses[number].untranslated |= waits;
            }
        }
        Ok(())
    }

    /// Sends a line of an access to L2, bypassing L1.
    fn pass_line(&mut self, number: u32, first: u32, cycle: u64) -> Result<(), Stall> {
        let (access, line) = (self.state.accesses[number], &self.state.lines[first]);
        let spec = &self.gpu.l1;
        let kind = match access.operation.kind {
            AccessKind::Load => {
                self.state.l1.counters.load_sectors_bypassed += u64::from(line.sectors.count_ones());
                RequestKind::Read
            }
            AccessKind::Store => {
                self.state.l1.store(spec, line.address, line.sectors, access.requester());
                RequestKind::Write
            }
            AccessKind::Atomic => RequestKind::Atomic,
            AccessKind::Reduction => RequestKind::Reduction,
        };
        if matches!(kind, RequestKind::Atomic | RequestKind::Reduction) {
            self.state.l1.drop_line(line.address, line.sectors);
        }
        let line = *line;
        let waits = self.ask(cycle, &access, &line, kind, number);
        let waiting = &mut self.state.accesses[number];
        (waiting.unanswered, waiting.missed) = (waiting.unanswered + 1, true);
        waiting.untranslated |= waits;
        Ok(())
    }

    /// Queues a request of an access. Returns whether it waits for a translation. The last request
    /// carries the deferred effect: when it reaches its slice, all have.
    fn ask(&mut self, cycle: u64, access: &Access, line: &Line, kind: RequestKind, tag: u32) -> bool {
        let atomic = matches!(kind, RequestKind::Atomic | RequestKind::Reduction);
        let last = access.taken + 1 == access.total;
        let request = MemoryRequest {
            line: line.address,
            sectors: line.sectors,
            bytes: line.bytes,
            kind,
            lanes: if atomic { line.lanes } else { 0 },
            requester: access.requester(),
            sm: self.sm,
            tag,
            deferred: access.deferred.filter(|_| last),
        };
        let translated = self.state.tlb.translate(&self.gpu.tlb, cycle, request);
        self.state.outgoing.extend(translated);
        translated.is_none()
    }
}
