//! A streaming multiprocessor.
//!
//! An SM runs an epoch on its own: it takes what the memory side has sent, and leaves requests. Between epochs its owner
//! starts CTAs on it, and tells it what the memory side has performed.

pub mod memory;
mod occupancy;
mod program;
mod waiting;

use std::collections::VecDeque;
use std::sync::Arc;

use warp_stream::{SourceError, WarpSource};

use self::memory::MemoryUnit;
pub use self::occupancy::{Limit, Occupancy};
pub use self::program::Program;
pub use self::waiting::{Reason, WaitingWarp};
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::specification::GpuSpec;
use crate::statistics::{Counter, Counters};

/// Executes CTAs of a launch on one SM.
pub type Source<'a> = Box<dyn WarpSource + 'a>;

/// A CTA that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct FinishedCta {
    /// When. Core cycles.
    pub cycle: u64,
    /// Index of its launch's source.
    pub launch: u32,
    /// Number of the CTA in its grid.
    pub cta: u64,
}

/// Why an SM cannot go on.
#[derive(Debug, thiserror::Error)]
pub enum SmFault {
    /// The source cannot: a fault in the kernel, a damaged trace.
    #[error("{error}")]
    Source {
        /// Index of the launch's source.
        launch: u32,
        /// Number of the CTA in its grid.
        cta: u64,
        /// Warp within the CTA.
        warp: u32,
        /// When. Core cycles.
        cycle: u64,
        /// What the source says.
        error: SourceError,
    },
    /// There is no source for a launch of which CTAs run.
    #[error("launch {launch} has no source")]
    NoSource {
        /// Index of the launch's source.
        launch: u32,
    },
    /// A source has named an instruction that the kernel does not have.
    #[error("launch {launch} has no instruction {position}")]
    NoInstruction {
        /// Index of the launch's source.
        launch: u32,
        /// Position in the kernel's code.
        position: u32,
    },
}

/// What an SM has counted.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct SmCounters {
    /// Its memory side.
    pub memory: memory::MemoryCounters,
}

impl Counters for SmCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        self.memory.each(tell);
    }

    fn add(&mut self, other: &SmCounters) {
        self.memory.add(&other.memory);
    }
}

/// A streaming multiprocessor.
#[derive(Debug, Clone)]
pub struct Sm {
    #[expect(dead_code, reason = "read when units are there")]
    gpu: Arc<GpuSpec>,
    memory: MemoryUnit,
}

impl Sm {
    /// An idle one with empty caches.
    pub fn new(gpu: &Arc<GpuSpec>, number: u16) -> Sm {
        Sm { gpu: Arc::clone(gpu), memory: MemoryUnit::new(gpu, number) }
    }

    /// How many more CTAs of a kernel have room now.
    pub fn room(&self, program: &Program) -> u32 {
        u32::from(program.kernel.threads_per_cta() == 0)
    }

    /// A CTA begins at a cycle, not before those that [`Sm::run`] has run; [`Sm::room`] has said that it can. `launch` is the index of
    /// its source in what `run` is given.
    ///
    /// # Errors
    /// The source cannot start it, or there is none.
    pub fn start_cta(
        &mut self,
        _cycle: u64,
        launch: u32,
        _program: &Arc<Program>,
        _cta: u64,
        _sources: &mut [Option<Source<'_>>],
    ) -> Result<(), SmFault> {
        Err(SmFault::NoSource { launch })
    }

    /// Runs cycles up to `end` (exclusive): takes replies that have arrived, adds requests to `outbox` in the order in which
    /// they leave, and CTAs that end to `finished`.
    ///
    /// # Errors
    /// A source cannot go on. The SM can be thrown away, or be emptied with [`Sm::abort`].
    pub fn run(
        &mut self,
        _end: u64,
        _sources: &mut [Option<Source<'_>>],
        _replies: &mut VecDeque<Timed<MemoryReply>>,
        _outbox: &mut Vec<Timed<MemoryRequest>>,
        _finished: &mut Vec<FinishedCta>,
    ) -> Result<(), SmFault> {
        Ok(())
    }

    /// A deferred instruction takes effect: its request is at its slice. To be called between epochs, for all SMs in the order
    /// in which the memory side tells, so that effects have that order too. `cycle` is the first that has not been run.
    ///
    /// # Errors
    /// The source cannot.
    pub fn perform(
        &mut self,
        _cycle: u64,
        _performed: &Performed,
        _sources: &mut [Option<Source<'_>>],
    ) -> Result<(), SmFault> {
        Ok(())
    }

    /// So many requests were taken at the other end; from `cycle` on as many more may leave.
    pub fn give_credits(&mut self, cycle: u64, count: u32) {
        self.memory.give_credits(cycle, count);
    }

    /// The first cycle at which something happens without a message from outside; nothing if it is idle or waits for
    /// messages. Replies that wait to be taken count as messages from outside.
    pub fn next_event(&self) -> Option<u64> {
        self.memory.next_event()
    }

    /// Whether no CTA is on it and nothing is under way.
    pub fn is_idle(&self) -> bool {
        self.memory.is_idle()
    }

    /// CTAs that run.
    pub fn cta_count(&self) -> u32 {
        0
    }

    /// Forgets what the L1 data cache has: a kernel begins.
    pub fn invalidate(&mut self) {
        self.memory.invalidate();
    }

    /// Forgets what the instruction caches have, for launches that start cold.
    pub fn invalidate_instructions(&mut self) {}

    /// What it has counted, up to the cycle that it has run to.
    pub fn counters(&self) -> SmCounters {
        SmCounters { memory: self.memory.counters() }
    }

    /// Which warps wait, and for what.
    pub fn waiting(&self) -> Vec<WaitingWarp> {
        Vec::new()
    }
}
