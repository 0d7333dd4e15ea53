//! Accesses in flight and their lines.

use serde::{Deserialize, Serialize};
use warp_stream::{AccessKind, LaneMask, MemoryOperation, MemorySpace, OperationClass};

use crate::message::Requester;

/// Memory structures of an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub enum Structure {
    /// L1 data cache, including accesses that bypass it.
    L1,
    /// Shared memory; its data stage also executes `SHFL`.
    Shared,
    /// Constant cache.
    Constant,
}

/// Number of structures.
pub const STRUCTURES: usize = 3;

/// Start of an access that waits for its operands.
pub const NOT_ACCEPTED: u64 = u64::MAX;

/// A line touched by an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Line {
    /// Device address, aligned to the line size.
    pub address: u64,
    /// Mask of sectors.
    pub sectors: u8,
    /// Mask of 8 B words, set by the coalescer.
    #[serde(skip)]
    pub words: u16,
    /// Mask of bytes written or modified; 0 for loads.
    pub bytes: u128,
    /// Lanes that touch the line; 0 for loads and stores.
    pub lanes: LaneMask,
    /// Next line of the access, in the slab of lines.
    pub next: u32,
}

/// A warp's memory access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Access {
    /// Number of the instruction in the SM core.
    pub instruction: u32,
    /// Issuing sub-core.
    pub sub_core: u8,
    /// Warp slot of the SM.
    pub warp: u8,
    /// Operation class.
    pub class: OperationClass,
    /// Memory operation.
    pub operation: MemoryOperation,
    /// Number of the deferred effect at the source.
    pub deferred: Option<u32>,
    /// Target structure.
    pub structure: Structure,
    /// Core cycle at which the address stage accepts it, or [`NOT_ACCEPTED`].
    pub start: u64,
    /// First line that the structure has not accepted.
    pub first: u32,
    /// Number of lines; 1 for accesses to shared memory.
    pub total: u16,
    /// Lines accepted by the structure.
    pub taken: u16,
    /// Remaining passes through the structure's data stage.
    pub passes: u16,
    /// Lines without a reply.
    pub unanswered: u16,
    /// Set if a line ever waited for a reply.
    pub missed: bool,
    /// Set if a request ever waited for a translation.
    pub untranslated: bool,
    /// Core cycle at which the replies so far are available.
    pub ready: u64,
}

impl Access {
    /// Lines with computed addresses at a cycle that the structure has not accepted. The address
    /// stage computes `rate` addresses a cycle.
    pub fn available(&self, cycle: u64, rate: u16) -> u16 {
        let computed = cycle.saturating_sub(self.start).saturating_mul(u64::from(rate));
        computed.min(u64::from(self.total)) as u16 - self.taken
    }

    /// Core cycle at which the next line's address is available, at `rate` addresses a cycle.
    pub fn next_available(&self, rate: u16) -> u64 {
        self.start.saturating_add(1 + u64::from(self.taken / rate))
    }

    /// Tells whether the access is a load, with a reply.
    pub fn is_load(&self) -> bool {
        self.operation.kind == AccessKind::Load
    }

    /// Requester for statistics.
    pub fn requester(&self) -> Requester {
        requester(self.operation.space)
    }
}

/// Requester for statistics by memory space.
pub fn requester(space: MemorySpace) -> Requester {
    match space {
        MemorySpace::Global | MemorySpace::Shared | MemorySpace::Generic => Requester::Global,
        MemorySpace::Local => Requester::Local,
        MemorySpace::Constant => Requester::Constant,
        MemorySpace::Texture => Requester::Texture,
    }
}
