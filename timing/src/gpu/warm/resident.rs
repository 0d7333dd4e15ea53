//! The CTAs on one SM, executed without time.

use std::sync::Arc;

use warp_stream::{Execution, KernelSource, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

use super::Untimed;
use crate::gpu::LaunchError;
use crate::message::MemoryRequest;
use crate::sm::{Program, Sm, SmFault};

/// Instructions that a warp executes in a turn at most: one that waits for another in a loop must not go on for ever.
const TURN: u32 = 64;

/// The line of a warp that has fetched nothing.
const NO_LINE: u64 = u64::MAX;

/// A round of turns.
pub(super) struct Round<'r> {
    pub(super) program: &'r Program,
    pub(super) now: Moment,
    /// Whether caches have traces of it.
    pub(super) warm: bool,
    pub(super) untimed: &'r mut Untimed,
    /// What the SMs ask of L2.
    pub(super) requests: &'r mut Vec<MemoryRequest>,
}

/// A CTA slot.
#[derive(Default)]
struct Slot {
    cta: Option<u64>,
    warps: Vec<Warp>,
    /// Warps that have not ended.
    left: usize,
}

#[derive(Clone, Copy)]
struct Warp {
    ended: bool,
    /// Line of its last instruction.
    line: u64,
}

/// The CTAs on one SM.
pub(super) struct Resident<'s> {
    sm: u32,
    program: Arc<Program>,
    warps: Box<dyn WarpSource + 's>,
    slots: Vec<Slot>,
    deferred: Vec<u32>,
    execution: Execution,
}

impl<'s> Resident<'s> {
    pub(super) fn new(
        source: &'s dyn KernelSource,
        program: &Arc<Program>,
        sm: u32,
        ctas: u32,
    ) -> Resident<'s> {
        Resident {
            sm,
            program: Arc::clone(program),
            warps: source.warps(sm),
            slots: (0..ctas).map(|_| Slot::default()).collect(),
            deferred: Vec::new(),
            execution: Execution::default(),
        }
    }

    /// Starts the next CTA in a slot, if there is one.
    pub(super) fn fill(
        &mut self,
        slot: usize,
        waiting: &mut impl Iterator<Item = u64>,
    ) -> Result<(), LaunchError> {
        let Some(cta) = waiting.next() else { return Ok(()) };
        let warps = self.program.kernel.warps_per_cta() as usize;
        let place = &mut self.slots[slot];
        place.cta = Some(cta);
        place.left = warps;
        place.warps.clear();
        place.warps.resize(warps, Warp { ended: false, line: NO_LINE });
        let residence = Residence { sm: self.sm, first_warp: (slot * warps) as u32 };
        let started = self.warps.start_cta(slot as u32, cta, residence);
        started.map_err(|error| self.fault(slot, 0, error))
    }

    pub(super) fn is_empty(&self) -> bool {
        self.slots.iter().all(|slot| slot.cta.is_none())
    }

    /// Each warp has its turn; says whether any has moved.
    pub(super) fn run(&mut self, round: &mut Round<'_>, sm: &mut Sm) -> Result<bool, LaunchError> {
        let mut moved = false;
        for slot in 0..self.slots.len() {
            if self.slots[slot].left == 0 {
                continue;
            }
            for warp in 0..self.slots[slot].warps.len() {
                if !self.slots[slot].warps[warp].ended {
                    moved |= self.turn(round, sm, slot, warp)?;
                }
            }
        }
        Ok(moved)
    }

    /// A warp goes on to its next access to device memory.
    fn turn(
        &mut self,
        round: &mut Round<'_>,
        sm: &mut Sm,
        slot: usize,
        warp: usize,
    ) -> Result<bool, LaunchError> {
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
            let issued = self.warps.issue(name, round.now, &mut self.execution);
            issued.map_err(|error| self.fault(slot, warp, error))?;
            self.deferred.extend(self.execution.deferred);
            round.untimed.warp_instructions += 1;
            round.untimed.lane_instructions += u64::from(self.execution.active.count_ones());
            if round.warm {
                let line = &mut self.slots[slot].warps[warp].line;
                let number = (slot * self.program.kernel.warps_per_cta() as usize + warp) as u32;
                *line = sm.warm_fetch(round.program, number, position, *line, round.requests);
                if sm.warm_access(round.program, position, &self.execution, round.requests) {
                    return Ok(true);
                }
            }
        }
        Ok(true)
    }

    /// What was put off takes effect; says whether anything was.
    pub(super) fn perform(&mut self, now: Moment) -> Result<bool, LaunchError> {
        let any = !self.deferred.is_empty();
        for deferred in std::mem::take(&mut self.deferred) {
            self.warps.perform(deferred, now).map_err(|error| self.fault(0, 0, error))?;
        }
        Ok(any)
    }

    /// CTAs that are over give way to the next ones; gives how many.
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
        let fault = SmFault::Source { launch: 0, cta, warp: warp as u32, cycle: 0, error };
        LaunchError::Fault { kernel: self.program.kernel.name.clone(), sm: self.sm, fault }
    }
}
