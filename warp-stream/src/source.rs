//! Source of the instructions of the CTAs on one SM.

use std::error::Error;

use serde::{Deserialize, Serialize};

use crate::{LaneMask, MemorySpace, WARP_SIZE};

/// Reason for which a source cannot continue: a fault of the kernel, a damaged trace.
#[derive(Debug, thiserror::Error)]
#[error(transparent)]
pub struct SourceError(#[from] pub Box<dyn Error + Send + Sync>);

/// Identifies a warp on an SM.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct WarpSlot {
    /// CTA slot, chosen by the model at the start of the CTA.
    pub cta: u32,
    /// Warp within the CTA.
    pub warp: u32,
}

/// Location of a CTA on the GPU.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Residence {
    /// Streaming multiprocessor.
    pub sm: u32,
    /// First warp slot of the CTA on the SM.
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

impl Moment {
    /// The moment some cycles of a nanosecond each later.
    pub fn after(self, cycles: u32) -> Moment {
        let later = |time: u64| time.saturating_add(cycles.into());
        Moment { cycle: later(self.cycle), nanoseconds: later(self.nanoseconds) }
    }
}

/// Answer of a source to the request for a warp's next instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Index of the instruction in the kernel's code.
    Instruction(u32),
    /// The warp waits at a barrier or for a deferred instruction. Ask again after another warp of the CTA
    /// issued a barrier or ended lanes, or after a deferred instruction was performed.
    Waiting,
    /// All lanes have exited.
    Finished,
}

/// Effects of an issued instruction.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Execution {
    /// Executing lanes: active lanes of the warp whose guard holds.
    pub active: LaneMask,
    /// Memory space that most lanes access, for a memory instruction.
    pub space: MemorySpace,
    /// Byte address per lane of a memory instruction, valid for active lanes. Addresses of shared and
    /// constant memory are offsets into the CTA's shared memory and the bank. Addresses of local memory are
    /// device addresses.
    pub addresses: [u64; WARP_SIZE],
    /// Byte distance between neighbouring lanes within each group of eight, active or not, if the source
    /// knows a common distance. Consumers then need not compute the distance.
    pub stride: Option<u64>,
    /// Addresses of texels that a texture or surface instruction touches, in any order.
    pub texels: Vec<u64>,
    /// Number of a deferred instruction: its effect happens when the model calls [`WarpSource::perform`].
    /// Results are undefined until then.
    pub deferred: Option<u32>,
    /// Nanoseconds for which the warp must sleep.
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

/// Executes the warps of the CTAs on one SM, in the order that the model decides.
pub trait WarpSource: Send {
    /// Starts CTA number `cta` of the grid (x fastest) in the free slot `slot`.
    fn start_cta(&mut self, slot: u32, cta: u64, residence: Residence) -> Result<(), SourceError>;

    /// Ends the finished CTA in `slot`, whose deferred instructions were all performed.
    fn end_cta(&mut self, slot: u32);

    /// Next instruction of a warp. Repeated calls return the same answer until the instruction is issued.
    fn next(&mut self, warp: WarpSlot) -> Result<Next, SourceError>;

    /// Executes the instruction that [`WarpSource::next`] returned and overwrites `execution` with the
    /// effects.
    fn issue(&mut self, warp: WarpSlot, now: Moment, execution: &mut Execution) -> Result<(), SourceError>;

    /// Combines [`WarpSource::issue`] and the following [`WarpSource::next`], which most models call
    /// together.
    fn issue_and_ask(
        &mut self,
        warp: WarpSlot,
        now: Moment,
        execution: &mut Execution,
    ) -> Result<Next, SourceError> {
        self.issue(warp, now, execution)?;
        self.next(warp)
    }

    /// Executes up to `most` instructions of a warp in a row while the warp can issue, and passes each with
    /// its position to `issued`. A deferred instruction is the last one. The time advances by a cycle and a
    /// nanosecond per instruction. Returns the answer of the following [`WarpSource::next`]. For consumers
    /// that need each warp's own order alone.
    fn issue_many(
        &mut self,
        warp: WarpSlot,
        (now, most): (Moment, u32),
        execution: &mut Execution,
        issued: &mut dyn FnMut(u32, &Execution),
    ) -> Result<Next, SourceError> {
        let mut next = self.next(warp)?;
        for step in 0..most {
            let Next::Instruction(position) = next else { break };
            next = self.issue_and_ask(warp, now.after(step), execution)?;
            issued(position, execution);
            if execution.deferred.is_some() {
                break;
            }
        }
        Ok(next)
    }

    /// Announces that the model will query all warps soon. The source may prefetch its state into the
    /// host's caches ([`host_cache`](crate::host_cache)).
    fn prefetch_host(&self) {}

    /// Applies a deferred instruction, whose request has reached the L2 slice or shared memory.
    fn perform(&mut self, deferred: u32, now: Moment) -> Result<(), SourceError>;

    /// Buffers the stores of the SM's warps from now on: other SMs see a store after
    /// [`WarpSource::publish`]. A source without stores ignores the call.
    fn hold_stores(&mut self) {}

    /// Core cycle of the oldest buffered store.
    fn oldest_held(&self) -> Option<u64> {
        None
    }

    /// Writes buffered stores of core cycles up to `through` to memory, in program order.
    fn publish(&mut self, _through: u64) -> Result<(), SourceError> {
        Ok(())
    }
}
