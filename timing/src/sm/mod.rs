//! A streaming multiprocessor.
//!
//! An SM runs an epoch on its own: it takes what the memory side has sent, and leaves requests.
//! Between epochs its owner starts CTAs on it, and tells it what the memory side has performed.
//!
//! Nothing is looked at in a cycle in which nothing can change. A warp that waits is looked at when
//! what it waits for is there: at a known cycle ([`wakes`]), or when somebody says so. A sub-core
//! is looked at when one of its warps is ready or has to be looked at, instructions arrive, or the
//! memory pipeline has room. What an instruction occupies on its way (ports, collectors, units,
//! slots of the result bus) is reserved when it is issued, cycles ahead.

mod cache;
mod check;
mod counters;
mod cta;
pub mod divergence;
pub mod execution;
pub mod front_end;
pub mod issue;
mod issuing;
pub mod memory;
pub mod occupancy;
pub mod operands;
mod program;
pub mod result_bus;
mod running;
mod scoreboard;
mod sub_core;
mod sub_cores;
mod waiting;
mod wakes;
mod warm;
mod warp;

use std::collections::VecDeque;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;
use warp_stream::{Execution, Moment, SourceError, WarpSlot, WarpSource};

pub(crate) use self::check::Expected;
pub use self::check::SmState;
pub use self::counters::{ActivityCounters, InstructionCounters, IssueCounters, SmCounters};
use self::cta::{Cta, Stores};
use self::front_end::L1;
use self::memory::{MemoryUnit, SUB_CORES};
use self::occupancy::{Demand, Space};
pub use self::occupancy::{Limit, Occupancy};
pub use self::program::Program;
use self::sub_core::SubCore;
pub use self::waiting::{Reason, Stage, WaitingAccess, WaitingWarp};
use self::warp::{Status, Warp};
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::slab::Slab;
use crate::specification::GpuSpec;
use crate::statistics::Counters;

/// Instructions of a turn from which on most of what an SM keeps is used in it.
const BUSY: u64 = 48;
/// Instructions of a turn from which on most of L1's state is used in the turn.
const BUSY_WITH_L1: u64 = 192;

/// Executes CTAs of a launch on one SM.
pub type Source<'a> = Box<dyn WarpSource + 'a>;

/// A CTA that has ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedCta {
    /// When, its last store among what ends. Core cycles.
    pub cycle: u64,
    /// Index of its launch's source.
    pub launch: u32,
    /// Number of the CTA in its grid.
    pub cta: u64,
    /// Instructions that its warps have issued.
    pub instructions: u64,
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
        /// Error of the source.
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
    /// A CTA was started that has no room.
    #[error("there is no room for a CTA of launch {launch}")]
    NoRoom {
        /// Index of the launch's source.
        launch: u32,
    },
}

/// A memory instruction under way.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct InFlight {
    /// Warp slot.
    slot: u8,
    /// Position in the kernel's code.
    position: u32,
    /// Number at the memory unit, until the pipeline takes the access.
    access: u32,
    /// Deferred instruction that the memory side will perform.
    deferred: Option<u32>,
    /// Of a store that its CTA does not wait for, the number of that one's [`Stores`].
    stores: Option<u32>,
}

/// An instruction that takes effect later.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Deferred {
    /// CTA slot.
    cta: u8,
    /// Warp within the CTA.
    warp: u16,
    /// Number at the source.
    number: u32,
}

/// Parameters of a launch on an SM.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct Parameters {
    /// Index of the launch's source.
    launch: u32,
    /// When they are there. Core cycles.
    ready: u64,
}

/// All that changes, but for the memory unit's state.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// Cycles before it have been run.
    now: u64,
    sub_cores: [SubCore; SUB_CORES],
    warps: Vec<Warp>,
    ctas: Vec<Cta>,
    #[serde(skip)]
    space: Space,
    /// Bytes of shared memory.
    shared: u32,
    /// Launches whose parameters the SM has or waits for.
    parameters: Vec<Parameters>,
    instructions: L1,
    /// Lines of instructions that have come from L2.
    instruction_replies: VecDeque<Timed<u64>>,
    /// When the L1 instruction cache has something to do. Core cycles.
    instructions_next: u64,
    /// When the memory unit has. Core cycles.
    memory_next: u64,
    in_flight: Slab<InFlight>,
    deferred: Slab<Deferred>,
    stores: Slab<Stores>,
    /// When CTA slots were given back since somebody asked. Core cycles.
    freed: Vec<u64>,
    /// Since when it has a CTA. Core cycles.
    active_since: Option<u64>,
    /// Up to where warps' cycles are counted. Core cycles.
    warps_since: u64,
    counters: SmCounters,
}

