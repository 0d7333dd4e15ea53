//! Accesses of launches for `voltsim cache-model`, in the file of the option `accesses`.
//!
//! Launches execute as machine code, and the library coalesces their accesses. A launch without
//! machine code executes as usual and is left out. The first failure to write is reported and ends
//! the recording; the program continues.

use crate::abi::error::Error;
use crate::host::environment::options;
use crate::host::output_files;
use crate::objects::fault::DeviceFault;
use crate::session::simulator::Simulator;
use cache_model::accesses::{Builder, Writer};
use functional::engine::program::Program;
use functional::launch::{LaunchConfig, LaunchStatistics};
use functional::timed::turns::{self, Order, TurnsError};
use functional::timed::{self, Identity};
use parking_lot::Mutex;
use saved_run::outputs::Outcome;
use std::io;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;
use stream_engine::Context;
use warp_stream::KernelSource;

/// SMs that execute CTAs, and CTAs on each at once.
const RESIDENT: (u32, u32) = (16, 4);

/// Set after a failure, because later writes would fail too.
static GIVEN_UP: AtomicBool = AtomicBool::new(false);

/// Tells whether accesses are recorded.
pub(crate) fn is_wanted() -> bool {
    options().accesses.is_some() && !GIVEN_UP.load(Ordering::Relaxed)
}

/// Tells whether a program can be executed as machine code with this launch.
pub(crate) fn covers(program: &Program, config: &LaunchConfig) -> bool {
    let is_cluster = config.cluster.is_some_and(|cluster| cluster != [1; 3]);
    is_wanted() && program.machine.is_some() && !is_cluster
}

/// Executes a launch and records its accesses.
pub(crate) fn launch(
    simulator: &Simulator,
    program: &Arc<Program>,
    config: LaunchConfig,
    number: u64,
    context: &Context<DeviceFault>,
) -> Result<LaunchStatistics, DeviceFault> {
    let started = Instant::now();
    let identity = Identity { launch: number, stream: context.stream().to_raw() };
    let mut executed = LaunchStatistics::default();
    let recorded = timed::launch(&simulator.device, program, config, identity, |source| {
        let mut builder = Builder::new(source.kernel());
        turns::execute(source, RESIDENT, Order::InTurn, |issued| {
            executed.warp_instructions += 1;
            executed.lane_instructions += u64::from(issued.execution.active.count_ones());
            builder.issued(issued.cta, issued.warp, issued.position, issued.execution);
        })?;
        Ok(builder.finish())
    });
    let accesses = recorded.map_err(|error| {
        simulator.timed_fault(&error, |error| match error {
            TurnsError::Stuck => Error::LaunchTimeout,
            TurnsError::Source(_) => Error::Unknown,
        })
    })?;
    if let Some(file) = &options().accesses {
        // Launches of several streams are written one after the other.
        static TURN: Mutex<()> = Mutex::new(());
        let _turn = TURN.lock();
        if let Err(error) = Writer::append(file).and_then(|mut writer| writer.add(&accesses)) {
            give_up(file, &error);
        }
    }
    Ok(LaunchStatistics { elapsed: started.elapsed(), ..executed })
}

fn give_up(file: &Path, error: &io::Error) {
    if !GIVEN_UP.swap(true, Ordering::Relaxed) {
        output_files::note(Outcome::Failed, file);
        eprintln!("voltsim: cannot record accesses in {}: {error}; recording stops", file.display());
    }
}
