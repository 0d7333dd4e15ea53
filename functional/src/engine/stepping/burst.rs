//! Bursts: many machine instructions of one warp in a row, for a consumer that needs each warp's own order
//! alone. No instruction passes through the run-ahead queue.

use warp_stream::{Execution, Moment};

use super::{Engine, Standing, SteppedCluster, WarpStep};
use crate::engine::machine::Needs;
use crate::fault::{Fault, FaultKind};

impl SteppedCluster {
    /// Executes up to `most` instructions of a ready warp and passes each with its position to `told`.
    /// Returns their number. The burst ends early behind an instruction that waits or that was deferred.
    /// The simulated time advances by one per instruction.
    pub(crate) fn burst(
        &mut self,
        engine: &mut Engine<'_>,
        (number, most): (usize, u32),
        now: Moment,
        execution: &mut Execution,
        told: &mut dyn FnMut(u32, &Execution),
    ) -> Result<u32, Box<Fault>> {
        let mut done = 0;
        while done < most
            && let Some(position) = self.warps[number].ahead.position()
        {
            self.warps[number].ahead.take(execution);
            told(position, execution);
            done += 1;
        }
        if done == most || !self.warps[number].ready {
            return Ok(done);
        }
        if let Some(simulated) = &mut self.cta(number).state.simulated {
            simulated.now = now;
        }
        self.with_warp(engine, number, |step, _| {
            while done < most && step.standing == Standing::Ready {
                step.burst_one(execution, told)?;
                done += 1;
                if !step.pending.is_empty() {
                    break;
                }
            }
            Ok(())
        })?;
        Ok(done)
    }
}

impl WarpStep<'_, '_> {
    /// Executes the machine instruction at which the warp stands, and reports it.
    #[inline(always)]
    fn burst_one(
        &mut self,
        execution: &mut Execution,
        told: &mut dyn FnMut(u32, &Execution),
    ) -> Result<(), FaultKind> {
        let position = self.machine.places[self.w.pc as usize].position();
        match self.machine.needs(position) {
            Needs::Registers if self.pending.is_empty() => {
                execution.active = self.execute_silently(position)?;
                (execution.stride, execution.deferred, execution.sleep) = (None, None, 0);
                execution.texels.clear();
            }
            _ => self.issue(execution)?,
        }
        told(position, execution);
        if let Some(simulated) = &mut self.w.cta.simulated {
            simulated.now.cycle += 1;
            simulated.now.nanoseconds += 1;
        }
        self.settle()
    }
}
