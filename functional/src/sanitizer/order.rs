//! Happens-before order of accesses, for the race check.
//!
//! Within a CTA, each warp has a vector clock: for every other warp, the latest clock whose accesses are
//! ordered before. Between CTAs, a launch has one time. A releasing warp records the time and its clocks.
//! An acquiring warp records the release time that it observed, and everything released until then counts
//! as ordered. Existing orders are never missed; a race may be missed if its threads synchronised with
//! others since. Edges of the order:
//!
//! | release | acquire |
//! |---|---|
//! | arrival at a barrier of the CTA or the cluster, with or without a count | passing it |
//! | atomic or strong write after a fence of the warp | atomic or strong read of the same 8 bytes |
//! | `.release`, `.acq_rel`, arrival at an mbarrier | `.acquire`, wait at the mbarrier |
//!
//! A barrier after a fence orders as the fence does. The read needs no fence.
//!
//! Fences apply to every scope. All lanes of a warp share one clock: two lanes are ordered once both
//! executed `bar.warp.sync`, a barrier, or an edge of the table. Shuffles, votes and matrix products order
//! nothing (PTX manual 9.7.13.2 against 9.7.9.6).

use rustc_hash::FxHashMap;

use crate::engine::barrier::CLUSTER_BARRIER;

/// Maximum warps per CTA.
const WARPS: usize = 32;

/// Barrier generations that a warp may lag behind.
const GENERATIONS: usize = 4;

/// Releases tracked separately per CTA; later ones merge with their predecessor.
const RELEASES: usize = 1024;

/// For each warp, the clock up to which its accesses are ordered before.
type Clocks = [u32; WARPS];

/// Order information that a warp passes to others.
#[derive(Debug, Clone, Copy, Default)]
struct Knowledge {
    known: Clocks,
    /// Clocks at the last fence, which a strong write passes on.
    fenced: Clocks,
    /// Release time up to which other CTAs are ordered before.
    time: u64,
}

impl Knowledge {
    fn join(&mut self, other: &Knowledge) {
        let pairs = self.known.iter_mut().zip(other.known).chain(self.fenced.iter_mut().zip(other.fenced));
        pairs.for_each(|(mine, theirs)| *mine = theirs.max(*mine));
        self.time = self.time.max(other.time);
    }
}

/// Clocks of a warp.
#[derive(Debug, Clone)]
struct Warp {
    knows: Knowledge,
    /// Number of the current step; accesses of one step are indistinguishable.
    clock: u32,
    /// True if this step made an access that may conflict with another thread's.
    busy: bool,
    /// For each lane, the clock of its last warp synchronisation.
    synchronised: [u32; 32],
    /// Barriers at which the warp arrived: number, generation, lanes.
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

    /// All order information of warp `number`.
    fn own(&mut self, number: u32) -> Knowledge {
        if std::mem::take(&mut self.busy) {
            self.knows.known[number as usize] = self.clock;
            self.clock += 1;
        }
        self.knows
    }

    /// Orders the lanes among each other.
    fn meet(&mut self, lanes: u32) {
        self.clock += 1;
        for lane in 0..32 {
            if lanes >> lane & 1 != 0 {
                self.synchronised[lane as usize] = self.clock;
            }
        }
    }
}

/// Time and thread of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct AccessTime {
    pub(super) cta: u32,
    pub(super) warp: u32,
    pub(super) lane: u32,
    pub(super) clock: u32,
}

/// Order within a CTA.
#[derive(Debug)]
pub(super) struct CtaOrder {
    warps: Vec<Warp>,
    /// For each barrier, the arriving warps' information by generation.
    barriers: Vec<Vec<(u32, Knowledge)>>,
    /// Information released at each 8-byte address of shared memory.
    released: FxHashMap<u64, Knowledge>,
}

