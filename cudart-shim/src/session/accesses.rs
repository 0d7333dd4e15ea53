//! Accesses of launches for `voltsim cache-model`, in the file of the option `accesses`.
//!
//! Launches execute as machine code, and the library coalesces their accesses. A launch without
//! machine code executes as usual and is left out. The first failure to write is reported and ends
//! the recording; the program continues.

use crate::host::environment::options;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::stepped_launch::GivenUp;
use cache_model::accesses::{Builder, Writer};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::timed::turns::Order;
use parking_lot::Mutex;
use std::sync::Arc;
use stream_engine::Context;
use warp_stream::KernelSource;

/// State of the recording of accesses.
pub(crate) struct Accesses {
    given_up: GivenUp,
    /// Held by the launch that is being written: launches of several streams take turns.
    turn: Mutex<()>,
}

impl Accesses {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { given_up: GivenUp::new(), turn: Mutex::new(()) }
    }
}

/// Tells whether accesses are recorded.
pub(crate) fn is_wanted(session: &'static Session) -> bool {
    options().accesses.is_some() && !session.accesses.given_up.is_set()
}

/// Tells whether a program can be executed as machine code with this launch.
pub(crate) fn covers(session: &'static Session, program: &Program, config: &LaunchConfig) -> bool {
    let is_cluster = config.cluster.is_some_and(|cluster| cluster != [1; 3]);
    is_wanted(session) && program.machine.is_some() && !is_cluster
}

/// Executes a launch and records its accesses.
pub(crate) fn launch(
    simulator: &Simulator,
    program: &Arc<Program>,
    config: LaunchConfig,
    number: u64,
    context: &Context<DeviceFault>,
) -> Result<LaunchStatistics, DeviceFault> {
    simulator.launch_stepped(
        program,
        config,
        (number, context),
        |source, stepper| {
            let mut builder = Builder::new(source.kernel());
            // The builder needs each warp's own order alone.
            stepper.execute(source, Order::InBursts, |issued| {
                builder.issued(issued.cta, issued.warp, issued.position, issued.execution);
            })?;
            Ok(builder.finish())
        },
        |accesses| {
            let Some(file) = &options().accesses else { return };
            let Accesses { given_up, turn } = &simulator.session.accesses;
            let _turn = turn.lock();
            if let Err(error) = Writer::append(file).and_then(|mut writer| writer.add(&accesses)) {
                given_up.set(file, || format!("cannot record accesses in {}: {error}", file.display()));
            }
        },
    )
}
