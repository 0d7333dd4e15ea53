//! State of a warp in an SM.

use serde::{Deserialize, Serialize};
use warp_stream::Unit;

use super::front_end::Buffer;
use super::program::Program;
use super::scoreboard::Scoreboard;
use crate::restore::{Validity, ensure, near};

/// Stall reason of a warp.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[repr(u8)]
pub enum Status {
    /// There is no warp, or it has ended.
    #[default]
    Absent,
    /// Nothing but what others take.
    Ready,
    /// A result of a fixed latency, or the end of its own last instruction.
    Scoreboard,
    /// An answer from memory.
    Memory,
    /// Waits for instructions, or for a branch.
    Fetch,
    /// Waits at a barrier.
    Barrier,
    /// Sleeps.
    Sleep,
    /// Waits for the start of its CTA.
    Start,
}

/// How many states there are.
pub const STATUSES: usize = 8;

/// A warp slot.
#[derive(Debug, Clone, Default, Serialize, Deserialize)]
pub struct Warp {
    /// CTA slot.
    pub cta: u8,
    /// Number within the CTA.
    pub number: u16,
    /// Stall reason, or ready.
    pub status: Status,
    /// The unit of the instruction that it waits with.
    pub unit: Unit,
    /// The source has named the next instruction, which is the first of the buffer.
    pub has_next: bool,
    /// Earliest issue. Core cycles.
    pub not_before: u64,
    /// Stall reason until then.
    pub stall_reason: Status,
    /// Instruction buffer.
    pub buffer: Buffer,
    /// When results are there.
    pub scoreboard: Scoreboard,
    /// It is ready from then on, if it waits for results of a fixed latency alone; `u64::MAX` if it
    /// may wait for more. Core cycles.
    pub ready_at: u64,
    /// Memory instructions under way.
    pub accesses: u32,
    /// Earliest issue of the next atomic operation on global memory. Core cycles.
    pub next_atomic: u64,
    /// Cycle in which the last operand of an issued instruction is read.
    pub operands_read: u64,
}

impl Warp {
    /// Checks a restored warp at a cycle, with its program.
    pub fn check(&self, program: &Program, now: u64) -> Validity {
        self.scoreboard.check(program.scoreboard_size(), now)?;
        let times = [self.not_before, self.operands_read, self.next_atomic];
        ensure(times.into_iter().all(|cycle| near(cycle, now)), "a warp waits for too long")?;
        if self.status == Status::Absent {
            return Ok(());
        }
        self.buffer.check(program)?;
        let next = (self.buffer.from as usize) < program.instructions().len();
        ensure(next || !self.has_next, "a warp has no such instruction")?;
        let ready = self.has_next && self.buffer.has_next();
        ensure(ready || self.status != Status::Ready, "a warp is ready without an instruction")
    }
}
