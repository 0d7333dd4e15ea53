//! Start and end of CTAs on an SM.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warp_stream::{Next, Residence, WarpSlot};

use super::memory::SUB_CORES;
use super::occupancy::Demand;
use super::warp::Status;
use super::{FinishedCta, Parameters, Program, Sm, SmFault, Source};
use crate::fidelity::FrontEnd;
use crate::slab::Slab;

/// A CTA slot.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Cta {
    /// Set while a CTA is resident.
    pub present: bool,
    /// Launch index.
    pub launch: u32,
    /// Number of the CTA in its grid.
    pub number: u64,
    /// Reserved resources.
    #[serde(skip)]
    pub demand: Demand,
    /// First of its warp slots.
    pub first_warp: u32,
    /// Warps still running.
    warps_left: u32,
    /// Instructions issued so far.
    pub instructions: u64,
    /// Memory instructions that delay the end of the CTA.
    pub accesses: u32,
    /// Index of its [`Stores`].
    pub stores: u32,
    /// First core cycle at which its stores permit release of the slot.
    pub stores_leave: u64,
    /// Deferred instructions that have not taken effect.
    pub deferred: u32,
}

impl Cta {
    /// Warp slots of the CTA.
    pub fn slots(&self) -> std::ops::Range<usize> {
        self.first_warp as usize..(self.first_warp + self.demand.warps) as usize
    }

    /// Tells whether `warps` warps are still running.
    pub fn has_warps_left(&self, warps: u32) -> bool {
        self.warps_left == warps
    }

    /// Tells whether all warps ended and only stores are in flight.
    pub fn is_done(&self) -> bool {
        self.warps_left == 0 && self.accesses == 0 && self.deferred == 0
    }
}

/// Unacknowledged stores of a CTA. They do not hold its slot, but its launch waits for them.
#[derive(Debug, Clone, Copy, Default, Serialize, Deserialize)]
pub struct Stores {
    under_way: u32,
    /// The CTA, once its slot was released.
    ended: Option<FinishedCta>,
}

impl Stores {
    /// Tells whether the CTA's slot was released.
    pub fn has_ended(&self) -> bool {
        self.ended.is_some()
    }

    /// Tells whether `stores` stores are in flight, a valid state.
    pub fn has_under_way(&self, stores: u32) -> bool {
        self.under_way == stores && (stores > 0 || !self.has_ended())
    }

    /// The CTA, if only its stores are outstanding.
    pub fn ended(&self) -> Option<&FinishedCta> {
        self.ended.as_ref()
    }
}

impl Slab<Stores> {
    /// Counts a new store of the CTA.
    pub(super) fn begin(&mut self, number: u32) {
        self[number].under_way += 1;
    }

    /// Handles an acknowledged store. Returns whether its CTA is still resident. Adds the CTA to
    /// `finished` if this was the last store.
    pub(super) fn acknowledge(&mut self, number: u32, cycle: u64, finished: &mut Vec<FinishedCta>) -> bool {
        let stores = &mut self[number];
        stores.under_way -= 1;
        let Some(cta) = stores.ended else { return true };
        if stores.under_way == 0 {
            self.remove(number);
            finished.push(FinishedCta { cycle, ..cta });
        }
        false
    }

    /// Releases the CTA's slot.
    fn end(&mut self, number: u32, cta: FinishedCta, finished: &mut Vec<FinishedCta>) {
        self[number].ended = Some(cta);
        if self[number].under_way == 0 {
            self.remove(number);
            finished.push(cta);
        }
    }
}

