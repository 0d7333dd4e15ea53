//! Memory unit of an SM: the path of a memory instruction from issue to result.
//!
//! An instruction passes through the memory pipeline of its sub-core ([`pipeline`]) to a shared
//! structure. The structures are L1 data cache ([`l1`]), shared memory ([`shared`]) and constant
//! cache ([`constant`]). The coalescer ([`coalescer`]) forms requests at issue, and the address
//! stage releases them at its rate. The structures serve the sub-cores round robin. L1 misses,
//! stores, atomic operations and bypassing accesses leave as [`MemoryRequest`]s, and replies fill
//! L1. Misses of the constant cache go to the SM's instruction cache. Outgoing requests pass the
//! TLB ([`tlb`]).

mod access;
mod analytical;
mod arbitration;
pub mod atomic;
mod banks;
mod check;
pub mod coalescer;
pub mod constant;
mod counters;
pub mod l1;
pub mod pipeline;
mod replies;
pub mod shared;
pub mod texture;
pub mod tlb;
mod waiting;
mod warm;

use std::collections::VecDeque;
use std::hint::cold_path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::read_all;
use warp_stream::{AccessKind, LaneMask, MemoryOperation, MemorySpace, OperationClass, WARP_SIZE};

use self::access::{Access, Line, NOT_ACCEPTED, STRUCTURES, Structure};
use self::analytical::Analytical;
pub use self::analytical::Issued;
use self::arbitration::{Arbiter, pipelines};
pub(crate) use self::check::{Awaited, Unaccepted};
use self::coalescer::{Coalesced, Pattern, ideal};
use self::constant::ConstantCache;
pub use self::counters::{AccessSums, MemoryCounters, SECTORS};
use self::l1::bank_conflicts::Part;
use self::l1::{L1, Stall};
use self::pipeline::{Organisation, Pipeline, Queued};
use self::tlb::Tlb;
pub use self::waiting::{AwaitedLine, Holder, Request, Waiting};
use super::sub_cores;
use crate::fidelity::{Coalescer, LevelRates};
use crate::message::{MemoryReply, MemoryRequest, Timed};
use crate::policy::warp_scheduler::L1Event;
use crate::slab::{NONE, Slab};
use crate::specification::GpuSpec;
use crate::timed_queue::TimedQueue;

/// Sub-cores of an SM.
pub const SUB_CORES: usize = 4;

/// Tag bit of requests whose reply fills an entry of L1's table; the other bits are the entry.
/// Without it, the tag is the access.
const FILL: u32 = 1 << 31;

/// A memory instruction, `SHFL`, or texture instruction issued by a sub-core.
#[derive(Debug, Clone, Copy)]
pub struct MemoryIssue<'a> {
    /// Number of the instruction in the SM core.
    pub instruction: u32,
    /// Sub-core, below [`SUB_CORES`].
    pub sub_core: u8,
    /// Warp slot of the SM.
    pub warp: u8,
    /// Operation class.
    pub class: OperationClass,
    /// Memory operation with a resolved space, never [`MemorySpace::Generic`]. Unused for `SHFL`.
    pub operation: MemoryOperation,
    /// Active lanes.
    pub active: LaneMask,
    /// Byte address per lane.
    pub addresses: &'a [u64; WARP_SIZE],
    /// Address stride within each group of eight lanes, if known.
    pub stride: Option<u64>,
    /// Texel addresses of texture and surface instructions.
    pub texels: &'a [u64],
    /// Number of the deferred effect at the source.
    pub deferred: Option<u32>,
    /// Position in the kernel's code, and the load's rates, if they are given from outside.
    pub rates: Option<(u32, LevelRates)>,
}

/// Mutable state.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct State {
    accesses: Slab<Access>,
    lines: Slab<Line>,
    pipelines: Vec<Pipeline>,
    arbiters: [Arbiter; STRUCTURES],
    /// Mask of pipelines with accesses for a structure.
    #[serde(skip)]
    waiting: [u32; STRUCTURES],
    /// Core cycle of the next address of the first of them, by structure and pipeline; `u64::MAX`
    /// for none.
    #[serde(skip)]
    available: [[u64; SUB_CORES]; STRUCTURES],
    /// Mask of pipelines with an access in the dispatch latch.
    #[serde(skip)]
    latched: u32,
    l1: L1,
    constants: ConstantCache,
    /// Set if L1 is next at the common data stage.
    l1_turn: bool,
    /// Reason and start of an L1 stall; L1 retries when `changed`.
    stalled: Option<(Stall, u64)>,
    changed: bool,
    tlb: Tlb,
    /// Requests that wait to leave.
    outgoing: VecDeque<MemoryRequest>,
    credits: u32,
    /// Instructions whose results wait for a sub-core's write-back latch.
    completions: [TimedQueue<u32>; SUB_CORES],
    /// Core cycle of the first result; `u64::MAX` for none.
    #[serde(skip)]
    next_completion: u64,
    /// Core cycle at which the next reply can be accepted.
    fill_free: u64,
    /// Next core cycle with work for [`MemoryUnit::step`]; `u64::MAX` for none.
    next_step: u64,
    /// Core cycle of the last write-back, with one pipeline for all.
    last_write_back: Option<u64>,
    analytical: Analytical,
    counters: MemoryCounters,
}

