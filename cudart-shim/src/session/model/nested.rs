//! Launches, copies and fills by timed kernels. They are timed after the kernel, one by one, as if
//! the host had submitted them to its stream. Statistics list them under the kernel's launch
//! number.

use super::Model;
use super::partial::{Failure, Work};
use crate::host::log;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use functional::dynamic_parallelism::{self, Launcher, RowLayout};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchError, LaunchStatistics};
use std::error::Error;
use std::fmt;
use std::sync::Arc;
use stream_engine::Context;
use timing::gpu::{Rows, Transfer};

/// Executes child work in a device's model.
pub(super) struct Nested {
    session: &'static Session,
    device: usize,
    /// Number of the host's launch.
    number: u64,
    context: Context<DeviceFault>,
}

impl Nested {
    /// The launcher for the children of a launch, recursively.
    pub(super) fn launcher(work: &Work<'_>) -> Arc<dyn Launcher> {
        let Work { simulator, number, context, .. } = *work;
        Arc::new(Nested {
            session: simulator.session,
            device: simulator.ordinal,
            number,
            context: context.clone(),
        })
    }

    /// The device and its model.
    fn own(&self) -> Result<(&'static Simulator, &'static Model), LaunchError> {
        let mut own = self.session.started().filter(|simulator| simulator.ordinal == self.device);
        let found = own.find_map(|simulator| Some((simulator, simulator.model.as_ref()?)));
        found.ok_or_else(|| LaunchError::Child("the device has no model".into()))
    }
}

impl fmt::Debug for Nested {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Nested")
            .field("device", &self.device)
            .field("number", &self.number)
            .finish_non_exhaustive()
    }
}

impl Launcher for Nested {
    fn launch(&self, program: &Arc<Program>, config: LaunchConfig) -> Result<LaunchStatistics, LaunchError> {
        let (simulator, model) = self.own()?;
        let Nested { number, ref context, .. } = *self;
        let work = Work { simulator, program, config, begun: None, number, context, times_children: true };
        model.launch_beside_others(&work).map_err(|failure| LaunchError::Child(Box::new(failure)))
    }

    fn transferred(&self, transfer: &dynamic_parallelism::Transfer) -> Result<(), LaunchError> {
        let (simulator, model) = self.own()?;
        let dynamic_parallelism::Transfer {
            to,
            from,
            rows: dynamic_parallelism::Rows { width, height, depth },
        } = *transfer;
        let kind = |place: RowLayout| Some(simulator.device.memory.allocation_of(place.address)?.kind);
        let is_of_device = |place| kind(place).is_some_and(|it| it.is_device() && !it.is_seen_by_host());
        let is_nothing = [width, height, depth].contains(&0);
        if is_nothing || !is_of_device(to) || from.is_some_and(|from| !is_of_device(from)) {
            return Ok(());
        }
        let rows = |RowLayout { address, pitch, slice }| Rows { address, width, height, depth, pitch, slice };
        let transfer = Transfer { to: rows(to), from: from.map(rows) };
        let transferred = model.transferred(simulator, transfer, self.context.stream().to_raw());
        transferred.map_err(|fault| LaunchError::Child(Box::new(Failure::Transfer(fault))))
    }
}

/// The sticky error of a launch with a failed child.
pub(crate) fn child_fault(simulator: &Simulator, error: &(dyn Error + Send + Sync + 'static)) -> DeviceFault {
    if let Some(failure) = error.downcast_ref::<Failure>() {
        return failure.fault(simulator);
    }
    log::report(|| error.to_string());
    DeviceFault { device: simulator.ordinal, error: crate::abi::error::Error::LaunchFailure }
}
