//! L1 data cache: lines of 128 B in four sectors, with tags and MSHRs in one table.
//!
//! A table entry is a resident line, an outstanding line, or both. With allocation on fill a line
//! needs a way only on arrival. More lines may then be outstanding than there are ways (Khairy et
//! al., section III-C). With allocation on miss a way is reserved at the miss.

pub(crate) mod bank_conflicts;
mod check;
mod counters;
mod events;
mod line_table;
mod prefetch_host;
mod set;
mod sources;
mod waiting;
mod warm;

use serde::{Deserialize, Serialize};

pub use self::check::Expected;
pub use self::counters::{L1Counters, LoadHitLatencies, LoadMissLatencies, LoadTlbWaitLatencies, Stall};
use self::events::Events;
use self::line_table::{LineTable, MOST_ENTRIES};
use self::set::{Set, SetLines};
pub use self::sources::SourceCounters;
pub(super) use self::waiting::AwaitedEntry;
use super::banks;
use crate::gpu_file::{Document, SpecificationError};
use crate::message::{LINE_BYTES, Requester, SECTOR_BYTES};
use crate::policy::replacement::Replacement;
use crate::policy::set_index::SetIndex;
use crate::policy::warp_scheduler::L1EventKind;
use crate::slab::{NONE, Slab};

/// All sectors of a line.
const ALL_SECTORS: u8 = 0xf;

crate::choice! {
    /// Moment at which a missed line is allocated in the data array.
    pub enum Allocation {
        /// When the line arrives.
        OnFill = "on-fill",
        /// At the miss; a miss waits while every line of its set is reserved.
        OnMiss = "on-miss",
    }
}

crate::choice! {
    /// Sectors that a miss fetches.
    pub enum Fetch {
        /// The requested sectors.
        Sectors = "sectors",
        /// The whole line.
        Line = "line",
    }
}

crate::choice! {
    /// Effect of a store on a line that hits. Stores never allocate a line and always go on to L2.
    pub enum StoreHit {
        /// The store updates the line.
        Update = "update",
        /// The store evicts the line.
        Evict = "evict",
    }
}

crate::specification! {
    /// L1 data cache of an SM.
    pub struct L1Spec in "l1" {
        /// Size of the cache, or of cache and shared memory together if unified.
        size: u32 ["B"],
        /// Cache and shared memory share `size` and the data stage.
        unified: bool [""],
        /// Sets.
        sets: u32 ["sets"],
        /// Replacement policy.
        replacement: Replacement [""],
        /// Mapping of lines to sets.
        set_hash: SetIndex [""],
        /// Moment at which a missed line is allocated.
        allocation: Allocation [""],
        /// Sectors that a miss fetches.
        fetch: Fetch [""],
        /// Effect of a store on a line that hits.
        store_hit: StoreHit [""],
        /// MSHRs: lines that may be outstanding.
        misses: u32 ["lines"],
        /// Accesses that may wait for one outstanding line.
        merges: u32 ["accesses"],
        /// Capacity of the queue out of the SM.
        miss_queue: u32 ["requests"],
        /// Tag lookups of a warp's access a cycle, one per tag bank.
        tag_banks: u32 ["lines per core cycle"],
        /// Data banks of 8 B each; 0 models none.
        data_banks: u32 ["banks"],
        /// Store bytes that the data stage accepts a cycle, in whole sectors.
        store_bytes: u32 ["B per core cycle"],
        /// Least cycles of the data stage for each line that a store touches.
        store_line: u32 ["core cycles"],
        /// Tag lookup of a hit to data at the write-back latch.
        latency: u32 ["core cycles"],
        /// Arrival of a reply to data at the write-back latch.
        fill_latency: u32 ["core cycles"],
        /// Reply bytes that the cache accepts a cycle.
        fill_bytes: u32 ["B per core cycle"],
    }
}