/// A streaming multiprocessor.
#[derive(Debug, Clone)]
pub struct Sm {
    gpu: Arc<GpuSpec>,
    number: u16,
    memory: MemoryUnit,
    state: State,
    /// Programs of the CTAs, by CTA slot.
    programs: Vec<Option<Arc<Program>>>,
    /// Instructions issued in its last turn.
    issued: u64,
    /// Simulated time at the cycle for which it was asked last.
    moment: Moment,
    /// Scratch: what the execution of an instruction has said.
    execution: Execution,
    /// Scratch: what the memory unit says is performed.
    performed: Vec<u32>,
    /// Scratch: lines of instructions that are not there.
    missed: Vec<u64>,
}

impl Sm {
    /// An idle one with empty caches.
    pub fn new(gpu: &Arc<GpuSpec>, number: u16) -> Sm {
        let state = State {
            now: 0,
            sub_cores: std::array::from_fn(|_| SubCore::new(gpu)),
            warps: vec![Warp::default(); gpu.cta.warps as usize],
            ctas: vec![Cta::default(); gpu.cta.ctas as usize],
            space: Space::default(),
            shared: 0,
            parameters: Vec::new(),
            instructions: L1::new(&gpu.front_end),
            instruction_replies: VecDeque::new(),
            instructions_next: u64::MAX,
            memory_next: u64::MAX,
            in_flight: Slab::default(),
            deferred: Slab::default(),
            stores: Slab::default(),
            freed: Vec::new(),
            active_since: None,
            warps_since: 0,
            counters: SmCounters::default(),
        };
        Sm {
            gpu: Arc::clone(gpu),
            number,
            memory: MemoryUnit::new(gpu, number),
            state,
            programs: vec![None; gpu.cta.ctas as usize],
            issued: 0,
            moment: Moment::default(),
            execution: Execution::default(),
            performed: Vec::new(),
            missed: Vec::new(),
        }
    }

    /// The SM has room for one more CTA of a kernel.
    pub fn has_room(&self, program: &Program) -> bool {
        let demand = Demand::new(&self.gpu, program);
        self.state.space.find(&self.gpu, &demand, self.shared_for(&demand)).is_ok()
    }

    /// From when on CTA slots are free that were given back since the last call. Core cycles.
    pub fn take_freed(&mut self) -> impl Iterator<Item = u64> {
        self.state.freed.drain(..)
    }

    /// Shared memory that there is when a CTA comes: an SM that runs nothing is given what the
    /// kernel needs. Bytes.
    fn shared_for(&self, demand: &Demand) -> u32 {
        if self.state.space.ctas() == 0 { demand.carve_out(&self.gpu) } else { self.state.shared }
    }

