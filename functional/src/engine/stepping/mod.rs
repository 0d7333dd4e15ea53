//! Stepped execution of a cluster: warps execute one machine instruction at a time, in an order chosen by a
//! timing model. Warps are numbered through the cluster's CTAs.
//!
//! Run-ahead: instructions without dependence on other warps are executed together with the step before.
//! These are register arithmetic and plain loads and stores, up to the next barrier, fence, atomic or
//! ordered access. Race-free programs cannot observe the difference, and a warp's registers enter the
//! host's caches once for many instructions.
//!
//! Between steps, a fragment of each warp stands at the first op of a machine instruction, or no fragment
//! can continue. Reconvergence ops, and the remainder of an instruction whose lanes had to wait inside it,
//! execute with the step before.

mod address;
mod ahead;
mod burst;
mod deferred;
mod held;
mod prefetch_host;
mod saved;

use std::hint::cold_path;

use warp_stream::{Execution, MemorySpace, Moment, Next, OperationClass, Residence, WarpSlot};

use super::cluster::{Cluster, SavedCluster};
use super::cta::{Cta, Executed, Simulated};
use super::grid::Grid;
use super::lane::WARP;
use super::machine::{Addresses, Machine, ModelInput, Note};
use super::op::{Flow, PredicateSource};
use super::view::View;
use super::warp_context::{Stop, WarpContext};
use crate::fault::{Fault, FaultKind};
use address::Reached;
use ahead::AheadQueue;
pub(crate) use deferred::{Deferred, SavedDeferred};
use held::Holding;
pub(crate) use saved::SavedSteps;

/// Jumps of a possibly spinning fragment before other lanes of its warp run. The engine's own turns are
/// longer, because there a turn costs more than a jump.
const SPIN_JUMPS: u32 = 8;

/// State shared by the CTAs of an SM.
pub(crate) struct Engine<'g> {
    pub(crate) grid: &'g Grid<'g>,
    pub(crate) machine: &'g Machine,
    pub(crate) view: View,
    pub(crate) deferred: Deferred,
    pub(crate) holding: Holding,
    /// Scratch: effects of an instruction that runs ahead.
    told_ahead: Execution,
}

impl<'g> Engine<'g> {
    /// Creates the state of an SM with these deferred ops.
    pub(crate) fn new(grid: &'g Grid<'g>, machine: &'g Machine, deferred: Deferred) -> Engine<'g> {
        let (view, holding) = (View::default(), Holding::default());
        Engine { grid, machine, view, deferred, holding, told_ahead: Execution::default() }
    }
}

/// Readiness of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// Ready to execute a machine instruction.
    Ready,
    /// Blocked: all lanes wait for other warps.
    Blocked,
    /// Finished: all lanes have exited.
    Finished,
}

/// A warp between two steps.
#[derive(Debug)]
struct SteppedWarp {
    /// Ready fragment, if any.
    fragment: Fragment,
    ready: bool,
    /// Instructions executed ahead.
    ahead: AheadQueue,
    /// Numbers of deferred ops, in order.
    pending: Vec<u32>,
}

/// Position of a fragment.
// The field order matches `WarpContext`, so that adjacent fields are copied together. Wide loads of recent
// narrow stores would stall until the host's store buffer drains.
#[derive(Debug, Clone, Copy)]
#[repr(C)]
struct Fragment {
    /// First row of the frame, which the warp owns.
    frame: *mut u8,
    pc: u32,
    local_base: u32,
    active: u32,
}

// SAFETY: the warp owns both the fragment and its frame, and they move together.
unsafe impl Send for Fragment {}

impl Default for SteppedWarp {
    fn default() -> SteppedWarp {
        let fragment = Fragment { pc: 0, active: 0, frame: std::ptr::null_mut(), local_base: 0 };
        SteppedWarp { fragment, ready: false, ahead: AheadQueue::default(), pending: Vec::new() }
    }
}

/// A cluster executed in steps, with storage that the next cluster reuses.
#[derive(Debug)]
pub(crate) struct SteppedCluster {
    cluster: Cluster,
    warps: Vec<SteppedWarp>,
    warps_per_cta: usize,
    /// CTA slot on the SM.
    slot: u32,
    /// Number of ready warps.
    ready: u32,
    /// Work executed since creation.
    executed: Executed,
}

