//! A streaming multiprocessor.
//!
//! An SM simulates an epoch independently: it consumes replies from the memory side and emits
//! requests. Between epochs its owner starts CTAs and reports operations that the memory side
//! performed.
//!
//! Cycles without a possible change are skipped. A waiting warp is re-examined at a known cycle
//! (`wakes`) or on an event. A sub-core is examined if a warp is ready or due, instructions
//! arrive, or the memory pipeline has room. Resources of an instruction (ports, collectors, units,
//! result bus slots) are reserved cycles ahead at issue.

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
mod pc_counts;
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
use self::pc_counts::PcProfile;
pub use self::pc_counts::{PcCounts, STALLS};
pub use self::program::Program;
use self::sub_core::SubCore;
pub use self::waiting::{Reason, Stage, WaitingAccess, WaitingWarp};
use self::warp::{Status, Warp};
use crate::message::{MemoryReply, MemoryRequest, Performed, Timed};
use crate::slab::Slab;
use crate::specification::GpuSpec;
use crate::statistics::Counters;

/// Instructions per epoch above which an SM touches most of its state.
const BUSY: u64 = 48;
/// Instructions per epoch above which it also touches most of L1.
const BUSY_WITH_L1: u64 = 192;

/// Instruction source for the CTAs of a launch on one SM.
pub type Source<'a> = Box<dyn WarpSource + 'a>;

/// A completed CTA.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct FinishedCta {
    /// Core cycle of the end, including its last store.
    pub cycle: u64,
    /// Launch index.
    pub launch: u32,
    /// Number of the CTA in its grid.
    pub cta: u64,
    /// Instructions issued.
    pub instructions: u64,
}

/// Reasons why an SM cannot continue.
#[derive(Debug, thiserror::Error)]
pub enum SmFault {
    /// An error of the source: a fault in the kernel or a damaged trace.
    #[error("{error}")]
    Source {
        /// Launch index.
        launch: u32,
        /// Number of the CTA in its grid.
        cta: u64,
        /// Warp within the CTA.
        warp: u32,
        /// Core cycle of the error.
        cycle: u64,
        /// The source's error.
        error: SourceError,
    },
    /// A launch with running CTAs has no source.
    #[error("launch {launch} has no source")]
    NoSource {
        /// Launch index.
        launch: u32,
    },
    /// The source named an instruction outside the kernel.
    #[error("launch {launch} has no instruction {position}")]
    NoInstruction {
        /// Launch index.
        launch: u32,
        /// Position in the kernel's code.
        position: u32,
    },
    /// A CTA was started without room for it.
    #[error("there is no room for a CTA of launch {launch}")]
    NoRoom {
        /// Launch index.
        launch: u32,
    },
}

/// A memory instruction in flight.
#[derive(Debug, Clone, Copy, Serialize, Deserialize)]
struct InFlight {
    /// Warp slot.
    slot: u8,
    /// Position in the kernel's code.
    position: u32,
    /// Number of the access in the memory unit until the pipeline accepts the access.
    access: u32,
    /// Number of the effect that the memory side will perform.
    deferred: Option<u32>,
    /// For a store that its CTA does not wait for, the index of the CTA's [`Stores`].
    stores: Option<u32>,
}

/// A deferred instruction.
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
    /// Launch index.
    launch: u32,
    /// First core cycle at which they are available.
    ready: u64,
}

/// Mutable state, except that of the memory unit.
#[derive(Debug, Clone, Serialize, Deserialize)]
struct State {
    /// First core cycle not simulated yet.
    now: u64,
    sub_cores: [SubCore; SUB_CORES],
    warps: Vec<Warp>,
    ctas: Vec<Cta>,
    #[serde(skip)]
    space: Space,
    /// Shared memory in bytes.
    shared: u32,
    /// Launches with parameters requested or present.
    parameters: Vec<Parameters>,
    instructions: L1,
    /// Instruction lines that arrived from L2.
    instruction_replies: VecDeque<Timed<u64>>,
    /// Next core cycle with work for the L1 instruction cache.
    instructions_next: u64,
    /// Next core cycle with work for the memory unit.
    memory_next: u64,
    in_flight: Slab<InFlight>,
    deferred: Slab<Deferred>,
    stores: Slab<Stores>,
    /// Core cycles of slot releases since the last query.
    freed: Vec<u64>,
    /// Core cycle since which a CTA is resident.
    active_since: Option<u64>,
    /// End of the counted warp cycles, in core cycles.
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
    /// Programs by CTA slot.
    programs: Vec<Option<Arc<Program>>>,
    /// Instructions issued in the last epoch.
    issued: u64,
    /// Simulated time at the last queried cycle.
    moment: Moment,
    /// Scratch: result of executing an instruction.
    execution: Execution,
    /// Scratch: operations performed by the memory unit.
    performed: Vec<u32>,
    /// Scratch: missing instruction lines.
    missed: Vec<u64>,
    /// Counts by program counter, if they are wanted.
    pc_profile: Option<Box<PcProfile>>,
}