    /// A CTA begins at a cycle; [`Sm::has_room`] has said that it can. That may be before what
    /// [`Sm::run`] has run, if its start takes longer than that is ago: else its warps go on late.
    /// `launch` is the index of its source. One that has nothing to do is added to `finished`.
    ///
    /// # Errors
    /// The source cannot start it, or there is none.
    pub fn start_cta(
        &mut self,
        cycle: u64,
        launch: u32,
        program: &Arc<Program>,
        cta: u64,
        sources: &mut [Option<Source<'_>>],
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let slot = self.begin_cta(cycle, launch, program, cta, sources)?;
        self.end_cta_if_done(slot, cycle.max(self.state.now), sources, finished)
    }

    /// The SM issues enough instructions in a turn to use most of its state.
    pub fn is_busy(&self) -> bool {
        self.issued >= BUSY
    }

    /// Prefetches the state of a busy SM to the host's caches before a turn.
    pub fn prefetch_host(&self) {
        let State { sub_cores, warps, in_flight, .. } = &self.state;
        read_all(std::slice::from_ref(self));
        sub_cores.iter().for_each(SubCore::prefetch_host);
        read_all(warps);
        in_flight.prefetch_host_all();
        self.memory.prefetch_host(self.issued >= BUSY_WITH_L1);
        let present = warps.iter().filter(|warp| warp.status != Status::Absent);
        present.for_each(|warp| warp.scoreboard.prefetch_host());
    }

    /// Runs cycles up to `end` (exclusive): takes replies that have arrived, adds requests to
    /// `outbox` in the order in which they leave, and CTAs that end to `finished`.
    ///
    /// # Errors
    /// A source cannot go on. The SM cannot be used any more.
    pub fn run(
        &mut self,
        end: u64,
        sources: &mut [Option<Source<'_>>],
        replies: &mut VecDeque<Timed<MemoryReply>>,
        outbox: &mut Vec<Timed<MemoryRequest>>,
        finished: &mut Vec<FinishedCta>,
    ) -> Result<(), Box<SmFault>> {
        let before = self.state.counters.issue.issued;
        if self.state.instructions.waits() {
            self.state.take_instruction_replies(replies);
        }
        if let Some(reply) = replies.front() {
            self.state.memory_next = self.state.memory_next.min(reply.cycle);
        }
        while let Some(cycle) = self.next_event().filter(|cycle| *cycle < end) {
            self.cycle(cycle.max(self.state.now), sources, replies, outbox, finished)?;
        }
        self.state.now = self.state.now.max(end);
        self.issued = self.state.counters.issue.issued - before;
        Ok(())
    }

    /// A deferred instruction takes effect: its request is at its slice. To be called between
    /// epochs, for all SMs in the order in which the memory side tells, so that effects have that
    /// order too. `cycle` is the first that has not been run.
    ///
    /// # Errors
    /// The source cannot.
    pub fn perform(
        &mut self,
        cycle: u64,
        performed: &Performed,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<(), Box<SmFault>> {
        self.take_effect(cycle, performed.deferred, sources)
    }

    /// The crossbar has taken `count` requests, so as many may leave from `cycle` on.
    pub fn give_credits(&mut self, cycle: u64, count: u32) {
        self.memory.give_credits(cycle, count);
        self.state.memory_next = self.memory.next_event().unwrap_or(u64::MAX);
        if self.state.instructions.wants_to_send() {
            self.state.instructions_next = self.state.instructions_next.min(cycle);
        }
    }

    /// The first cycle at which something happens without a message from outside; nothing if it is
    /// idle or waits for messages. Replies that wait to be taken count as messages from outside.
    pub fn next_event(&self) -> Option<u64> {
        let State { sub_cores, memory_next, instructions_next, .. } = &self.state;
        let units = (*memory_next).min(*instructions_next);
        let next = sub_cores.iter().fold(units, |next, sub_core| next.min(sub_core.next));
        (next != u64::MAX).then_some(next)
    }

    /// The SM has no CTA and nothing is outstanding.
    pub fn is_idle(&self) -> bool {
        self.cta_count() == 0 && self.memory.is_idle() && !self.state.instructions.waits()
    }

    /// CTAs that run.
    pub fn cta_count(&self) -> u32 {
        self.state.space.ctas()
    }

    /// Forgets what the caches of data and constants have: a kernel begins.
    pub fn invalidate(&mut self) {
        self.memory.invalidate();
        self.state.instructions.forget_parameters();
        self.state.parameters.clear();
    }

    /// Restarts counters that hold the maximum of a launch.
    pub(crate) fn restart_counts(&mut self) {
        self.memory.restart_counts();
    }

    /// Counters up to the cycle that the SM has run to.
    pub fn counters(&self) -> SmCounters {
        let mut counters = SmCounters::default();
        self.add_counters(&mut counters);
        counters
    }

    /// Instructions that its warps have issued.
    pub fn warp_instructions(&self) -> u64 {
        self.state.counters.instructions.warp.iter().sum()
    }

    /// Adds what it has counted.
    pub fn add_counters(&self, counters: &mut SmCounters) {
        let State { sub_cores, counters: own, now, .. } = &self.state;
        counters.add(own);
        counters.memory.add(&self.memory.counters());
        counters.activity.warp_instructions += self.warp_instructions();
        counters.activity.thread_instructions += own.instructions.thread.iter().sum::<u64>();
        if let Some(since) = self.state.active_since {
            let cycles = |since: u64| now.saturating_sub(since);
            counters.activity.active_cycles += cycles(since);
            counters.activity.warp_cycles +=
                u64::from(self.state.space.warps()) * cycles(self.state.warps_since);
            for sub_core in sub_cores {
                sub_core.count_pending(&mut counters.issue, self.gpu.issue.width, *now);
            }
        }
    }

    /// Which warps wait, and for what.
    pub fn waiting(&self) -> Vec<WaitingWarp> {
        self.waiting_warps()
    }

    /// Simulated time at a cycle.
    fn moment(&mut self, cycle: u64) -> Moment {
        if self.moment.cycle != cycle {
            self.moment = self.gpu.clocks.moment(cycle);
        }
        self.moment
    }

    /// The source of a CTA slot.
    #[inline(always)]
    fn source<'a, 's>(
        &self,
        cta: usize,
        sources: &'a mut [Option<Source<'s>>],
    ) -> Result<&'a mut Source<'s>, Box<SmFault>> {
        let launch = self.state.ctas[cta].launch;
        sources
            .get_mut(launch as usize)
            .and_then(Option::as_mut)
            .ok_or_else(|| SmFault::NoSource { launch }.into())
    }

    /// Name of a warp slot at its source.
    fn name(&self, slot: usize) -> WarpSlot {
        let warp = &self.state.warps[slot];
        WarpSlot { cta: u32::from(warp.cta), warp: u32::from(warp.number) }
    }

    /// The fault of a source in a warp.
    #[cold]
    fn fault(&self, name: WarpSlot, cycle: u64, error: SourceError) -> Box<SmFault> {
        let Cta { launch, number, .. } = self.state.ctas[name.cta as usize];
        Box::new(SmFault::Source { launch, cta: number, warp: name.warp, cycle, error })
    }
}
