//! Contract between executors of warps and timing models: types and traits only.
//!
//! A timing model pulls machine instructions, warp by warp, from a [`WarpSource`]. The live functional
//! engine and trace files both implement that trait, and the model cannot tell them apart.

pub mod host_cache;
mod kernel;
pub mod kernel_name;
mod launch_shape;
pub mod local_memory;
mod machine;
mod source;
mod trace;

pub use kernel::{Kernel, KernelSource, RegisterSource};
pub use launch_shape::{LaunchShape, ShapeError, ShapeLimits, coordinates, volume};
pub use machine::{
    AccessKind, CacheOperator, MachineCode, MachineInstruction, MemoryOperation, MemorySpace, OperationClass,
    Registers, Unit,
};
pub use source::{Execution, Moment, Next, Residence, SourceError, WarpSlot, WarpSource};

/// Lanes in a warp.
pub const WARP_SIZE: usize = 32;

/// One bit per lane; bit 0 is lane 0.
pub type LaneMask = u32;
pub use trace::{Executed, Past, Trace, UsedPage};