impl SteppedCluster {
    /// Allocates storage for a cluster in `slot`.
    pub(crate) fn new(grid: &Grid, slot: u32) -> SteppedCluster {
        let warps_per_cta = grid.shape.warps_per_cta() as usize;
        let warps = 0..warps_per_cta * grid.ctas_per_cluster() as usize;
        SteppedCluster {
            cluster: Cluster::new(grid),
            warps: warps.map(|_| SteppedWarp::default()).collect(),
            warps_per_cta,
            slot,
            ready: 0,
            executed: Executed::default(),
        }
    }

    /// Rank of a warp's CTA, and the warp's number in it.
    #[inline(always)]
    fn place(&self, number: usize) -> (usize, usize) {
        match number < self.warps_per_cta {
            true => (0, number),
            false => {
                cold_path();
                (number / self.warps_per_cta, number % self.warps_per_cta)
            }
        }
    }

    fn cta(&mut self, number: usize) -> &mut Cta {
        let (rank, _) = self.place(number);
        &mut self.cluster.ctas[rank]
    }

    /// Work executed since creation.
    pub(crate) fn executed(&self) -> Executed {
        self.executed
    }

    /// Number of warps of all CTAs.
    pub(crate) fn warp_count(&self) -> usize {
        self.warps.len()
    }

    /// True if warp `number` exists.
    #[inline(always)]
    pub(crate) fn has_warp(&self, number: u32) -> bool {
        (number as usize) < self.warps.len()
    }

    /// True if the warp stands before an instruction.
    #[inline(always)]
    pub(crate) fn is_ready(&self, number: u32) -> bool {
        self.warps.get(number as usize).is_some_and(|warp| warp.ready || !warp.ahead.is_empty())
    }

    /// True if all threads have exited.
    pub(crate) fn is_finished(&self) -> bool {
        self.cluster.ctas.iter().all(Cta::is_finished)
    }

    /// Fault of the whole CTA.
    pub(crate) fn stuck(&self, grid: &Grid, kind: FaultKind) -> Box<Fault> {
        self.cluster.stuck(grid, kind)
    }

    /// Resets the storage to cluster number `index` of the launch. The residence is given under a timing
    /// model.
    pub(crate) fn start(
        &mut self,
        engine: &mut Engine<'_>,
        index: u64,
        residence: Option<Residence>,
    ) -> Result<(), Box<Fault>> {
        self.reside(residence);
        self.cluster.start(engine.grid, index);
        self.begin(engine)
    }

    /// Restores a cluster from checked data.
    pub(crate) fn restore(
        &mut self,
        engine: &mut Engine<'_>,
        saved: &SavedCluster,
        residence: Option<Residence>,
    ) -> Result<(), Box<Fault>> {
        self.reside(residence);
        self.cluster.restore(engine.grid, saved);
        self.begin(engine)?;
        if self.ready == 0 { self.find_ready(engine) } else { Ok(()) }
    }

    /// Converts to a cluster between turns, without deferred ops.
    pub(crate) fn into_cluster(mut self) -> Cluster {
        self.park();
        self.cluster
    }

    fn reside(&mut self, residence: Option<Residence>) {
        for cta in &mut self.cluster.ctas {
            let simulated = residence.map(|residence| Simulated { residence, now: Moment::default() });
            match (&mut cta.state.simulated, simulated) {
                (Some(kept), Some(simulated)) => **kept = simulated,
                (place, simulated) => *place = simulated.map(Box::new),
            }
        }
    }

    /// Selects a fragment of each warp.
    fn begin(&mut self, engine: &mut Engine<'_>) -> Result<(), Box<Fault>> {
        self.ready = 0;
        for number in 0..self.warps.len() {
            for pending in std::mem::take(&mut self.warps[number].pending) {
                engine.deferred.release(pending);
            }
            self.warps[number].ready = false;
            self.warps[number].ahead.clear();
            self.resume(engine, number)?;
        }
        Ok(())
    }

