//! Timed launches that are stopped in their midst, and go on.

use super::partial::Work;
use super::progress::Display;
use super::{Model, StateError};
use crate::session::simulator::{DeviceFault, Simulator};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::suspend::{Refusal, SuspendedLaunch};
use functional::timed::LiveKernel;
use std::sync::Arc;
use std::time::Instant;
use stream_engine::Context;
use timing::gpu::{Gpu, GpuState, LaunchError, Stability, Untimed};
use timing::report::LaunchRecord;

/// Where a timed launch is stopped: at the first end of an epoch at or after that.
#[derive(Clone, Copy, Debug)]
pub(crate) enum StopAt {
    /// Core cycles since it began.
    Cycle(u64),
    /// CTAs that have ended.
    Ctas(u64),
}

/// Why a timed launch was not stopped where it was to be.
#[derive(Debug, thiserror::Error)]
pub(crate) enum Missed {
    #[error("all {ctas} CTAs completed before that cycle; the launch takes {cycles} cycles, drain included")]
    Ended { cycles: u64, ctas: u64 },
    #[error("the launch cannot stop at the point: {0}")]
    Refused(Refusal),
}

/// What has become of a timed launch that was to be stopped.
pub(crate) enum Begun {
    /// It was, and the model has the GPU as it was.
    Stopped(Box<SuspendedLaunch>),
    /// It was not, and is over.
    Over(LaunchStatistics, Missed),
}

/// The same, while the model executes it.
enum Outcome {
    Stopped(Box<SuspendedLaunch>, Box<GpuState>),
    Over(LaunchStatistics, Missed),
}

impl Model {
    /// Executes a launch up to a point inside of it.
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
                    let ctas = record.grid.iter().map(|&ctas| u64::from(ctas)).product();
                    let ended = Missed::Ended { cycles: record.cycles, ctas };
                    return Ok(Outcome::Over(note(record), ended));
                }
            };
            match source.suspend() {
                Ok(suspended) => Ok(Outcome::Stopped(Box::new(suspended), state)),
                Err(refusal) => {
                    display.set_stop(None, 0);
                    let record = go_on(gpu, *state, self.threads, source, display)?;
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

    /// Runs a launch, or what is left of the one that was under way, which is run whole.
    pub(super) fn run(
        &self,
        gpu: &mut Gpu,
        source: &LiveKernel<'_>,
        until_stable: Option<&Stability>,
        display: &mut Display,
    ) -> Result<LaunchRecord, LaunchError> {
        if let Some(state) = self.interrupted.lock().take() {
            return go_on(gpu, state, self.threads, source, display);
        }
        let executed = std::mem::take(&mut *self.executed.lock());
        gpu.recall_code(source, &executed)?;
        match until_stable {
            Some(stability) => gpu.launch_until_stable(source, stability, display),
            None => gpu.launch(source, display),
        }
    }

    /// Are all CTAs of a launch that is timed executed by the model?
    pub(crate) fn times_whole_launches(&self) -> bool {
        self.settings.only.ctas().is_none()
    }

    /// Goes on from a state in which a launch is under way, as soon as that goes on.
    pub(super) fn interrupt(&self, state: GpuState) -> Result<(), StateError> {
        state.check_spec(&self.settings.spec)?;
        *self.interrupted.lock() = Some(state);
        Ok(())
    }
}

/// Goes on with a launch that was under way, to its end. The GPU is the one that has executed it.
fn go_on(
    gpu: &mut Gpu,
    state: GpuState,
    threads: usize,
    source: &LiveKernel<'_>,
    display: &mut Display,
) -> Result<LaunchRecord, LaunchError> {
    let mut interrupted = Gpu::restore_running(gpu.spec(), state, &[source])?.with_threads(threads);
    let record = interrupted.finish(display);
    *gpu = interrupted.into_gpu();
    record
}
