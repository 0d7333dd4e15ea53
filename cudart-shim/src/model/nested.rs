//! Launches of kernels by timed kernels. They take their time when the kernel that asks for them has ended, one after the other, as if
//! the host had launched them into its stream, and have its number in statistics.

use super::partial::{Failure, Work};
use crate::log;
use crate::simulator::{self, DeviceFault, Simulator};
use functional::children::Launcher;
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchError, LaunchStatistics};
use std::error::Error;
use std::sync::Arc;
use stream_engine::Context;

/// Has the model of a device execute what a launch asks for.
#[derive(Debug)]
pub(super) struct Nested {
    device: usize,
    /// Of the host's launch.
    number: u64,
    context: Context<DeviceFault>,
}

impl Nested {
    /// For what a launch asks for, and that in its turn.
    pub(super) fn launcher(work: &Work<'_>) -> Arc<dyn Launcher> {
        let Work { simulator, number, context, .. } = *work;
        Arc::new(Nested { device: simulator.ordinal, number, context: context.clone() })
    }
}

impl Launcher for Nested {
    fn launch(&self, program: &Arc<Program>, config: LaunchConfig) -> Result<LaunchStatistics, LaunchError> {
        let mut own = simulator::started().filter(|simulator| simulator.ordinal == self.device);
        let Some((simulator, model)) = own.find_map(|it| Some((it, it.model.as_ref()?))) else {
            return Err(LaunchError::Child("the device has no model".into()));
        };
        let Nested { number, ref context, .. } = *self;
        let work = Work { simulator, program, config, begun: None, number, context, times_children: true };
        model.launch_beside_others(&work).map_err(|failure| LaunchError::Child(Box::new(failure)))
    }
}

/// The sticky error of a launch of which something that it has launched failed.
pub(crate) fn child_fault(simulator: &Simulator, error: &(dyn Error + Send + Sync + 'static)) -> DeviceFault {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.fault(simulator);
    }
    log::report(|| error.to_string());
    DeviceFault { device: simulator.ordinal, error: crate::error::Error::LaunchFailure }
}
