//! Launches whose order of execution a timing model chooses: it pulls machine instructions from each warp through
//! [`warp_stream::KernelSource`], and the engine executes one when the model says so.
//!
//! What takes effect when: an access to memory and all arithmetic when the instruction is issued; an atomic operation, a
//! reduction, and a load that asks for the value others see (`volatile`, `relaxed`, `acquire` beyond the CTA) when the
//! model performs it ([`crate::engine`]'s deferred ops). Atomic operations on vectors and on 128 bits are not put off.
//! Kernels that the kernel launches are executed when it has ended, by the launch's [`Launcher`](crate::children::Launcher), and those
//! that it waits for without a model.

mod saved;
mod source;
pub mod turns;

use std::collections::BTreeMap;
use std::sync::Arc;

use warp_stream::Kernel;
use warp_stream::kernel_name::signature;

use crate::device::Device;
use crate::engine::grid::Grid;
use crate::engine::machine::Machine;
use crate::engine::program::{Program, fitting_registers, registers_within_bounds};
use crate::launch::{LaunchConfig, LaunchError, Prepared, check};
use crate::suspend::{ResumeError, SuspendedLaunch};
pub(crate) use saved::SavedSm;
use source::Left;
pub use source::LiveKernel;

/// Why a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TimedError<E> {
    /// Launched without a model it would not have completed either, or a lane faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It needs something that cannot be executed step by step.
    #[error("{} cannot be timed: {reason}", signature(.kernel))]
    Unsupported {
        /// Kernel.
        kernel: String,
        /// What.
        reason: &'static str,
    },
    /// Whoever drives it has given up.
    #[error("{0}")]
    Drive(E),
}

/// Why a launch that was suspended did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TimedResumeError<E> {
    /// It cannot go on from the state that it was given.
    #[error(transparent)]
    State(#[from] ResumeError),
    /// As of every launch.
    #[error(transparent)]
    Launch(#[from] TimedError<E>),
}

/// Which launch of a run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Number of the stream it came from.
    pub stream: u64,
}

/// As [`crate::launch::launch`], but `drive` executes the kernel, in an order of its own. Its answer is the launch's. When
/// a lane faults, the source's error says so, and so does the launch's, whatever `drive` makes of it. If it saves the launch
/// ([`LiveKernel::suspend`]), nothing more of it is executed.
pub fn launch<T, E>(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    identity: Identity,
    drive: impl FnOnce(&LiveKernel<'_>) -> Result<T, E>,
) -> Result<T, TimedError<E>> {
    let machine = machine(program, &config)?;
    let prepared = Prepared::new(device, program, config)?;
    let left = Left { started: BTreeMap::new(), next: 0, count: prepared.grid.cta_count() };
    drive_prepared((prepared, machine), (left, None), identity, drive)
}

/// As [`launch`], but goes on with a launch that was suspended: what had been executed before is not given to `drive`, and
/// CTAs that had started go on from where they stood. One that was saved while a model executed it has the warps of each SM as
/// they were: `drive` goes on from its own state of then.
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
        count: prepared.grid.cta_count(),
    };
    Ok(drive_prepared((prepared, machine), (left, Some(suspended)), identity, drive)?)
}

/// The machine side of a program that can be executed step by step when it is launched so.
fn machine<'p, E>(program: &'p Program, config: &LaunchConfig) -> Result<&'p Machine, TimedError<E>> {
    let unsupported = |reason| Err(TimedError::Unsupported { kernel: program.kernel().name.clone(), reason });
    let cluster = config.cluster_of(program);
    match &program.machine {
        None => unsupported("it was not bound in the order of its machine code"),
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
    // SMs may be simulated by threads of their own.
    prepared.grid.has_one_worker = false;
    let source =
        LiveKernel::new(kernel(&prepared.grid, machine, identity), (&prepared, machine), left, begun);
    let driven = drive(&source);
    let (fault, is_suspended) = source.end();
    if fault.is_none() && (driven.is_err() || is_suspended) {
        prepared.abandon();
    } else {
        let workers = prepared.grid.owner.worker_count();
        prepared.finish(fault, workers)?;
    }
    driven.map_err(TimedError::Drive)
}

/// Registers of an SM, for which kernels are assembled (programming guide, "Compute Capabilities": all since 5.0).
const REGISTERS_OF_SM: u32 = 65_536;

fn kernel(grid: &Grid, machine: &Machine, identity: Identity) -> Kernel {
    // The vendor's assembler may need fewer registers than lowered code. A CTA that would run for it runs here too.
    let fitting = fitting_registers(REGISTERS_OF_SM, grid.warps_per_cta());
    Kernel {
        name: grid.program.kernel().name.clone(),
        launch: identity.launch,
        stream: identity.stream,
        grid: grid.ctas,
        block: grid.threads,
        code: Arc::clone(&machine.code),
        code_address: machine.code_address(),
        registers: registers_within_bounds(&grid.program.bounds, grid.program.registers, REGISTERS_OF_SM)
            .min(fitting),
        shared_bytes: grid.shared_bytes(),
        local_bytes: grid.local_bytes(),
        cooperative: grid.cooperative,
    }
}
