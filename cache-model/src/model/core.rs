//! A core: warps in a FIFO queue, an L1, MSHRs and accesses in flight.
//!
//! Time counts line requests, one per unit. A request at time t sees the effects of earlier times,
//! and those of time t on its own line.

use std::num::NonZero;
use std::ops::Range;

use timing::sm::memory::l1::{Fetch, StoreHit};
use warp_stream::{host_cache, local_memory};

use super::counts::{Counts, LevelCounts, Miss, OrderCounts, bucket};
use super::l2::{L2, Level};
use super::latency::HalfNormal;
use super::lines::{DROPPED, Lines, SECTORS};
use super::log::{Request, Status};
use super::queue::WarpQueue;
use super::run::{MAX_STACKS, Member, Setting};
use super::spec::Divergence;
use super::stack::ABSENT;
use super::wheel::Wheel;
use crate::accesses::{Header, Kind, LINE_BYTES};

/// State that the cores share.
#[derive(Debug)]
pub(super) struct Shared<'l> {
    /// CTAs that have not started.
    pub ctas: Range<u64>,
    /// L2 behind all cores.
    pub l2: Option<&'l mut L2>,
}

/// Access in flight.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Effect {
    line: u32,
    sectors: u8,
    /// The access occupies the line's MSHR.
    is_fetch: bool,
}

/// A running warp.
#[derive(Debug, Clone, Copy, Default)]
struct Warp {
    /// Next word, and the end of the warp's words.
    next: usize,
    end: usize,
    /// First word of the present access.
    header: u64,
    /// Lines of the present access that are left.
    lines: u32,
    /// Time at which the present access takes effect.
    effect: u64,
    /// Time at which all loads that the warp has not waited for take effect.
    awaited: u64,
    /// Slowest level of the present access.
    level: u8,
    /// Number of the first line of the warp's local memory.
    local: u64,
}

/// A running CTA.
#[derive(Debug, Clone, Default)]
struct Cta {
    /// Warps that have not ended.
    live: u32,
    /// Warps at the barrier.
    held: Vec<u32>,
}

/// A core.
pub(super) struct Core<'a> {
    number: u32,
    setting: &'a Setting<'a>,
    words: &'a [u64],
    pub time: u64,
    queue: WarpQueue,
    effects: Wheel<Effect>,
    /// Effects of the present time, not yet in the stacks.
    arrived: Vec<Effect>,
    /// Time of these effects.
    arrived_at: u64,
    mshrs: u32,
    lines: Lines,
    latency: HalfNormal,
    warps: Vec<Warp>,
    ctas: Vec<Cta>,
    /// Slots without a CTA.
    vacant: Vec<u32>,
    /// Instructions issued beyond whole units of time.
    issued: u32,
    cancelled_in_row: usize,
    pub counts: Vec<Counts>,
    pub order: OrderCounts,
    pub log: Option<Vec<Request>>,
}

