//! Description of a kernel launch, as the timing model receives it.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use crate::{LaunchShape, MachineCode, WarpSource};

/// Origin of a kernel's number of registers.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub enum RegisterSource {
    /// Voltsim's own lowering of the PTX.
    #[default]
    Lowering,
    /// Machine code for the modelled architecture, made by the vendor's assembler.
    MachineCode,
    /// The user's value.
    Option,
}

impl RegisterSource {
    /// Name in statistics.
    pub fn name(self) -> &'static str {
        match self {
            RegisterSource::Lowering => "lowering",
            RegisterSource::MachineCode => "machine code",
            RegisterSource::Option => "option",
        }
    }
}

/// Properties of a launch, without its execution.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Kernel {
    /// Mangled name of the kernel, as in the module.
    pub name: String,
    /// Number of the launch in the run, from 1.
    pub launch: u64,
    /// Number of the CUDA stream that launched the kernel.
    pub stream: u64,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// Machine code of the kernel.
    pub code: Arc<MachineCode>,
    /// Byte address of the code; different kernels have different addresses.
    pub code_address: u64,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Origin of the number of registers.
    pub register_source: RegisterSource,
    /// Bytes of shared memory per CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// Cooperative launch: all CTAs must be resident at once.
    pub cooperative: bool,
}

/// An executable launch, whose CTAs the SMs of a timing model take.
pub trait KernelSource: Send + Sync {
    /// Description of the launch.
    fn kernel(&self) -> &Kernel;

    /// Number of CTAs to execute: fewer than the grid's if some ended before.
    fn cta_count(&self) -> u64 {
        self.kernel().shape.cta_count()
    }

    /// Number (x fastest) of the CTA that starts at `position` in launch order.
    fn cta(&self, position: u64) -> u64 {
        position
    }

    /// True if SMs must run one after the other. A kernel needs the order if it changes memory, or frees
    /// resources for others, outside of [`WarpSource::hold_stores`]: its results would depend on the first
    /// SM.
    fn needs_sm_order(&self) -> bool {
        false
    }

    /// Source of the CTAs that SM `sm` executes. Each SM has its own source, so that SMs can run in
    /// parallel.
    fn warps(&self, sm: u32) -> Box<dyn WarpSource + '_>;
}
