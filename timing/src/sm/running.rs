//! Simulation of one SM cycle.

use std::collections::VecDeque;
use std::hint::cold_path;

use super::counters::IssueStall;
use super::front_end::{Beside, CONSTANTS};
use super::memory::SUB_CORES;
use super::program::{Kind, Program};
use super::scoreboard::UNKNOWN;
use super::sub_cores;
use super::warp::Status;
use super::{FinishedCta, InFlight, Sm, SmFault, Source, State};
use crate::fidelity::Arithmetic;
use crate::message::{MemoryReply, MemoryRequest, Requester, Timed};
use crate::specification::GpuSpec;

impl Sm {
    /// Simulates a cycle: memory unit, instruction cache, sub-cores.
    pub(super) fn cycle(
        &mut self,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        replies: &mut VecDeque<Timed<MemoryReply>>,
        outbox: &mut Vec<Timed<MemoryRequest>>,
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        if self.state.memory_next <= cycle {
            self.step_memory(cycle, sources, replies, outbox, finished)?;
        }
        if self.state.instructions_next <= cycle {
            self.step_instructions(cycle, outbox);
        }
        let mut due = self.state.due(cycle);
        while let Some(number) = sub_cores::take_first(&mut due) {
            self.step_sub_core(number, cycle, sources, finished)?;
        }
        Ok(())
    }

    fn step_memory(
        &mut self,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        replies: &mut VecDeque<Timed<MemoryReply>>,
        outbox: &mut Vec<Timed<MemoryRequest>>,
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        self.memory.step(cycle, replies, outbox, &mut self.performed);
        if self.gpu.issue.policy.watches_l1() {
            self.report_l1_events(cycle);
        }
        if !self.performed.is_empty() {
            self.take_effects(cycle, sources)?;
        }
        let mut completed = self.memory.completed(cycle) & self.state.free_latches(cycle);
        while let Some(sub_core) = sub_cores::take_first(&mut completed) {
            let Some(instruction) = self.memory.next_completion(sub_core as u8, cycle) else { break };
            if let Some(next) = self.memory.coming_completion(sub_core as u8) {
                self.state.in_flight.prefetch_host(next);
            }
            self.complete(instruction, cycle, sources, finished)?;
        }
        if self.state.is_full() && !self.memory.is_full() {
            self.state.open_queues(cycle);
        }
        for number in self.memory.released() {
            let unit = &mut self.state.sub_cores[usize::from(number)];
            if !unit.queue.is_empty() {
                unit.look_at(self.memory.accepts_at(number).max(unit.queue.next()).max(cycle));
            }
        }
        self.state.memory_next = self.memory.next_event().map_or(u64::MAX, |next| next.max(cycle + 1));
        if self.memory.wants_constants() {
            cold_path();
            let instructions = &mut self.state.instructions;
            self.memory.take_wanted_constants().for_each(|line| instructions.ask(CONSTANTS, line));
            self.state.instructions_next = self.state.instructions_next.min(cycle + 1);
        }
        Ok(())
    }

