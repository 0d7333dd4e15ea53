//! The engine as a source of machine instructions.

use std::collections::BTreeMap;

use parking_lot::Mutex;
use warp_stream::{
    Execution, Kernel, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource,
};

use crate::engine::cluster::SavedCluster;
use crate::engine::grid::Grid;
use crate::engine::machine::Machine;
use crate::engine::stepping::{Deferred, Engine, SteppedCluster};
use crate::engine::view::View;
use crate::fault::{Fault, FaultKind};

/// Steps between two looks at the watchdog's clock.
const STEPS_PER_LOOK: u32 = 1 << 16;

/// The CTAs that are to be executed.
pub(super) struct Left<'g> {
    /// Those that have started, by number, where they stood.
    pub(super) started: BTreeMap<u64, &'g SavedCluster>,
    /// The first that has not.
    pub(super) next: u64,
    /// CTAs of the launch.
    pub(super) count: u64,
}

/// A launch that is executed step by step.
pub(super) struct LiveKernel<'g> {
    pub(super) kernel: Kernel,
    pub(super) grid: &'g Grid<'g>,
    pub(super) machine: &'g Machine,
    pub(super) left: Left<'g>,
    /// The first fault of a lane.
    pub(super) fault: Mutex<Option<Box<Fault>>>,
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

    fn warps(&self, _: u32) -> Box<dyn WarpSource + '_> {
        let engine = Engine {
            grid: self.grid,
            machine: self.machine,
            view: View::default(),
            deferred: Deferred::default(),
        };
        Box::new(LiveWarps {
            engine,
            ctas: Vec::new(),
            started: &self.left.started,
            fault: &self.fault,
            steps: 0,
        })
    }
}

/// The CTAs on one SM.
struct LiveWarps<'g> {
    engine: Engine<'g>,
    /// By slot.
    ctas: Vec<SteppedCluster>,
    /// CTAs that had started before, by number.
    started: &'g BTreeMap<u64, &'g SavedCluster>,
    fault: &'g Mutex<Option<Box<Fault>>>,
    steps: u32,
}

/// A call about a warp that there is not, or that has nothing to issue.
#[derive(Debug, thiserror::Error)]
#[error("warp {} of CTA slot {} is not there, or not ready", .0.warp, .0.cta)]
struct NoSuchWarp(WarpSlot);

/// A call about something put off that is not, or has been performed.
#[derive(Debug, thiserror::Error)]
#[error("nothing is put off under number {0}")]
struct NotDeferred(u32);

impl LiveWarps<'_> {
    /// Does something with the CTA of a warp.
    #[inline(always)]
    fn step<R>(
        &mut self,
        warp: WarpSlot,
        what: impl FnOnce(&mut SteppedCluster, &mut Engine<'_>) -> Result<R, Box<Fault>>,
    ) -> Result<R, SourceError> {
        match self.ctas.get_mut(warp.cta as usize) {
            Some(cta) if cta.has_warp(warp.warp) => {
                what(cta, &mut self.engine).map_err(|fault| failed(self.fault, fault))
            }
            _ => Err(SourceError(Box::new(NoSuchWarp(warp)))),
        }
    }

    /// Has the launch taken longer than it may?
    fn look_at_watchdog(&mut self, slot: u32) -> Result<(), SourceError> {
        let grid = self.engine.grid;
        match (grid.owner.watchdog(), self.ctas.get(slot as usize)) {
            (Some(limit), Some(cta)) if grid.started.elapsed() > limit => {
                let kind = FaultKind::Timeout { seconds: limit.as_secs() };
                Err(failed(self.fault, cta.stuck(grid, kind)))
            }
            _ => Ok(()),
        }
    }
}

/// The error of a fault; the first one is kept.
fn failed(first: &Mutex<Option<Box<Fault>>>, fault: Box<Fault>) -> SourceError {
    first.lock().get_or_insert_with(|| fault.clone());
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
        let saved = self.started.get(&cta).copied();
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
        self.steps += 1;
        if self.steps == STEPS_PER_LOOK {
            self.steps = 0;
            self.look_at_watchdog(warp.cta)?;
        }
        if !self.ctas.get(warp.cta as usize).is_some_and(|cta| cta.is_ready(warp.warp)) {
            return Err(SourceError(Box::new(NoSuchWarp(warp))));
        }
        self.step(warp, |cta, engine| cta.step(engine, warp.warp as usize, now, execution))
    }

    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError> {
        let Some(warp) = self.engine.deferred.owner(deferred) else {
            return Err(SourceError(Box::new(NotDeferred(deferred))));
        };
        self.step(warp, |cta, engine| cta.perform(engine, warp.warp as usize, deferred, now))
    }
}