impl L1Spec {
    pub(crate) fn check(&self, document: &Document) -> Result<(), SpecificationError> {
        let wrong = |name, reason| Err(document.wrong("l1", name, reason));
        let positive = [
            ("size", self.size),
            ("sets", self.sets),
            ("misses", self.misses),
            ("merges", self.merges),
            ("miss_queue", self.miss_queue),
            ("tag_banks", self.tag_banks),
            ("fill_bytes", self.fill_bytes),
            ("store_bytes", self.store_bytes),
        ];
        if let Some((name, _)) = positive.iter().find(|(_, value)| *value == 0) {
            return wrong(name, "must be at least 1");
        }
        for (name, value) in [("data_banks", self.data_banks), ("tag_banks", self.tag_banks)] {
            if value > banks::MAXIMUM_BANKS {
                return wrong(name, "must be at most 32");
            }
        }
        if self.store_line > 32 {
            return wrong("store_line", "must be at most 32");
        }
        let set_lines = LINE_BYTES * u64::from(self.sets);
        if !u64::from(self.size).is_multiple_of(set_lines) {
            let keys = [("l1", "size"), ("l1", "sets")];
            return Err(document.disagree(&keys, "the size must be a multiple of sets times 128 B"));
        }
        let lines = u64::from(self.size) / LINE_BYTES;
        if lines + u64::from(self.misses) >= u64::from(MOST_ENTRIES) {
            let keys = [("l1", "size"), ("l1", "misses")];
            return Err(
                document.disagree(&keys, "resident and outstanding lines together must be fewer than 65,535")
            );
        }
        Ok(())
    }

    /// Passes of a store to `sectors` sectors of `lines` lines.
    pub(super) fn store_passes(&self, lines: u32, sectors: u32) -> u32 {
        (sectors * SECTOR_BYTES as u32).div_ceil(self.store_bytes).max(lines * self.store_line)
    }

    /// Ways of a cache of `bytes` bytes, at least one.
    fn ways(&self, bytes: u32) -> u32 {
        (bytes / LINE_BYTES as u32 / self.sets).max(1)
    }
}

/// An entry of the table.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Entry {
    /// Address.
    pub line: u64,
    /// Mask of valid sectors.
    valid: u8,
    /// Mask of outstanding sectors.
    pending: u8,
    /// Set if a request for outstanding sectors ever waited for a translation.
    untranslated: bool,
    /// Set if the line has a way in the data array.
    resident: bool,
    /// Mark of the replacement policy.
    mark: u8,
    /// Warp slot of the SM that brought the line in.
    warp: u8,
    /// Set index.
    set: u32,
    /// Neighbour in the set.
    pub previous: u32,
    /// Neighbour in the set.
    pub next: u32,
    /// Accesses that wait for the line, in order: first and last, in the slab of waiters.
    first_waiter: u32,
    last_waiter: u32,
    waiters: u32,
}

impl Entry {
    /// An entry without valid sectors.
    pub fn new(line: u64, set: u32, warp: u8) -> Entry {
        Entry {
            line,
            valid: 0,
            pending: 0,
            untranslated: false,
            resident: false,
            mark: 0,
            warp,
            set,
            previous: NONE,
            next: NONE,
            first_waiter: NONE,
            last_waiter: NONE,
            waiters: 0,
        }
    }
}

/// An access that waits for sectors of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Waiter {
    access: u32,
    sectors: u8,
    next: u32,
}

/// A load from a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Load {
    /// Line address.
    pub line: u64,
    /// Mask of requested sectors.
    pub sectors: u8,
    /// The loading access.
    pub access: u32,
    /// Requester for statistics.
    pub requester: Requester,
    /// Warp slot of the SM.
    pub warp: u8,
}

/// Result of a load.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// All sectors are valid.
    Hit,
    /// The load waits for [`L1::fill`]. The missing sectors must be requested with the entry's
    /// number.
    Wait {
        /// Mask of sectors to request from L2.
        fetch: u8,
        /// The entry.
        entry: u32,
    },
}

/// An L1 data cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct L1 {
    #[serde(skip)]
    table: LineTable,
    entries: Slab<Entry>,
    waiters: Slab<Waiter>,
    sets: Vec<Set>,
    ways: u32,
    /// Outstanding lines, and the core cycle up to which they were counted.
    misses: u32,
    counted: u64,
    #[serde(skip)]
    events: Events,
    /// Counters, without sums.
    pub(super) counters: L1Counters,
}

