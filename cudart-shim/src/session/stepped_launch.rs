//! Launches that execute as machine code without a timing model, for recorders of instructions.

use crate::abi::error::Error;
use crate::host::output_files;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::timed::turns::{self, Issued, Order, TurnsError};
use functional::timed::{self, Identity, LiveKernel};
use saved_run::outputs::Outcome;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use stream_engine::Context;
use warp_stream::KernelSource;

/// SMs that execute CTAs, and CTAs on each at once.
const RESIDENT: (u32, u32) = (16, 4);

/// Executes the instructions of a launch and counts them.
#[derive(Default)]
pub(crate) struct Stepper {
    executed: LaunchStatistics,
}

impl Stepper {
    /// Executes the kernel of `source` in an order, and reports each instruction to `issued`.
    pub(crate) fn execute(
        &mut self,
        source: &dyn KernelSource,
        order: Order,
        mut issued: impl FnMut(&Issued<'_>),
    ) -> Result<(), TurnsError> {
        turns::execute(source, RESIDENT, order, |instruction| {
            self.executed.warp_instructions += 1;
            self.executed.lane_instructions += u64::from(instruction.execution.active.count_ones());
            issued(&instruction);
        })
    }
}

impl Simulator {
    /// Executes a launch as `observe` drives the [`Stepper`]. `keep` gets the observation of a
    /// launch without a fault; its time is part of the launch's.
    pub(crate) fn launch_stepped<T>(
        &self,
        program: &Arc<Program>,
        config: LaunchConfig,
        (number, context): (u64, &Context<DeviceFault>),
        observe: impl FnOnce(&LiveKernel<'_>, &mut Stepper) -> Result<T, TurnsError>,
        keep: impl FnOnce(T),
    ) -> Result<LaunchStatistics, DeviceFault> {
        let started = Instant::now();
        let identity = Identity { launch: number, stream: context.stream().to_raw() };
        let mut stepper = Stepper::default();
        let observed =
            timed::launch(&self.device, program, config, identity, |source| observe(source, &mut stepper));
        let observation = observed.map_err(|error| {
            self.timed_fault(&error, |error| match error {
                TurnsError::Stuck => Error::LaunchTimeout,
                TurnsError::Source(_) => Error::Unknown,
            })
        })?;
        keep(observation);
        Ok(LaunchStatistics { elapsed: started.elapsed(), ..stepper.executed })
    }
}

/// Set after the first failure of a recorder, because later writes would fail too.
pub(crate) struct GivenUp(AtomicBool);

impl GivenUp {
    /// The state before the first failure.
    pub(crate) const fn new() -> GivenUp {
        GivenUp(AtomicBool::new(false))
    }

    /// True after a failure.
    pub(crate) fn is_set(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    /// Notes the failed output and reports the first failure on standard error.
    pub(crate) fn set(&self, output: &Path, message: impl FnOnce() -> String) {
        if !self.0.swap(true, Ordering::Relaxed) {
            output_files::note(Outcome::Failed, output);
            eprintln!("voltsim: {}; recording stops", message());
        }
    }
}
