//! Untimed CTAs of one SM.

use std::sync::Arc;

use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use super::Untimed;
use crate::gpu::LaunchError;
use crate::message::MemoryRequest;
use crate::sm::{Program, Sm, SmFault};

/// Most instructions of a warp's turn: a spinning warp must yield.
const TURN: u32 = 64;

/// Line of a warp without a fetch.
const NO_LINE: u64 = u64::MAX;

/// A CTA slot.
#[derive(Default)]
struct Slot {
    cta: Option<u64>,
    warps: Vec<Warp>,
    /// Warps still running.
    left: usize,
}

#[derive(Clone, Copy)]
struct Warp {
    ended: bool,
    /// Line of the last instruction.
    line: u64,
}

/// An SM with its untimed CTAs.
pub(super) struct Resident<'s> {
    pub(super) sm: Box<Sm>,
    number: u32,
    program: Arc<Program>,
    /// True if execution warms the caches.
    warm: bool,
    warps: Box<dyn WarpSource + 's>,
    slots: Vec<Slot>,
    deferred: Vec<u32>,
    execution: Execution,
    /// Requests of the SM to L2.
    pub(super) requests: Vec<MemoryRequest>,
    pub(super) untimed: Untimed,
    /// True if a warp advanced in its last turn; or the error of one.
    pub(super) moved: Result<bool, LaunchError>,
}

impl<'s> Resident<'s> {
    pub(super) fn new(
        (number, mut sm): (u32, Box<Sm>),
        source: &'s dyn KernelSource,
        program: &Arc<Program>,
        ctas: u32,
        warm: bool,
    ) -> Resident<'s> {
        sm.prepare_warm(program);
        let mut warps = source.warps(number);
        if !source.needs_sm_order() {
            warps.hold_stores();
        }
        Resident {
            sm,
            number,
            program: Arc::clone(program),
            warm,
            warps,
            slots: (0..ctas).map(|_| Slot::default()).collect(),
            deferred: Vec::new(),
            execution: Execution::default(),
            requests: Vec::new(),
            untimed: Untimed::default(),
            moved: Ok(false),
        }
    }

    /// Starts the next CTA in a slot, if any is left.
    pub(super) fn fill(
        &mut self,
        slot: usize,
        waiting: &mut impl Iterator<Item = u64>,
    ) -> Result<(), LaunchError> {
        let Some(cta) = waiting.next() else { return Ok(()) };
        let warps = self.program.kernel.shape.warps_per_cta() as usize;
        let place = &mut self.slots[slot];
        place.cta = Some(cta);
        place.left = warps;
        place.warps.clear();
        place.warps.resize(warps, Warp { ended: false, line: NO_LINE });
        let residence = Residence { sm: self.number, first_warp: (slot * warps) as u32 };
        let started = self.warps.start_cta(slot as u32, cta, residence);
        started.map_err(|error| self.fault(slot, 0, error))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.cta.is_none())
    }

    /// Gives each warp a turn.
    pub(super) fn run(&mut self, now: Moment) {
        self.moved = self.turns(now);
    }

    fn turns(&mut self, now: Moment) -> Result<bool, LaunchError> {
        let mut moved = false;
        for slot in 0..self.slots.len() {
            for warp in 0..self.slots[slot].warps.len() {
                if !self.slots[slot].warps[warp].ended {
                    moved |= self.turn(now, slot, warp)?;
                }
            }
        }
        Ok(moved)
    }

    /// Runs a warp to its next access to device memory.
    fn turn(&mut self, now: Moment, slot: usize, warp: usize) -> Result<bool, LaunchError> {
        let name = WarpSlot { cta: slot as u32, warp: warp as u32 };
        for step in 0..TURN {
            let position = match self.warps.next(name).map_err(|error| self.fault(slot, warp, error))? {
                Next::Waiting => return Ok(step > 0),
                Next::Finished => {
                    self.slots[slot].warps[warp].ended = true;
                    self.slots[slot].left -= 1;
                    return Ok(true);
                }
                Next::Instruction(position) => position,
            };
            let issued = self.warps.issue(name, now, &mut self.execution);
            issued.map_err(|error| self.fault(slot, warp, error))?;
            self.deferred.extend(self.execution.deferred);
            self.untimed.warp_instructions += 1;
            self.untimed.lane_instructions += u64::from(self.execution.active.count_ones());
            if self.warm && self.leave_traces(slot, warp, position) {
                return Ok(true);
            }
        }
        Ok(true)
    }

    /// Updates the caches for an instruction; true for an access to device memory.
    fn leave_traces(&mut self, slot: usize, warp: usize, position: u32) -> bool {
        let Resident { sm, program, slots, execution, requests, .. } = self;
        let line = &mut slots[slot].warps[warp].line;
        let number = slot * program.kernel.shape.warps_per_cta() as usize + warp;
        *line = sm.warm_fetch(program, number, position, *line, requests);
        sm.warm_access(program, position, execution, requests)
    }

    /// Writes the round's stores to memory.
    pub(super) fn publish(&mut self) -> Result<(), LaunchError> {
        match self.warps.oldest_held() {
            Some(_) => self.warps.publish(u64::MAX).map_err(|error| self.fault(0, 0, error)),
            None => Ok(()),
        }
    }

    /// Performs deferred instructions; true if there were any.
    pub(super) fn perform(&mut self, now: Moment) -> Result<bool, LaunchError> {
        let any = !self.deferred.is_empty();
        for deferred in std::mem::take(&mut self.deferred) {
            self.warps.perform(deferred, now).map_err(|error| self.fault(0, 0, error))?;
        }
        Ok(any)
    }

    /// Replaces completed CTAs by the next ones, and returns the number completed.
    pub(super) fn end_ctas(&mut self, waiting: &mut impl Iterator<Item = u64>) -> Result<u64, LaunchError> {
        let mut ended = 0;
        for slot in 0..self.slots.len() {
            let place = &mut self.slots[slot];
            if place.cta.is_some() && place.left == 0 {
                place.cta = None;
                ended += 1;
                self.warps.end_cta(slot as u32);
                self.fill(slot, waiting)?;
            }
        }
        Ok(ended)
    }

    fn fault(&self, slot: usize, warp: usize, error: SourceError) -> LaunchError {
        let cta = self.slots[slot].cta.unwrap_or_default();
        let fault = Box::new(SmFault::Source { launch: 0, cta, warp: warp as u32, cycle: 0, error });
        LaunchError::Fault { kernel: self.program.kernel.name.clone(), sm: self.number, fault }
    }
}