impl L1 {
    /// An empty cache of `bytes` bytes.
    pub fn new(spec: &L1Spec, bytes: u32) -> L1 {
        L1 {
            table: LineTable::default(),
            entries: Slab::default(),
            waiters: Slab::default(),
            sets: vec![Set::EMPTY; spec.sets as usize],
            ways: spec.ways(bytes),
            misses: 0,
            counted: 0,
            events: Events::default(),
            counters: L1Counters::default(),
        }
    }

    /// Executes a load at a core cycle.
    ///
    /// # Errors
    /// The load must be retried; nothing changed.
    #[inline(always)]
    pub fn load(
        &mut self,
        spec: &L1Spec,
        cycle: u64,
        Load { line, sectors, access, requester, warp }: Load,
        queue_has_room: bool,
    ) -> Result<Lookup, Stall> {
        let known = self.table.find(line, &self.entries);
        let (valid, pending) =
            known.map_or((0, 0), |entry| (self.entries[entry].valid, self.entries[entry].pending));
        let missed = sectors & !valid & !pending;
        if sectors & !valid == 0 {
            if let Some(entry) = known {
                self.count_load(requester, true, [sectors, 0, 0]);
                self.use_line(spec, entry);
                self.events.note(L1EventKind::Hit, warp, line);
            }
            return Ok(Lookup::Hit);
        }
        let fetch = match (missed, spec.fetch) {
            (0, _) => 0,
            (_, Fetch::Sectors) => missed,
            (_, Fetch::Line) => ALL_SECTORS & !valid & !pending,
        };
        self.check_wait(spec, line, known, fetch, queue_has_room)?;
        let entry = known.unwrap_or_else(|| self.add_entry(spec, line, warp));
        if missed != 0 {
            self.events.note(L1EventKind::Miss, warp, line);
        }
        if fetch != 0 {
            if spec.allocation == Allocation::OnMiss && !self.entries[entry].resident {
                self.make_resident(spec, entry);
            }
            if pending == 0 {
                self.count_misses(cycle);
                self.misses += 1;
                self.counters.most_misses = self.counters.most_misses.max(u64::from(self.misses));
            }
            self.entries[entry].pending |= fetch;
            self.counters.sectors_fetched += u64::from(fetch.count_ones());
        }
        self.count_load(requester, known.is_some(), [sectors & valid, sectors & pending & !valid, missed]);
        if self.entries[entry].resident {
            self.use_line(spec, entry);
        }
        self.wait(entry, access, sectors & !valid);
        Ok(Lookup::Wait { fetch, entry })
    }

    /// Checks that a missing load can be accepted.
    fn check_wait(
        &mut self,
        spec: &L1Spec,
        line: u64,
        known: Option<u32>,
        fetch: u8,
        queue_has_room: bool,
    ) -> Result<(), Stall> {
        if known.is_some_and(|entry| self.entries[entry].waiters >= spec.merges) {
            return Err(Stall::Merge);
        }
        if fetch == 0 {
            return Ok(());
        }
        if known.is_none_or(|entry| self.entries[entry].pending == 0) && self.misses >= spec.misses {
            return Err(Stall::Miss);
        }
        if !queue_has_room {
            return Err(Stall::Queue);
        }
        let resident = known.is_some_and(|entry| self.entries[entry].resident);
        if spec.allocation == Allocation::OnMiss && !resident && !self.has_place(spec, line) {
            return Err(Stall::Line);
        }
        Ok(())
    }

    /// Tells whether a line can be allocated in its set now.
    #[inline(never)]
    fn has_place(&mut self, spec: &L1Spec, line: u64) -> bool {
        let set = spec.set_hash.set(line, spec.sets) as usize;
        self.sets[set].lines < self.ways || spec.replacement.victim(&self.set_lines(spec, set)).is_some()
    }

