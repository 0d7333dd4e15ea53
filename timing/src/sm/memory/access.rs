//! Outstanding accesses of warps, and the lines of each.

use serde::{Deserialize, Serialize};
use warp_stream::{AccessKind, LaneMask, MemoryOperation, MemorySpace, OperationClass};

use crate::message::Requester;

/// Memory structure of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Structure {
    /// L1 data cache, and what passes by it to L2.
    L1,
    /// Shared memory, whose data stage also moves the values of `SHFL`.
    Shared,
    /// Constant cache.
    Constant,
}

/// How many structures there are.
pub const STRUCTURES: usize = 3;

/// When the address stage takes up an access that waits for its operands. Core cycles.
pub const NOT_ACCEPTED: u64 = u64::MAX;

/// A line that an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Device address, a multiple of the line's size.
    pub address: u64,
    /// Sectors, one bit each.
    pub sectors: u8,
    /// Words of 8 B, one bit each, as the coalescer finds them.
    #[serde(skip)]
    pub words: u16,
    /// Bytes written or operated on, one bit each; 0 for loads.
    pub bytes: u128,
    /// Lanes that touch it; 0 for loads and stores.
    pub lanes: LaneMask,
    /// The next line of the access, in the slab of lines.
    pub next: u32,
}

/// A warp's access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// The SM core's number of the instruction.
    pub instruction: u32,
    /// Sub-core that issued it.
    pub sub_core: u8,
    /// Warp slot of the SM.
    pub warp: u8,
    /// Class.
    pub class: OperationClass,
    /// Where and how.
    pub operation: MemoryOperation,
    /// Deferred instruction that the source performs.
    pub deferred: Option<u32>,
    /// Where it goes.
    pub structure: Structure,
    /// When the address stage takes it up, or [`NOT_ACCEPTED`]. Core cycles.
    pub start: u64,
    /// First line that its structure has not taken yet.
    pub first: u32,
    /// Lines in all; 1 for accesses to shared memory.
    pub total: u16,
    /// Lines that its structure has taken.
    pub taken: u16,
    /// Passes through its structure's data stage that are still to be made.
    pub passes: u16,
    /// Lines without an answer.
    pub unanswered: u16,
    /// A line of it was, or is, without one.
    pub missed: bool,
    /// The request of one was, or is, without a translation.
    pub untranslated: bool,
    /// When the last of what was answered so far is there. Core cycles.
    pub ready: u64,
}

impl Access {
    /// Lines whose addresses are computed at a cycle and that the structure has not taken: the
    /// address stage makes `rate` of them a cycle.
    pub fn available(&self, cycle: u64, rate: u16) -> u16 {
        let computed = cycle.saturating_sub(self.start).saturating_mul(u64::from(rate));
        computed.min(u64::from(self.total)) as u16 - self.taken
    }

    /// When the next line's address is computed; `rate` of them are in a cycle. Core cycles.
    pub fn next_available(&self, rate: u16) -> u64 {
        self.start.saturating_add(1 + u64::from(self.taken / rate))
    }

    /// The access is a load.
    pub fn is_load(&self) -> bool {
        self.operation.kind == AccessKind::Load
    }

    /// Who asks, for statistics.
    pub fn requester(&self) -> Requester {
        requester(self.operation.space)
    }
}

/// Who asks for memory of a space, for statistics.
pub fn requester(space: MemorySpace) -> Requester {
    match space {
        MemorySpace::Global | MemorySpace::Shared | MemorySpace::Generic => Requester::Global,
        MemorySpace::Local => Requester::Local,
        MemorySpace::Constant => Requester::Constant,
        MemorySpace::Texture => Requester::Texture,
    }
}
