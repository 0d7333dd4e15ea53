//! What can go wrong in a kernel. A fault is a value; the ABI layer turns it into the sticky error that the real
//! driver returns.

use std::fmt;

use ptx_frontend::ir::Place;
use warp_stream::kernel_name::{readable, signature};

/// What a lane did.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum FaultKind {
    /// An access outside every allocation (or window).
    #[error("illegal address {address:#x}, {width} bytes")]
    IllegalAddress {
        /// The address.
        address: u64,
        /// Bytes accessed.
        width: u32,
        /// Lane.
        lane: u32,
    },
    /// An address that is no multiple of the access's width.
    #[error("misaligned address {address:#x} for {width} bytes")]
    MisalignedAddress {
        /// The address.
        address: u64,
        /// Bytes accessed.
        width: u32,
        /// Lane.
        lane: u32,
    },
    /// A handle of a texture, sampler or surface that the launch does not know.
    #[error("{handle:#x} is the handle of no {what}, or of one that nothing is bound to")]
    UnknownHandle {
        /// The handle.
        handle: u64,
        /// What it was taken for.
        what: &'static str,
        /// Lane.
        lane: u32,
    },
    /// An access outside of a surface, with `.trap`.
    #[error("({x}, {y}, {z}) is outside of the surface")]
    OutsideSurface {
        /// Coordinates; x in bytes or elements, as the instruction counts; z is the layer where there are layers.
        x: i32,
        /// Row.
        y: i32,
        /// Slice or layer.
        z: i32,
        /// Lane.
        lane: u32,
    },
    /// `trap` or `brkpt`.
    #[error("trap")]
    Trap {
        /// Lane.
        lane: u32,
    },
    /// `__assertfail`.
    #[error("{file}:{line}: {function}: assertion `{message}` failed")]
    Assert {
        /// The condition's text.
        message: String,
        /// Source file.
        file: String,
        /// Source line.
        line: u32,
        /// Function.
        function: String,
        /// Lane.
        lane: u32,
    },
    /// Calls too deep for the thread's stack.
    #[error("stack overflow: more than {limit} bytes of local memory")]
    StackOverflow {
        /// Bytes a thread has.
        limit: u32,
        /// Lane.
        lane: u32,
    },
    /// A call to an address where no function is, or an index outside its list of targets.
    #[error("invalid program counter {target:#x}")]
    InvalidTarget {
        /// The address.
        target: u64,
        /// Lane.
        lane: u32,
    },
    /// Nobody in the CTA can go on.
    #[error("deadlock: {0}")]
    Deadlock(String),
    /// The launch ran longer than the watchdog allows.
    #[error("the launch ran longer than the watchdog's {seconds} s")]
    Timeout {
        /// The limit.
        seconds: u64,
    },
    /// An instruction that is known and not supported.
    #[error("{0}")]
    Unsupported(String),
}

impl FaultKind {
    /// The lane, where one is to blame.
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
            FaultKind::Deadlock(_) | FaultKind::Timeout { .. } | FaultKind::Unsupported(_) => None,
        }
    }
}

/// A place in the program's texts.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Spot {
    /// Function.
    pub function: String,
    /// The instruction's text.
    pub instruction: String,
    /// Its place in the PTX text.
    pub place: Place,
    /// File of the program's source; empty if the PTX does not say.
    pub file: String,
    /// Line of that file, from 1; 0 if the PTX does not say.
    pub line: u32,
    /// File and line of the instruction itself, where that is in a function of a header of the compiler's that was inlined at
    /// `file` and `line`.
    pub inlined: Option<(String, u32)>,
}

impl Spot {
    /// The places in the PTX text and in the program's source.
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

/// Threads of a CTA that wait, and where.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Waiting {
    /// Warp within the CTA.
    pub warp: u32,
    /// Its lanes.
    pub lanes: u32,
    /// What they wait for.
    pub awaits: Awaits,
    /// The instruction.
    pub spot: Spot,
}

/// What threads wait for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Awaits {
    /// Nothing: it is their turn.
    Nothing,
    /// Other threads of the CTA, at the barrier of this number.
    Barrier(u32),
    /// These lanes of the warp.
    Lanes(u32),
}

/// A fault with the place where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Kernel.
    pub kernel: String,
    /// CTA within the grid.
    pub cta: [u32; 3],
    /// Thread within the CTA.
    pub thread: Option<[u32; 3]>,
    /// The instruction.
    pub spot: Spot,
    /// Where the threads of the CTA are that have not exited, if nobody can go on.
    pub waiting: Vec<Waiting>,
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