impl Sm {
    /// An idle SM with empty caches.
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
            pc_profile: None,
        }
    }

    /// Tells whether another CTA of a kernel fits now.
    pub fn has_room(&self, program: &Program) -> bool {
        let demand = Demand::new(&self.gpu, program);
        self.state.space.find(&self.gpu, &demand, self.shared_for(&demand)).is_ok()
    }

    /// Core cycles at which CTA slots were released since the last call.
    pub fn take_freed(&mut self) -> impl Iterator<Item = u64> {
        self.state.freed.drain(..)
    }

    /// Shared memory in bytes for the next CTA: an idle SM adopts the kernel's carve-out.
    fn shared_for(&self, demand: &Demand) -> u32 {
        if self.state.space.ctas() == 0 { demand.carve_out(&self.gpu) } else { self.state.shared }
    }

    /// Starts a CTA at a cycle; [`Sm::has_room`] must hold. The cycle may precede the simulated
    /// time if the start latency covers the difference. Otherwise its warps start late. `launch` is
    /// the launch index. An empty CTA is added to `finished` immediately.
    /// do is added to `finished`.
    ///
    /// The source is missing or fails to start the CTA.
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
        if let Some(profile) = &mut self.pc_profile {
            profile.begin(launch, program.length());
        }
        let slot = self.begin_cta(cycle, launch, program, cta, sources)?;
        self.end_cta_if_done(slot, cycle.max(self.state.now), sources, finished)
    }

    /// Tells whether the next epoch will probably touch most of the state.
    pub fn is_busy(&self) -> bool {
        self.issued >= BUSY
    }

    /// Prefetches the host's cache lines for a busy epoch.
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

    /// Simulates up to `end` (exclusive). Consumes replies that have arrived, appends requests to
    /// `outbox` in departure order, and appends completed CTAs to `finished`.
    ///
    /// # Errors
    /// A source failed. The SM is unusable afterwards.
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
        let mut last = self.state.now;
        while let Some(cycle) = self.next_event().filter(|cycle| *cycle < end) {
            let cycle = cycle.max(self.state.now);
            debug_assert!(cycle >= last, "an event of cycle {cycle} after cycle {last}");
            last = cycle;
            self.cycle(cycle, sources, replies, outbox, finished)?;
        }
        self.memory.send_departures(end, outbox);
        self.state.now = self.state.now.max(end);
        self.issued = self.state.counters.issue.issued - before;
        Ok(())
    }

    /// Executes a deferred instruction whose request reached its slice. The caller invokes this
    /// between epochs, for all SMs in the order given by the memory side, which thus orders the
    /// effects. `cycle` is the first unsimulated cycle.
    ///
    /// # Errors
    /// The source failed.
    pub fn perform(
        &mut self,
        cycle: u64,
        performed: &Performed,
        sources: &mut [Option<Source<'_>>],
    ) -> Result<(), Box<SmFault>> {
        self.take_effect(cycle, performed.deferred, sources)
    }

    /// Returns credits: `count` requests were accepted at the other end, so as many may leave from
    /// `cycle` on.
    pub fn give_credits(&mut self, cycle: u64, count: u32) {
        self.memory.give_credits(cycle, count);
        self.state.memory_next = self.memory.next_event().unwrap_or(u64::MAX);
        if self.state.instructions.wants_to_send() {
            self.state.instructions_next = self.state.instructions_next.min(cycle);
        }
    }

    /// Next cycle with work that needs no external message; `None` if idle or waiting for messages.
    /// Queued replies count as external.
    pub fn next_event(&self) -> Option<u64> {
        let State { sub_cores, memory_next, instructions_next, .. } = &self.state;
        let units = (*memory_next).min(*instructions_next);
        let next = sub_cores.iter().fold(units, |next, sub_core| next.min(sub_core.next));
        (next != u64::MAX).then_some(next)
    }

    /// Core cycle at which the next request leaves, if it is known ahead.
    pub fn next_departure(&self) -> u64 {
        self.memory.next_departure()
    }

    /// Tells whether no CTA is resident and nothing is in flight.
    pub fn is_idle(&self) -> bool {
        self.cta_count() == 0 && self.memory.is_idle() && !self.state.instructions.waits()
    }

    /// Number of resident CTAs.
    pub fn cta_count(&self) -> u32 {
        self.state.space.ctas()
    }

    /// Invalidates data and constant caches at the start of a kernel.
    pub fn invalidate(&mut self) {
        self.memory.invalidate();
        self.state.instructions.forget_parameters();
        self.state.parameters.clear();
    }

    /// Restarts per-launch maxima.
    pub(crate) fn restart_counts(&mut self) {
        self.memory.restart_counts();
    }

    /// All counters up to the simulated cycle.
    pub fn counters(&self) -> SmCounters {
        let mut counters = SmCounters::default();
        self.add_counters(&mut counters);
        counters
    }

    /// Issued instructions.
    pub fn warp_instructions(&self) -> u64 {
        self.state.counters.instructions.warp.iter().sum()
    }

    /// Adds all counters to `counters`.
    pub fn add_counters(&self, counters: &mut SmCounters) {
        self.add_counted(counters, self.state.now);
    }

    /// Adds all counters to `counters`, with everything that is pending up to a cycle.
    pub(crate) fn add_counters_until(&self, counters: &mut SmCounters, cycle: u64) {
        let cycle = self.state.now.max(cycle);
        self.add_counted(counters, cycle);
        self.memory.add_pending_misses(&mut counters.memory, cycle);
    }

    fn add_counted(&self, counters: &mut SmCounters, now: u64) {
        let State { sub_cores, counters: own, .. } = &self.state;
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
                sub_core.count_pending(&mut counters.issue, self.gpu.issue.width, now);
            }
        }
    }

    /// Warps that wait, with their reasons.
    pub fn waiting(&self) -> Vec<WaitingWarp> {
        self.waiting_warps()
    }

    /// True if a warp sleeps.
    pub fn has_sleeping_warp(&self) -> bool {
        self.state.sub_cores.iter().any(|sub_core| sub_core.waiting_for(Status::Sleep) > 0)
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

    /// The source's name for a warp slot.
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
