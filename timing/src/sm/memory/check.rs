//! Check of a restored memory unit, and its derived state.

use super::access::{Access, NOT_ACCEPTED, STRUCTURES, Structure};
use super::l1::Expected;
use super::pipeline::Queued;
use super::{FILL, MemoryUnit, NONE, SUB_CORES, State};
use crate::message::{MemoryReply, RequestKind, Requester};
use crate::restore::{Once, Validity, countable, ensure, near, near_or_never};
use crate::specification::GpuSpec;

/// An access that waits for its operands in the queue of a sub-core.
#[derive(Debug, Clone, Copy)]
pub struct Unaccepted {
    /// Number of the access.
    pub access: u32,
    /// The SM core's number of its instruction.
    pub instruction: u32,
    /// The sub-core.
    pub sub_core: usize,
}

/// Replies that a memory unit expects and that have not been found outside of it yet.
#[derive(Debug)]
pub struct Awaited {
    l1: Expected,
    /// Answers that accesses wait for, by access.
    answers: Vec<u32>,
}

impl Awaited {
    /// A reply to the SM will come.
    pub(crate) fn find(&mut self, reply: &MemoryReply) -> Validity {
        if reply.tag & FILL != 0 {
            ensure(reply.kind == RequestKind::Read, "L1 asks for sectors in no other way")?;
            return self.l1.find(reply.tag & !FILL, reply.sectors);
        }
        let answers = self.answers.get_mut(reply.tag as usize).ok_or("an answer comes for no access")?;
        *answers = answers.checked_sub(1).ok_or("an answer comes that no access waits for")?;
        Ok(())
    }

    /// All were found.
    pub(crate) fn all_found(&self) -> Validity {
        self.l1.all_found()?;
        ensure(
            self.answers.iter().all(|answers| *answers == 0),
            "an answer that an access waits for does not come",
        )
    }
}

