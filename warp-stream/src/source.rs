//! Where the instructions of the CTAs on one SM come from.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::{LaneMask, MemorySpace, WARP_SIZE};

/// Why a source cannot go on: a fault in the kernel, a damaged trace.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SourceError(#[from] pub Box<dyn Error + Send + Sync>);

/// Names a warp on an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarpSlot {
    /// CTA slot, chosen by the model when the CTA starts.
    pub cta: u32,
    /// Warp within the CTA.
    pub warp: u32,
}

/// Where a CTA runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residence {
    /// Streaming multiprocessor.
    pub sm: u32,
    /// First of its warp slots on the SM.
    pub first_warp: u32,
}

/// Simulated time.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Moment {
    /// Cycles of the core clock since the device started.
    pub cycle: u64,
    /// Nanoseconds since the device started.
    pub nanoseconds: u64,
}

/// What a source answers when a warp is asked for its next instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// The position of the instruction in the kernel's code.
    Instruction(u32),
    /// The warp waits for other warps (a barrier) or for what has been deferred. Ask again when an instruction of
    /// another warp of the CTA has been issued that ends lanes or is a barrier, or when something deferred was performed.
    Waiting,
    /// All lanes have exited.
    Finished,
}

/// What an issued instruction did.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Execution {
    /// Lanes that execute: those of the warp whose guard holds.
    pub active: LaneMask,
    /// Memory that most of the lanes reach, where the instruction has a memory side.
    pub space: MemorySpace,
    /// Byte address per lane, of a memory instruction; meaningful where the active mask has a one. Those of shared and
    /// constant memory count from the start of the CTA's shared memory and of the bank; those of local memory are
    /// device addresses.
    pub addresses: [u64; WARP_SIZE],
    /// Bytes from the address of each lane to that of the next one in each eight lanes, active or not, where the source knows that
    /// they are the same: nobody has to look for it then.
    pub stride: Option<u64>,
    /// Addresses of texels that a texture or surface instruction touches, in any order.
    pub texels: Vec<u64>,
    /// The instruction takes effect when the model calls [`WarpSource::perform`] with this number. Until then its
    /// results mean nothing.
    pub deferred: Option<u32>,
    /// The warp has to rest for so long. Nanoseconds.
    pub sleep: u32,
}

impl Default for Execution {
    fn default() -> Execution {
        Execution {
            active: 0,
            space: MemorySpace::Global,
            addresses: [0; WARP_SIZE],
            stride: None,
            texels: Vec::new(),
            deferred: None,
            sleep: 0,
        }
    }
}

/// Executes the warps of the CTAs on one SM; the model decides the order.
pub trait WarpSource: Send {
    /// CTA number `cta` of the grid (x fastest) starts in slot `slot`, which is free.
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError>;

    /// The CTA in this slot has finished; all that was deferred has been performed.
    fn end_cta(&mut self, slot: u32);

    /// The next instruction of a warp. Asked again, it says the same, until the instruction is issued.
    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError>;

    /// Executes the instruction that [`WarpSource::next`] has named, and says what it did. What `execution` holds on
    /// entry means nothing.
    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError>;

    /// [`WarpSource::issue`], and what [`WarpSource::next`] says of the warp after it: most models ask for both.
    fn issue_and_ask(
        &mut self,
        warp: WarpSlot,
        now: Moment,
        execution: &mut Execution,
    ) -> Result<Next, SourceError> {
        self.issue(warp, now, execution)?;
        self.next(warp)
    }

    /// It is going to be asked of all its warps: what it keeps may be brought to the host's caches
    /// ([`host_cache`](crate::host_cache)).
    fn foresee(&self) {}

    /// A deferred instruction takes effect: its request has reached the L2 slice, or its place in shared memory.
    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError>;

    /// From here on the SM holds its warps' stores: other SMs see a store only after [`WarpSource::publish`]. A source
    /// that stores nothing does nothing.
    fn hold_stores(&mut self) {}

    /// Core cycle of the oldest store that the SM holds.
    fn oldest_held(&self) -> Option<u64> {
        None
    }

    /// Writes held stores of core cycles up to `through` to memory, in the order in which warps made them.
    fn publish(&mut self, _through: u64) -> Result<(), SourceError> {
        Ok(())
    }
}
