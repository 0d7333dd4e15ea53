//! A kernel as SMs see it: its instructions, decoded once for all of them.

use std::sync::Arc;

use warp_stream::Kernel;

use crate::specification::GpuSpec;

/// A kernel that SMs of a GPU can run.
#[derive(Debug, Clone)]
pub struct Program {
    /// The launch.
    pub kernel: Kernel,
}

impl Program {
    /// Decodes a kernel for a GPU.
    pub fn new(_gpu: &GpuSpec, kernel: &Kernel) -> Arc<Program> {
        Arc::new(Program { kernel: kernel.clone() })
    }
}
