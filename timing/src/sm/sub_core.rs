//! A sub-core: readiness of its warps and occupancy of its resources.

use serde::{Deserialize, Serialize};
use warp_stream::Unit;

use super::counters::{IssueCounters, IssueStall};
use super::front_end::Fetch;
use super::memory::SUB_CORES;
use super::operands::{Collectors, Ports};
use super::wakes::Wakes;
use super::warp::{STATUSES, Status, Warp};
use crate::policy::warp_scheduler::WarpScheduler;
use crate::restore::{Validity, ensure, near, near_or_never};
use crate::specification::GpuSpec;
use crate::timed_queue::TimedQueue;

/// Cycles between issue and dispatch without conflicts: the operand read.
pub const ISSUE_TO_DISPATCH: u64 = 2;

/// Mask of units served by the memory pipeline.
const MEMORY_UNITS: u32 = 1 << Unit::Memory as u32 | 1 << Unit::Texture as u32;

/// State of a sub-core. Warps are numbers below 32, sets of warps are masks.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct SubCore {
    pub scheduler: WarpScheduler,
    pub fetch: Fetch,
    pub ports: Ports,
    pub collectors: Collectors,
    /// Next free core cycle of each unit.
    pub units: [u64; Unit::COUNT],
    /// Ready warps by the unit of their next instruction.
    #[serde(skip)]
    ready: [u32; Unit::COUNT],
    /// Mask of units with ready warps.
    #[serde(skip)]
    ready_units: u32,
    /// Warps whose next instruction needs more than one cycle of operand reads.
    reads_long: u32,
    /// Warps by wait state.
    #[serde(skip)]
    by_status: [u32; STATUSES],
    wakes: Wakes,
    /// Memory instructions in flight for the memory pipeline, due when their operands are complete.
    pub queue: TimedQueue<u32>,
    /// Core cycle at which the write-back latch accepts a result from memory.
    pub latch_free: u64,
    /// Set while an analytical memory unit accepts no instruction.
    pub full: bool,
    /// Warp and position of the last issued instruction.
    pub last_issued: Option<(u32, u32)>,
    /// Next core cycle with work; `u64::MAX` for never.
    pub next: u64,
    /// End of the counted slots in core cycles; `u64::MAX` without resident CTAs.
    counted: u64,
    /// Outcome of the slots since.
    stall: IssueStall,
}

impl SubCore {
    /// An idle sub-core.
    pub fn new(gpu: &GpuSpec) -> SubCore {
        SubCore {
            scheduler: WarpScheduler::default(),
            fetch: Fetch::new(&gpu.front_end),
            ports: Ports::new(&gpu.operands),
            collectors: Collectors::new(&gpu.operands),
            units: [0; Unit::COUNT],
            ready: [0; Unit::COUNT],
            ready_units: 0,
            reads_long: 0,
            by_status: [0; STATUSES],
            wakes: Wakes::default(),
            queue: TimedQueue::default(),
            latch_free: 0,
            full: false,
            last_issued: None,
            next: u64::MAX,
            counted: u64::MAX,
            stall: IssueStall::Idle,
        }
    }

