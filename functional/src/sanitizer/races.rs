//! Race check: two threads access the same bytes, one of them writes, and nothing orders the accesses
//! ([`super::order`]).
//!
//! | | weak | strong | atomic |
//! |---|---|---|---|
//! | weak write | race | | race |
//! | weak read | race with writes | | race on shared memory, except with a compare-and-swap |
//!
//! Strong accesses are volatile, relaxed, acquire and release accesses and accesses that bypass L1 (`.cg`,
//! `.cv`, `.wt`): their program expects concurrency. A weak read commonly precedes a compare-and-swap (the
//! vendor's compiler emits such pairs), and in global memory other atomics. Two writes of the same value
//! are no race. Untracked: bulk copies, matrix loads and stores, and shared memory of clusters with several
//! CTAs.

use std::sync::Arc;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Effect, Op as Form, Parallel};

use super::access::{AccessKind, LaneAccess, accesses};
use super::cells::{Cell, Pages, Record, Strength};
use super::order::{AccessTime, CtaOrder, LaunchOrder};
use super::report::{Finding, Key, Party, Severity};
use super::{Check, memory, threads};
use crate::engine::address_translation::lanes_of;
use crate::engine::barrier::{BARRIERS, CLUSTER_BARRIER};
use crate::engine::grid::Grid;
use crate::engine::lane::WARP;
use crate::engine::op::Flow;
use crate::engine::probe::{Probe, Region, Site, Watch};
use crate::engine::warp_context::WarpContext;

/// Race state of a CTA.
#[derive(Debug)]
pub(super) struct CtaState {
    order: CtaOrder,
    /// Cell of each word of shared memory.
    shared: Vec<Cell>,
}

impl CtaState {
    pub(super) fn new(grid: &Grid<'_>) -> CtaState {
        CtaState {
            order: CtaOrder::new(grid.shape.warps_per_cta(), BARRIERS + 1),
            shared: vec![Cell::default(); grid.shared_bytes().div_ceil(4) as usize],
        }
    }

    /// Reuses the state for the next CTA. Records of shared memory carry the CTA's number and stay valid.
    pub(super) fn restart(&mut self, grid: &Grid<'_>) {
        self.order = CtaOrder::new(grid.shape.warps_per_cta(), BARRIERS + 1);
    }
}

/// Race state of a launch.
#[derive(Debug, Default)]
pub(crate) struct LaunchState {
    order: LaunchOrder,
    global: Pages,
}

impl LaunchState {
    /// Forgets accesses to memory that has a new owner.
    pub(crate) fn forget(&mut self, address: u64, bytes: u64) {
        for word in address / 4..address.saturating_add(bytes).div_ceil(4) {
            *self.global.cell(word) = Cell::default();
        }
    }
}

/// Probes for an instruction.
pub(super) fn watch(i: &Instruction) -> Vec<Watch> {
    if let Form::Parallel(form) = i.op
        && let Some(watch) = synchronisation(i, form)
    {
        return vec![watch];
    }
    let followed = accesses(i)
        .into_iter()
        .filter(|access| !matches!(access.kind, AccessKind::Clobber | AccessKind::Anywhere));
    followed
        .map(|access| Watch {
            address: Some(access.operand),
            space: access.space,
            values: access.value.into_iter().collect(),
            ..Watch::of(Arc::new(Accessed(access)))
        })
        .collect()
}

