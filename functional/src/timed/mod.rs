//! Launches whose order of execution a timing model chooses: it pulls machine instructions from each warp through
//! [`warp_stream::KernelSource`], and the engine executes one when the model says so.
//!
//! What takes effect when: an access to memory and all arithmetic when the instruction is issued; an atomic operation, a
//! reduction, and a load that asks for the value others see (`volatile`, `relaxed`, `acquire` beyond the CTA) when the
//! model performs it ([`crate::engine`]'s deferred ops). Atomic operations on vectors and on 128 bits are not put off.
//! Kernels that the kernel launches are executed when it has ended, without a model.

mod source;
pub mod turns;

use std::sync::Arc;

use parking_lot::Mutex;
use warp_stream::{Kernel, KernelSource};

use crate::device::Device;
use crate::engine::grid::Grid;
use crate::engine::machine::Machine;
use crate::engine::program::Program;
use crate::launch::{LaunchConfig, LaunchError, Prepared};
use source::LiveKernel;

/// Why a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum TimedError<E> {
    /// Launched without a model it would not have completed either, or a lane faulted.
    #[error(transparent)]
    Launch(#[from] LaunchError),
    /// It needs something that cannot be executed step by step.
    #[error("{kernel} cannot be timed: {reason}")]
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

/// Which launch of a run it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Identity {
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Number of the stream it came from.
    pub stream: u64,
}

/// As [`crate::launch::launch`], but `drive` executes the kernel, in an order of its own. Its answer is the launch's. When
/// a lane faults, the source's error says so, and so does the launch's, whatever `drive` makes of it.
pub fn launch<T, E>(
    device: &Device,
    program: &Arc<Program>,
    config: LaunchConfig,
    identity: Identity,
    drive: impl FnOnce(&dyn KernelSource) -> Result<T, E>,
) -> Result<T, TimedError<E>> {
    let unsupported = |reason| Err(TimedError::Unsupported { kernel: program.kernel().name.clone(), reason });
    let Some(machine) = &program.machine else {
        return unsupported("it was not bound in the order of its machine code");
    };
    let mut prepared = Prepared::new(device, program, config)?;
    if prepared.grid.ctas_per_cluster() > 1 {
        return unsupported("it has clusters of CTAs");
    }
    // SMs may be simulated by threads of their own.
    prepared.grid.has_one_worker = false;
    let source = LiveKernel {
        kernel: kernel(&prepared.grid, machine, identity),
        grid: &prepared.grid,
        machine,
        fault: Mutex::new(None),
    };
    let driven = drive(&source);
    let fault = source.fault.into_inner();
    if fault.is_none() && driven.is_err() {
        prepared.abandon();
    } else {
        prepared.finish(fault, device.worker_count())?;
    }
    driven.map_err(TimedError::Drive)
}

fn kernel(grid: &Grid, machine: &Machine, identity: Identity) -> Kernel {
    Kernel {
        name: grid.program.kernel().name.clone(),
        launch: identity.launch,
        stream: identity.stream,
        grid: grid.ctas,
        block: grid.threads,
        code: Arc::clone(&machine.code),
        code_address: machine.code_address,
        registers: machine.registers,
        shared_bytes: grid.shared_bytes(),
        local_bytes: grid.local_bytes(),
        cooperative: grid.cooperative,
    }
}