    /// Next action of a warp.
    // Inlined: reading the result back from memory in other pieces would stall.
    #[inline(always)]
    pub(crate) fn next(&mut self, engine: &mut Engine<'_>, number: usize) -> Result<Next, Box<Fault>> {
        if let Some(position) = self.warps[number].ahead.position() {
            return Ok(Next::Instruction(position));
        }
        if !self.warps[number].ready {
            self.resume(engine, number)?;
        }
        let warp = &self.warps[number];
        if !warp.ready {
            let (rank, own) = self.place(number);
            let finished = self.cluster.ctas[rank].warps[own].finished;
            return Ok(if finished { Next::Finished } else { Next::Waiting });
        }
        let position = engine.machine.places[warp.fragment.pc as usize].position();
        if !warp.pending.is_empty() && self.is_held(engine, number, position) {
            return Ok(Next::Waiting);
        }
        Ok(Next::Instruction(position))
    }

    /// True if a warp's next instruction depends on a deferred op.
    fn is_held(&self, engine: &Engine<'_>, number: usize, position: u32) -> bool {
        let Engine { machine, deferred, .. } = engine;
        let (next, touched) = (&machine.code.instructions[position as usize], machine.touched(position));
        let (rank, own) = self.place(number);
        let frame = self.cluster.ctas[rank].warps[own].divergence.frame;
        self.warps[number].pending.iter().any(|&pending| deferred.holds(pending, next, touched, frame))
    }

    /// Executes a warp's next instruction and reports its effects.
    #[inline(always)]
    pub(crate) fn step(
        &mut self,
        engine: &mut Engine<'_>,
        number: usize,
        now: Moment,
        execution: &mut Execution,
    ) -> Result<(), Box<Fault>> {
        if self.warps[number].ahead.take(execution) {
            return Ok(());
        }
        if let Some(simulated) = &mut self.cta(number).state.simulated {
            simulated.now = now;
        }
        self.with_warp(engine, number, |step, told_ahead| {
            step.issue(execution)?;
            step.settle()?;
            step.go_ahead(told_ahead)
        })
    }

    /// Executes a deferred op of a warp.
    pub(crate) fn perform(
        &mut self,
        engine: &mut Engine<'_>,
        number: usize,
        pending: u32,
        now: Moment,
    ) -> Result<(), Box<Fault>> {
        if let Some(simulated) = &mut self.cta(number).state.simulated {
            simulated.now = now;
        }
        self.with_warp(engine, number, |step, _| step.carry_out_in_order(pending))?;
        self.warps[number].pending.retain(|&other| other != pending);
        engine.deferred.release(pending);
        Ok(())
    }

    /// Selects a fragment of a warp that has none, if one is ready.
    fn resume(&mut self, engine: &mut Engine<'_>, number: usize) -> Result<(), Box<Fault>> {
        let (rank, own) = self.place(number);
        if self.cluster.ctas[rank].warps[own].finished {
            return Ok(());
        }
        self.with_warp(engine, number, |step, _| {
            step.standing = Standing::Blocked;
            step.switch()?;
            step.settle()
        })
    }

    /// Runs `act` on a warp in place with the engine's scratch, then records the warp's readiness.
    fn with_warp(
        &mut self,
        engine: &mut Engine<'_>,
        number: usize,
        what: impl FnOnce(&mut WarpStep<'_, '_>, &mut Execution) -> Result<(), FaultKind>,
    ) -> Result<(), Box<Fault>> {
        let (rank, own) = self.place(number);
        self.prefetch_host_warp(rank, own);
        let Cluster { state, ctas, shared, .. } = &mut self.cluster;
        let shared = state.shared_of(rank, shared);
        let warp = &mut self.warps[number];
        let was_ready = warp.ready;
        let mut step = WarpStep {
            w: ctas[rank].running(own, engine.grid, &mut engine.view, state, shared),
            machine: engine.machine,
            deferred: &mut engine.deferred,
            holding: &mut engine.holding,
            ahead: &mut warp.ahead,
            pending: &mut warp.pending,
            owner: WarpSlot { cta: self.slot, warp: number as u32 },
            standing: if was_ready { Standing::Ready } else { Standing::Blocked },
        };
        if was_ready {
            step.w.take_up(warp.fragment);
        }
        let done = what(&mut step, &mut engine.told_ahead);
        let (w, standing) = (&step.w, step.standing);
        warp.fragment = Fragment { pc: w.pc, active: w.active, frame: w.frame, local_base: w.local_base };
        let fuel = if w.divergence.impatient { w.fuel.min(SPIN_JUMPS) } else { w.fuel };
        // A faulted warp does not continue.
        warp.ready = standing == Standing::Ready && done.is_ok();
        self.executed += w.executed();
        let cta = &mut self.cluster.ctas[rank];
        cta.warps[own].fuel = fuel.max(1);
        self.ready = self.ready + u32::from(warp.ready) - u32::from(was_ready);
        if let Err(kind) = done {
            return Err(cta.fault(engine.grid, own, kind, warp.fragment.pc));
        }
        if standing == Standing::Finished && !cta.warps[own].finished {
            cta.warps[own].finished = true;
            cta.unfinished -= 1;
        }
        if was_ready && self.ready == 0 { self.find_ready(engine) } else { Ok(()) }
    }

