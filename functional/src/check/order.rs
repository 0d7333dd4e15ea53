//! Which accesses are ordered: happens-before, as checkers of races see it.
//!
//! Within a CTA each warp has a vector clock: for each warp, up to when what it did is known here. Between CTAs there is
//! one time per launch: a warp that releases notes the time and what it knew, a warp that acquires notes the time of what
//! it has seen, and all that was released up to then counts as known. So an order that exists is never missed, and a race
//! may be, where threads have synchronised with others since. The edges:
//!
//! | releases | acquires |
//! |---|---|
//! | arriving at a barrier of the CTA, with a count or without, or of the cluster | passing it |
//! | an atomic or strong write after a fence of the same warp, or behind a barrier after a fence | an atomic or strong read of the same 8 bytes, with a fence or without |
//! | `.release`, `.acq_rel`, arriving at an mbarrier | `.acquire`, waiting at the mbarrier |
//!
//! Fences count for every scope, and all lanes of a warp have one clock: lanes of a warp are ordered when both have taken
//! part in `bar.warp.sync`, a barrier, or an edge of the table since. Shuffles, votes and matrix products order nothing
//! (PTX manual 9.7.13.2 against 9.7.9.6).

use rustc_hash::FxHashMap;

use crate::engine::barrier::CLUSTER_BARRIER;

/// Warps that a CTA can have.
const WARPS: usize = 32;

/// Generations of a barrier that warps may not have noticed yet.
const GENERATIONS: usize = 4;

/// Releases of a CTA that are told apart; of more, each counts as made with the one before it.
const RELEASES: usize = 1024;

/// By warp: up to which clock its accesses are known.
type Clocks = [u32; WARPS];

/// What one warp can tell others.
#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    known: Clocks,
    /// What was known at the last fence: what a strong write passes on.
    fenced: Clocks,
    /// Up to which time releases of other CTAs are known.
    time: u64,
}

impl Knowledge {
    fn join(&mut self, other: &Knowledge) {
        let pairs = self.known.iter_mut().zip(other.known).chain(self.fenced.iter_mut().zip(other.fenced));
        pairs.for_each(|(mine, theirs)| *mine = theirs.max(*mine));
        self.time = self.time.max(other.time);
    }
}

/// What a warp has done and knows.
#[derive(Debug, Clone)]
struct Warp {
    knows: Knowledge,
    /// Counts accesses in steps that others can tell apart.
    clock: u32,
    /// It has made an access in this step that others may conflict with.
    busy: bool,
    /// By lane: the clock when it took part in the warp's last synchronisation.
    synchronised: [u32; 32],
    /// Barriers it has come to: number, generation, lanes.
    pending: Vec<(u32, u32, u32)>,
}

impl Warp {
    fn new() -> Warp {
        Warp {
            knows: Knowledge::default(),
            clock: 1,
            busy: false,
            synchronised: [1; 32],
            pending: Vec::new(),
        }
    }

    /// All that the warp, of this number, has done and knows so far.
    fn own(&mut self, number: u32) -> Knowledge {
        if std::mem::take(&mut self.busy) {
            self.knows.known[number as usize] = self.clock;
            self.clock += 1;
        }
        self.knows
    }

    /// The lanes know of each other.
    fn meet(&mut self, lanes: u32) {
        self.clock += 1;
        for lane in 0..32 {
            if lanes >> lane & 1 != 0 {
                self.synchronised[lane as usize] = self.clock;
            }
        }
    }
}

/// An access, as it is told from others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Moment {
    pub(super) cta: u32,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) clock: u32,
}

/// The order within a CTA.
#[derive(Debug)]
pub(super) struct CtaOrder {
    warps: Vec<Warp>,
    /// By barrier: what those knew that came to it, by generation.
    barriers: Vec<Vec<(u32, Knowledge)>>,
    /// By address in shared memory, in 8 bytes: what was released there.
    released: FxHashMap<u64, Knowledge>,
}

/// The order between the CTAs of a launch.
#[derive(Debug, Default)]
pub(super) struct LaunchOrder {
    time: u64,
    /// By CTA: when it released, and what was known there then; later entries include earlier ones.
    releases: FxHashMap<u32, Vec<(u64, Clocks)>>,
    /// By address in global memory, in 8 bytes: when something was last released there.
    released: FxHashMap<u64, u64>,
}

impl CtaOrder {
    pub(super) fn new(warps: u32, barriers: usize) -> CtaOrder {
        CtaOrder {
            warps: (0..warps).map(|_| Warp::new()).collect(),
            barriers: vec![Vec::new(); barriers],
            released: FxHashMap::default(),
        }
    }

    /// The clock of an access that a warp makes now; does it matter to others that it does?
    pub(super) fn clock(&mut self, warp: u32, matters: bool) -> u32 {
        self.warps[warp as usize].busy |= matters;
        self.warps[warp as usize].clock
    }

    /// The clock of a write that passes on what it and others did before, which is a part of that.
    pub(super) fn releasing_clock(&mut self, number: u32, all: bool) -> Option<u32> {
        let warp = &self.warps[number as usize];
        let passed_on = if all { warp.knows.known } else { warp.knows.fenced };
        Some(passed_on[number as usize]).filter(|clock| *clock > 0)
    }