/// Memory unit of an SM.
///
/// The order in a cycle is [`step`](MemoryUnit::step), then
/// [`next_completion`](MemoryUnit::next_completion) and [`accept`](MemoryUnit::accept). A cycle may
/// be skipped if neither [`next_event`](MemoryUnit::next_event) nor the inbox has work for it.
#[derive(Debug, Clone)]
pub struct MemoryUnit {
    gpu: Arc<GpuSpec>,
    sm: u16,
    state: State,
    /// Mask of sub-cores whose dispatch latch the last step released.
    released: u32,
    /// Mask of pipelines whose buffered requests left in a step.
    drained: u32,
    /// Scratch of `accept` and `step`.
    coalesced: Coalesced,
    part: Part,
    answered: Vec<u32>,
}

impl State {
    fn find_next_completion(&mut self) {
        self.next_completion = self.completions.iter().fold(u64::MAX, |first, due| first.min(due.next()));
    }
}

impl MemoryUnit {
    /// An idle unit of SM number `sm` with empty caches.
    pub fn new(gpu: &Arc<GpuSpec>, sm: u16) -> MemoryUnit {
        let pipelines = gpu.memory_pipeline.pipelines(SUB_CORES);
        let mut l1 = L1::new(&gpu.l1, gpu.l1.size);
        l1.watch(gpu.issue.policy.watches_l1());
        let state = State {
            accesses: Slab::default(),
            lines: Slab::default(),
            pipelines: vec![Pipeline::default(); pipelines],
            arbiters: [Arbiter::default(); STRUCTURES],
            waiting: [0; STRUCTURES],
            available: [[u64::MAX; SUB_CORES]; STRUCTURES],
            latched: 0,
            l1,
            constants: ConstantCache::new(&gpu.constant),
            l1_turn: false,
            stalled: None,
            changed: false,
            tlb: Tlb::default(),
            outgoing: VecDeque::new(),
            credits: gpu.memory_pipeline.credits,
            completions: Default::default(),
            next_completion: u64::MAX,
            fill_free: 0,
            next_step: u64::MAX,
            last_write_back: None,
            analytical: Analytical::default(),
            counters: MemoryCounters::default(),
        };
        MemoryUnit {
            gpu: Arc::clone(gpu),
            sm,
            state,
            released: 0,
            drained: 0,
            coalesced: Coalesced::default(),
            part: Part::default(),
            answered: Vec::new(),
        }
    }

    /// Prefetches the host's cache lines for a busy epoch, with or without L1.
    pub(super) fn prefetch_host(&self, with_l1: bool) {
        let State { accesses, lines, pipelines, l1, .. } = &self.state;
        accesses.prefetch_host_all();
        lines.prefetch_host_all();
        read_all(pipelines);
        if with_l1 {
            l1.prefetch_host_all();
        }
    }

    /// Tells whether the dispatch latch of a sub-core is free.
    pub fn can_accept(&self, sub_core: u8, cycle: u64) -> bool {
        let pipeline = &self.state.pipelines[self.pipeline(sub_core)];
        pipeline.can_accept(self.gpu.memory_pipeline.organisation, cycle)
    }

    /// Sub-cores whose dispatch latch the last step released.
    pub fn released(&self) -> impl Iterator<Item = u8> + use<> {
        pipelines(self.released).map(|sub_core| sub_core as u8)
    }

    /// Core cycle from which the dispatch latch of a sub-core is free; `u64::MAX` if only a step
    /// can release it.
    pub fn accepts_at(&self, sub_core: u8) -> u64 {
        self.state.pipelines[self.pipeline(sub_core)].accepts_at(self.gpu.memory_pipeline.organisation)
    }