fn synchronisation(i: &Instruction, form: Parallel) -> Option<Watch> {
    use Parallel::{
        bar_arrive, bar_red, bar_red_popc, bar_sync, bar_warp_sync, barrier_arrive, barrier_cluster_arrive,
        barrier_red, barrier_red_popc, barrier_sync, mbarrier_pending_count, mbarrier_test_wait,
        mbarrier_test_wait_parity, mbarrier_try_wait, mbarrier_try_wait_parity,
    };
    let with = |probe: Arc<dyn Probe>, value: usize| Watch { values: vec![value], ..Watch::of(probe) };
    Some(match form {
        bar_sync | barrier_sync => with(Arc::new(Arrived { waits: true }), 0),
        bar_red | bar_red_popc | barrier_red | barrier_red_popc => with(Arc::new(Arrived { waits: true }), 1),
        bar_arrive | barrier_arrive => with(Arc::new(Arrived { waits: false }), 0),
        barrier_cluster_arrive => Watch::of(Arc::new(Arrived { waits: true })),
        bar_warp_sync => with(Arc::new(Met), 0),
        mbarrier_pending_count => return None,
        _ if i.op.line().effect == Effect::Fence => Watch::of(Arc::new(Fenced)),
        _ if i.op.line().effect == Effect::Atomic => {
            let waits = matches!(
                form,
                mbarrier_test_wait | mbarrier_test_wait_parity | mbarrier_try_wait | mbarrier_try_wait_parity
            );
            let operand = accesses(i).first()?.operand;
            Watch { address: Some(operand), ..Watch::of(Arc::new(Signalled { waits })) }
        }
        _ => return None,
    })
}

/// Passes the CTA's and launch's race state to `work`.
fn with_state(
    w: &mut WarpContext<'_>,
    work: impl FnOnce(&WarpContext<'_>, &mut CtaState, &mut LaunchState),
) -> Flow {
    let grid = w.grid;
    let (Some(launch), Some(mut checks)) = (&grid.checks, w.cta.checks.take()) else { return Flow::Next };
    if let Some(state) = &mut checks.races {
        let mut launch = launch.lock();
        let (barriers, of_cluster) = (&w.cta.barriers, &w.cluster.barrier);
        let passed = |id: u32, generation: u32| {
            barriers.get(id as usize).unwrap_or(of_cluster).generation != generation
        };
        if state.order.notice(w.warp, passed) {
            state.order.acquire_global(&launch.order, w.warp, u32::MAX, cluster_address(w));
        }
        work(w, state, &mut launch);
    }
    w.cta.checks = Some(checks);
    Flow::Next
}

/// Pseudo-address, outside of memory, at which the CTAs of a warp's cluster synchronise.
fn cluster_address(w: &WarpContext<'_>) -> u64 {
    let first: [u32; 3] = std::array::from_fn(|axis| {
        let size = w.grid.cluster[axis].max(1);
        w.cta.id[axis] / size * size
    });
    (1 << 63) | (w.grid.shape.cta_index(first) * 8)
}

/// Barrier of the CTA or the cluster.
#[derive(Debug)]
struct Arrived {
    waits: bool,
}

impl Probe for Arrived {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        with_state(w, |w, state, launch| {
            let id = match site.value_count() {
                0 => CLUSTER_BARRIER,
                _ => site.value(w, 0)[w.mask.trailing_zeros() as usize & 31] as usize,
            };
            let barrier = w.cta.barriers.get(id).unwrap_or(&w.cluster.barrier);
            state.order.arrive(w.warp, w.mask, id as u32, barrier.generation, self.waits);
            if id == CLUSTER_BARRIER && w.cluster.ctas > 1 {
                let who = (w.cta.index as u32, w.warp);
                state.order.release_global(&mut launch.order, who, w.mask, cluster_address(w), true);
            }
        })
    }
}

/// `bar.warp.sync`.
#[derive(Debug)]
struct Met;

impl Probe for Met {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        with_state(w, |w, state, _| {
            let masks = site.value(w, 0);
            let members = lanes_of(w.mask).fold(w.mask, |all, lane| all | masks[lane] as u32);
            state.order.meet(w.warp, members);
        })
    }
}

/// Fence.
#[derive(Debug)]
struct Fenced;

impl Probe for Fenced {
    fn reached(&self, w: &mut WarpContext<'_>, _: &Site) -> Flow {
        with_state(w, |w, state, _| state.order.fence(w.warp))
    }
}

/// Mbarrier operation.
#[derive(Debug)]
struct Signalled {
    waits: bool,
}

