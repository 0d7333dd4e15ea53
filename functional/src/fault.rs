//! What can go wrong in a kernel. A fault is a value; the ABI layer turns it into the sticky error that the real
//! driver returns.

use std::fmt;

use ptx_frontend::ir::{Place, SourceLocation};

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

/// A fault with the place where it happened.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Fault {
    /// What.
    pub kind: FaultKind,
    /// Kernel.
    pub kernel: String,
    /// Function the instruction stands in.
    pub function: String,
    /// CTA within the grid.
    pub cta: [u32; 3],
    /// Thread within the CTA.
    pub thread: Option<[u32; 3]>,
    /// The instruction's text.
    pub instruction: String,
    /// Its place in the PTX text.
    pub place: Place,
    /// Its place in the program's source.
    pub location: SourceLocation,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let [x, y, z] = self.cta;
        write!(f, "{} in kernel {}", self.kind, self.kernel)?;
        if self.function != self.kernel {
            write!(f, ", function {}", self.function)?;
        }
        write!(f, ", CTA ({x},{y},{z})")?;
        if let Some([x, y, z]) = self.thread {
            write!(f, ", thread ({x},{y},{z})")?;
        }
        write!(f, ", PTX line {}", self.place.line)?;
        if self.location.line != 0 {
            write!(f, " (source line {})", self.location.line)?;
        }
        write!(f, ": {}", self.instruction)
    }
}

impl std::error::Error for Fault {}