    /// Counts a load by its valid, outstanding and missing sectors.
    fn count_load(&mut self, requester: Requester, line_hit: bool, sectors: [u8; 3]) {
        self.counters.load_lines += 1;
        self.counters.load_line_hits += u64::from(line_hit);
        self.counters.load_sectors += u64::from((sectors[0] | sectors[1] | sectors[2]).count_ones());
        self.counters.sources.count_load(requester, sectors);
    }

    /// Executes a store to sectors of a line.
    pub fn store(&mut self, spec: &L1Spec, line: u64, sectors: u8, requester: Requester) {
        let there = self.table.find(line, &self.entries).filter(|entry| self.entries[*entry].resident);
        self.counters.store_lines += 1;
        self.counters.sources.count_store(requester, u64::from(sectors.count_ones()), there.is_some());
        if let Some(entry) = there {
            self.counters.store_line_hits += 1;
            match spec.store_hit {
                StoreHit::Update => self.use_line(spec, entry),
                StoreHit::Evict => self.drop_sectors(entry, ALL_SECTORS),
            }
        }
    }

    /// Invalidates sectors changed elsewhere, by an atomic operation at L2.
    pub fn drop_line(&mut self, line: u64, sectors: u8) {
        if let Some(entry) = self.table.find(line, &self.entries) {
            self.drop_sectors(entry, sectors);
        }
    }

    fn drop_sectors(&mut self, number: u32, sectors: u8) {
        let entry = &mut self.entries[number];
        entry.valid &= !sectors;
        if entry.valid == 0 && entry.pending == 0 {
            self.remove_entry(number);
        }
    }

    /// Fills sectors of a line at a core cycle. `answered` receives the accesses that are complete,
    /// in order of arrival.
    pub fn fill(&mut self, spec: &L1Spec, cycle: u64, number: u32, sectors: u8, answered: &mut Vec<u32>) {
        if !self.entries[number].resident {
            self.make_resident(spec, number);
        }
        let entry = &mut self.entries[number];
        entry.valid |= sectors;
        entry.pending &= !sectors;
        let is_whole = entry.pending == 0;
        entry.untranslated &= !is_whole;
        let mut waiter = std::mem::replace(&mut entry.first_waiter, NONE);
        entry.last_waiter = NONE;
        entry.waiters = 0;
        if is_whole {
            self.count_misses(cycle);
            self.misses -= 1;
        }
        while waiter != NONE {
            let Waiter { access, sectors: wanted, next } = self.waiters.remove(waiter);
            match wanted & !sectors {
                0 => answered.push(access),
                missing => self.wait(number, access, missing),
            }
            waiter = next;
        }
    }

    /// Records that a request for a line waits for a translation (`waits`). Returns whether any
    /// request for the line ever did.
    #[inline]
    pub(super) fn note_translation(&mut self, number: u32, waits: bool) -> bool {
        let entry = &mut self.entries[number];
        entry.untranslated |= waits;
        entry.untranslated
    }

    fn wait(&mut self, number: u32, access: u32, sectors: u8) {
        let waiter = self.waiters.insert(Waiter { access, sectors, next: NONE });
        let entry = &mut self.entries[number];
        match entry.last_waiter {
            NONE => entry.first_waiter = waiter,
            last => self.waiters[last].next = waiter,
        }
        entry.last_waiter = waiter;
        entry.waiters += 1;
    }

    fn use_line(&mut self, spec: &L1Spec, number: u32) {
        let set = self.entries[number].set as usize;
        spec.replacement.hit(&mut self.set_lines(spec, set), number);
    }

