//! Errors of launches.

use warp_stream::kernel_name::signature;

use super::{GpuState, Imbalance, Stuck};
use crate::dram::Violation;
use crate::restore::RestoreError;
use crate::sm::{Limit, SmFault};

/// Reason why a launch did not complete.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// An SM faulted.
    #[error("kernel {} on SM {sm}: {fault}", signature(.kernel))]
    Fault {
        /// Name of the kernel.
        kernel: String,
        /// Number of the SM.
        sm: u32,
        /// The fault.
        fault: Box<SmFault>,
    },
    /// A CTA exceeds an SM's resources.
    #[error("a CTA of kernel {} does not fit an SM, limited by {limit:?}", signature(.kernel))]
    NoRoom {
        /// Name of the kernel.
        kernel: String,
        /// Exceeded resource.
        limit: Limit,
    },
    /// A cooperative launch has more CTAs than the GPU can hold.
    #[error("cooperative kernel {} has {ctas} CTAs; the GPU holds at most {room}", signature(.kernel))]
    NotResident {
        /// Name of the kernel.
        kernel: String,
        /// CTAs of the launch.
        ctas: u64,
        /// CTAs that the GPU can hold.
        room: u64,
    },
    /// The GPU takes rates of loads from outside, and has none for the launch.
    #[error(
        "launch {launch}, kernel {}, has no rates of loads (fidelity.rates=reuse-distance); \
         give --rates with a recording of the same run by `voltsim cache-model --record`, \
         or set fidelity.rates=functional-cache",
        signature(.kernel)
    )]
    NoRates {
        /// Number of the launch in the run, from 1.
        launch: u64,
        /// Name of the kernel.
        kernel: String,
    },
    /// A copy or fill exceeds device memory.
    #[error("{0}")]
    Transfer(&'static str),
    /// Nothing is in flight.
    #[error("no launch or copy is in flight")]
    Nothing,
    /// The observer cancelled the run.
    #[error("cancelled")]
    Cancelled,
    /// The observer stopped the run; [`Gpu::restore_running`](super::Gpu::restore_running)
    /// continues from the state.
    #[error("stopped during a launch")]
    Stopped(Box<GpuState>),
    /// The state cannot be restored.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Deadlock.
    #[error("{0}")]
    Stuck(Stuck),
    /// A conservation rule is violated.
    #[error("statistics of {} do not add up: {imbalance}", signature(.kernel))]
    Unbalanced {
        /// Name of the kernel or transfer.
        kernel: String,
        /// The violated rule.
        imbalance: Imbalance,
    },
    /// A DRAM channel violated a timing rule.
    #[error("{0:?}")]
    Dram(Violation),
}