    /// Forms the requests of an instruction, so that its addresses need not be kept. The access
    /// then waits for its operands, and [`accept`](MemoryUnit::accept) takes the returned number.
    pub fn coalesce(&mut self, issue: &MemoryIssue<'_>) -> u32 {
        self.coalesced.clear();
        let mut access = self.access(issue);
        if access.structure == Structure::L1 {
            self.coalesced.lines.iter().for_each(|line| self.state.l1.prefetch_host(line.address));
            self.state.l1.counters.loads += u64::from(access.is_load());
        }
        for line in self.coalesced.lines.drain(..).rev() {
            access.first = self.state.lines.insert(Line { next: access.first, ..line });
        }
        self.state.accesses.insert(access)
    }

    /// Sums over the accesses issued so far.
    pub(super) fn access_sums(&self) -> AccessSums {
        let State { counters, l1, .. } = &self.state;
        AccessSums::of(&counters.coalescer, &counters.shared, &l1.counters)
    }

    /// Accepts an access with complete operands; [`MemoryUnit::can_accept`] must hold.
    #[inline(always)]
    pub fn accept(&mut self, cycle: u64, access: u32) {
        let Access { sub_core, first, .. } = self.state.accesses[access];
        let line = if first == NONE { 0 } else { self.state.lines[first].address };
        self.state.counters.pipeline.instructions += 1;
        let pipeline = self.pipeline(sub_core);
        self.state.accesses[access].start = 0;
        self.state.pipelines[pipeline].latched = Some(Queued { access, line });
        self.state.latched |= 1 << pipeline;
        self.start(pipeline, cycle + 1);
        self.state.changed = true;
    }

    /// Forms an instruction's access. Leaves its lines in `self.coalesced.lines`.
    fn access(&mut self, issue: &MemoryIssue<'_>) -> Access {
        let MemoryIssue { operation, active, addresses, .. } = *issue;
        let mut access = Access {
            instruction: issue.instruction,
            sub_core: issue.sub_core % SUB_CORES as u8,
            warp: issue.warp,
            class: issue.class,
            operation,
            deferred: issue.deferred,
            structure: Structure::Shared,
            start: NOT_ACCEPTED,
            first: NONE,
            total: 1,
            taken: 0,
            passes: 1,
            unanswered: 0,
            missed: false,
            untranslated: false,
            ready: 0,
        };
        if issue.class == OperationClass::Shuffle {
            self.state.counters.shared.shuffles += 1;
            return access;
        }
        self.state.counters.count_lanes(&operation, active);
        let marks = operation.kind != AccessKind::Load;
        match operation.space {
            MemorySpace::Shared => {
                let passes = self.gpu.shared.passes(operation.kind, active, addresses, operation.width);
                let passes = passes.with(self.gpu.fidelity.banks, operation.kind);
                self.state.counters.count_shared(operation.kind, passes);
                access.passes = passes.passes.clamp(1, u32::from(u16::MAX)) as u16;
                return access;
            }
            MemorySpace::Constant => {
                access.structure = Structure::Constant;
                self.gpu.constant.requests(active, addresses, operation.width, &mut self.coalesced.lines);
            }
            MemorySpace::Texture => {
                cold_path();
                access.structure = Structure::L1;
                let footprint = self.coalesced.coalesce_texels(issue.texels, operation.width, marks);
                self.state.counters.count_lines(&operation, footprint, self.coalesced.lines.len());
                access.passes = active.count_ones().div_ceil(self.gpu.texture.lanes) as u16;
            }
            MemorySpace::Global | MemorySpace::Local | MemorySpace::Generic => {
                access.structure = Structure::L1;
                let is_ideal = self.gpu.fidelity.coalescer == Coalescer::Ideal
                    && matches!(operation.kind, AccessKind::Load | AccessKind::Store);
                let beside = is_ideal.then(|| ideal::beside(active, addresses, operation.width));
                let (addresses, stride) = match &beside {
                    Some(beside) => (beside, None),
                    None => (addresses, issue.stride),
                };
                let pattern = Pattern { active, addresses, stride, width: operation.width, marks };
                let footprint = self.coalesced.coalesce(self.gpu.coalescer.policy, &pattern);
                self.state.counters.count_lines(&operation, footprint, self.coalesced.lines.len());
                let passes = self.gpu.l1.passes(&pattern, &mut self.coalesced, &mut self.part);
                let passes = passes.with(self.gpu.fidelity.banks, operation.kind);
                let lines = &self.coalesced.lines;
                let sectors = lines.iter().map(|line| line.sectors.count_ones());
                let stored = match operation.kind {
                    AccessKind::Store => self.gpu.l1.store_passes(lines.len() as u32, sectors.sum()),
                    _ => 0,
                };
                let passes = passes.at_least(stored);
                self.state.l1.counters.count_passes(operation.kind, passes);
                access.passes = passes.passes as u16;
            }
        }
        // An access without active lanes passes through the shared data stage, which completes it.
        access.passes = access.passes.max(1);
        match self.coalesced.lines.len() {
            0 => access.structure = Structure::Shared,
            lines => access.total = lines.min(usize::from(u16::MAX)) as u16,
        }
        access
    }

