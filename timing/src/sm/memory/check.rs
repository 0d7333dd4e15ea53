//! Restoring and checking the memory unit of an SM.

use super::access::{Access, NOT_ACCEPTED, STRUCTURES, Structure};
use super::l1::Expected;
use super::pipeline::Queued;
use super::{FILL, MemoryUnit, NONE, SUB_CORES, State};
use crate::fidelity::LoadStore;
use crate::message::{MemoryReply, RequestKind, Requester};
use crate::restore::{Once, Validity, countable, ensure, near, near_or_never};
use crate::specification::GpuSpec;

/// An access in a sub-core's queue that waits for operands.
#[derive(Debug, Clone, Copy)]
pub struct Unaccepted {
    /// Number of the access.
    pub access: u32,
    /// Number of the instruction in the SM core.
    pub instruction: u32,
    /// The sub-core.
    pub sub_core: usize,
}

/// Replies expected by a memory unit and not yet found outside it.
#[derive(Debug)]
pub struct Awaited {
    l1: Expected,
    /// Expected replies by access.
    answers: Vec<u32>,
}

impl Awaited {
    /// Accounts for a reply on its way to the SM.
    pub(crate) fn find(&mut self, reply: &MemoryReply) -> Validity {
        if reply.tag & FILL != 0 {
            ensure(reply.kind == RequestKind::Read, "a reply to L1 is no read")?;
            return self.l1.find(reply.tag & !FILL, reply.sectors);
        }
        let answers = self.answers.get_mut(reply.tag as usize).ok_or("a reply belongs to no access")?;
        *answers = answers.checked_sub(1).ok_or("a reply is unexpected by its access")?;
        Ok(())
    }

    /// Checks that nothing is missing.
    pub(crate) fn all_found(&self) -> Validity {
        self.l1.all_found()?;
        ensure(self.answers.iter().all(|answers| *answers == 0), "an expected reply never arrives")
    }
}