    /// Restores a sub-core at a cycle with its warps.
    ///
    /// # Errors
    /// The state is invalid.
    pub fn restore<'w>(
        &mut self,
        gpu: &GpuSpec,
        now: u64,
        warp: impl Fn(u32) -> Option<&'w Warp>,
    ) -> Validity {
        let warps = gpu.cta.warps / SUB_CORES as u32;
        (self.ready, self.ready_units, self.by_status) = Default::default();
        let mut present = 0;
        for local in 0..warps {
            let Some(Warp { status, unit, .. }) = warp(local) else { continue };
            self.set_status(local, (Status::Absent, *unit), (*status, *unit));
            present |= u32::from(*status != Status::Absent) << local;
        }
        self.scheduler.check(&gpu.issue.scheduling, present)?;
        self.fetch.check(&gpu.front_end, now, present, |local| warp(local).map(|warp| &warp.buffer))?;
        self.ports.check(&gpu.operands, now)?;
        self.collectors.restore(&gpu.operands, now)?;
        self.wakes.check(warps)?;
        let mut times = self.units.iter().chain([&self.latch_free]);
        ensure(times.all(|cycle| near(*cycle, now)), "a unit is busy for too long")?;
        ensure(
            near_or_never(self.next, now) && near_or_never(self.counted, now),
            "the next event is too late",
        )?;
        ensure(self.queue.iter().all(|(cycle, _)| near(*cycle, now)), "an access waits for too long")
    }

    /// Prefetches the host's cache lines.
    pub fn prefetch_host(&self) {
        self.ports.prefetch_host();
        self.wakes.prefetch_host();
    }

    /// Schedules an examination at a cycle.
    pub fn look_at(&mut self, cycle: u64) {
        self.next = self.next.min(cycle);
    }

    /// Changes a warp's wait state. Each state includes the unit of the next instruction.
    pub fn set_status(&mut self, warp: u32, from: (Status, Unit), to: (Status, Unit)) {
        let bit = 1 << warp;
        if from.0 == Status::Ready {
            let ready = &mut self.ready[from.1 as usize];
            *ready &= !bit;
            if *ready == 0 {
                self.ready_units &= !(1 << from.1 as u32);
            }
        }
        self.by_status[from.0 as usize] &= !bit;
        self.by_status[to.0 as usize] |= bit;
        if to.0 == Status::Ready {
            self.ready[to.1 as usize] |= bit;
            self.ready_units |= 1 << to.1 as u32;
        }
    }

    /// Sets whether a warp's next instruction needs more than one cycle of operand reads.
    pub fn set_reads_long(&mut self, warp: u32, reads_long: bool) {
        self.reads_long = self.reads_long & !(1 << warp) | u32::from(reads_long) << warp;
    }

    /// Schedules an examination of a warp at a later cycle.
    pub fn wake(&mut self, now: u64, cycle: u64, warp: u32) {
        let cycle = self.wakes.add(now, cycle, warp);
        self.look_at(cycle);
    }

    /// Warps to examine at a cycle.
    pub fn woken(&mut self, cycle: u64) -> u32 {
        self.wakes.take(cycle)
    }

    /// Warps in a wait state.
    pub fn waiting_for(&self, status: Status) -> u32 {
        self.by_status[status as usize]
    }

    /// Warps that can issue at a cycle, or the reason why none can.
    pub fn eligible(&self, gpu: &GpuSpec, cycle: u64) -> Result<u32, IssueStall> {
        if self.by_status[Status::Ready as usize] == 0 {
            return Err(self.no_warp());
        }
        if self.collectors.next_free() > cycle + ISSUE_TO_DISPATCH - 1 {
            return Err(IssueStall::OperandConflict);
        }
        let full = self.is_throttled(gpu);
        let mut eligible = 0;
        let mut units = if full { self.ready_units & !MEMORY_UNITS } else { self.ready_units };
        while units != 0 {
            let unit = units.trailing_zeros() as usize;
            units &= units - 1;
            if self.units[unit] <= cycle + ISSUE_TO_DISPATCH {
                eligible |= self.ready[unit];
            } else if self.units[unit] == cycle + ISSUE_TO_DISPATCH + 1 {
                // The unit is free by the time all operands are complete.
                eligible |= self.ready[unit] & self.reads_long;
            }
        }
        let reason = if full { IssueStall::MemoryThrottle } else { IssueStall::UnitBusy };
        if eligible == 0 { Err(reason) } else { Ok(eligible) }
    }

    /// The reason why no warp can issue.
    fn no_warp(&self) -> IssueStall {
        let order = [
            (Status::Scoreboard, IssueStall::Scoreboard),
            (Status::Memory, IssueStall::LongScoreboard),
            (Status::Fetch, IssueStall::InstructionFetch),
            (Status::Barrier, IssueStall::Barrier),
            (Status::Sleep, IssueStall::Sleep),
        ];
        let first = order.into_iter().find(|(status, _)| self.by_status[*status as usize] != 0);
        first.map_or(IssueStall::Idle, |(_, slot)| slot)
    }

    /// Lower bound for the next issue of a ready warp, and the outcome of the slots until then.
    fn next_issue(&self, gpu: &GpuSpec, cycle: u64) -> (u64, IssueStall) {
        let collector = self.collectors.next_free().saturating_sub(ISSUE_TO_DISPATCH - 1);
        if collector > cycle + 1 {
            return (collector, IssueStall::OperandConflict);
        }
        let full = self.is_throttled(gpu);
        let mut units = if full { self.ready_units & !MEMORY_UNITS } else { self.ready_units };
        let mut next = u64::MAX;
        while units != 0 {
            let unit = units.trailing_zeros() as usize;
            units &= units - 1;
            let early = u64::from(self.ready[unit] & self.reads_long != 0);
            next = next.min(self.units[unit].saturating_sub(ISSUE_TO_DISPATCH + early));
        }
        (next.max(cycle + 1), if full { IssueStall::MemoryThrottle } else { IssueStall::UnitBusy })
    }

    /// Tells whether a full memory queue blocks ready warps.
    fn is_throttled(&self, gpu: &GpuSpec) -> bool {
        let full = self.full || self.queue.len() >= gpu.issue.memory_queue as usize;
        self.ready_units & MEMORY_UNITS != 0 && full
    }

    /// Ends a cycle: determines the outcome of the following slots and the next cycle with work,
    /// apart from the memory queue.
    pub fn end_cycle(&mut self, gpu: &GpuSpec, cycle: u64, issued: bool) {
        let is_ready = self.by_status[Status::Ready as usize] != 0;
        let others = self.fetch.next_event(cycle);
        if is_ready && (issued || others <= cycle + 1) {
            self.next = cycle + 1;
            return;
        }
        let (issue, slot) = if is_ready { self.next_issue(gpu, cycle) } else { (u64::MAX, self.no_warp()) };
        self.stall = slot;
        self.next = issue.min(others).min(self.wakes.next_event(cycle));
    }

    /// Starts counting slots when the SM receives its first CTA.
    pub fn begin(&mut self, cycle: u64) {
        self.counted = cycle;
        self.stall = IssueStall::Idle;
    }

    /// Stops counting slots when the SM has no CTA left.
    pub fn end(&mut self, counters: &mut IssueCounters, width: u32, cycle: u64) {
        self.count_until(counters, width, cycle);
        self.counted = u64::MAX;
    }

    /// Counts slots up to a cycle.
    pub fn count_until(&mut self, counters: &mut IssueCounters, width: u32, cycle: u64) {
        if self.counted < cycle {
            counters.count(self.stall, self.uncounted(width, cycle));
            self.counted = cycle;
        }
    }

    /// Outcome of the uncounted slots up to a cycle, and their number.
    pub fn pending(&self, width: u32, cycle: u64) -> (IssueStall, u64) {
        (self.stall, self.uncounted(width, cycle))
    }

    /// Outcome of the slots after the last examination.
    pub fn stall(&self) -> IssueStall {
        self.stall
    }

    fn uncounted(&self, width: u32, cycle: u64) -> u64 {
        cycle.saturating_sub(self.counted) * u64::from(width)
    }

    /// Adds the uncounted slots up to a cycle.
    pub fn count_pending(&self, counters: &mut IssueCounters, width: u32, cycle: u64) {
        counters.count(self.stall, self.uncounted(width, cycle));
    }

    /// Tells whether the slots of a cycle count; [`SubCore::count_until`] has counted up to it.
    /// Marks them as counted.
    pub fn begin_cycle(&mut self, cycle: u64) -> bool {
        let counts = self.counted <= cycle;
        if counts {
            self.counted = cycle + 1;
        }
        counts
    }
}
