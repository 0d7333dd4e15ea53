//! Counts by program counter on an SM.
//!
//! An SM keeps them only while [`Gpu::with_pc_counts`](crate::gpu::Gpu::with_pc_counts) asks. An
//! empty issue slot belongs to the next instruction of a warp that waits for the slot's reason. A
//! slot lost at a barrier belongs to the barrier. Of several such warps, the cycle chooses one.

use serde::{Deserialize, Serialize};

use super::Sm;
use super::counters::IssueStall;
use super::memory::{AccessSums, SUB_CORES};
use super::warp::Status;

/// Reasons of empty issue slots that belong to an instruction.
pub const STALLS: usize = IssueStall::Idle as usize;

/// Counts of one instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct PcCounts {
    /// Warp instructions executed.
    pub warp_instructions: u64,
    /// Thread instructions executed.
    pub thread_instructions: u64,
    /// Distinct sectors of global, local and texture memory.
    pub sectors: u64,
    /// Extra passes through bank conflicts of shared memory.
    pub shared_conflicts: u64,
    /// Extra passes through conflicts of L1's tag and data banks.
    pub l1_conflicts: u64,
    /// Empty issue slots by reason, in the order of the counters in section `issue`.
    pub stalls: [u64; STALLS],
}

impl PcCounts {
    /// Adds the counts of another SM.
    pub fn add(&mut self, other: &PcCounts) {
        self.warp_instructions += other.warp_instructions;
        self.thread_instructions += other.thread_instructions;
        self.sectors += other.sectors;
        self.shared_conflicts += other.shared_conflicts;
        self.l1_conflicts += other.l1_conflicts;
        self.stalls.iter_mut().zip(other.stalls).for_each(|(own, other)| *own += other);
    }
}

/// An instruction of a launch in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Place {
    /// Launch index.
    launch: u32,
    /// Position in the kernel's code.
    position: u32,
}

/// Counts of the launches in flight.
#[derive(Debug, Clone, Default)]
pub(super) struct PcProfile {
    /// By launch index and position; empty before the launch's first CTA.
    launches: Vec<Vec<PcCounts>>,
    /// Owner of the empty slots of each sub-core.
    owners: [Option<Place>; SUB_CORES],
}

impl PcProfile {
    /// Makes room for a launch of `length` instructions.
    pub(super) fn begin(&mut self, launch: u32, length: u32) {
        let launch = launch as usize;
        self.launches.resize(self.launches.len().max(launch + 1), Vec::new());
        self.launches[launch].resize(length as usize, PcCounts::default());
    }

    fn at(&mut self, place: Place) -> Option<&mut PcCounts> {
        self.launches.get_mut(place.launch as usize)?.get_mut(place.position as usize)
    }
}

impl Sm {
    /// Starts or stops counting by program counter.
    pub(crate) fn count_pcs(&mut self, counts: bool) {
        self.pc_profile = counts.then(Box::default);
    }

    /// The counts of an ended launch by position in its code, if the SM has any.
    pub(crate) fn take_pc_counts(&mut self, launch: u32) -> Option<Vec<PcCounts>> {
        let counts = self.pc_profile.as_mut()?.launches.get_mut(launch as usize)?;
        Some(std::mem::take(counts)).filter(|counts| !counts.is_empty())
    }

    /// Counts an issued instruction, with the counts of memory accesses before it.
    #[cold]
    pub(super) fn count_pc(&mut self, cta: usize, position: u32, active: u32, before: &AccessSums) {
        let launch = self.state.ctas[cta].launch;
        let accesses = self.memory.access_sums();
        let Some(counts) = self.pc_profile.as_mut().and_then(|all| all.at(Place { launch, position })) else {
            return;
        };
        counts.warp_instructions += 1;
        counts.thread_instructions += u64::from(active.count_ones());
        counts.sectors += accesses.sectors - before.sectors;
        counts.shared_conflicts += accesses.shared_conflicts - before.shared_conflicts;
        counts.l1_conflicts += accesses.l1_conflicts - before.l1_conflicts;
    }

    /// Counts the slots of a sub-core up to a cycle, which are empty.
    #[cold]
    #[inline(never)]
    pub(super) fn count_pending_pcs(&mut self, number: usize, cycle: u64) {
        let (stall, slots) = self.state.sub_cores[number].pending(self.gpu.issue.width, cycle);
        let owner = self.pc_profile.as_ref().and_then(|profile| profile.owners[number]);
        self.count_stalled_pc(owner, stall, slots);
    }

    /// Counts empty slots of a cycle.
    #[cold]
    #[inline(never)]
    pub(super) fn count_stall_of_pc(&mut self, number: usize, stall: IssueStall, slots: u32, cycle: u64) {
        let owner = self.owner(number, stall, cycle);
        self.count_stalled_pc(owner, stall, u64::from(slots));
    }

    fn count_stalled_pc(&mut self, owner: Option<Place>, stall: IssueStall, slots: u64) {
        if let Some(place) = owner
            && let Some(counts) = self.pc_profile.as_mut().and_then(|profile| profile.at(place))
            && let Some(stalls) = counts.stalls.get_mut(stall as usize)
        {
            *stalls += slots;
        }
    }

    /// Chooses the owner of a sub-core's empty slots after a cycle.
    #[cold]
    #[inline(never)]
    pub(super) fn choose_owner(&mut self, number: usize, cycle: u64) {
        let stall = self.state.sub_cores[number].stall();
        let owner = self.owner(number, stall, cycle);
        if let Some(profile) = &mut self.pc_profile {
            profile.owners[number] = owner;
        }
    }

    /// Instruction that an empty slot belongs to; `None` without a resident warp.
    fn owner(&self, number: usize, stall: IssueStall, cycle: u64) -> Option<Place> {
        let waiting = self.state.sub_cores[number].waiting_for(status_of(stall)?);
        if waiting == 0 {
            return None;
        }
        let turn = (cycle % u64::from(u32::BITS)) as u32;
        let local = (waiting.rotate_right(turn).trailing_zeros() + turn) % u32::BITS;
        let warp = &self.state.warps[local as usize * SUB_CORES + number];
        let launch = self.state.ctas[usize::from(warp.cta)].launch;
        // A warp at a barrier has issued it.
        let issued = u32::from(warp.status == Status::Barrier);
        Some(Place { launch, position: warp.buffer.from.saturating_sub(issued) })
    }
}

/// Wait state of the warps that an empty slot waits for.
fn status_of(stall: IssueStall) -> Option<Status> {
    match stall {
        IssueStall::Scoreboard => Some(Status::Scoreboard),
        IssueStall::LongScoreboard => Some(Status::Memory),
        IssueStall::InstructionFetch => Some(Status::Fetch),
        IssueStall::Barrier => Some(Status::Barrier),
        IssueStall::Sleep => Some(Status::Sleep),
        IssueStall::UnitBusy
        | IssueStall::OperandConflict
        | IssueStall::MemoryThrottle
        | IssueStall::HeldLoad => Some(Status::Ready),
        IssueStall::Idle => None,
    }
}
