//! Timed launches: a timing model chooses the order of execution. The model pulls machine instructions from
//! each warp through [`warp_stream::KernelSource`], and the engine executes an instruction when the model
//! issues it.
//!
//! Arithmetic and plain memory accesses take effect at issue. Atomic operations and reductions take effect
//! when the model performs them ([`crate::engine`]'s deferred ops). So do loads of the value that others
//! see (`volatile`, `relaxed`, `acquire` beyond the CTA). Vector and 128-bit atomics are not deferred.
//! Child kernels run after their parent's end, by the launch's
//! [`Launcher`](crate::dynamic_parallelism::Launcher); children that their parent waits for run without a
//! model.

mod saved;
mod source;
pub mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;

use warp_stream::kernel_name::signature;
use warp_stream::{Kernel, RegisterSource};

use crate::device::Device;
use crate::engine::grid::Grid;
use crate::engine::machine::Machine;
use crate::engine::program::{Program, fitting_registers, registers_within_bounds};
use crate::launch::{LaunchConfig, LaunchError, Prepared, check};
use crate::suspend::{ResumeError, SuspendedLaunch};
pub(crate) use saved::SavedSm;
use source::Left;
pub use source::LiveKernel;

/// Reason for which a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TimedError<E> {
    /// The launch fails without a model too, or a lane faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// The launch needs something that stepped execution does not support.
    #[error("{} cannot be timed: {reason}", signature(.kernel))]
    Unsupported {
        /// Kernel name.
        kernel: String,
        /// Unsupported property.
        reason: &'static str,
    },
    /// The model has given up.
    #[error("{0}")]
    Drive(E),
}

/// Reason for which a suspended launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TimedResumeError<E> {
    /// The state does not allow resumption.
    #[error(transparent)]
    State(#[from] ResumeError),
    /// Error of any launch.
    #[error(transparent)]
    Launch(#[from] TimedError<E>),
}

/// Identity of a launch in a run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Number of the CUDA stream.
    pub stream: u64,
}

/// Launches a kernel like [`crate::launch::launch`], but `drive` executes it in its own order and returns
/// the result. A faulting lane makes the source return an error, and the launch fails with the fault
/// regardless of `drive`'s result. After a suspension ([`LiveKernel::suspend`]), the launch executes
/// nothing more.
pub fn launch<T, E>(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    identity: Identity,
    drive: impl FnOnce(&LiveKernel<'_>) -> Result<T, E>,
) -> Result<T, TimedError<E>> {
    let machine = machine(program, &config)?;
    let prepared = Prepared::new(device, program, config)?;
    let left = Left { started: BTreeMap::new(), next: 0, count: prepared.grid.shape.cta_count() };
    drive_prepared((prepared, machine), (left, None), identity, drive)
}

/// Resumes a suspended launch like [`launch`]. `drive` gets the CTAs that have not ended, and started CTAs
/// continue where they stood. If a timing model executed the launch, the warps of each SM are restored, and
/// `drive` continues from its own saved state.
pub fn launch_from<T, E>(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    suspended: &SuspendedLaunch,
    identity: Identity,
    drive: impl FnOnce(&LiveKernel<'_>) -> Result<T, E>,
) -> Result<T, TimedResumeError<E>> {
    let machine = machine(program, &config)?;
    check(device, program, &config).map_err(TimedError::Launch)?;
    let prepared = suspended.prepare(device, program, config)?;
    let (started, next) = suspended.left();
    let left = Left {
        started: started.iter().map(|saved| (saved.index, saved)).collect(),
        next,
        count: prepared.grid.shape.cta_count(),
    };
    Ok(drive_prepared((prepared, machine), (left, Some(suspended)), identity, drive)?)
}

/// Machine code of a program that supports stepped execution of this launch.
fn machine<'p, E>(program: &'p Program, config: &LaunchConfig) -> Result<&'p Machine, TimedError<E>> {
    let unsupported = |reason| Err(TimedError::Unsupported { kernel: program.kernel().name.clone(), reason });
    let cluster = config.cluster_of(program);
    match &program.machine {
        None => unsupported("it was not bound for a timing model"),
        Some(_) if cluster.is_some_and(|cluster| cluster != [1; 3]) => unsupported("it has clusters of CTAs"),
        Some(machine) => Ok(machine),
    }
}

fn drive_prepared<T, E>(
    (mut prepared, machine): (Prepared<'_>, &Machine),
    (left, begun): (Left<'_>, Option<&SuspendedLaunch>),
    identity: Identity,
    drive: impl FnOnce(&LiveKernel<'_>) -> Result<T, E>,
) -> Result<T, TimedError<E>> {
    // SMs may be simulated by separate threads.
    prepared.grid.has_one_worker = false;
    let source =
        LiveKernel::new(kernel(&prepared.grid, machine, identity), (&prepared, machine), left, begun);
    let driven = drive(&source);
    let (fault, is_suspended) = source.end();
    let fault = fault.or_else(|| prepared.grid.lost_memory().map(|kind| prepared.grid.fault(kind)));
    if fault.is_none() && (driven.is_err() || is_suspended) {
        prepared.abandon();
    } else {
        let workers = prepared.grid.owner.worker_count();
        prepared.finish(fault, workers)?;
    }
    driven.map_err(TimedError::Drive)
}

/// Registers per SM for which kernels are assembled (programming guide, "Compute Capabilities": all since
/// 5.0).
const REGISTERS_OF_SM: u32 = 65_536;

fn kernel(grid: &Grid, machine: &Machine, identity: Identity) -> Kernel {
    // The vendor's assembler may need fewer registers than lowered code. A CTA that fits with its code must
    // fit here too.
    let fitting = fitting_registers(REGISTERS_OF_SM, grid.shape.warps_per_cta());
    let bounds = &grid.program.bounds;
    let lowered = registers_within_bounds(bounds, grid.program.registers, REGISTERS_OF_SM).min(fitting);
    let assembled = grid.program.assembled;
    let static_shared = grid.program.static_shared;
    let assembled_shared = assembled.and_then(|assembled| assembled.static_shared).unwrap_or(static_shared);
    Kernel {
        name: grid.program.kernel().name.clone(),
        launch: identity.launch,
        stream: identity.stream,
        shape: grid.shape,
        code: Arc::clone(&machine.code),
        code_address: machine.code_address(&grid.owner.memory),
        registers: assembled.map_or(lowered, |assembled| assembled.registers),
        register_source: assembled.map_or(RegisterSource::Lowering, |assembled| assembled.source),
        shared_bytes: grid.shared_bytes() - static_shared + assembled_shared,
        local_bytes: grid.local_bytes(),
        cooperative: grid.cooperative,
    }
}