impl Probe for Signalled {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        with_state(w, |w, state, launch| {
            let addresses = site.addresses(w);
            for lane in lanes_of(w.mask) {
                match site.locate(w, addresses[lane]) {
                    (Region::Shared, address) => {
                        state.order.acquire_shared(w.warp, u32::MAX, address);
                        if !self.waits {
                            state.order.release_shared(w.warp, 1 << lane, address, true);
                        }
                    }
                    (Region::Unfollowed, _) => {
                        let (who, place) = ((w.cta.index as u32, w.warp), cluster_address(w));
                        state.order.acquire_global(&launch.order, w.warp, u32::MAX, place);
                        if !self.waits {
                            state.order.release_global(&mut launch.order, who, 1 << lane, place, true);
                        }
                    }
                    _ => {}
                }
            }
        })
    }
}

/// Load, store, or atomic.
#[derive(Debug)]
struct Accessed(LaneAccess);

impl Probe for Accessed {
    fn reached(&self, w: &mut WarpContext<'_>, site: &Site) -> Flow {
        with_state(w, |w, state, launch| Race { w, site, access: &self.0, state, launch }.follow())
    }
}

/// True if accesses to this memory are tracked.
fn is_followed(region: Region) -> bool {
    matches!(region, Region::Global | Region::Shared)
}

/// Check of one access of a warp.
struct Race<'r, 'a> {
    w: &'r WarpContext<'a>,
    site: &'r Site,
    access: &'r LaneAccess,
    state: &'r mut CtaState,
    launch: &'r mut LaunchState,
}

/// A conflict: the earlier access, its kind, the current lane, the word.
struct Conflict {
    before: AccessTime,
    record: Record,
    wrote: bool,
    lane: usize,
    region: Region,
    word: u64,
}

impl Race<'_, '_> {
    fn follow(mut self) {
        let addresses = self.site.addresses(self.w);
        let mask = self.w.mask;
        let mut places = [(Region::Local, 0); WARP];
        for lane in lanes_of(mask) {
            places[lane] = self.site.locate(self.w, addresses[lane]);
        }
        let (atomic, strong) = (self.access.kind == AccessKind::Atomic, self.access.strong);
        if atomic || (strong && self.access.kind == AccessKind::Read) {
            self.acquire(&places);
        }
        let releases = atomic || (strong && self.access.kind == AccessKind::Write);
        let mut clock = self.state.order.clock(self.w.warp, self.strength() != Strength::Strong);
        if releases
            && let Some(released) = self.state.order.releasing_clock(self.w.warp, self.access.releases)
        {
            clock = released;
        }
        let now = AccessTime { cta: self.w.cta.index as u32, warp: self.w.warp, lane: 0, clock };
        lanes_of(mask).for_each(|lane| self.check(now, lane, places[lane]));
        if self.access.value.is_some() && !strong {
            self.check_together(now, &places);
        }
        lanes_of(mask).for_each(|lane| self.record(now, lane, places[lane]));
        if releases && (self.access.releases || self.state.order.has_fenced(self.w.warp)) {
            self.release(&places);
        }
    }

    fn acquire(&mut self, places: &[(Region, u64); WARP]) {
        if !self.state.order.has_released() && !self.launch.order.has_released() {
            return;
        }
        let warp = self.w.warp;
        for lane in lanes_of(self.w.mask) {
            match places[lane] {
                (Region::Shared, address) => self.state.order.acquire_shared(warp, 1 << lane, address),
                (Region::Global, address) => {
                    self.state.order.acquire_global(&self.launch.order, warp, 1 << lane, address);
                }
                (Region::Local | Region::Unfollowed, _) => {}
            }
        }
    }

    fn release(&mut self, places: &[(Region, u64); WARP]) {
        let (warp, all) = (self.w.warp, self.access.releases);
        for lane in lanes_of(self.w.mask) {
            match places[lane] {
                (Region::Shared, address) => self.state.order.release_shared(warp, 1 << lane, address, all),
                (Region::Global, address) => {
                    let who = (self.w.cta.index as u32, warp);
                    let launch = &mut self.launch.order;
                    self.state.order.release_global(launch, who, 1 << lane, address, all);
                }
                (Region::Local | Region::Unfollowed, _) => {}
            }
        }
    }

    fn strength(&self) -> Strength {
        match (self.access.kind, self.access.strong) {
            (AccessKind::Atomic, _) if self.access.swaps => Strength::Swap,
            (AccessKind::Atomic, _) => Strength::Atomic,
            (_, true) => Strength::Strong,
            _ => Strength::Weak,
        }
    }