    /// The pipeline of a sub-core.
    fn pipeline(&self, sub_core: u8) -> usize {
        match self.gpu.memory_pipeline.organisation {
            Organisation::PerSubCore => usize::from(sub_core) % SUB_CORES,
            Organisation::PerSm => 0,
        }
    }

    /// Moves the access in the dispatch latch to the address stage if the buffer has room.
    #[inline]
    fn start(&mut self, pipeline: usize, cycle: u64) {
        let spec = &self.gpu.memory_pipeline;
        let unit = &mut self.state.pipelines[pipeline];
        let Some(latched) = unit.latched.filter(|_| unit.buffered < spec.buffer) else { return };
        self.released |= 1 << pipeline;
        let access = &mut self.state.accesses[latched.access];
        let stages = u64::from(spec.organisation == Organisation::PerSubCore);
        access.start = unit.address_free.max(cycle - 1 + stages);
        let cycles = u64::from(access.total.div_ceil(spec.rate()));
        unit.latched = None;
        self.state.latched &= !(1 << pipeline);
        unit.latch_free = access.start.max(cycle);
        unit.address_free = access.start + cycles;
        unit.buffered += u32::from(access.total);
        let structure = access.structure as usize;
        let queue = &mut unit.waiting[structure];
        queue.push_back(latched);
        if queue.len() == 1 {
            self.state.waiting[structure] |= 1 << pipeline;
            self.state.available[structure][pipeline] = access.next_available(spec.rate());
        }
        self.state.counters.pipeline.address_cycles += cycles;
        self.state.next_step = self.state.next_step.min(access.start + 1);
    }

    /// Simulates a cycle: accepts replies from the inbox (except instruction lines), sends
    /// requests, and reports effects that the source must perform.
    #[inline(always)]
    pub fn step(
        &mut self,
        cycle: u64,
        inbox: &mut VecDeque<Timed<MemoryReply>>,
        outbox: &mut Vec<Timed<MemoryRequest>>,
        performed: &mut Vec<u32>,
    ) {
        (self.released, self.drained) = (0, 0);
        let next_reply = self.take_replies(cycle, inbox);
        self.grant(cycle, performed);
        for pipeline in pipelines(self.state.latched & self.drained) {
            self.start(pipeline, cycle + 1);
        }
        self.send(cycle, outbox);
        self.state.next_step = self.next_grant(cycle).min(next_reply).min(self.state.tlb.next_event());
        if !self.state.outgoing.is_empty() && self.state.credits > 0 {
            self.state.next_step = cycle + 1;
        }
    }

    /// Tells whether there are constant lines to request.
    pub fn wants_constants(&self) -> bool {
        self.state.constants.wants_lines()
    }

    /// Takes the constant lines to request.
    pub fn take_wanted_constants(&mut self) -> impl Iterator<Item = u64> {
        self.state.constants.take_wanted()
    }

    /// Fills a constant line from the instruction cache. Results are available from the next cycle
    /// on.
    pub fn fill_constants(&mut self, cycle: u64, line: u64) {
        let mut answered = std::mem::take(&mut self.answered);
        self.state.constants.fill(line, &mut answered);
        for number in answered.drain(..) {
            self.answer(number, cycle + 1);
        }
        self.answered = answered;
    }

    /// Handles the arrival or acknowledgement of an access's line.
    fn answer(&mut self, number: u32, there: u64) {
        let access = &mut self.state.accesses[number];
        let later = self.gpu.texture.latency.saturating_sub(self.gpu.l1.latency);
        let sampling = if access.operation.space == MemorySpace::Texture { later } else { 0 };
        access.ready = access.ready.max(there + u64::from(sampling));
        access.unanswered -= 1;
        self.finish(number);
    }

    /// Completes an access if all its lines are accepted and answered.
    #[inline(always)]
    fn finish(&mut self, number: u32) {
        let access = &self.state.accesses[number];
        if access.taken == access.total && access.unanswered == 0 {
            self.end(number);
        }
    }

    /// Completes an access.
    #[inline(never)]
    fn end(&mut self, number: u32) {
        let access = &self.state.accesses[number];
        let Access { ready, instruction, sub_core, .. } = *access;
        if access.structure == Structure::L1 && access.is_load() {
            self.state.l1.counters.count_latency(access);
        }
        self.state.accesses.discard(number);
        self.state.completions[usize::from(sub_core)].insert(ready, instruction);
        self.state.next_completion = self.state.next_completion.min(ready);
    }

