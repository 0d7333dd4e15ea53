//! Device work as data.

use super::copy::{Copy, Fill};
use super::host_call::HostCall;
use super::kernel_launch::KernelLaunch;
use super::memory_operation::Batch;
use functional::sanitizer::Origin;
use std::sync::Arc;
use stream_engine::WorkKind;

/// A checked work item.
#[derive(Clone, Debug)]
pub(crate) enum Operation {
    /// Runs a kernel.
    Kernel(Arc<KernelLaunch>),
    /// Copies rows.
    Copy(Copy),
    /// Copies packed rows from a staging buffer.
    StagedCopy(Copy, Arc<[u8]>),
    /// Fills rows.
    Fill(Fill),
    /// Calls a host function.
    Host(HostCall),
    /// Frees device memory.
    Free { address: u64, by: Origin },
    /// Executes stream memory operations in order.
    MemoryOperations(Arc<Batch>),
}

impl Operation {
    /// The resource that the operation occupies.
    pub(crate) fn work_kind(&self) -> WorkKind {
        match self {
            Self::Kernel(_) => WorkKind::Kernel,
            Self::Copy(_) | Self::StagedCopy(..) | Self::Fill(_) | Self::Free { .. } => WorkKind::Transfer,
            // A wait may take long and must not block the calling thread.
            Self::Host(_) | Self::MemoryOperations(_) => WorkKind::HostFunction,
        }
    }
}