impl Sm {
    /// Starts a CTA and returns its slot.
    pub(super) fn begin_cta(
        &mut self,
        cycle: u64,
        launch: u32,
        program: &Arc<Program>,
        number: u64,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<usize, Box<SmFault>> {
        let demand = Demand::new(&self.gpu, program);
        let shared = self.shared_for(&demand);
        let place = self.state.space.find(&self.gpu, &demand, shared);
        let free = self.state.ctas.iter().position(|cta| !cta.present);
        let (Ok(first_warp), Some(slot)) = (place, free) else {
            return Err(Box::new(SmFault::NoRoom { launch }));
        };
        if self.cta_count() == 0 {
            self.state.shared = shared;
            self.memory.set_shared(shared);
            self.state.active_since = Some(cycle);
            self.state.sub_cores.iter_mut().for_each(|sub_core| sub_core.begin(cycle));
        }
        self.count_warps(cycle);
        // Another CTA started or ended meanwhile.
        let since = self.state.warps_since.saturating_sub(cycle);
        self.state.counters.activity.warp_cycles += u64::from(demand.warps) * since;
        self.state.space.take(&demand, first_warp);
        self.state.counters.activity.ctas += 1;
        self.state.counters.activity.warps += u64::from(demand.warps);
        let stores = self.state.stores.insert(Stores::default());
        self.state.ctas[slot] = Cta {
            present: true,
            launch,
            number,
            demand,
            first_warp,
            warps_left: demand.warps,
            instructions: 0,
            accesses: 0,
            stores,
            stores_leave: 0,
            deferred: 0,
        };
        self.programs[slot] = Some(Arc::clone(program));
        let residence = Residence { sm: u32::from(self.number), first_warp };
        let started = self.source(slot, sources)?.start_cta(slot as u32, number, residence);
        started.map_err(|error| self.fault(WarpSlot { cta: slot as u32, warp: 0 }, cycle, error))?;
        let first = cycle + u64::from(self.gpu.cta.start);
        let first = first.max(self.parameters_at(launch, first));
        for warp in 0..demand.warps {
            self.begin_warp(cycle, first, slot, warp, program, sources)?;
        }
        Ok(slot)
    }

    /// First cycle at which a launch's parameters are available, given the cycle of its first
    /// instruction. Any instruction may read parameters, so the first one waits for them.
    fn parameters_at(&mut self, launch: u32, cycle: u64) -> u64 {
        let known = self.state.parameters.iter().find(|parameters| parameters.launch == launch);
        if let Some(parameters) = known {
            return parameters.ready;
        }
        let ready = cycle + u64::from(self.gpu.constant.parameters);
        self.state.parameters.push(Parameters { launch, ready });
        ready
    }

    /// Starts a warp, whose first instruction issues at cycle `first` at the earliest.
    fn begin_warp(
        &mut self,
        cycle: u64,
        first: u64,
        cta: usize,
        number: u32,
        program: &Program,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<(), Box<SmFault>> {
        let slot = (self.state.ctas[cta].first_warp + number) as usize;
        let cycle = cycle.max(self.state.now);
        let warp = &mut self.state.warps[slot];
        warp.cta = cta as u8;
        warp.number = number as u16;
        warp.has_next = false;
        warp.not_before = first.max(cycle);
        warp.stall_reason = Status::Start;
        match self.gpu.fidelity.front_end {
            FrontEnd::Detailed => warp.buffer.redirect(0),
            FrontEnd::Ideal => warp.buffer.redirect_ideally(0, program.length()),
        }
        warp.scoreboard.reset(cycle, program.scoreboard_size());
        warp.accesses = 0;
        warp.next_atomic = 0;
        warp.operands_read = 0;
        let sub_core = &mut self.state.sub_cores[slot % SUB_CORES];
        let issue = &self.gpu.issue;
        sub_core.scheduler.begin(issue.policy, &issue.scheduling, (slot / SUB_CORES) as u32);
        sub_core.look_at(cycle);
        self.ask(slot, cycle, sources)?;
        Ok(())
    }

    /// Asks the source for a warp's next instruction. Returns whether to ask again later.
    pub(super) fn ask(
        &mut self,
        slot: usize,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<bool, Box<SmFault>> {
        let name = self.name(slot);
        let cta = name.cta as usize;
        let next = self.source(cta, sources)?.next(name).map_err(|error| self.fault(name, cycle, error))?;
        self.go_on(slot, cycle, next)
    }

    /// Handles the source's answer for a warp. Returns whether to ask again later.
    #[inline(always)]
    pub(super) fn go_on(&mut self, slot: usize, cycle: u64, next: Next) -> Result<bool, Box<SmFault>> {
        let cta = usize::from(self.state.warps[slot].cta);
        let Some(program) = &self.programs[cta] else { return Ok(false) };
        let state = &mut self.state;
        let warp = &mut state.warps[slot];
        let mut ended = false;
        match next {
            Next::Instruction(position) if position as usize >= program.instructions().len() => {
                let launch = state.ctas[cta].launch;
                return Err(Box::new(SmFault::NoInstruction { launch, position }));
            }
            Next::Instruction(position) => {
                warp.has_next = true;
                if position != warp.buffer.from {
                    match self.gpu.fidelity.front_end {
                        FrontEnd::Detailed => warp.buffer.redirect(position),
                        FrontEnd::Ideal => warp.buffer.redirect_ideally(position, program.length()),
                    }
                    state.sub_cores[slot % SUB_CORES].fetch.hold((slot / SUB_CORES) as u32);
                    state.counters.front_end.redirections += 1;
                }
            }
            Next::Waiting => warp.has_next = false,
            Next::Finished => {
                warp.has_next = false;
                ended = true;
                state.ctas[cta].warps_left -= 1;
            }
        }
        if ended {
            state.end_warp(slot);
        } else {
            state.reclassify(&self.gpu, program, slot, cycle);
        }
        Ok(next == Next::Waiting)
    }

    /// Asks again for the waiting warps of a CTA. Warps with an instruction resume at `resume`.
    pub(super) fn ask_waiting(
        &mut self,
        cta: usize,
        cycle: u64,
        resume: u64,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<(), Box<SmFault>> {
        for slot in self.state.ctas[cta].slots() {
            let warp = &mut self.state.warps[slot];
            if warp.has_next || warp.status != Status::Barrier {
                continue;
            }
            let (not_before, stall_reason) = (warp.not_before, warp.stall_reason);
            if resume > not_before {
                (warp.not_before, warp.stall_reason) = (resume, Status::Barrier);
            }
            if self.ask(slot, cycle, sources)? {
                let warp = &mut self.state.warps[slot];
                (warp.not_before, warp.stall_reason) = (not_before, stall_reason);
            }
        }
        Ok(())
    }

    /// Executes a deferred instruction, whose access is still in flight, so no CTA ends here.
    pub(super) fn take_effect(
        &mut self,
        cycle: u64,
        deferred: u32,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<(), Box<SmFault>> {
        let super::Deferred { cta, warp, number } = self.state.deferred.remove(deferred);
        let name = WarpSlot { cta: u32::from(cta), warp: u32::from(warp) };
        let cta = usize::from(cta);
        let now = self.moment(cycle);
        self.source(cta, sources)?.perform(number, now).map_err(|error| self.fault(name, cycle, error))?;
        self.state.ctas[cta].deferred -= 1;
        self.ask_waiting(cta, cycle, cycle, sources)
    }

    /// Ends a CTA of which no warp is left and nothing but stores is under way.
    #[inline(always)]
    pub(super) fn end_cta_if_done(
        &mut self,
        slot: usize,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let cta = &self.state.ctas[slot];
        if cta.present && cta.is_done() { self.end_cta(slot, cycle, sources, finished) } else { Ok(()) }
    }

    /// Ends a CTA.
    #[cold]
    fn end_cta(
        &mut self,
        slot: usize,
        cycle: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let cta = self.state.ctas[slot];
        self.source(slot, sources)?.end_cta(slot as u32);
        self.count_warps(cycle + 1);
        self.state.ctas[slot].present = false;
        self.state.space.give_back(&cta.demand, cta.first_warp);
        self.programs[slot] = None;
        let Cta { launch, number, instructions, stores, stores_leave, .. } = cta;
        self.state.freed.push(stores_leave.max(cycle + 1));
        self.state.stores.end(stores, FinishedCta { cycle, launch, cta: number, instructions }, finished);
        if self.cta_count() == 0 {
            self.end_activity(cycle + 1);
        }
        Ok(())
    }

    /// Records that the last CTA left the SM.
    fn end_activity(&mut self, cycle: u64) {
        let since = self.state.active_since.take().unwrap_or(cycle);
        if self.pc_profile.is_some() {
            (0..SUB_CORES).for_each(|number| self.count_pending_pcs(number, cycle));
        }
        let counters = &mut self.state.counters;
        counters.activity.active_cycles += cycle.saturating_sub(since);
        for sub_core in &mut self.state.sub_cores {
            sub_core.end(&mut counters.issue, self.gpu.issue.width, cycle);
        }
    }

    /// Counts resident warp cycles up to a cycle.
    fn count_warps(&mut self, cycle: u64) {
        let cycles = cycle.saturating_sub(self.state.warps_since);
        self.state.counters.activity.warp_cycles += u64::from(self.state.space.warps()) * cycles;
        self.state.warps_since = self.state.warps_since.max(cycle);
    }
}
