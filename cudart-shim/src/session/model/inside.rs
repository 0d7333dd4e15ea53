//! Stopping a timed launch partway and resuming it.

use super::partial::Work;
use super::progress::Display;
use super::{Model, StateError};
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::suspend::{Refusal, SuspendedLaunch};
use functional::timed::LiveKernel;
use std::sync::Arc;
use std::time::Instant;
use stream_engine::Context;
use timing::gpu::{Gpu, GpuState, LaunchError, Stability, Untimed};
use timing::record::LaunchRecord;

/// Stop condition of a timed launch, which stops at the end of the first epoch that satisfies the
/// condition.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopAt {
    /// Core cycles since the start of the launch.
    Cycle(u64),
    /// Number of completed CTAs.
    Ctas(u64),
}

/// Reasons why a timed launch did not stop at the point.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Missed {
    #[error("all {ctas} CTAs completed before that cycle; the launch takes {cycles} cycles, drain included")]
    Ended { cycles: u64, ctas: u64 },
    #[error("the launch cannot stop at the point: {0}")]
    Refused(Refusal),
}

/// Result of a timed launch with a stop condition.
pub(crate) enum Begun {
    /// The launch stopped, and the model holds the GPU state.
    Stopped(Box<SuspendedLaunch>),
    /// The launch ended without stopping.
    Over(LaunchStatistics, Missed),
}

/// [`Begun`] within the model.
enum Outcome {
    Stopped(Box<SuspendedLaunch>, Box<GpuState>),
    Over(LaunchStatistics, Missed),
}

impl Model {
    /// Executes a launch up to a point inside it.
    pub(crate) fn launch_until(
        &self,
        simulator: &Simulator,
        (program, config): (&Arc<Program>, LaunchConfig),
        number: u64,
        context: &Context<DeviceFault>,
        at: StopAt,
    ) -> Result<Begun, DeviceFault> {
        let work = Work { simulator, program, config, begun: None, number, context, times_children: true };
        let (started, before) = (Instant::now(), self.now());
        let outcome = self.drive(&work, |gpu, source, display| {
            let note = |record| self.note(&work, Some(record), Untimed::default(), started.elapsed());
            display.set_stop(Some(at), gpu.next_start());
            let state = match self.run(gpu, source, None, display) {
                Err(LaunchError::Stopped(state)) => state,
                Err(error) => return Err(error),
                Ok(record) => {
                    let ctas = record.shape.cta_count();
                    let ended = Missed::Ended { cycles: record.cycles, ctas };
                    return Ok(Outcome::Over(note(record), ended));
                }
            };
            match source.suspend() {
                Ok(suspended) => Ok(Outcome::Stopped(Box::new(suspended), state)),
                Err(refusal) => {
                    display.set_stop(None, 0);
                    let record = self.go_on(gpu, *state, source, display)?;
                    Ok(Outcome::Over(note(record), Missed::Refused(refusal)))
                }
            }
        });
        match outcome.map_err(|error| work.fault(error))? {
            Outcome::Stopped(suspended, state) => {
                self.set_now(before);
                *self.interrupted.lock() = Some(*state);
                Ok(Begun::Stopped(suspended))
            }
            Outcome::Over(statistics, missed) => Ok(Begun::Over(statistics, missed)),
        }
    }

    /// Runs a launch, or the rest of the interrupted one. A resumed launch always runs to its end.
    pub(super) fn run(
        &self,
        gpu: &mut Gpu,
        source: &LiveKernel<'_>,
        until_stable: Option<&Stability>,
        display: &mut Display,
    ) -> Result<LaunchRecord, LaunchError> {
        if let Some(state) = self.interrupted.lock().take() {
            return self.go_on(gpu, state, source, display);
        }
        let executed = std::mem::take(&mut *self.executed.lock());
        gpu.recall_code(source, &executed)?;
        match until_stable {
            Some(stability) => gpu.launch_until_stable(source, stability, display),
            None => gpu.launch(source, display),
        }
    }

    /// Tells whether the model executes all CTAs of a timed launch.
    pub(crate) fn times_whole_launches(&self) -> bool {
        self.settings.only.ctas().is_none()
    }

    /// Restores a state with an interrupted launch, for use when the launch resumes.
    pub(super) fn interrupt(&self, state: GpuState) -> Result<(), StateError> {
        state.check_spec(&self.settings.spec)?;
        *self.interrupted.lock() = Some(state);
        Ok(())
    }

    /// Resumes an interrupted launch and runs it to its end. The GPU must be the one that executed it.
    fn go_on(
        &self,
        gpu: &mut Gpu,
        state: GpuState,
        source: &LiveKernel<'_>,
        display: &mut Display,
    ) -> Result<LaunchRecord, LaunchError> {
        let mut interrupted = Gpu::restore_running(gpu.spec(), state, &[source])?.with_threads(self.threads);
        let record = interrupted.finish(display);
        *gpu = super::observed(self.settings.with_rates(interrupted.into_gpu()));
        record
    }
}
