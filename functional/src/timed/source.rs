//! The engine as a source of machine instructions.
//!
//! The state of an SM outlives its source; the next source for the SM takes it over.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;
use warp_stream::{
    Execution, Kernel, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource,
};

use super::saved::SavedSm;
use crate::engine::cluster::SavedCluster;
use crate::engine::machine::Machine;
use crate::engine::stepping::{Deferred, Engine, SteppedCluster};
use crate::fault::Fault;
use crate::launch::Prepared;
use crate::suspend::{Refusal, SuspendedLaunch};

/// Steps between two looks at the watchdog's clock.
const STEPS_PER_LOOK: u32 = 1 << 8;

/// Remaining CTAs.
pub(super) struct Left<'g> {
    /// Saved state of started CTAs, by number.
    pub(super) started: BTreeMap<u64, &'g SavedCluster>,
    /// First CTA that has not started.
    pub(super) next: u64,
    /// CTAs of the launch.
    pub(super) count: u64,
}

/// Resident state of an SM.
#[derive(Debug, Default)]
pub(super) struct Resident {
    /// CTA in each slot.
    pub(super) ctas: Vec<SteppedCluster>,
    pub(super) deferred: Deferred,
}

/// State of an SM between sources.
#[derive(Debug)]
enum SmState {
    /// Held by a source.
    Taken,
    /// Kept for the next source.
    Here(Resident),
}

/// A launch in stepped execution.
pub struct LiveKernel<'g> {
    kernel: Kernel,
    prepared: &'g Prepared<'g>,
    machine: &'g Machine,
    left: Left<'g>,
    /// Saved state from which the launch was resumed.
    begun: Option<&'g SuspendedLaunch>,
    /// First fault of a lane and its SM. Among SMs that fault at once, the lowest number wins.
    fault: Mutex<Option<(u32, Box<Fault>)>>,
    /// State of each SM that had a source.
    kept: Mutex<BTreeMap<u32, SmState>>,
    suspended: AtomicBool,
}

impl<'g> LiveKernel<'g> {
    pub(super) fn new(
        kernel: Kernel,
        (prepared, machine): (&'g Prepared<'g>, &'g Machine),
        left: Left<'g>,
        begun: Option<&'g SuspendedLaunch>,
    ) -> LiveKernel<'g> {
        let sms = begun.map(SuspendedLaunch::sms).unwrap_or_default();
        let kept = sms.iter().map(|saved| (saved.sm, SmState::Here(saved.restore(&prepared.grid))));
        LiveKernel {
            kernel,
            prepared,
            machine,
            left,
            begun,
            fault: Mutex::new(None),
            kept: Mutex::new(kept.collect()),
            suspended: AtomicBool::new(false),
        }
    }

    /// Saves the launch between two instructions, from the state of all SMs, whose sources must have been
    /// dropped. Afterwards the launch executes nothing more. After a refusal it can continue with new
    /// sources.
    ///
    /// # Errors
    /// The reason for the refusal.
    pub fn suspend(&self) -> Result<SuspendedLaunch, Refusal> {
        let grid = &self.prepared.grid;
        if grid.owner.checker().is_some() {
            return Err(Refusal::Checked);
        }
        if grid.children.has_requests() {
            return Err(Refusal::AsksForWork);
        }
        let mut sms = Vec::new();
        for (&sm, kept) in self.kept.lock().iter_mut() {
            match kept {
                SmState::Taken => return Err(Refusal::Executing),
                SmState::Here(resident) => sms.extend(SavedSm::of(sm, resident)),
            }
        }
        let saved = SuspendedLaunch::timed(self.prepared, self.begun, sms)
            .map_err(|error| Refusal::NoMemory { reason: error.to_string() })?;
        self.suspended.store(true, Ordering::Relaxed);
        Ok(saved)
    }

