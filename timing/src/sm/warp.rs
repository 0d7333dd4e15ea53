//! What an SM knows of a warp.

use serde::{Deserialize, Serialize};
use warp_stream::Unit;

use super::front_end::Buffer;
use super::program::Program;
use super::scoreboard::Scoreboard;
use crate::restore::{Fits, fits, near};

/// What keeps a warp from being issued.
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
    /// Its instructions are not there, or a branch.
    Fetch,
    /// It waits for others.
    Barrier,
    /// It rests.
    Sleep,
    /// Its CTA is being started.
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
    /// What it waits for.
    pub status: Status,
    /// The unit of the instruction that it waits with.
    pub unit: Unit,
    /// Whether its source has named the next instruction; it is the first of the buffer.
    pub has_next: bool,
    /// It is not issued before. Core cycles.
    pub not_before: u64,
    /// Why.
    pub hold: Status,
    /// Its instructions.
    pub buffer: Buffer,
    /// When results are there.
    pub scoreboard: Scoreboard,
    /// It is ready from then on, if it waits for results of a fixed latency alone; `u64::MAX` if it may wait for more. Core cycles.
    pub ripe: u64,
    /// Memory instructions under way.
    pub accesses: u32,
    /// Its next atomic operation on global memory is not issued before. Core cycles.
    pub next_atomic: u64,
    /// Cycle in which the last operand of an issued instruction is read.
    pub operands_read: u64,
}

impl Warp {
    /// Whether one that was read can be at a cycle, with its program.
    pub fn check(&self, program: &Program, now: u64) -> Fits {
        self.scoreboard.check(program.scoreboard_size(), now)?;
        let times = [self.not_before, self.operands_read, self.next_atomic];
        fits(times.into_iter().all(|cycle| near(cycle, now)), "a warp waits for too long")?;
        if self.status == Status::Absent {
            return Ok(());
        }
        self.buffer.check(program)?;
        let next = (self.buffer.from as usize) < program.instructions().len();
        fits(next || !self.has_next, "a warp has no such instruction")?;
        let ready = self.has_next && self.buffer.has_next();
        fits(ready || self.status != Status::Ready, "a warp is ready without an instruction")
    }
}