    /// Notices that barriers have let a warp pass; `passed` says whether one has left a generation. True if that of the
    /// cluster is among them.
    pub(super) fn notice(&mut self, warp: u32, passed: impl Fn(u32, u32) -> bool) -> bool {
        let warp = &mut self.warps[warp as usize];
        if warp.pending.is_empty() {
            return false;
        }
        let mut of_cluster = false;
        let pending = std::mem::take(&mut warp.pending);
        for (id, generation, lanes) in pending {
            if !passed(id, generation) {
                warp.pending.push((id, generation, lanes));
                continue;
            }
            let generations = &self.barriers[id as usize];
            let met = generations.iter().find(|(it, _)| *it == generation).or(generations.last());
            if let Some((_, others)) = met {
                warp.knows.join(others);
            }
            warp.meet(lanes);
            of_cluster |= id as usize == CLUSTER_BARRIER;
        }
        of_cluster
    }

    /// Lanes come to a barrier in this generation, to wait or not.
    pub(super) fn arrive(&mut self, warp: u32, lanes: u32, id: u32, generation: u32, waits: bool) {
        let Some(generations) = self.barriers.get_mut(id as usize) else { return };
        let own = self.warps[warp as usize].own(warp);
        match generations.iter_mut().find(|(it, _)| *it == generation) {
            Some((_, others)) => others.join(&own),
            None => {
                if generations.len() == GENERATIONS {
                    generations.remove(0);
                }
                generations.push((generation, own));
            }
        }
        let warp = &mut self.warps[warp as usize];
        if waits {
            match warp.pending.iter_mut().find(|(it, at, _)| (*it, *at) == (id, generation)) {
                Some((_, _, waiting)) => *waiting |= lanes,
                None => warp.pending.push((id, generation, lanes)),
            }
        }
    }

    /// Lanes of a warp synchronise.
    pub(super) fn meet(&mut self, warp: u32, lanes: u32) {
        self.warps[warp as usize].meet(lanes);
    }

    /// A fence of a warp.
    pub(super) fn fence(&mut self, number: u32) {
        let warp = &mut self.warps[number as usize];
        warp.knows.fenced = warp.own(number).known;
    }

    /// What a release passes on: all, or what was known at the last fence.
    fn passed_on(&mut self, number: u32, all: bool) -> Option<Knowledge> {
        let warp = &mut self.warps[number as usize];
        if all {
            warp.knows.fenced = warp.own(number).known;
        }
        let fenced = warp.knows.fenced;
        (all || fenced != [0; WARPS]).then_some(Knowledge { known: fenced, ..warp.knows })
    }

    /// Would a strong write of the warp pass something on?
    pub(super) fn has_fenced(&self, warp: u32) -> bool {
        self.warps[warp as usize].knows.fenced != [0; WARPS]
    }

    /// Has anything been released in shared memory?
    pub(super) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Lanes write where others may acquire. `all`: without a fence before.
    pub(super) fn release_shared(&mut self, warp: u32, lanes: u32, address: u64, all: bool) {
        if let Some(knowledge) = self.passed_on(warp, all) {
            self.released.entry(address / 8).or_default().join(&knowledge);
            self.meet(warp, lanes);
        }
    }

    /// Lanes read what others may have released.
    pub(super) fn acquire_shared(&mut self, warp: u32, lanes: u32, address: u64) {
        if let Some(released) = self.released.get(&(address / 8)) {
            let warp = &mut self.warps[warp as usize];
            warp.knows.join(released);
            warp.meet(lanes);
        }
    }

    /// As [`CtaOrder::release_shared`], where every CTA may acquire.
    pub(super) fn release_global(
        &mut self,
        launch: &mut LaunchOrder,
        (cta, warp): (u32, u32),
        lanes: u32,
        address: u64,
        all: bool,
    ) {
        if let Some(knowledge) = self.passed_on(warp, all) {
            launch.release(cta, address, &knowledge.known);
            self.meet(warp, lanes);
        }
    }

    /// As [`CtaOrder::acquire_shared`], where every CTA may have released.
    pub(super) fn acquire_global(&mut self, launch: &LaunchOrder, warp: u32, lanes: u32, address: u64) {
        if let Some(time) = launch.released.get(&(address / 8)) {
            let warp = &mut self.warps[warp as usize];
            warp.knows.time = warp.knows.time.max(*time);
            warp.meet(lanes);
        }
    }

    /// Did an access happen before one of this CTA's that happens now?
    pub(super) fn is_before(&self, launch: &LaunchOrder, before: Moment, now: Moment) -> bool {
        let warp = &self.warps[now.warp as usize];
        if before.cta == now.cta {
            if before.warp == now.warp {
                let met = |lane: u32| warp.synchronised[lane as usize] > before.clock;
                if met(before.lane) && met(now.lane) {
                    return true;
                }
            } else if warp.knows.known[before.warp as usize] >= before.clock {
                return true;
            }
        }
        launch.released_by(before).is_some_and(|time| time <= warp.knows.time)
    }
}

impl LaunchOrder {
    /// Has anything been released in global memory?
    pub(super) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    fn release(&mut self, cta: u32, address: u64, known: &Clocks) {
        self.time += 1;
        self.released.insert(address / 8, self.time);
        let releases = self.releases.entry(cta).or_default();
        let mut all = *known;
        if let Some((_, last)) = releases.last() {
            all.iter_mut().zip(last).for_each(|(mine, earlier)| *mine = (*mine).max(*earlier));
            if all == *last {
                return;
            }
        }
        if releases.len() == RELEASES {
            let pairs = releases.chunks(2);
            *releases = pairs.filter_map(|pair| Some((pair.first()?.0, pair.last()?.1))).collect();
        }
        releases.push((self.time, all));
    }

    /// When the access was first released.
    fn released_by(&self, access: Moment) -> Option<u64> {
        let releases = self.releases.get(&access.cta)?;
        let first = releases.partition_point(|(_, known)| known[access.warp as usize] < access.clock);
        releases.get(first).map(|(time, _)| *time)
    }
}