    /// Re-examines blocked warps when none is ready: one may continue, all may have exited, or the CTA is
    /// deadlocked.
    fn find_ready(&mut self, engine: &mut Engine<'_>) -> Result<(), Box<Fault>> {
        for number in 0..self.warps.len() {
            self.resume(engine, number)?;
            if self.ready > 0 {
                return Ok(());
            }
        }
        if self.is_finished() {
            return Ok(());
        }
        Err(self.cluster.deadlocked(engine.grid))
    }
}

/// A warp during its step.
struct WarpStep<'r, 'e> {
    w: WarpContext<'r>,
    machine: &'e Machine,
    deferred: &'e mut Deferred,
    holding: &'e mut Holding,
    ahead: &'e mut AheadQueue,
    pending: &'e mut Vec<u32>,
    owner: WarpSlot,
    standing: Standing,
}

impl WarpStep<'_, '_> {
    /// Executes the machine instruction at which the warp stands.
    fn issue(&mut self, execution: &mut Execution) -> Result<(), FaultKind> {
        let position = self.machine.places[self.w.pc as usize].position();
        if !self.pending.is_empty() {
            self.carry_out_before(position)?;
        }
        self.execute_instruction(position, execution)
    }

    /// Executes deferred ops that must precede this machine instruction.
    #[cold]
    fn carry_out_before(&mut self, position: u32) -> Result<(), FaultKind> {
        match self.orders(position) {
            true => self.carry_out_all(),
            false => self.carry_out_needed(position),
        }
    }

    /// Executes the ops of the machine instruction at `position` and reports their effects.
    fn execute_instruction(&mut self, position: u32, execution: &mut Execution) -> Result<(), FaultKind> {
        let note = self.machine.note(position);
        (execution.active, execution.stride, execution.deferred, execution.sleep) = (0, None, None, 0);
        execution.texels.clear();
        let mut own_lanes = None;
        loop {
            let pc = self.w.pc;
            let mask = self.guarded();
            execution.active = mask;
            match note {
                Some(note) if note.op == pc => {
                    own_lanes = Some(mask);
                    self.execute_told(note, position, execution)?;
                }
                _ => self.execute_access(mask)?,
            }
            let goes_on = self.standing == Standing::Ready && self.w.pc == pc + 1;
            if !goes_on || self.machine.places[self.w.pc as usize].position() != position {
                break;
            }
        }
        // An access without a note reports no lanes.
        let accesses = self.machine.code.instructions[position as usize].memory.is_some();
        execution.active = own_lanes.unwrap_or(if accesses { 0 } else { execution.active });
        Ok(())
    }

    /// Executes or defers the op at which the warp stands, and reports it.
    fn execute_told(
        &mut self,
        note: &Note,
        position: u32,
        execution: &mut Execution,
    ) -> Result<(), FaultKind> {
        let mask = self.w.mask;
        if mask != 0 && self.tell(note, position, execution)? {
            self.count(mask);
            self.w.pc += 1;
            return Ok(());
        }
        self.execute_access(mask)?;
        if let ModelInput::Texels = note.told {
            cold_path();
            std::mem::swap(&mut execution.texels, &mut self.w.cta.texels);
        }
        Ok(())
    }

    /// True if deferred ops must complete before this machine instruction.
    fn orders(&self, position: u32) -> bool {
        let next = self.machine.code.instructions.get(position as usize);
        next.is_some_and(|next| matches!(next.class, OperationClass::Barrier | OperationClass::Fence))
    }