    /// Sends requests while credits last.
    #[inline(always)]
    fn send(&mut self, cycle: u64, outbox: &mut Vec<Timed<MemoryRequest>>) {
        while let Some(request) = self.state.tlb.take(cycle) {
            self.state.outgoing.push_back(request);
        }
        for _ in 0..self.gpu.memory_pipeline.injection {
            if self.state.credits == 0 {
                return;
            }
            let Some(message) = self.state.outgoing.pop_front() else { return };
            self.state.credits -= 1;
            self.state.changed = true;
            self.state.counters.pipeline.requests_sent += 1;
            outbox.push(Timed { cycle, message });
        }
    }

    /// Takes a credit for a request of the SM core. Returns false if none is left.
    pub fn take_credit(&mut self) -> bool {
        let there = self.state.credits > 0;
        self.state.credits -= u32::from(there);
        there
    }

    /// Returns credits: `count` requests were accepted at the other end, so as many may leave from
    /// `cycle` on.
    pub fn give_credits(&mut self, cycle: u64, count: u32) {
        self.state.credits = self.state.credits.saturating_add(count).min(self.gpu.memory_pipeline.credits);
        if !self.state.outgoing.is_empty() && self.state.credits > 0 {
            self.state.next_step = self.state.next_step.min(cycle);
        }
    }

    /// Next core cycle with work apart from the inbox: a step or a result.
    pub fn next_event(&self) -> Option<u64> {
        let next = self.state.next_step.min(self.state.next_completion);
        (next != u64::MAX).then_some(next)
    }

    /// Sub-cores with a result at a cycle.
    pub fn completed(&self, cycle: u64) -> u32 {
        if self.state.next_completion > cycle {
            return 0;
        }
        sub_cores::of(&self.state.completions, |completions| completions.next() <= cycle)
    }

    /// An instruction of a sub-core that can be written back, or whose store is acknowledged.
    #[inline]
    pub fn next_completion(&mut self, sub_core: u8, cycle: u64) -> Option<u32> {
        let one_latch = self.gpu.memory_pipeline.organisation == Organisation::PerSm;
        if one_latch && self.state.last_write_back == Some(cycle) {
            return None;
        }
        let instruction = self.state.completions[usize::from(sub_core)].take(cycle)?;
        self.state.find_next_completion();
        self.state.last_write_back = Some(cycle);
        Some(instruction)
    }

    /// The instruction of a sub-core with the next result.
    pub fn coming_completion(&self, sub_core: u8) -> Option<u32> {
        self.state.completions[usize::from(sub_core)].first()
    }

    /// Sets shared memory to the smallest size for `bytes`, and L1 to the rest. A change of size
    /// empties L1.
    pub fn set_shared(&mut self, bytes: u32) {
        let spec = &self.gpu.l1;
        if spec.unified {
            let shared = self.gpu.shared.size_for(bytes);
            self.state.l1.resize(spec, spec.size.saturating_sub(shared));
        }
    }

    /// Invalidates the caches at the start of a kernel.
    pub fn invalidate(&mut self) {
        self.state.l1.invalidate();
        self.state.analytical.drawn.clear();
        self.state.constants.invalidate();
    }

    /// Restarts per-launch maxima.
    pub fn restart_counts(&mut self) {
        self.state.l1.restart_counts();
    }

    /// L1 events since the last call, for warp schedulers that observe L1.
    pub fn take_l1_events(&mut self) -> impl Iterator<Item = L1Event> {
        self.state.l1.take_events()
    }

    /// Size of L1 in bytes.
    pub fn l1_bytes(&self) -> u32 {
        self.state.l1.size(&self.gpu.l1)
    }

    /// All counters.
    pub fn counters(&self) -> MemoryCounters {
        let State { l1, constants, tlb, counters, .. } = &self.state;
        MemoryCounters { l1: l1.counts(), constant: constants.counters, tlb: tlb.counters, ..*counters }
    }

    /// Adds outstanding lines of L1 that are not counted yet, up to a core cycle.
    pub(super) fn add_pending_misses(&self, counters: &mut MemoryCounters, cycle: u64) {
        self.state.l1.add_pending_misses(&mut counters.l1, cycle);
    }

    /// Tells whether nothing is in flight, apart from results to be taken.
    pub fn is_idle(&self) -> bool {
        let is_gone = self.state.analytical.departures.is_empty();
        is_gone && self.state.accesses.is_empty() && self.state.completions.iter().all(TimedQueue::is_empty)
    }
}
