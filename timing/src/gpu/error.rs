//! Why a launch did not end as it should.

use warp_stream::kernel_name::signature;

use super::{GpuState, Imbalance, Stuck};
use crate::dram::Violation;
use crate::restore::RestoreError;
use crate::sm::{Limit, SmFault};

/// Why a launch did not end as it should.
#[derive(Debug, thiserror::Error)]
pub enum LaunchError {
    /// An SM cannot go on.
    #[error("kernel {} on SM {sm}: {fault}", signature(.kernel))]
    Fault {
        /// The kernel.
        kernel: String,
        /// The SM.
        sm: u32,
        /// What happened.
        fault: Box<SmFault>,
    },
    /// A CTA does not fit an SM.
    #[error("a CTA of kernel {} does not fit an SM: {limit:?}", signature(.kernel))]
    NoRoom {
        /// The kernel.
        kernel: String,
        /// What it needs more of than an SM has.
        limit: Limit,
    },
    /// All CTAs have to be on the GPU at once, and have no room.
    #[error("kernel {} is cooperative and has {ctas} CTAs; the GPU holds {room}", signature(.kernel))]
    NotResident {
        /// The kernel.
        kernel: String,
        /// Its CTAs.
        ctas: u64,
        /// How many can be there.
        room: u64,
    },
    /// A copy or a fill has no such memory.
    #[error("{0}")]
    Transfer(&'static str),
    /// Nothing is under way.
    #[error("nothing was launched")]
    Nothing,
    /// The observer ended it.
    #[error("cancelled")]
    Cancelled,
    /// The observer stopped it; the state goes on with it ([`Gpu::restore_running`](super::Gpu::restore_running)).
    #[error("stopped within a launch")]
    Stopped(Box<GpuState>),
    /// It cannot go on from the state that it was given.
    #[error(transparent)]
    Restore(#[from] RestoreError),
    /// Nothing moves any more.
    #[error("{0}")]
    Stuck(Stuck),
    /// What was counted does not add up.
    #[error("statistics of {} do not add up: {imbalance}", signature(.kernel))]
    Unbalanced {
        /// The kernel, or what else it was.
        kernel: String,
        /// Both sides.
        imbalance: Imbalance,
    },
    /// A DRAM channel broke a timing rule.
    #[error("{0:?}")]
    Dram(Violation),
}