    /// Words that a lane accesses, each with its mask of bytes.
    fn words(&self, address: u64) -> impl Iterator<Item = (u64, u32)> + use<> {
        let (first, bytes) = (address / 4, self.access.bytes.max(1));
        let last = address.saturating_add(u64::from(bytes) - 1) / 4;
        let part = ((1u32 << bytes.min(4)) - 1) << (address % 4) & 0xf;
        (first..=last).map(move |word| (word, if bytes < 4 { part } else { 0xf }))
    }

    /// Cell of a word; `None` outside of the CTA's shared memory, where the access faults.
    fn cell(&mut self, region: Region, word: u64) -> Option<&mut Cell> {
        match region {
            Region::Shared => self.state.shared.get_mut(word as usize),
            Region::Global => Some(self.launch.global.cell(word)),
            Region::Local | Region::Unfollowed => None,
        }
    }

    fn check(&mut self, now: AccessTime, lane: usize, (region, address): (Region, u64)) {
        if !is_followed(region) {
            return;
        }
        let (now, writes) = (AccessTime { lane: lane as u32, ..now }, self.access.kind != AccessKind::Read);
        for (word, bytes) in self.words(address) {
            let Some(&mut cell) = self.cell(region, word) else { return };
            self.check_against(now, cell.write, true, bytes, (region, word));
            if writes {
                for read in cell.reads {
                    self.check_against(now, read, false, bytes, (region, word));
                }
            }
        }
    }

    #[inline(always)]
    fn check_against(
        &mut self,
        now: AccessTime,
        record: Record,
        wrote: bool,
        bytes: u32,
        (region, word): (Region, u64),
    ) {
        if !record.overlaps(bytes) || (region == Region::Shared && record.cta() != now.cta) {
            return;
        }
        let Some(before) = record.by_another(now) else { return };
        if self.conflicts(record.strength(), wrote, region)
            && !self.state.order.is_before(&self.launch.order, before, now)
        {
            let conflict = Conflict { before, record, wrote, lane: now.lane as usize, region, word };
            self.found(&conflict);
        }
    }

    /// True if an earlier access of this strength conflicts with the current one.
    fn conflicts(&self, before: Strength, wrote: bool, region: Region) -> bool {
        let writes = self.access.kind != AccessKind::Read;
        match (before, self.strength()) {
            (Strength::Weak, Strength::Weak) => true,
            (Strength::Weak, Strength::Atomic) => wrote || region == Region::Shared,
            (Strength::Atomic, Strength::Weak) => writes || region == Region::Shared,
            (Strength::Weak, Strength::Swap) => wrote,
            (Strength::Swap, Strength::Weak) => writes,
            _ => false,
        }
    }

    fn found(&self, conflict: &Conflict) {
        let both_write = conflict.wrote && self.access.kind == AccessKind::Write;
        if both_write && self.stores_the_same(conflict) {
            return;
        }
        let kind = match (conflict.wrote, self.access.kind) {
            (true, AccessKind::Read) => "read after write",
            (false, _) => "write after read",
            _ => "write after write",
        };
        self.report(kind, conflict.before, conflict.record.site, conflict.wrote, conflict);
    }

    /// True if the lane stores the value that the word already holds.
    fn stores_the_same(&self, conflict: &Conflict) -> bool {
        let address = self.site.locate(self.w, self.site.addresses(self.w)[conflict.lane]).1;
        let stored = self.stored(conflict.lane);
        let bytes = self.access.bytes.min(stored.len() as u32);
        let place = match conflict.region {
            Region::Shared if address + u64::from(bytes) <= u64::from(self.w.shared_bytes) => {
                self.w.shared.wrapping_add(address as usize).cast_const()
            }
            Region::Global if self.w.grid.owner.memory.check_range(address, u64::from(bytes)).is_ok() => {
                address as *const u8
            }
            _ => return false,
        };
        // SAFETY: the bytes lie in the CTA's block or in a live allocation.
        (0..bytes as usize).all(|n| unsafe { place.wrapping_add(n).read() } == stored[n])
    }

