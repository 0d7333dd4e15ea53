//! Faults of kernels. A fault is a value; the ABI layer converts it to the sticky error of the real driver.

use std::fmt;

use ptx_frontend::ir::TextPosition;
use warp_stream::kernel_name::{readable, signature};

/// Cause of a fault.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// Access outside of every allocation or window.
    #[error("illegal address {address:#x}, {width} bytes")]
    IllegalAddress {
        /// Accessed address.
        address: u64,
        /// Bytes accessed.
        width: u32,
        /// Faulting lane.
        lane: u32,
    },
    /// Access to registered memory that the program unmapped during the launch.
    #[error(
        "illegal address: registered host memory at {address:#x} has been unmapped while the kernel runs"
    )]
    Unmapped {
        /// Start of the lost memory.
        address: u64,
    },
    /// Access to registered memory that the program protected.
    #[error(
        "illegal address: the program has protected registered host memory at {address:#x}; \
         call cudaHostUnregister before mprotect"
    )]
    Protected {
        /// Start of the protected memory.
        address: u64,
    },
    /// Address that is no multiple of the access width.
    #[error("misaligned address {address:#x} for {width} bytes")]
    MisalignedAddress {
        /// Accessed address.
        address: u64,
        /// Bytes accessed.
        width: u32,
        /// Faulting lane.
        lane: u32,
    },
    /// Handle of a texture, sampler or surface that is unknown to the launch.
    #[error("{handle:#x}: no bound {what} has this handle")]
    UnknownHandle {
        /// Handle value.
        handle: u64,
        /// Expected kind of object.
        what: &'static str,
        /// Faulting lane.
        lane: u32,
    },
    /// Access outside of a surface in `.trap` mode.
    #[error("({x}, {y}, {z}) is outside of the surface")]
    OutsideSurface {
        /// X coordinate, in bytes or elements as the instruction counts.
        x: i32,
        /// Y coordinate.
        y: i32,
        /// Z coordinate, or the layer of a layered surface.
        z: i32,
        /// Faulting lane.
        lane: u32,
    },
    /// `trap` or `brkpt`.
    #[error("trap")]
    Trap {
        /// Faulting lane.
        lane: u32,
    },
    /// `__assertfail`.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// Text of the condition.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
        /// Faulting lane.
        lane: u32,
    },
    /// Call depth beyond the thread's stack.
    #[error("stack overflow: more than {limit} bytes of local memory")]
    StackOverflow {
        /// Bytes of local memory per thread.
        limit: u32,
        /// Faulting lane.
        lane: u32,
    },
    /// Call to an address without a function, or an index outside of the target list.
    #[error("invalid program counter {target:#x}")]
    InvalidTarget {
        /// Target address.
        target: u64,
        /// Faulting lane.
        lane: u32,
    },
    /// Deadlock: no thread of the CTA can continue.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// Launch stopped by the watchdog.
    #[error("the launch ran longer than the watchdog's {seconds} s")]
    Timeout {
        /// Time limit.
        seconds: u64,
    },
    /// Known but unsupported instruction.
    #[error("{0}")]
    Unsupported(String),
}

impl FaultKind {
    /// Faulting lane, if there is a single one.
    pub fn lane(&self) -> Option<u32> {
        match self {
            FaultKind::IllegalAddress { lane, .. }
            | FaultKind::MisalignedAddress { lane, .. }
            | FaultKind::UnknownHandle { lane, .. }
            | FaultKind::OutsideSurface { lane, .. }
            | FaultKind::Trap { lane }
            | FaultKind::Assert { lane, .. }
            | FaultKind::StackOverflow { lane, .. }
            | FaultKind::InvalidTarget { lane, .. } => Some(*lane),
            FaultKind::Deadlock(_)
            | FaultKind::Timeout { .. }
            | FaultKind::Unsupported(_)
            | FaultKind::Unmapped { .. }
            | FaultKind::Protected { .. } => None,
        }
    }
}

/// Position in the program's texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spot {
    /// Function.
    pub function: String,
    /// Text of the instruction.
    pub instruction: String,
    /// Position in the PTX text.
    pub place: TextPosition,
    /// Source file; empty if unknown.
    pub file: String,
    /// Source line from 1; 0 if unknown.
    pub line: u32,
    /// Position of the instruction itself, if it was inlined at `file` and `line` from a compiler header.
    pub inlined: Option<(String, u32)>,
}

impl Spot {
    /// Positions in the PTX text and in the source.
    pub fn place(&self) -> String {
        match (self.file.as_str(), self.line) {
            (_, 0) => format!("PTX line {}", self.place.line),
            ("", line) => format!("PTX line {} (source line {line})", self.place.line),
            (file, line) => {
                let through =
                    self.inlined.as_ref().map(|(file, line)| format!(", inlined from {file}:{line}"));
                format!("PTX line {} ({file}:{line}{})", self.place.line, through.unwrap_or_default())
            }
        }
    }
}

impl fmt::Display for Spot {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}: {}", self.place(), readable(&self.instruction))
    }
}

/// Waiting threads of a CTA.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct WaitingThreads {
    /// Warp within the CTA.
    pub warp: u32,
    /// Waiting lanes.
    pub lanes: u32,
    /// Reason for the wait.
    pub awaits: Awaits,
    /// Instruction at which the lanes wait.
    pub spot: Spot,
}

/// Reason for which threads wait.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// No reason: the threads are ready.
    Nothing,
    /// The barrier with this number.
    Barrier(u32),
    /// Other lanes of the warp.
    Lanes(u32),
}

/// A fault and its position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// Cause.
    pub kind: FaultKind,
    /// Kernel name.
    pub kernel: String,
    /// CTA within the grid.
    pub cta: [u32; 3],
    /// Thread within the CTA.
    pub thread: Option<[u32; 3]>,
    /// Instruction at fault.
    pub spot: Spot,
    /// Positions of the CTA's live threads, after a deadlock.
    pub waiting: Vec<WaitingThreads>,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(f, "{} in kernel {}", self.kind, signature(&self.kernel))?;
        if self.spot.function != self.kernel {
            write!(f, ", function {}", signature(&self.spot.function))?;
        }
        write!(f, ", CTA ({x},{y},{z})")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x},{y},{z})")?;
        }
        write!(f, ", {}", self.spot)
    }
}

impl std::error::Error for Fault {}