    /// A set as seen by the replacement policy.
    fn set_lines(&mut self, spec: &L1Spec, set: usize) -> SetLines<'_> {
        let keeps_pending = spec.allocation == Allocation::OnMiss;
        SetLines { set: &mut self.sets[set], entries: &mut self.entries, keeps_pending }
    }

    fn add_entry(&mut self, spec: &L1Spec, line: u64, warp: u8) -> u32 {
        let entry = self.entries.insert(Entry::new(line, spec.set_hash.set(line, spec.sets), warp));
        self.table.insert(line, entry);
        entry
    }

    fn remove_entry(&mut self, number: u32) {
        self.leave_set(number);
        let entry = self.entries.remove(number);
        self.table.remove(entry.line, number);
    }

    fn leave_set(&mut self, number: u32) {
        if std::mem::take(&mut self.entries[number].resident) {
            self.sets[self.entries[number].set as usize].remove(&mut self.entries, number);
        }
    }

    /// Allocates a way for a line.
    fn make_resident(&mut self, spec: &L1Spec, number: u32) {
        let set = self.entries[number].set as usize;
        while self.sets[set].lines >= self.ways {
            let mut lines = self.set_lines(spec, set);
            let Some(victim) = spec.replacement.victim(&lines) else { break };
            spec.replacement.evicted(&mut lines, victim);
            self.counters.evictions += 1;
            let Entry { warp, line, .. } = self.entries[victim];
            self.events.note(L1EventKind::Evicted, warp, line);
            self.evict(victim);
        }
        self.entries[number].resident = true;
        self.entries[number].mark = 0;
        self.sets[set].push(&mut self.entries, number);
        spec.replacement.filled(&mut self.set_lines(spec, set), number);
    }

    /// Evicts a line, if resident. The line's entry remains while sectors are outstanding.
    fn evict(&mut self, number: u32) {
        if self.entries[number].pending == 0 {
            self.remove_entry(number);
            return;
        }
        self.leave_set(number);
        self.entries[number].valid = 0;
    }

    /// Number of outstanding lines.
    pub fn misses(&self) -> u32 {
        self.misses
    }

    /// Number of resident lines.
    pub fn lines(&self) -> u32 {
        self.sets.iter().map(|set| set.lines).sum()
    }

    /// Size of the data array in bytes.
    pub fn size(&self, spec: &L1Spec) -> u32 {
        self.ways * spec.sets * LINE_BYTES as u32
    }

    /// Changes the size and invalidates all lines.
    pub fn resize(&mut self, spec: &L1Spec, bytes: u32) {
        if spec.ways(bytes) != self.ways {
            self.ways = spec.ways(bytes);
            self.invalidate();
        }
    }

    /// Invalidates all lines. Outstanding lines still answer.
    pub fn invalidate(&mut self) {
        if self.misses == 0 {
            self.table.clear();
            self.entries.clear();
            self.sets.fill(Set::EMPTY);
            return;
        }
        for number in self.entries.numbers() {
            self.evict(number);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::GpuSpec;

    /// A load of a line's sectors; gives the entry that waits.
    fn load(l1: &mut L1, spec: &L1Spec, line: u64, sectors: u8) -> Result<Option<u32>, Stall> {
        let load =
            Load { line: line * LINE_BYTES, sectors, access: 0, requester: Requester::Global, warp: 0 };
        l1.load(spec, 0, load, true).map(|found| match found {
            Lookup::Hit => None,
            Lookup::Wait { entry, .. } => Some(entry),
        })
    }

    #[test]
    fn a_load_that_asks_for_room_keeps_reference_bits() {
        let changes = ["l1.sets=1", "l1.allocation=on-miss", "l1.replacement=second-chance"];
        let spec = GpuSpec::changed("titan-v", changes).unwrap().l1;
        let mut l1 = L1::new(&spec, 2 * LINE_BYTES as u32);
        for line in [1, 2] {
            let entry = load(&mut l1, &spec, line, 0b1).unwrap().unwrap();
            l1.fill(&spec, 0, entry, 0b1, &mut Vec::new());
        }
        // Line 1 was used; then both lines wait for a second sector and keep their places.
        assert_eq!(load(&mut l1, &spec, 1, 0b1), Ok(None));
        let waiting = [1, 2].map(|line| load(&mut l1, &spec, line, 0b10).unwrap().unwrap());
        let marks = |l1: &L1| waiting.map(|entry| (l1.entries[entry].mark, l1.entries[entry].next));
        let before = marks(&l1);
        assert_eq!(load(&mut l1, &spec, 3, 0b1), Err(Stall::Line));
        assert_eq!(marks(&l1), before);
    }
}