impl State {
    /// Restores the memory unit of SM `sm` at a cycle, with these `unaccepted` accesses. Calls
    /// `instruction` for each instruction with an access in flight or completed, with its sub-core,
    /// and `deferred` for each pending effect.
    /// performed.
    ///
    /// The state is invalid.
    /// The memory unit can have no such state.
    pub(crate) fn restore(
        &mut self,
        gpu: &GpuSpec,
        sm: u16,
        now: u64,
        unaccepted: &[Unaccepted],
        mut instruction: impl FnMut(u32, u8) -> Validity,
        mut deferred: impl FnMut(u32) -> Validity,
    ) -> Result<Awaited, &'static str> {
        self.check(gpu, now)?;
        let free = self.accesses.places()?;
        let mut answers = vec![0_u32; self.accesses.capacity() as usize];
        let l1 = self.l1.restore(&gpu.l1, now, |access| count_answer(&mut answers, &free, access))?;
        self.constants.check(&gpu.constant, |access| count_answer(&mut answers, &free, access))?;
        let mut lines = self.lines.places()?;
        let mut placed = free.clone();
        self.place(gpu.memory_pipeline.rate(), &mut placed)?;
        unaccepted.iter().try_for_each(|queued| self.place_unaccepted(queued, &mut placed))?;
        let mut waiting_for_operands = 0;
        for number in (0..self.accesses.capacity()).filter(|number| !free.has(*number)) {
            let access = self.accesses[number];
            waiting_for_operands += usize::from(access.start == NOT_ACCEPTED);
            self.check_access(gpu, &access, now, placed.has(number), &mut lines)?;
            instruction(access.instruction, access.sub_core)?;
            if access.taken < access.total {
                access.deferred.map_or(Ok(()), &mut deferred)?;
            }
            // Accesses that do not wait for a line of L1 or of constants wait for a reply of their
            // own.
            let waiting = &mut answers[number as usize];
            *waiting = u32::from(access.unanswered)
                .checked_sub(*waiting)
                .ok_or("an access waits for too many replies")?;
        }
        ensure(waiting_for_operands == unaccepted.len(), "an access that waits for operands is in no queue")?;
        lines.all()?;
        for (sub_core, completions) in (0..).zip(&self.completions) {
            completions.iter().try_for_each(|(cycle, number)| {
                ensure(near(*cycle, now), "a result is available too late")?;
                instruction(*number, sub_core)
            })?;
        }
        let mut awaited = Awaited { l1, answers };
        let departing = self.analytical.departures.iter().map(|request| &request.message);
        self.outgoing.iter().chain(self.tlb.waiting()).chain(departing).try_for_each(|request| {
            request.check(gpu.chip.sms)?;
            ensure(
                request.sm == sm && request.requester != Requester::Copy,
                "a request belongs to another unit",
            )?;
            request.deferred.map_or(Ok(()), &mut deferred)?;
            awaited.find(&request.reply())
        })?;
        Ok(awaited)
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        let pipelines = gpu.memory_pipeline.pipelines(SUB_CORES);
        let as_many = self.pipelines.len() == pipelines && self.completions.len() == SUB_CORES;
        ensure(as_many, "the number of memory pipelines differs")?;
        let arbiters = self.arbiters.iter().all(|arbiter| arbiter.check(pipelines, now));
        ensure(arbiters, "the round-robin pointer of the memory pipelines is invalid")?;
        ensure(self.credits <= gpu.memory_pipeline.credits, "there are too many credits")?;
        let stalled = self.stalled.is_none_or(|(_, since)| since <= now);
        ensure(stalled, "the start of an L1 stall is invalid")?;
        let mut free = self.pipelines.iter().flat_map(|unit| [unit.latch_free, unit.address_free]);
        let free = near(self.fill_free, now) && free.all(|cycle| near(cycle, now));
        ensure(free && near_or_never(self.next_step, now), "the busy time of a memory pipeline is too long")?;
        self.tlb.check(&gpu.tlb, now)?;
        countable(&self.counters)
    }

    /// Registers the accesses in a pipeline and the structures they wait for.
    fn place(&mut self, rate: u16, placed: &mut Once) -> Validity {
        (self.waiting, self.latched) = Default::default();
        self.available = [[u64::MAX; SUB_CORES]; STRUCTURES];
        self.find_next_completion();
        for (pipeline, unit) in self.pipelines.iter().enumerate() {
            self.latched |= u32::from(unit.latched.is_some()) << pipeline;
            unit.latched.map_or(Ok(()), |Queued { access, .. }| {
                placed.reach(access)?;
                ensure(
                    self.accesses[access].taken == 0,
                    "an access was accepted before its addresses were computed",
                )
            })?;
            let mut buffered = 0_u32;
            for (structure, queue) in unit.waiting.iter().enumerate() {
                for Queued { access, .. } in queue {
                    placed.reach(*access)?;
                    let access = &self.accesses[*access];
                    ensure(access.structure as usize == structure, "an access waits for another structure")?;
                    let left = access.total.checked_sub(access.taken).filter(|left| *left > 0);
                    buffered += u32::from(left.ok_or("an accepted access still waits")?);
                }
                if let Some(first) = queue.front() {
                    self.waiting[structure] |= 1 << pipeline;
                    self.available[structure][pipeline] = self.accesses[first.access].next_available(rate);
                }
            }
            ensure(buffered == unit.buffered, "the number of requests in a memory pipeline differs")?;
        }
        Ok(())
    }

    fn place_unaccepted(&self, queued: &Unaccepted, placed: &mut Once) -> Validity {
        placed.reach(queued.access)?;
        let Access { instruction, sub_core, start, taken, .. } = self.accesses[queued.access];
        let same = (instruction, usize::from(sub_core)) == (queued.instruction, queued.sub_core);
        ensure(same && (start, taken) == (NOT_ACCEPTED, 0), "an access with complete operands waits for them")
    }

    /// Checks an access. `placed` tells whether it is in a pipeline or waits for operands.
    fn check_access(
        &self,
        gpu: &GpuSpec,
        access: &Access,
        now: u64,
        placed: bool,
        lines: &mut Once,
    ) -> Validity {
        let Access { sub_core, start, total, taken, passes, unanswered, ready, .. } = *access;
        ensure(usize::from(sub_core) < SUB_CORES, "an access belongs to no sub-core")?;
        let ends = taken <= total && (placed == (taken < total)) && (taken < total || unanswered > 0);
        ensure(ends, "an access is in no queue")?;
        let rate = u64::from(gpu.memory_pipeline.rate());
        let computed = now.saturating_sub(start).saturating_mul(rate) >= u64::from(taken);
        let computed = computed || gpu.fidelity.load_store == LoadStore::Analytical;
        let starts = near(start, now) || start == NOT_ACCEPTED;
        ensure(computed && starts && near(ready, now), "an access takes too long")?;
        let (mut line, mut left) = (access.first, 0);
        while line != NONE {
            lines.reach(line)?;
            (line, left) = (self.lines[line].next, left + 1);
        }
        let shared = access.structure == Structure::Shared;
        let needed = if shared { 0 } else { total - taken };
        ensure(left == needed && total > 0, "the number of lines of an access differs")?;
        let whole = (total, taken, unanswered) == (1, 0, 0) && passes > 0;
        ensure(!shared || whole, "an access to shared memory is split")
    }
}

/// Counts an access that waits for a line of L1 or of constants.
fn count_answer(answers: &mut [u32], free: &Once, access: u32) -> Validity {
    let answers = answers.get_mut(access as usize).filter(|_| !free.has(access));
    *answers.ok_or("a line has a missing waiting access")? += 1;
    Ok(())
}

impl MemoryUnit {
    /// The mutable state.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// Replaces the state by one prepared with [`State::restore`].
    pub(crate) fn with(mut self, state: State) -> MemoryUnit {
        self.state = state;
        self.state.l1.watch(self.gpu.issue.policy.watches_l1());
        self
    }
}