impl State {
    /// Makes one that was read ready to run, of SM `sm`, at a cycle, where these accesses are
    /// `unaccepted`. `instruction` is told of each instruction of which an access is under way or
    /// has ended, with its sub-core; `deferred` of what is still to be performed.
    ///
    /// # Errors
    /// The state is invalid.
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
            // Accesses that wait for no line of L1 or of constants wait for an answer of their own.
            let waiting = &mut answers[number as usize];
            *waiting =
                u32::from(access.unanswered).checked_sub(*waiting).ok_or("an access waits too often")?;
        }
        ensure(waiting_for_operands == unaccepted.len(), "an access waits for operands in no queue")?;
        lines.all()?;
        for (sub_core, completions) in (0..).zip(&self.completions) {
            completions.iter().try_for_each(|(cycle, number)| {
                ensure(near(*cycle, now), "a result is there too late")?;
                instruction(*number, sub_core)
            })?;
        }
        let mut awaited = Awaited { l1, answers };
        self.outgoing.iter().chain(self.tlb.waiting()).try_for_each(|request| {
            request.check(gpu.chip.sms)?;
            ensure(request.sm == sm && request.requester != Requester::Copy, "a request is another's")?;
            request.deferred.map_or(Ok(()), &mut deferred)?;
            awaited.find(&request.reply())
        })?;
        Ok(awaited)
    }

    fn check(&self, gpu: &GpuSpec, now: u64) -> Validity {
        let pipelines = gpu.memory_pipeline.pipelines(SUB_CORES);
        let as_many = self.pipelines.len() == pipelines && self.completions.len() == SUB_CORES;
        ensure(as_many, "there is another number of memory pipelines")?;
        let arbiters = self.arbiters.iter().all(|arbiter| arbiter.check(pipelines, now));
        ensure(arbiters, "it is the turn of no memory pipeline")?;
        ensure(self.credits <= gpu.memory_pipeline.credits, "there are too many credits")?;
        let stalled = self.stalled.is_none_or(|(_, since)| since <= now);
        ensure(stalled, "L1 cannot be stalled since then")?;
        let mut free = self.pipelines.iter().flat_map(|unit| [unit.latch_free, unit.address_free]);
        let free = near(self.fill_free, now) && free.all(|cycle| near(cycle, now));
        ensure(free && near_or_never(self.next_step, now), "a memory pipeline is busy for too long")?;
        self.tlb.check(&gpu.tlb, now)?;
        countable(&self.counters)
    }

    /// Finds the accesses that are in a pipeline, and which structures these wait for.
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
                    "an access is taken before its addresses are computed",
                )
            })?;
            let mut buffered = 0_u32;
            for (structure, queue) in unit.waiting.iter().enumerate() {
                for Queued { access, .. } in queue {
                    placed.reach(*access)?;
                    let access = &self.accesses[*access];
                    ensure(access.structure as usize == structure, "an access waits for another structure")?;
                    let left = access.total.checked_sub(access.taken).filter(|left| *left > 0);
                    buffered += u32::from(left.ok_or("an access waits that is taken")?);
                }
                if let Some(first) = queue.front() {
                    self.waiting[structure] |= 1 << pipeline;
                    self.available[structure][pipeline] = self.accesses[first.access].next_available(rate);
                }
            }
            ensure(buffered == unit.buffered, "another number of requests waits in a memory pipeline")?;
        }
        Ok(())
    }

    fn place_unaccepted(&self, queued: &Unaccepted, placed: &mut Once) -> Validity {
        placed.reach(queued.access)?;
        let Access { instruction, sub_core, start, taken, .. } = self.accesses[queued.access];
        let same = (instruction, usize::from(sub_core)) == (queued.instruction, queued.sub_core);
        ensure(same && (start, taken) == (NOT_ACCEPTED, 0), "an access waits for operands that has them")
    }

    /// `placed` if it is in a pipeline, or waits for its operands.
    fn check_access(
        &self,
        gpu: &GpuSpec,
        access: &Access,
        now: u64,
        placed: bool,
        lines: &mut Once,
    ) -> Validity {
        let Access { sub_core, start, total, taken, passes, unanswered, ready, .. } = *access;
        ensure(usize::from(sub_core) < SUB_CORES, "an access is of no sub-core")?;
        let ends = taken <= total && (placed == (taken < total)) && (taken < total || unanswered > 0);
        ensure(ends, "an access is nowhere")?;
        let rate = u64::from(gpu.memory_pipeline.rate());
        let computed = now.saturating_sub(start).saturating_mul(rate) >= u64::from(taken);
        let starts = near(start, now) || start == NOT_ACCEPTED;
        ensure(computed && starts && near(ready, now), "an access takes too long")?;
        let (mut line, mut left) = (access.first, 0);
        while line != NONE {
            lines.reach(line)?;
            (line, left) = (self.lines[line].next, left + 1);
        }
        let shared = access.structure == Structure::Shared;
        let needed = if shared { 0 } else { total - taken };
        ensure(left == needed && total > 0, "an access has another number of lines")?;
        let whole = (total, taken, unanswered) == (1, 0, 0) && passes > 0;
        ensure(!shared || whole, "an access is in pieces")
    }
}

/// An access waits for a line of L1 or of constants.
fn count_answer(answers: &mut [u32], free: &Once, access: u32) -> Validity {
    let answers = answers.get_mut(access as usize).filter(|_| !free.has(access));
    *answers.ok_or("a line is waited for by no access")? += 1;
    Ok(())
}

impl MemoryUnit {
    /// The state.
    pub(crate) fn state(&self) -> &State {
        &self.state
    }

    /// One with a state that [`State::restore`] has made ready.
    pub(crate) fn with(mut self, state: State) -> MemoryUnit {
        self.state = state;
        self.state.l1.watch(self.gpu.issue.policy.watches_l1());
        self
    }
}