    /// First fault of a lane, and whether the launch was suspended.
    pub(super) fn end(self) -> (Option<Box<Fault>>, bool) {
        (self.fault.into_inner().map(|(_, fault)| fault), self.suspended.into_inner())
    }
}

impl KernelSource for LiveKernel<'_> {
    fn kernel(&self) -> &Kernel {
        &self.kernel
    }

    fn cta_count(&self) -> u64 {
        let Left { started, next, count } = &self.left;
        started.len() as u64 + count - next
    }

    fn cta(&self, position: u64) -> u64 {
        let Left { started, next, .. } = &self.left;
        match position.checked_sub(started.len() as u64) {
            Some(behind) => next + behind,
            None => started.keys().nth(position as usize).copied().unwrap_or(*next),
        }
    }

    fn needs_sm_order(&self) -> bool {
        self.machine.needs_sm_order
    }

    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_> {
        let Resident { ctas, deferred } = match self.kept.lock().insert(sm, SmState::Taken) {
            Some(SmState::Here(resident)) => resident,
            _ => Resident::default(),
        };
        let engine = Engine::new(&self.prepared.grid, self.machine, deferred);
        Box::new(LiveWarps { sm, kernel: self, engine, ctas, steps: 0 })
    }
}

/// CTAs on one SM.
struct LiveWarps<'g> {
    sm: u32,
    kernel: &'g LiveKernel<'g>,
    engine: Engine<'g>,
    /// CTA in each slot.
    ctas: Vec<SteppedCluster>,
    steps: u32,
}

impl Drop for LiveWarps<'_> {
    fn drop(&mut self) {
        let (ctas, deferred) = (std::mem::take(&mut self.ctas), std::mem::take(&mut self.engine.deferred));
        self.kernel.kept.lock().insert(self.sm, SmState::Here(Resident { ctas, deferred }));
    }
}

/// Error of a call for a warp that does not exist or cannot issue.
#[derive(Debug, thiserror::Error)]
#[error("warp {} of CTA slot {} does not exist or is not ready", .0.warp, .0.cta)]
struct NoSuchWarp(WarpSlot);

/// Error of a call for a number without a deferred op.
#[derive(Debug, thiserror::Error)]
#[error("no op is deferred under number {0}")]
struct NotDeferred(u32);

