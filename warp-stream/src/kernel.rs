//! A kernel launch as the timing model gets it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{MachineCode, WarpSource};

/// What a launch is, apart from its execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kernel {
    /// Name of the kernel, as in the module (mangled).
    pub name: String,
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Number of the stream it came from.
    pub stream: u64,
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Its instructions.
    pub code: Arc<MachineCode>,
    /// Where its instructions lie in memory; different kernels lie in different places. Bytes.
    pub code_address: u64,
    /// 32-bit registers of a thread.
    pub registers: u32,
    /// Bytes of shared memory of a CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory of a thread.
    pub local_bytes: u32,
    /// All CTAs must be resident at once.
    pub cooperative: bool,
}

impl Kernel {
    /// CTAs in all.
    pub fn cta_count(&self) -> u64 {
        self.grid.iter().map(|&n| u64::from(n)).product()
    }

    /// Threads of a CTA.
    pub fn threads_per_cta(&self) -> u32 {
        self.block.iter().product()
    }

    /// Warps of a CTA.
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(crate::WARP_SIZE as u32)
    }
}

/// A launch that can be executed: the SMs of a model take its CTAs.
pub trait KernelSource: Send + Sync {
    /// What it is.
    fn kernel(&self) -> &Kernel;

    /// CTAs that are to be executed: all, unless some have ended before.
    fn cta_count(&self) -> u64 {
        self.kernel().cta_count()
    }

    /// Number (x fastest) of the CTA at a position among those that are to be executed, which is the order of their start.
    fn cta(&self, position: u64) -> u64 {
        position
    }

    /// Must SMs run one after the other? True of a kernel that changes memory, or takes what others give up, in ways that
    /// [`WarpSource::hold_stores`] does not hold: results would depend on which SM is first.
    fn needs_sm_order(&self) -> bool {
        false
    }

    /// Executes the CTAs that SM number `sm` takes. Each SM has one of its own, so that they can run in parallel.
    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_>;
}