impl<'a> Core<'a> {
    /// A core without CTAs.
    pub fn new(number: u32, setting: &'a Setting<'a>, latency: &HalfNormal) -> Core<'a> {
        let spec = setting.spec;
        let warps = spec.order.ctas * setting.accesses.launch.shape.warps_per_cta();
        Core {
            number,
            setting,
            words: setting.accesses.words(),
            time: 0,
            queue: WarpQueue::new(),
            effects: Wheel::new(),
            arrived: Vec::new(),
            arrived_at: 0,
            mshrs: 0,
            lines: Lines::new(&setting.stacks),
            latency: latency.reseeded(seed(spec.latency.seed, setting.accesses.launch.number, number)),
            warps: vec![Warp::default(); warps as usize],
            ctas: vec![Cta::default(); spec.order.ctas as usize],
            vacant: (0..spec.order.ctas).rev().collect(),
            issued: 0,
            cancelled_in_row: 0,
            counts: vec![Counts::default(); setting.members.len()],
            order: OrderCounts {
                distances: vec![0; super::BUCKETS],
                levels: vec![LevelCounts::default(); setting.accesses.launch.lines.len()],
                ..OrderCounts::default()
            },
            log: None,
        }
    }

    /// Runs until a time. Returns false once no warp is left, and no CTA that could start.
    pub fn advance(&mut self, until: u64, shared: &mut Shared<'_>) -> bool {
        while self.time < until {
            self.apply_effects();
            match self.queue.pop(self.time) {
                Some(warp) => self.step(warp, shared),
                None => match self.queue.next_wake() {
                    Some(at) => self.time = self.time.max(at),
                    None if shared.ctas.is_empty() => return false,
                    // CTAs start at the end of an epoch.
                    None => self.time = self.time.max(until),
                },
            }
        }
        true
    }

    /// Starts the next CTA if the core has room. Returns false otherwise.
    pub fn start_cta(&mut self, shared: &mut Shared<'_>) -> bool {
        if self.vacant.is_empty() {
            return false;
        }
        let (Some(cta), Some(slot)) = (shared.ctas.next(), self.vacant.pop()) else { return false };
        let accesses = self.setting.accesses;
        let count = accesses.launch.shape.warps_per_cta();
        let places = count * self.setting.spec.order.ctas;
        self.ctas[slot as usize] = Cta { live: count, held: Vec::new() };
        for warp in 0..count {
            let (next, end) = accesses.range(cta, warp);
            let place = slot * count + warp;
            let local = local_memory::of_warp(self.number, place, places, accesses.launch.local_bytes);
            let local = local / u64::from(self.setting.spec.line);
            self.warps[place as usize] = Warp { next, end, local, ..Warp::default() };
            self.schedule(place, self.time);
        }
        true
    }

    /// Puts the effects of earlier times into the stacks, and notes arrivals of the present time.
    #[inline]
    fn apply_effects(&mut self) {
        if !self.arrived.is_empty() && self.arrived_at < self.time {
            self.settle();
        }
        while let Some((at, effect)) = self.effects.take(self.time) {
            let line = &mut self.lines.lines[effect.line as usize];
            if effect.is_fetch {
                line.pending &= !effect.sectors;
                self.mshrs -= u32::from(line.pending == 0);
            }
            if at < self.time {
                self.lines.touch(effect.line, effect.sectors, None);
            } else {
                line.fresh |= effect.sectors;
                self.arrived_at = at;
                self.arrived.push(effect);
            }
        }
    }

    /// Puts the arrivals into the stacks.
    fn settle(&mut self) {
        for effect in self.arrived.drain(..) {
            self.lines.lines[effect.line as usize].fresh = 0;
            self.lines.touch(effect.line, effect.sectors, None);
        }
    }

    /// Executes the next access of a warp, as far as MSHRs permit.
    fn step(&mut self, place: u32, shared: &mut Shared<'_>) {
        let mut warp = self.warps[place as usize];
        if warp.lines == 0 {
            if warp.next == warp.end {
                self.finish(place);
                return;
            }
            warp.header = self.words[warp.next];
            let header = Header::of(warp.header);
            warp.next += 1;
            (warp.lines, warp.effect, warp.level) = (header.lines, self.time, 0);
            self.issue(header.gap + 1);
            self.apply_effects();
            if header.kind == Kind::Barrier {
                self.warps[place as usize] = warp;
                self.hold(place);
                return;
            }
        }
        let header = Header::of(warp.header);
        if header.kind != Kind::Load && !self.setting.spec.order.has_stores {
            warp.next += warp.lines as usize;
            warp.lines = 0;
        }
        while warp.lines > 0 {
            let word = self.words[warp.next];
            let number = if header.is_local { (word >> 4) + warp.local } else { word >> 4 };
            let sectors = (word & 0xf) as u8;
            let served = match header.kind {
                Kind::Load => self.load(number, sectors, (header.position, place), shared),
                kind => Some(self.past_l1(kind, number, sectors, shared)),
            };
            let Some((effect, level)) = served else {
                self.warps[place as usize] = warp;
                self.cancel(place);
                return;
            };
            self.cancelled_in_row = 0;
            warp.effect = warp.effect.max(effect);
            warp.level = warp.level.max(level as u8);
            warp.next += 1;
            warp.lines -= 1;
            self.time += 1;
            self.apply_effects();
        }
        if matches!(header.kind, Kind::Load | Kind::BypassingLoad)
            && let Some(levels) = self.order.levels.get_mut(header.position as usize)
        {
            levels.loads[warp.level as usize] += 1;
        }
        warp.awaited = warp.awaited.max(warp.effect);
        self.warps[place as usize] = warp;
        let at = match self.setting.spec.order.divergence {
            Divergence::AtEffect => warp.effect,
            Divergence::None | Divergence::AtUse => self.time,
        };
        self.schedule(place, at);
    }

    /// Adds issued instructions to the time.
    fn issue(&mut self, instructions: u32) {
        let Some(width) = NonZero::new(self.setting.spec.order.issue) else { return };
        self.issued += instructions;
        // The access itself takes its own units of time.
        self.time += u64::from((self.issued / width).saturating_sub(1));
        self.issued %= width;
    }

    /// Puts a warp into the queue for its next access, at a time or later.
    #[inline]
    fn schedule(&mut self, place: u32, mut at: u64) {
        let warp = &mut self.warps[place as usize];
        if warp.next < warp.end {
            let header = Header::of(self.words[warp.next]);
            if header.waits && self.setting.spec.order.divergence == Divergence::AtUse {
                at = at.max(std::mem::take(&mut warp.awaited));
            }
            at += u64::from(header.gap) * u64::from(self.setting.spec.order.interval);
            // The warp's turn after next reads these words.
            self.words.get(warp.next + 8).into_iter().for_each(host_cache::fetch);
        }
        self.queue.push(place, at, self.time);
    }

    /// Sends a warp without an MSHR to the back of the queue.
    fn cancel(&mut self, place: u32) {
        self.order.cancelled += 1;
        self.time += 1;
        self.queue.push(place, self.time, self.time);
        self.cancelled_in_row += 1;
        if self.cancelled_in_row >= self.queue.ready() {
            // Nothing changes before an access takes effect or another warp joins.
            let next = [self.effects.next(), self.queue.next_wake()].into_iter().flatten().min();
            self.time = self.time.max(next.unwrap_or(0));
            self.cancelled_in_row = 0;
        }
    }

    /// Holds a warp at its CTA's barrier.
    fn hold(&mut self, place: u32) {
        if !self.setting.spec.order.has_barriers {
            self.schedule(place, self.time);
            return;
        }
        let slot = self.slot(place);
        self.ctas[slot].held.push(place);
        self.release(slot);
    }

    fn slot(&self, place: u32) -> usize {
        (place / self.setting.accesses.launch.shape.warps_per_cta()) as usize
    }

    /// Releases a CTA's warps once all wait.
    fn release(&mut self, slot: usize) {
        let cta = &mut self.ctas[slot];
        if cta.held.len() as u32 == cta.live {
            for warp in std::mem::take(&mut cta.held) {
                self.schedule(warp, self.time);
            }
        }
    }

    /// Ends a warp, and with the last one its CTA.
    fn finish(&mut self, place: u32) {
        let slot = self.slot(place);
        self.ctas[slot].live -= 1;
        match self.ctas[slot].live {
            0 => self.vacant.push(slot as u32),
            _ => self.release(slot),
        }
    }

    /// A load of sectors of a line: the time of its effect, and the level that serves it. `None`
    /// without a free MSHR.
    fn load(
        &mut self,
        number: u64,
        sectors: u8,
        (position, warp): (u32, u32),
        shared: &mut Shared<'_>,
    ) -> Option<(u64, Level)> {
        let spec = self.setting.spec;
        // A line that is fetched whole is one unit.
        let mask = if spec.fetch == Fetch::Line { 1 } else { sectors };
        let line = self.lines.find(number);
        let mut distances = [ABSENT; MAX_STACKS];
        for (stacks, distance) in distances.iter_mut().enumerate().take(self.setting.stacks.len()) {
            *distance = self.lines.distance(line, stacks).unwrap_or(ABSENT);
        }
        let base = self.setting.members[0];
        let away = self.sector_distances(line, base.stacks, &distances);
        let hit = mask & below(&away, base.ways);
        let known = &self.lines.lines[line as usize];
        let (pending, seen, arrival, served) =
            (known.pending, known.seen, known.arrival, level_of(known.level));
        let missing = mask & !hit;
        let fetch = missing & !pending;
        let before = self.mshrs;
        if fetch != 0 && pending == 0 && before >= spec.misses {
            let request = self.request((position, warp, number), distances[base.stacks]);
            self.log.iter_mut().for_each(|log| log.push(request));
            return None;
        }
        let (latency, level) = match (missing, fetch) {
            (0, _) if spec.latency.is_conditional => (spec.latency.hit.into(), Level::L1),
            (0, _) => (self.miss_latency(Level::L2), Level::L1),
            (_, 0) if spec.latency.is_clipped => (arrival - self.time, served),
            (_, 0) => (self.miss_latency(Level::L2), served),
            _ => {
                let level =
                    self.fetch(number, if spec.fetch == Fetch::Line { sectors } else { fetch }, shared);
                (self.miss_latency(level), level)
            }
        };
        let effect = self.time + latency;
        if self.log.is_some() {
            let after = before + u32::from(fetch != 0 && pending == 0);
            let status = if missing == 0 { Status::Hit } else { Status::Miss };
            let request = self.request((position, warp, number), distances[base.stacks]);
            let request = Request { status, mshrs: (before, after), latency, effect, ..request };
            self.log.iter_mut().for_each(|log| log.push(request));
        }
        self.count(line, mask, (pending, seen), &distances);
        let count = u64::from(mask.count_ones());
        if distances[base.stacks] != ABSENT {
            self.order.distances[bucket(distances[base.stacks])] += count;
        }
        if let Some(levels) = self.order.levels.get_mut(position as usize) {
            levels.sectors[Level::L1 as usize] += u64::from((mask & !fetch).count_ones());
            levels.sectors[level as usize] += u64::from(fetch.count_ones());
        }
        self.enter(line, (mask, hit, fetch), &distances, (effect, level));
        Some((effect, level))
    }

    /// A cancelled request, for the log.
    fn request(&self, (position, warp, line): (u32, u32, u64), distance: u32) -> Request {
        Request {
            time: self.time,
            position,
            warp,
            line,
            distance: Some(distance).filter(|distance| *distance != ABSENT),
            status: Status::Cancel,
            mshrs: (self.mshrs, self.mshrs),
            latency: 0,
            effect: 0,
        }
    }

    /// Lets a load take effect: hits renew the line, and misses are in flight.
    #[inline]
    fn enter(
        &mut self,
        line: u32,
        (mask, hit, fetch): (u8, u8, u8),
        distances: &[u32; MAX_STACKS],
        (effect, level): (u64, Level),
    ) {
        let whole = if self.setting.spec.fetch == Fetch::Line { 0xf } else { 0 };
        let known = &mut self.lines.lines[line as usize];
        known.seen |= mask | whole;
        if fetch != 0 {
            self.mshrs += u32::from(known.pending == 0);
            known.pending |= fetch;
            known.arrival = known.arrival.max(effect);
            known.level = level as u8;
            self.effects.add(effect, Effect { line, sectors: fetch | whole, is_fetch: true });
        }
        let spec = self.setting.spec.latency;
        if hit != 0 {
            if spec.hit == 0 && spec.is_conditional {
                let known = self.arrived.is_empty().then_some(distances);
                if known.is_none() {
                    self.settle();
                }
                self.lines.touch(line, hit | whole, known);
            } else {
                let at = self.time + if spec.is_conditional { spec.hit.into() } else { effect - self.time };
                self.effects.add(at, Effect { line, sectors: hit | whole, is_fetch: false });
            }
        }
        if mask & !hit != 0 && fetch == 0 && !spec.is_clipped {
            let sectors = mask & !hit | whole;
            self.effects.add(effect, Effect { line, sectors, is_fetch: false });
        }
    }

    #[inline]
    fn sector_distances(&self, line: u32, stacks: usize, distances: &[u32; MAX_STACKS]) -> [u32; SECTORS] {
        let distance = Some(distances[stacks]).filter(|distance| *distance != ABSENT);
        self.lines.sector_distances(line, stacks, distance)
    }

    /// Counts a load for every configuration.
    #[inline]
    fn count(&mut self, line: u32, mask: u8, (pending, seen): (u8, u8), distances: &[u32; MAX_STACKS]) {
        let whole = self.sector_distances(line, 0, distances);
        let setting = self.setting;
        let mut last = None;
        let mut away = whole;
        for (member, counts) in setting.members.iter().zip(&mut self.counts) {
            let Member { stacks, ways, lines } = *member;
            if last.replace(stacks) != Some(stacks) {
                let distance = Some(distances[stacks]).filter(|distance| *distance != ABSENT);
                away = self.lines.sector_distances(line, stacks, distance);
            }
            counts.accesses += u64::from(mask.count_ones());
            let hit = mask & below(&away, ways);
            counts.hits += u64::from(hit.count_ones());
            let mut missing = mask & !hit;
            while missing != 0 {
                let sector = missing.trailing_zeros() as usize;
                missing &= missing - 1;
                let miss = match () {
                    () if pending >> sector & 1 != 0 => Miss::Latency,
                    () if seen >> sector & 1 == 0 => Miss::Compulsory,
                    () if away[sector] == DROPPED => Miss::Invalidation,
                    () if whole[sector] >= lines => Miss::Capacity,
                    () => Miss::Associativity,
                };
                counts.misses[miss as usize] += 1;
            }
        }
    }

    /// Latency of a miss that a level serves.
    #[inline]
    fn miss_latency(&mut self, level: Level) -> u64 {
        let latency = &self.setting.spec.latency;
        match (level, self.setting.spec.l2) {
            (Level::Memory, Some(_)) => u64::from(latency.memory + self.latency.sample()),
            (_, Some(_)) => latency.minimum.into(),
            (_, None) => u64::from(latency.minimum + self.latency.sample()),
        }
    }

    /// Fetches sectors from the L2; without one, from memory.
    #[inline]
    fn fetch(&mut self, number: u64, sectors: u8, shared: &mut Shared<'_>) -> Level {
        self.behind(number, sectors, false, shared)
    }

    /// Executes a store, an atomic operation or a bypassing load.
    fn past_l1(&mut self, kind: Kind, number: u64, sectors: u8, shared: &mut Shared<'_>) -> (u64, Level) {
        if let Some(line) = self.lines.known(number) {
            let whole = if self.setting.spec.fetch == Fetch::Line { 0xf } else { sectors };
            match (kind, self.setting.spec.store_hit) {
                (Kind::Store, StoreHit::Update) => self.renew(line),
                (Kind::Store, StoreHit::Evict) => self.lines.drop_sectors(line, 0xf),
                (Kind::Atomic, _) => self.lines.drop_sectors(line, whole),
                _ => {}
            }
        }
        let level = self.behind(number, sectors, kind != Kind::BypassingLoad, shared);
        match kind {
            Kind::Store => (self.time, level),
            _ => (self.time + self.miss_latency(level), level),
        }
    }

    /// Renews a line that a store hits.
    fn renew(&mut self, line: u32) {
        let base = self.setting.members[0];
        let there = self.lines.distance(line, base.stacks).is_some_and(|distance| distance < base.ways);
        if there {
            if !self.arrived.is_empty() {
                self.settle();
            }
            self.lines.touch(line, 0, None);
        }
    }

    /// Reads or writes sectors behind L1.
    #[inline]
    fn behind(&self, number: u64, sectors: u8, is_write: bool, shared: &mut Shared<'_>) -> Level {
        let Some(l2) = &mut shared.l2 else { return Level::Memory };
        let spec = self.setting.spec;
        if u64::from(spec.line) == LINE_BYTES {
            return l2.access(number, sectors, is_write);
        }
        let sector = u64::from(spec.sector());
        let mut level = Level::L2;
        for index in (0..SECTORS as u64).filter(|index| sectors >> index & 1 != 0) {
            let start = number * u64::from(spec.line) + index * sector;
            for address in (start..start + sector).step_by(32) {
                let (line, sectors) = (address / LINE_BYTES, 1 << (address % LINE_BYTES / 32));
                level = level.max(l2.access(line, sectors, is_write));
            }
        }
        level
    }
}

/// Mask of the sectors with a distance below the ways.
#[inline]
fn below(away: &[u32; SECTORS], ways: u32) -> u8 {
    away.iter().enumerate().fold(0, |mask, (sector, away)| mask | u8::from(*away < ways) << sector)
}

fn level_of(level: u8) -> Level {
    match level {
        0 => Level::L1,
        1 => Level::L2,
        _ => Level::Memory,
    }
}

/// Seed of a core's generator.
fn seed(seed: u64, launch: u64, core: u32) -> u64 {
    let mixed = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ launch.wrapping_mul(0xd1b5_4a32_d192_ed03);
    mixed ^ u64::from(core).wrapping_mul(0xa076_1d64_78bd_642f)
}