    /// Bytes that a lane stores.
    fn stored(&self, lane: usize) -> [u8; 32] {
        let mut bytes = [0; 32];
        let whole = (self.access.element as usize).max(1);
        let part = whole.min(8);
        for n in 0..self.site.value_count() {
            let value = self.site.value(self.w, n)[lane].to_le_bytes();
            if let Some(place) = bytes.get_mut(n * part..n * part + part) {
                place.copy_from_slice(&value[..part]);
            }
        }
        bytes
    }

    /// Checks lanes of one store that store different values to the same address.
    fn check_together(&mut self, now: AccessTime, places: &[(Region, u64); WARP]) {
        let mut last: Option<u64> = None;
        let bytes = u64::from(self.access.bytes);
        let ascends = lanes_of(self.w.mask).all(|lane| {
            let (_, address) = places[lane];
            last.replace(address).is_none_or(|last| address >= last.saturating_add(bytes))
        });
        if ascends {
            return;
        }
        for lane in lanes_of(self.w.mask) {
            let below = self.w.mask & ((1 << lane) - 1);
            let same = |other: &usize| places[*other] == places[lane] && is_followed(places[lane].0);
            let other = lanes_of(below).find(same);
            if let Some(other) = other.filter(|other| self.stored(*other) != self.stored(lane)) {
                let (region, address) = places[lane];
                let before = AccessTime { lane: other as u32, ..now };
                let record = Record::new(before, 0xf, Strength::Weak, self.site.number);
                let conflict = Conflict { before, record, wrote: true, lane, region, word: address / 4 };
                self.report("write by several lanes at once", before, self.site.number, true, &conflict);
                return;
            }
        }
    }

    fn record(&mut self, now: AccessTime, lane: usize, (region, address): (Region, u64)) {
        if !is_followed(region) {
            return;
        }
        let (now, strength, site) =
            (AccessTime { lane: lane as u32, ..now }, self.strength(), self.site.number);
        let reads = self.access.kind == AccessKind::Read;
        for (word, bytes) in self.words(address) {
            let Some(cell) = self.cell(region, word) else { return };
            let record = Record::new(now, bytes, strength, site);
            if reads { cell.read(record) } else { cell.written(record) }
        }
    }

    fn report(&self, kind: &'static str, before: AccessTime, site: u32, wrote: bool, conflict: &Conflict) {
        let (w, grid) = (self.w, self.w.grid);
        let Some(checker) = grid.owner.checker() else { return };
        let key = Key { kind, program: grid.program.number, sites: [site, self.site.number] };
        checker.findings.add(grid, key, || {
            let verb = |writes: bool, strength: Strength| match (writes, strength) {
                (_, Strength::Atomic | Strength::Swap) => "atomic access",
                (true, _) => "write",
                (false, _) => "read",
            };
            let address = conflict.word * 4;
            let (name, place) = memory::place(checker, grid, conflict.region, address);
            let party = |role: String, cta, warp, lane, site: &Site| Party {
                role,
                threads: threads::thread(grid, warp, lane),
                cta,
                spot: grid.program.spot_of(site),
            };
            let now = verb(self.access.kind != AccessKind::Read, self.strength());
            let earlier = verb(wrote, conflict.record.strength());
            let mut parties = vec![party(now.to_owned(), w.cta.id, w.warp, conflict.lane as u32, self.site)];
            if let Some(site) = grid.program.sites.get(site as usize) {
                let cta = grid.shape.cta_at(before.cta.into());
                parties.push(party(format!("earlier {earlier}"), cta, before.warp, before.lane, site));
            }
            let who = match (before.cta == w.cta.index as u32, before.warp == w.warp) {
                (true, true) => "threads of a warp",
                (true, false) => "warps of a CTA",
                (false, _) => "CTAs",
            };
            Finding {
                check: Check::Races,
                severity: Severity::Error,
                title: format!("race between {who} on {name} memory: {kind}"),
                kernel: Some(grid.program.kernel().name.clone()),
                launch: None,
                parties,
                details: vec![place],
                host: Vec::new(),
            }
        });
    }
}
