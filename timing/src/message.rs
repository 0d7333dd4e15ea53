//! What SMs and the memory side tell each other, and when.
//!
//! Both sides run an epoch (some cycles, no more than a message takes) on their own. Then the requests of all SMs go to the
//! memory side in the order of (cycle, SM, sequence), so what happens does not depend on which SM's thread was first.

use serde::{Deserialize, Serialize};

use crate::restore::{Fits, fits};

/// Bytes of a cache line: what one message is about.
pub const LINE_BYTES: u64 = 128;
/// Bytes of a sector: what caches fetch and DRAM delivers.
pub const SECTOR_BYTES: u64 = 32;
/// Sectors of a line.
pub const SECTORS: u32 = 4;

/// What a request asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RequestKind {
    /// Sectors; the reply brings them.
    Read,
    /// Bytes are written; the reply says so (what fences wait for).
    Write,
    /// Atomic operations at the L2 slice; the reply brings what was there before.
    Atomic,
    /// The same without values; the reply says so.
    Reduction,
}

/// Who in the SM asks, for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Origin {
    /// Global memory.
    Global,
    /// Local memory.
    Local,
    /// Textures and surfaces.
    Texture,
    /// Constants and kernel parameters.
    Constant,
    /// Instructions.
    Instruction,
    /// A copy engine.
    Copy,
}

impl Origin {
    /// Whether the L1 instruction cache asks, through which constants go too.
    pub(crate) fn is_instruction_cache(self) -> bool {
        matches!(self, Origin::Instruction | Origin::Constant)
    }
}

/// A request for sectors of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRequest {
    /// Device address of the line, a multiple of [`LINE_BYTES`].
    pub line: u64,
    /// Sectors asked for or written, one bit each, bit 0 the lowest address.
    pub sectors: u8,
    /// Bytes written, one bit each, bit 0 the lowest address. Writes, atomics and reductions only.
    pub bytes: u128,
    /// What is asked for.
    pub kind: RequestKind,
    /// Lanes of the warp with an atomic operation, one bit each. Atomics and reductions only.
    pub lanes: u32,
    /// Who asks.
    pub origin: Origin,
    /// The SM.
    pub sm: u16,
    /// What the SM knows it by; the reply has the same.
    pub tag: u32,
    /// What the SM's warp source is told to perform when the request reaches the slice.
    pub deferred: Option<u32>,
}

impl MemoryRequest {
    /// Sectors of a line are to be read.
    pub fn read(sm: u16, line: u64, sectors: u8, origin: Origin) -> MemoryRequest {
        let kind = RequestKind::Read;
        MemoryRequest { line, sectors, bytes: 0, kind, lanes: 0, origin, sm, tag: 0, deferred: None }
    }

    /// The answer to it.
    pub fn reply(&self) -> MemoryReply {
        let MemoryRequest { line, sectors, kind, origin, sm, tag, .. } = *self;
        MemoryReply { line, sectors, kind, origin, sm, tag }
    }

    /// Whether one that was read can be, where there are so many SMs.
    pub(crate) fn check(&self, sms: u32) -> Fits {
        self.reply().check(sms)
    }
}

/// A message that leaves at a cycle of the core clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed<T> {
    /// When. Core cycles.
    pub cycle: u64,
    /// What.
    pub message: T,
}

/// An answer from the memory side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReply {
    /// Device address of the line.
    pub line: u64,
    /// Sectors that were asked for.
    pub sectors: u8,
    /// What was asked for.
    pub kind: RequestKind,
    /// Who asked.
    pub origin: Origin,
    /// The SM that asked.
    pub sm: u16,
    /// What the SM knows it by.
    pub tag: u32,
}

impl MemoryReply {
    /// Whether one that was read can be, where there are so many SMs.
    pub(crate) fn check(&self, sms: u32) -> Fits {
        fits(u32::from(self.sm) < sms, "a message is of an SM that there is not")?;
        fits(self.line.is_multiple_of(LINE_BYTES) && self.sectors >> SECTORS == 0, "a message is of no line")
    }
}

/// A deferred instruction's request has reached its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Performed {
    /// When. Core cycles.
    pub cycle: u64,
    /// The SM whose source performs it.
    pub sm: u16,
    /// Its number at that source.
    pub deferred: u32,
}
