//! State of a warp slot.

use serde::{Deserialize, Serialize};
use warp_stream::Unit;

use super::front_end::Buffer;
use super::program::Program;
use super::scoreboard::Scoreboard;
use crate::restore::{Validity, ensure, near};

/// Wait state of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Status {
    /// No warp, or it ended.
    #[default]
    Absent,
    /// Ready, unless others take the resources.
    Ready,
    /// Waits for a fixed-latency result, or for its own last instruction.
    Scoreboard,
    /// Waits for memory.
    Memory,
    /// Waits for instructions or a branch.
    Fetch,
    /// Waits for other warps.
    Barrier,
    /// Sleeps.
    Sleep,
    /// The CTA is starting.
    Start,
}

/// Number of wait states.
pub const STATUSES: usize = 8;

/// A warp slot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Warp {
    /// CTA slot.
    pub cta: u8,
    /// Number within the CTA.
    pub number: u16,
    /// Wait state.
    pub status: Status,
    /// Unit of the next instruction.
    pub unit: Unit,
    /// Set if the source has named the next instruction, the first one in the buffer.
    pub has_next: bool,
    /// Earliest issue in core cycles.
    pub not_before: u64,
    /// Wait state until then.
    pub stall_reason: Status,
    /// Instruction buffer.
    pub buffer: Buffer,
    /// Availability of registers and predicates.
    pub scoreboard: Scoreboard,
    /// Core cycle from which it is ready, if it waits only for fixed-latency results; else
    /// `u64::MAX`.
    pub ready_at: u64,
    /// Memory instructions in flight.
    pub accesses: u32,
    /// Earliest issue of the next atomic operation on global memory, in core cycles.
    pub next_atomic: u64,
    /// Cycle of the last operand read of an issued instruction.
    pub operands_read: u64,
}

impl Warp {
    /// Checks a restored warp at a cycle against its program.
    pub fn check(&self, program: &Program, now: u64) -> Validity {
        self.scoreboard.check(program.scoreboard_size(), now)?;
        let times = [self.not_before, self.operands_read, self.next_atomic];
        ensure(times.into_iter().all(|cycle| near(cycle, now)), "a warp waits for too long")?;
        if self.status == Status::Absent {
            return Ok(());
        }
        self.buffer.check(program)?;
        let next = (self.buffer.from as usize) < program.instructions().len();
        ensure(next || !self.has_next, "a warp's next instruction does not exist")?;
        let ready = self.has_next && self.buffer.has_next();
        ensure(ready || self.status != Status::Ready, "a warp is ready without an instruction")
    }
}
