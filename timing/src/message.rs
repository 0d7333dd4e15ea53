//! Messages between SMs and memory side.
//!
//! Both sides run an epoch on their own, which is at most a message's travel time. Then the memory
//! side takes all SMs' requests in the order of (cycle, SM, sequence), so thread timing never
//! affects results.

use serde::{Deserialize, Serialize};

use crate::restore::{Validity, ensure};

/// Line size: a message concerns one line.
pub const LINE_BYTES: u64 = 128;
/// Sector size: the unit of fetches and DRAM accesses.
pub const SECTOR_BYTES: u64 = 32;
/// Sectors of a line.
pub const SECTORS: u32 = 4;

/// Kind of a request.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum RequestKind {
    /// Read sectors; the reply brings them.
    Read,
    /// Write bytes; the reply acknowledges (fences wait for it).
    Write,
    /// Atomic operations at the L2 slice; the reply brings the old values.
    Atomic,
    /// Atomic operations without results; the reply acknowledges.
    Reduction,
}

/// Requester within the SM, for statistics.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Requester {
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

impl Requester {
    /// True for the L1 instruction cache, which constants pass through too.
    pub(crate) fn is_instruction_cache(self) -> bool {
        matches!(self, Requester::Instruction | Requester::Constant)
    }
}

/// Level of the memory that serves a line of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Level {
    /// L1 data cache.
    L1,
    /// L2.
    L2,
    /// DRAM.
    Dram,
}

/// A request for sectors of one line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryRequest {
    /// Device address of the line, a multiple of [`LINE_BYTES`].
    pub line: u64,
    /// Sectors read or written, a bit each from the lowest address.
    pub sectors: u8,
    /// Bytes written, a bit each from the lowest address; writes, atomics and reductions only.
    pub bytes: u128,
    /// Kind of the request.
    pub kind: RequestKind,
    /// Lanes with an atomic operation, a bit each; for reads, the [level](Self::level).
    pub lanes: u32,
    /// Requester.
    pub requester: Requester,
    /// Number of the SM.
    pub sm: u16,
    /// The SM's identification, repeated in the reply.
    pub tag: u32,
    /// Deferred instruction that the warp source performs when the request reaches the slice.
    pub deferred: Option<u32>,
}

impl MemoryRequest {
    /// A read of sectors.
    pub fn read(sm: u16, line: u64, sectors: u8, requester: Requester) -> MemoryRequest {
        let kind = RequestKind::Read;
        MemoryRequest { line, sectors, bytes: 0, kind, lanes: 0, requester, sm, tag: 0, deferred: None }
    }

    /// The level that must serve a read, if load rates decide it.
    pub fn level(&self) -> Option<Level> {
        match (self.kind, self.lanes) {
            (RequestKind::Read, 1) => Some(Level::L2),
            (RequestKind::Read, 2) => Some(Level::Dram),
            _ => None,
        }
    }

    /// The value of `lanes` for a read that a level must serve.
    pub fn lanes_of(level: Level) -> u32 {
        match level {
            Level::L1 => 0,
            Level::L2 => 1,
            Level::Dram => 2,
        }
    }

    /// Written sectors with bytes that the request leaves alone.
    pub(crate) fn partial_sectors(&self) -> u8 {
        let whole = |sector: &u32| (self.bytes >> (sector * SECTOR_BYTES as u32)) as u32 == u32::MAX;
        let partial = (0..SECTORS).filter(|sector| !whole(sector)).fold(0, |mask, sector| mask | 1 << sector);
        self.sectors & partial
    }

    /// Reply to the request.
    pub fn reply(&self) -> MemoryReply {
        let MemoryRequest { line, sectors, kind, requester, sm, tag, .. } = *self;
        MemoryReply { line, sectors, kind, requester, sm, tag }
    }

    /// Checks a restored request for a GPU of `sms` SMs.
    pub(crate) fn check(&self, sms: u32) -> Validity {
        self.reply().check(sms)
    }
}

/// A message with its core cycle.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Timed<T> {
    /// Core cycle.
    pub cycle: u64,
    /// The message.
    pub message: T,
}

/// Reply of the memory side.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryReply {
    /// Device address of the line.
    pub line: u64,
    /// Sectors requested.
    pub sectors: u8,
    /// Kind of the request.
    pub kind: RequestKind,
    /// Requester.
    pub requester: Requester,
    /// Number of the SM.
    pub sm: u16,
    /// The SM's identification.
    pub tag: u32,
}

impl MemoryReply {
    /// Checks a restored reply for a GPU of `sms` SMs.
    pub(crate) fn check(&self, sms: u32) -> Validity {
        ensure(u32::from(self.sm) < sms, "a message names a missing SM")?;
        ensure(
            self.line.is_multiple_of(LINE_BYTES) && self.sectors >> SECTORS == 0,
            "a message spans several lines",
        )
    }
}

/// Arrival of a deferred instruction's request at its slice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct Performed {
    /// Core cycle.
    pub cycle: u64,
    /// SM whose source performs the instruction.
    pub sm: u16,
    /// Number of the deferred instruction.
    pub deferred: u32,
}