    /// Reports the op at which the warp stands; returns true if the op was deferred.
    fn tell(&mut self, note: &Note, position: u32, execution: &mut Execution) -> Result<bool, FaultKind> {
        match note.told {
            ModelInput::Texels => Ok(false),
            ModelInput::Sleep(row) => {
                cold_path();
                // SAFETY: the binder allocated a 32-bit row.
                let times = unsafe { self.w.read_row::<u32>(row) };
                let longest = super::address_translation::lanes_of(self.w.mask).map(|lane| times[lane]).max();
                execution.sleep = longest.unwrap_or(0);
                Ok(false)
            }
            ModelInput::Access(addresses, deferral) => {
                let memory = self.machine.code.instructions[position as usize].memory;
                let Some(memory) = memory else { return Ok(false) };
                address::resolve(&self.w, addresses, memory, execution);
                let reached = Reached {
                    space: execution.space,
                    lanes: self.w.mask,
                    addresses: &execution.addresses,
                    width: memory.width,
                };
                let deferral = deferral.filter(|deferral| match execution.space {
                    MemorySpace::Global => true,
                    MemorySpace::Shared => deferral.in_shared,
                    _ => false,
                });
                let (Some(deferral), Addresses::Row(site)) = (deferral, addresses) else {
                    self.carry_out_overlapping(&reached)?;
                    return Ok(false);
                };
                let destination = self.machine.code.instructions[position as usize].destination;
                let number =
                    self.deferred.put_off(&self.w, self.owner, (deferral, site.wide), destination, &reached);
                self.pending.push(number);
                execution.deferred = Some(number);
                Ok(true)
            }
        }
    }

    /// Lanes of the fragment that execute the op at which it stands.
    #[inline(always)]
    fn guarded(&mut self) -> u32 {
        let guard = self.w.grid.program.code[self.w.pc as usize].guard;
        let mask = match guard {
            // The frame is probably in none of the host's nearer caches.
            PredicateSource::TRUE => self.w.active,
            // SAFETY: the guard is a word of the frame's predicate area.
            _ => self.w.active & unsafe { self.w.predicate(guard) },
        };
        self.w.mask = mask;
        mask
    }

    /// Executes the op at which the warp stands.
    #[inline(always)]
    fn execute(&mut self, mask: u32) -> Result<(), FaultKind> {
        let grid = self.w.grid;
        self.execute_op(mask, &grid.program.code[self.w.pc as usize])
    }

    /// Counts an op, executed or deferred.
    #[inline(always)]
    fn count(&mut self, mask: u32) {
        self.w.instructions = self.w.instructions.wrapping_add(1);
        self.w.lane_instructions = self.w.lane_instructions.wrapping_add(u64::from(mask.count_ones()));
    }

    /// Handles a stopped fragment: another one is selected, if ready.
    #[cold]
    fn stopped(&mut self) -> Result<(), FaultKind> {
        match std::mem::replace(&mut self.w.stop, Stop::Yield) {
            Stop::Yield => self.switch()?,
            Stop::Finished => self.standing = Standing::Finished,
            Stop::Blocked => self.standing = Standing::Blocked,
            Stop::Fault(kind) => return Err(kind),
        }
        Ok(())
    }

    /// Selects a ready fragment.
    fn switch(&mut self) -> Result<(), FaultKind> {
        match self.w.switch() {
            Flow::Stop => self.stopped()?,
            Flow::Next | Flow::Jump => self.standing = Standing::Ready,
        }
        Ok(())
    }

    /// Executes the ops before the next machine instruction.
    #[inline(always)]
    fn settle(&mut self) -> Result<(), FaultKind> {
        while self.standing == Standing::Ready {
            // Lanes released by a barrier continue after it.
            if self.machine.places[self.w.pc as usize].is_first() && !self.w.divergence.released {
                break;
            }
            let mask = self.guarded();
            self.execute_access(mask)?;
        }
        Ok(())
    }
}

impl WarpContext<'_> {
    /// Resumes a fragment at its position.
    #[inline(always)]
    fn take_up(&mut self, Fragment { pc, active, frame, local_base }: Fragment) {
        (self.pc, self.active, self.frame, self.local_base) = (pc, active, frame, local_base);
    }
}