    /// Executes the operations that the memory unit performed.
    #[cold]
    fn take_effects(&mut self, cycle: u64, sources: &mut [Option<Source<'_>>]) -> Result<(), Box<SmFault>> {
        let mut performed = std::mem::take(&mut self.performed);
        performed.drain(..).try_for_each(|deferred| self.take_effect(cycle, deferred, sources))?;
        self.performed = performed;
        Ok(())
    }

    /// Completes a memory instruction: writes its result or acknowledges its store.
    fn complete(
        &mut self,
        instruction: u32,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let InFlight { slot, position, stores, .. } = self.state.in_flight.remove(instruction);
        let slot = usize::from(slot);
        let state = &mut self.state;
        if let Some(number) = stores
            && !state.stores.acknowledge(number, cycle, finished)
        {
            state.sub_cores[slot % SUB_CORES].latch_free = cycle + 1;
            return Ok(());
        }
        let warp = &mut state.warps[slot];
        let cta = usize::from(warp.cta);
        let Some(program) = &self.programs[cta] else { return Ok(()) };
        let decoded = &program.instructions()[position as usize];
        let sub_core = &mut state.sub_cores[slot % SUB_CORES];
        let start = cycle.max(warp.operands_read + 1);
        let written = match self.gpu.fidelity.arithmetic {
            Arithmetic::Detailed => {
                let written = sub_core.ports.write(start, decoded.writes);
                state.counters.operands.writes += decoded.writes.total();
                state.counters.operands.write_conflicts += written - cycle;
                written
            }
            Arithmetic::Analytical | Arithmetic::Ideal => start,
        };
        sub_core.latch_free = written + 1;
        warp.scoreboard.set(program.results(decoded), written + 1);
        warp.accesses -= 1;
        state.ctas[cta].accesses -= u32::from(stores.is_none());
        if warp.status == Status::Memory {
            state.reclassify(&self.gpu, program, slot, cycle);
        }
        self.end_cta_if_done(cta, cycle, sources, finished)
    }

    /// Advances the L1 instruction cache: answers, lookups, requests.
    #[cold]
    fn step_instructions(&mut self, cycle: u64, outbox: &mut Vec<Timed<MemoryRequest>>) {
        let State { sub_cores, instructions, instruction_replies, memory_next, counters, .. } =
            &mut self.state;
        let (spec, constant) = (&self.gpu.front_end, &self.gpu.constant);
        while let Some(reply) = instruction_replies.pop_front_if(|reply| reply.cycle <= cycle) {
            instructions.fill(constant, cycle, reply.message);
        }
        while let Some((line, waiting)) = instructions.answer(cycle) {
            if waiting >> CONSTANTS & 1 != 0 {
                self.memory.fill_constants(cycle, line);
                *memory_next = (*memory_next).min(cycle + 1);
            }
            for (_, sub_core) in
                sub_cores.iter_mut().enumerate().filter(|(number, _)| waiting >> number & 1 != 0)
            {
                sub_core.fetch.fill(line);
                sub_core.look_at(cycle);
            }
        }
        for (number, sub_core) in sub_cores.iter_mut().enumerate() {
            while let Some(line) = sub_core.fetch.next_request(spec) {
                instructions.ask(number, line);
            }
        }
        if let Some(granted) = instructions.grant(spec, constant, cycle) {
            counters.front_end.count(granted);
        }
        let mut next = instructions.next_event(cycle + 1);
        if instructions.wants_to_send() && self.memory.take_credit() {
            if let Some(message) = instructions.send(self.number) {
                outbox.push(Timed { cycle, message });
                counters.front_end.l2_lines += 1;
                counters.front_end.constant_l2_lines += u64::from(message.requester == Requester::Constant);
            }
            if instructions.wants_to_send() {
                next = cycle + 1;
            }
        }
        if let Some(reply) = instruction_replies.front() {
            next = next.min(reply.cycle);
        }
        self.state.instructions_next = next;
    }

    fn step_sub_core(
        &mut self,
        number: usize,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let width = self.gpu.issue.width;
        if self.pc_profile.is_some() {
            self.count_pending_pcs(number, cycle);
        }
        let sub_core = &mut self.state.sub_cores[number];
        sub_core.count_until(&mut self.state.counters.issue, width, cycle);
        let counts = sub_core.begin_cycle(cycle);
        self.wake_warps(number, cycle);
        if self.state.sub_cores[number].queue.next() <= cycle
            && self.memory.can_accept(number as u8, cycle)
            && let Some(cta) = self.dispatch_memory(number, cycle)
        {
            self.end_cta_if_done(cta, cycle, sources, finished)?;
        }
        let mut issued = 0;
        let mut stall = IssueStall::Idle;
        while issued < width {
            let issue = &self.gpu.issue;
            let mut eligible = self.state.sub_cores[number].eligible(&self.gpu, cycle);
            if issue.policy.holds_loads() {
                eligible = eligible.and_then(|eligible| self.permitted(number, eligible, cycle));
            }
            match eligible {
                Ok(eligible) => {
                    let sub_core = &mut self.state.sub_cores[number];
                    let memory = sub_core.waiting_for(Status::Memory);
                    let warp = sub_core.scheduler.pick(issue.policy, &issue.scheduling, eligible, memory);
                    self.issue(warp as usize * SUB_CORES + number, cycle, sources, finished)?;
                    issued += 1;
                }
                Err(reason) => {
                    stall = reason;
                    break;
                }
            }
        }
        if counts && issued < width && self.pc_profile.is_some() {
            self.count_stall_of_pc(number, stall, width - issued, cycle);
        }
        self.fetch(number, cycle);
        self.state.sub_cores[number].end_cycle(&self.gpu, cycle, issued > 0);
        if self.pc_profile.is_some() {
            self.choose_owner(number, cycle);
        }
        let sub_core = &mut self.state.sub_cores[number];
        if counts {
            self.state.counters.issue.issued += u64::from(issued);
            self.state.counters.issue.count(stall, u64::from(width - issued));
        }
        match sub_core.queue.next() {
            // The memory pipeline did not accept the instruction.
            due if due <= cycle => sub_core.look_at(self.memory.accepts_at(number as u8).max(cycle + 1)),
            due => sub_core.look_at(due),
        }
        Ok(())
    }

    /// Eligible warps without those whose loads the scheduler holds back.
    ///
    /// # Errors
    /// No warp is left.
    #[cold]
    fn permitted(&self, number: usize, eligible: u32, cycle: u64) -> Result<u32, IssueStall> {
        let issue = &self.gpu.issue;
        let may_load =
            self.state.sub_cores[number].scheduler.may_load(issue.policy, &issue.scheduling, cycle);
        let loads = |warp: &u32| {
            let warp = &self.state.warps[*warp as usize * SUB_CORES + number];
            let program = self.programs[usize::from(warp.cta)].as_ref();
            program.is_some_and(|program| program.instructions()[warp.buffer.from as usize].loads_l1())
        };
        let held = (0..u32::BITS).filter(|warp| (eligible & !may_load) >> warp & 1 != 0).filter(loads);
        match held.fold(eligible, |left, warp| left & !(1 << warp)) {
            0 => Err(IssueStall::HeldLoad),
            left => Ok(left),
        }
    }

    /// The warp schedulers learn what has happened in L1.
    #[cold]
    fn report_l1_events(&mut self, cycle: u64) {
        let issue = &self.gpu.issue;
        for event in self.memory.take_l1_events() {
            let slot = usize::from(event.warp);
            let scheduler = &mut self.state.sub_cores[slot % SUB_CORES].scheduler;
            let local = (slot / SUB_CORES) as u32;
            scheduler.l1_event(issue.policy, &issue.scheduling, local, event, cycle);
        }
    }

    /// Examines warps that are due, and warps whose instructions arrived.
    fn wake_warps(&mut self, number: usize, cycle: u64) {
        let mut woken = self.state.sub_cores[number].woken(cycle);
        loop {
            let arrival = self.state.sub_cores[number].fetch.arrival(cycle);
            let Some(arrival) = arrival else { break };
            let slot = arrival.warp as usize * SUB_CORES + number;
            let warp = &mut self.state.warps[slot];
            if warp.buffer.arrive(&arrival) && warp.status == Status::Fetch {
                woken |= 1 << arrival.warp;
            }
        }
        while woken != 0 {
            let slot = woken.trailing_zeros() as usize * SUB_CORES + number;
            woken &= woken - 1;
            let warp = &self.state.warps[slot];
            if warp.status == Status::Scoreboard && warp.ready_at <= cycle {
                self.state.mark_ready(slot);
            } else if let Some(program) = &self.programs[usize::from(warp.cta)]
                && warp.status != Status::Absent
            {
                self.state.reclassify(&self.gpu, program, slot, cycle);
            }
        }
    }

    /// Dispatches an instruction with complete operands to the memory unit, which accepts it. For a
    /// store, returns its CTA slot, which no longer waits for it.
    fn dispatch_memory(&mut self, number: usize, cycle: u64) -> Option<usize> {
        let state = &mut self.state;
        let instruction = state.sub_cores[number].queue.take(cycle)?;
        let InFlight { slot, access, stores, .. } = state.in_flight[instruction];
        self.memory.accept(cycle, access);
        // A completion may wait for a latch since an earlier cycle.
        let next = self.memory.next_event().map_or(u64::MAX, |next| next.max(cycle));
        state.memory_next = state.memory_next.min(next);
        let stores = stores?;
        let cta = usize::from(state.warps[usize::from(slot)].cta);
        state.stores.begin(stores);
        state.ctas[cta].accesses -= 1;
        state.ctas[cta].stores_leave = cycle + u64::from(self.gpu.cta.store);
        Some(cta)
    }

    /// Fetches instructions for one warp of a sub-core.
    fn fetch(&mut self, number: usize, cycle: u64) {
        let State { sub_cores, warps, instructions, counters, .. } = &mut self.state;
        let sub_core = &mut sub_cores[number];
        let Some(local) = sub_core.fetch.next_warp() else { return };
        let warp = &mut warps[local as usize * SUB_CORES + number];
        let Some(program) = &self.programs[usize::from(warp.cta)] else { return };
        let spec = &self.gpu.front_end;
        let beside =
            Beside { spec, program, l1: instructions, counters: &mut counters.front_end, sub_core: number };
        sub_core.fetch.fetch(beside, local, &mut warp.buffer, cycle);
        if sub_core.fetch.has_requests(spec) || instructions.wants_to_send() {
            self.state.instructions_next = self.state.instructions_next.min(cycle + 1);
        }
    }
}

impl State {
    /// Takes replies for the L1 instruction cache from the inbox.
    #[cold]
    pub(super) fn take_instruction_replies(&mut self, replies: &mut VecDeque<Timed<MemoryReply>>) {
        replies.retain(|reply| {
            let other = !reply.message.requester.is_instruction_cache();
            if !other {
                self.instruction_replies.push_back(Timed { cycle: reply.cycle, message: reply.message.line });
                self.instructions_next = self.instructions_next.min(reply.cycle);
            }
            other
        });
    }