/// Order between the CTAs of a launch.
#[derive(Debug, Default)]
pub(super) struct LaunchOrder {
    time: u64,
    /// Releases of each CTA: time and clocks, cumulative.
    releases: FxHashMap<u32, Vec<(u64, Clocks)>>,
    /// Time of the last release at each 8-byte address of global memory.
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

    /// Clock of a warp's current access; `matters` starts a new step for others.
    pub(super) fn clock(&mut self, warp: u32, matters: bool) -> u32 {
        self.warps[warp as usize].busy |= matters;
        self.warps[warp as usize].clock
    }

    /// Clock of a releasing write; `all` releases everything, else only what the last fence covers.
    pub(super) fn releasing_clock(&mut self, number: u32, all: bool) -> Option<u32> {
        let warp = &self.warps[number as usize];
        let passed_on = if all { warp.knows.known } else { warp.knows.fenced };
        Some(passed_on[number as usize]).filter(|clock| *clock > 0)
    }

    /// Records the barriers that a warp has passed, as reported by `passed`. Returns true if the cluster
    /// barrier is among them.
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

    /// Records the arrival of lanes at a barrier in this generation, with or without a wait.
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

    /// Synchronises lanes of a warp.
    pub(super) fn meet(&mut self, warp: u32, lanes: u32) {
        self.warps[warp as usize].meet(lanes);
    }

    /// Records a fence of a warp.
    pub(super) fn fence(&mut self, number: u32) {
        let warp = &mut self.warps[number as usize];
        warp.knows.fenced = warp.own(number).known;
    }

    /// Information that a release passes on: everything, or what the last fence covered.
    fn passed_on(&mut self, number: u32, all: bool) -> Option<Knowledge> {
        let warp = &mut self.warps[number as usize];
        if all {
            warp.knows.fenced = warp.own(number).known;
        }
        let fenced = warp.knows.fenced;
        (all || fenced != [0; WARPS]).then_some(Knowledge { known: fenced, ..warp.knows })
    }

    /// True if a strong write of the warp would release something.
    pub(super) fn has_fenced(&self, warp: u32) -> bool {
        self.warps[warp as usize].knows.fenced != [0; WARPS]
    }

    /// True if anything was released in shared memory.
    pub(super) fn has_released(&self) -> bool {
        !self.released.is_empty()
    }

    /// Records a release by lanes at a shared address; `all` without a preceding fence.
    pub(super) fn release_shared(&mut self, warp: u32, lanes: u32, address: u64, all: bool) {
        if let Some(knowledge) = self.passed_on(warp, all) {
            self.released.entry(address / 8).or_default().join(&knowledge);
            self.meet(warp, lanes);
        }
    }

    /// Records an acquire by lanes at a shared address.
    pub(super) fn acquire_shared(&mut self, warp: u32, lanes: u32, address: u64) {
        if let Some(released) = self.released.get(&(address / 8)) {
            let warp = &mut self.warps[warp as usize];
            warp.knows.join(released);
            warp.meet(lanes);
        }
    }

    /// [`CtaOrder::release_shared`] for global memory, where every CTA may acquire.
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

    /// [`CtaOrder::acquire_shared`] for global memory, where every CTA may have released.
    pub(super) fn acquire_global(&mut self, launch: &LaunchOrder, warp: u32, lanes: u32, address: u64) {
        if let Some(time) = launch.released.get(&(address / 8)) {
            let warp = &mut self.warps[warp as usize];
            warp.knows.time = warp.knows.time.max(*time);
            warp.meet(lanes);
        }
    }

    /// True if the access `before` happened before the access `now` of this CTA.
    pub(super) fn is_before(&self, launch: &LaunchOrder, before: AccessTime, now: AccessTime) -> bool {
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
    /// True if anything was released in global memory.
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

    /// Time at which the access was first released.
    fn released_by(&self, access: AccessTime) -> Option<u64> {
        let releases = self.releases.get(&access.cta)?;
        let first = releases.partition_point(|(_, known)| known[access.warp as usize] < access.clock);
        releases.get(first).map(|(time, _)| *time)
    }
}
