//! Counters of an SM's memory unit, by unit.

use warp_stream::{AccessKind, LaneMask, MemoryOperation, MemorySpace};

use super::coalescer::{CoalescerCounters, Footprint};
use super::constant::ConstantCounters;
use super::l1::L1Counters;
use super::pipeline::MemoryPipelineCounters;
use super::shared::{Passes, SharedCounters};
use super::tlb::TlbCounters;
use crate::statistics::saved::Name;
use crate::statistics::{Counter, Counters};

/// Counters by unit.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct MemoryCounters {
    /// Memory pipelines.
    pub pipeline: MemoryPipelineCounters,
    /// Coalescer.
    pub coalescer: CoalescerCounters,
    /// Shared memory.
    pub shared: SharedCounters,
    /// L1 data cache.
    pub l1: L1Counters,
    /// Constant cache.
    pub constant: ConstantCounters,
    /// L1 TLB.
    pub tlb: TlbCounters,
}

crate::saved_counters!(MemoryCounters);

impl Counters for MemoryCounters {
    fn each(&self, tell: &mut dyn FnMut(&'static Counter, u64)) {
        self.pipeline.each(tell);
        self.coalescer.each(tell);
        self.shared.each(tell);
        self.l1.each(tell);
        self.constant.each(tell);
        self.tlb.each(tell);
    }

    fn add(&mut self, other: &MemoryCounters) {
        self.pipeline.add(&other.pipeline);
        self.coalescer.add(&other.coalescer);
        self.shared.add(&other.shared);
        self.l1.add(&other.l1);
        self.constant.add(&other.constant);
        self.tlb.add(&other.tlb);
    }

    fn restart(&mut self) {
        self.pipeline.restart();
        self.coalescer.restart();
        self.shared.restart();
        self.l1.restart();
        self.constant.restart();
        self.tlb.restart();
    }

    fn save(&self, write: &mut dyn FnMut(Name, u64)) {
        self.pipeline.save(write);
        self.coalescer.save(write);
        self.shared.save(write);
        self.l1.save(write);
        self.constant.save(write);
        self.tlb.save(write);
    }

    fn load(&mut self, read: &mut dyn FnMut(Name) -> u64) {
        self.pipeline.load(read);
        self.coalescer.load(read);
        self.shared.load(read);
        self.l1.load(read);
        self.constant.load(read);
        self.tlb.load(read);
    }
}

/// Sums over the kinds of accesses, counted when an access is issued.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct AccessSums {
    /// Distinct sectors of global, local and texture memory.
    pub sectors: u64,
    /// Extra passes through bank conflicts of shared memory.
    pub shared_conflicts: u64,
    /// Extra passes through conflicts of L1's banks.
    pub l1_conflicts: u64,
}

/// Counters whose sum is [`AccessSums::sectors`], as `section.name`.
pub const SECTORS: [(&str, &str); 7] = [
    ("coalescer", "global_load_sectors"),
    ("coalescer", "global_store_sectors"),
    ("coalescer", "local_load_sectors"),
    ("coalescer", "local_store_sectors"),
    ("coalescer", "atomic_sectors"),
    ("coalescer", "reduction_sectors"),
    ("coalescer", "texture_sectors"),
];

impl AccessSums {
    pub(super) fn of(coalescer: &CoalescerCounters, shared: &SharedCounters, l1: &L1Counters) -> AccessSums {
        AccessSums {
            sectors: coalescer.global_load_sectors
                + coalescer.global_store_sectors
                + coalescer.local_load_sectors
                + coalescer.local_store_sectors
                + coalescer.atomic_sectors
                + coalescer.reduction_sectors
                + coalescer.texture_sectors,
            shared_conflicts: shared.load_conflicts + shared.store_conflicts + shared.atomic_conflicts,
            l1_conflicts: l1.load_conflicts + l1.store_conflicts + l1.atomic_conflicts,
        }
    }
}

impl MemoryCounters {
    /// Counts an access to shared memory.
    pub(super) fn count_shared(&mut self, kind: AccessKind, passes: Passes) {
        let shared = &mut self.shared;
        let (requests, conflicts) = match kind {
            AccessKind::Load => (&mut shared.load_requests, &mut shared.load_conflicts),
            AccessKind::Store => (&mut shared.store_requests, &mut shared.store_conflicts),
            AccessKind::Atomic | AccessKind::Reduction => {
                (&mut shared.atomic_requests, &mut shared.atomic_conflicts)
            }
        };
        *requests += 1;
        *conflicts += u64::from(passes.conflicts);
        shared.passes += u64::from(passes.passes);
    }

    /// Counts the active lanes of an access.
    #[inline]
    pub(super) fn count_lanes(&mut self, operation: &MemoryOperation, active: LaneMask) {
        let unit = &mut self.coalescer;
        let lanes = match (operation.space, operation.kind) {
            (MemorySpace::Constant | MemorySpace::Texture, _) => return,
            (MemorySpace::Shared, _) => &mut self.shared.lanes,
            (_, AccessKind::Load) => &mut unit.load_lanes,
            (_, AccessKind::Store) => &mut unit.store_lanes,
            (_, AccessKind::Atomic | AccessKind::Reduction) => &mut unit.atomic_lanes,
        };
        *lanes += u64::from(active.count_ones());
    }

    /// Counts a coalesced access.
    pub(super) fn count_lines(&mut self, operation: &MemoryOperation, footprint: Footprint, lines: usize) {
        let unit = &mut self.coalescer;
        unit.lines += lines as u64;
        let local = operation.space == MemorySpace::Local;
        let (requests, sectors) = match operation.kind {
            _ if operation.space == MemorySpace::Texture => {
                (&mut unit.texture_requests, &mut unit.texture_sectors)
            }
            AccessKind::Load if local => (&mut unit.local_load_requests, &mut unit.local_load_sectors),
            AccessKind::Store if local => (&mut unit.local_store_requests, &mut unit.local_store_sectors),
            AccessKind::Load => {
                unit.global_load_sectors_by_eight += u64::from(footprint.by_eight);
                (&mut unit.global_load_requests, &mut unit.global_load_sectors)
            }
            AccessKind::Store => {
                unit.global_store_sectors_by_eight += u64::from(footprint.by_eight);
                (&mut unit.global_store_requests, &mut unit.global_store_sectors)
            }
            AccessKind::Atomic => (&mut unit.atomic_requests, &mut unit.atomic_sectors),
            AccessKind::Reduction => (&mut unit.reduction_requests, &mut unit.reduction_sectors),
        };
        // Without active lanes there is no request.
        *requests += u64::from(lines > 0);
        *sectors += u64::from(footprint.distinct);
    }
}