    /// Tells whether an analytical memory unit accepts no instruction of a sub-core.
    fn is_full(&self) -> bool {
        self.sub_cores.iter().any(|sub_core| sub_core.full)
    }

    /// Lets sub-cores issue memory instructions again.
    #[cold]
    fn open_queues(&mut self, cycle: u64) {
        for sub_core in &mut self.sub_cores {
            sub_core.full = false;
            sub_core.look_at(cycle);
        }
    }

    /// Mask of sub-cores with work at a cycle.
    fn due(&self, cycle: u64) -> u32 {
        sub_cores::of(&self.sub_cores, |sub_core| sub_core.next <= cycle)
    }

    /// Mask of sub-cores whose write-back latch is free at a cycle.
    fn free_latches(&self, cycle: u64) -> u32 {
        sub_cores::of(&self.sub_cores, |sub_core| sub_core.latch_free <= cycle)
    }

    /// Determines a warp's wait state and schedules its next examination.
    pub(super) fn reclassify(&mut self, gpu: &GpuSpec, program: &Program, slot: usize, cycle: u64) {
        let local = (slot / SUB_CORES) as u32;
        let warp = &mut self.warps[slot];
        let sub_core = &mut self.sub_cores[slot % SUB_CORES];
        let decoded = program.instructions().get(warp.buffer.from as usize);
        warp.ready_at = u64::MAX;
        let status = match decoded {
            Some(decoded) if warp.has_next => {
                if warp.not_before > cycle {
                    sub_core.wake(cycle, warp.not_before, local);
                    warp.stall_reason
                } else if !warp.buffer.has_next() {
                    sub_core.fetch.update(&gpu.front_end, program, local, &warp.buffer);
                    sub_core.look_at(cycle + 1);
                    Status::Fetch
                } else if decoded.kind == Kind::Fence && warp.accesses > 0 {
                    Status::Memory
                } else {
                    match warp.scoreboard.ready_at(program.needs(decoded)) {
                        UNKNOWN => Status::Memory,
                        ready if ready > cycle => {
                            sub_core.wake(cycle, ready, local);
                            if !decoded.atomic {
                                warp.ready_at = ready;
                            }
                            Status::Scoreboard
                        }
                        _ if decoded.atomic && warp.next_atomic > cycle => {
                            sub_core.wake(cycle, warp.next_atomic, local);
                            Status::Scoreboard
                        }
                        _ => {
                            sub_core.look_at(cycle);
                            Status::Ready
                        }
                    }
                }
            }
            _ => Status::Barrier,
        };
        let unit = decoded.map_or(warp.unit, |decoded| decoded.unit);
        sub_core.set_reads_long(local, decoded.is_some_and(|decoded| decoded.reads_long));
        sub_core.set_status(local, (warp.status, warp.unit), (status, unit));
        (warp.status, warp.unit) = (status, unit);
    }

    /// Makes a warp ready whose fixed-latency results have become available.
    fn mark_ready(&mut self, slot: usize) {
        let warp = &mut self.warps[slot];
        let ready = Status::Ready;
        self.sub_cores[slot % SUB_CORES].set_status(
            (slot / SUB_CORES) as u32,
            (warp.status, warp.unit),
            (ready, warp.unit),
        );
        warp.status = ready;
    }

    /// Ends a warp.
    pub(super) fn end_warp(&mut self, slot: usize) {
        let local = (slot / SUB_CORES) as u32;
        let warp = &mut self.warps[slot];
        let sub_core = &mut self.sub_cores[slot % SUB_CORES];
        sub_core.set_status(local, (warp.status, warp.unit), (Status::Absent, warp.unit));
        sub_core.fetch.hold(local);
        sub_core.scheduler.end(local);
        warp.status = Status::Absent;
    }
}