impl LiveWarps<'_> {
    /// Runs `act` on the CTA of a warp.
    #[inline(always)]
    fn step<R>(
        &mut self,
        warp: WarpSlot,
        what: impl FnOnce(&mut SteppedCluster, &mut Engine<'_>) -> Result<R, Box<Fault>>,
    ) -> Result<R, SourceError> {
        match self.ctas.get_mut(warp.cta as usize) {
            Some(cta) if cta.has_warp(warp.warp) => {
                what(cta, &mut self.engine).map_err(|fault| failed(&self.kernel.fault, self.sm, fault))
            }
            _ => Err(SourceError(Box::new(NoSuchWarp(warp)))),
        }
    }

    /// Executes a warp's next instruction, followed by `act` on its CTA.
    #[inline(always)]
    fn execute<R>(
        &mut self,
        warp: WarpSlot,
        now: Moment,
        execution: &mut Execution,
        then: impl FnOnce(&mut SteppedCluster, &mut Engine<'_>, usize) -> Result<R, Box<Fault>>,
    ) -> Result<R, SourceError> {
        self.count_steps(1, warp.cta)?;
        let number = warp.warp as usize;
        match self.ctas.get_mut(warp.cta as usize) {
            Some(cta) if cta.is_ready(warp.warp) => cta
                .step(&mut self.engine, number, now, execution)
                .and_then(|()| then(cta, &mut self.engine, number))
                .map_err(|fault| failed(&self.kernel.fault, self.sm, fault)),
            _ => Err(SourceError(Box::new(NoSuchWarp(warp)))),
        }
    }

    /// Counts steps of a CTA, and looks at the watchdog after some.
    #[inline(always)]
    fn count_steps(&mut self, steps: u32, slot: u32) -> Result<(), SourceError> {
        self.steps += steps;
        if self.steps < STEPS_PER_LOOK {
            return Ok(());
        }
        self.steps = 0;
        self.look_at_watchdog(slot)
    }

    /// Fails if the launch exceeds its time limit.
    fn look_at_watchdog(&mut self, slot: u32) -> Result<(), SourceError> {
        let grid = self.engine.grid;
        match (grid.overdue(), self.ctas.get(slot as usize)) {
            (Some(overdue), Some(cta)) => Err(failed(&self.kernel.fault, self.sm, cta.stuck(grid, overdue))),
            _ => Ok(()),
        }
    }
}

/// Error for a fault, which is recorded unless an SM of lower number faulted. A model ends the launch with
/// the epoch in which SMs fault, so the result is independent of threads.
fn failed(first: &Mutex<Option<(u32, Box<Fault>)>>, sm: u32, fault: Box<Fault>) -> SourceError {
    let mut first = first.lock();
    if first.as_ref().is_none_or(|(other, _)| sm < *other) {
        *first = Some((sm, fault.clone()));
    }
    SourceError(fault)
}

impl WarpSource for LiveWarps<'_> {
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError> {
        // Memory may have been freed.
        self.engine.view.clear();
        while self.ctas.len() <= slot as usize {
            self.ctas.push(SteppedCluster::new(self.engine.grid, self.ctas.len() as u32));
        }
        let first = WarpSlot { cta: slot, warp: 0 };
        let saved = self.kernel.left.started.get(&cta).copied();
        self.step(first, |stepped, engine| match saved {
            Some(saved) => stepped.restore(engine, saved, Some(residence)),
            None => stepped.start(engine, cta, Some(residence)),
        })
    }

    fn end_cta(&mut self, _: u32) {}

    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError> {
        self.step(warp, |cta, engine| cta.next(engine, warp.warp as usize))
    }

    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError> {
        self.execute(warp, now, execution, |_, _, _| Ok(()))
    }

    fn issue_and_ask(
        &mut self,
        warp: WarpSlot,
        now: Moment,
        execution: &mut Execution,
    ) -> Result<Next, SourceError> {
        self.execute(warp, now, execution, SteppedCluster::next)
    }

    fn issue_many(
        &mut self,
        warp: WarpSlot,
        (now, most): (Moment, u32),
        execution: &mut Execution,
        issued: &mut dyn FnMut(u32, &Execution),
    ) -> Result<Next, SourceError> {
        let mut done = 0;
        loop {
            let next = self.next(warp)?;
            let is_deferred = done > 0 && execution.deferred.is_some();
            if done >= most || is_deferred || !matches!(next, Next::Instruction(_)) {
                return Ok(next);
            }
            let part = (warp.warp as usize, most - done);
            let burst = self.step(warp, |cta, engine| {
                cta.burst(engine, part, now.after(done), execution, &mut *issued)
            })?;
            self.count_steps(burst, warp.cta)?;
            done += burst.max(1);
        }
    }

    fn prefetch_host(&self) {
        self.ctas.iter().for_each(SteppedCluster::prefetch_host);
    }

    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError> {
        let Some(warp) = self.engine.deferred.owner(deferred) else {
            return Err(SourceError(Box::new(NotDeferred(deferred))));
        };
        self.step(warp, |cta, engine| cta.perform(engine, warp.warp as usize, deferred, now))
    }

    fn hold_stores(&mut self) {
        self.engine.holding.start(self.engine.grid);
    }

    fn oldest_held(&self) -> Option<u64> {
        self.engine.holding.stores.oldest()
    }

    fn publish(&mut self, through: u64) -> Result<(), SourceError> {
        while let Some(due) = self.engine.holding.stores.publish(through) {
            self.step(due.warp, |cta, engine| cta.perform_due(engine, due))?;
        }
        Ok(())
    }
}
