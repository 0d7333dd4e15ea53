//! The contract between whoever executes warps and whoever times them.
//!
//! A timing model pulls one [`WarpInstruction`] at a time from an [`InstructionSource`] and never learns
//! whether it comes from the live functional engine or from a trace file.

use serde::{Deserialize, Serialize};

/// Lanes in a warp.
pub const WARP_SIZE: usize = 32;

/// One bit per lane, bit 0 is lane 0.
pub type LaneMask = u32;

/// The execution unit of a sub-core that an instruction occupies.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Unit {
    /// 32-bit integer and logic pipeline.
    Integer,
    /// Single-precision (and packed half-precision) pipeline.
    Fp32,
    /// Double-precision pipeline.
    Fp64,
    /// Transcendental functions, reciprocal, square root.
    SpecialFunction,
    /// Matrix multiply-accumulate.
    Tensor,
    /// Loads, stores, atomics: address calculation and the memory pipeline.
    Memory,
    /// Texture and surface pipeline.
    Texture,
    /// Branches, calls, exits.
    Branch,
    /// CTA and warp barriers, fences.
    Barrier,
}

/// The memory an access goes to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum MemorySpace {
    /// Device memory through L1 and L2.
    Global,
    /// Per-CTA scratchpad.
    Shared,
    /// Per-thread memory, backed by device memory.
    Local,
    /// Constant banks.
    Constant,
    /// Kernel or function parameters.
    Parameter,
    /// Texture and surface path.
    Texture,
}

/// What a memory instruction does with its location.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum AccessKind {
    /// Reads.
    Load,
    /// Writes.
    Store,
    /// Reads and writes indivisibly, answered.
    Atomic,
    /// Reads and writes indivisibly, not answered (`red`).
    Reduction,
}

/// The memory side of a warp instruction.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryAccess {
    /// Where.
    pub space: MemorySpace,
    /// What.
    pub kind: AccessKind,
    /// Bytes per lane.
    pub width: u32,
    /// Byte address per lane; meaningful where the active mask has a one.
    pub addresses: Box<[u64; WARP_SIZE]>,
    /// Volatile, acquire and atomic accesses take their value when the request reaches the L2 slice.
    pub pending_until_completed: bool,
}

/// One instruction of one warp, as the timing model sees it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WarpInstruction {
    /// Instruction address in bytes within the kernel's code.
    pub pc: u64,
    /// Unit occupied.
    pub unit: Unit,
    /// Registers read.
    pub reads: Vec<u16>,
    /// Registers written.
    pub writes: Vec<u16>,
    /// Lanes that execute.
    pub active: LaneMask,
    /// Memory side, if any.
    pub memory: Option<MemoryAccess>,
}

/// Names a warp: CTA number within the grid (x fastest) and warp within the CTA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
pub struct WarpName {
    /// Linear CTA number.
    pub cta: u64,
    /// Warp within the CTA.
    pub warp: u32,
}

/// What a source answers when a warp is asked for its next instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// The instruction, executed by the source as it was handed over.
    Instruction(WarpInstruction),
    /// The warp waits for others (barrier) or for a pending value.
    Waiting,
    /// All lanes have exited.
    Finished,
}

/// Hands out instructions warp by warp; the model decides the order.
pub trait InstructionSource {
    /// Why the source cannot go on (a fault in the kernel, a damaged trace).
    type Error;

    /// The next instruction of `warp`, issued at `cycle` of the core clock.
    fn next(&mut self, warp: WarpName, cycle: u64) -> Result<Next, Self::Error>;
}
