//! Tags and sector states of a slice.

use std::ops::{Deref, DerefMut};

use serde::{Deserialize, Serialize};
use warp_stream::host_cache::{fetch, fetch_all};

use super::L2Spec;
use crate::message::SECTORS;
use crate::policy::replacement::{Lines, LinesMut};
use crate::restore::{MOST_COUNTED, Validity, ensure};

/// Tag of an empty slot.
const NONE: u64 = u64::MAX;

/// State of a line. Masks have a bit per sector, lowest address first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub(super) struct Line {
    /// Bytes written since allocation.
    pub(super) written: u128,
    /// Valid sectors.
    pub(super) readable: u8,
    /// Outstanding sectors.
    pub(super) pending: u8,
    /// Dirty sectors.
    pub(super) modified: u8,
}

impl Line {
    /// Sectors written completely.
    pub(super) fn complete(&self) -> u8 {
        (0..SECTORS)
            .filter(|sector| self.written_in(*sector) == u32::MAX)
            .fold(0, |mask, sector| mask | 1 << sector)
    }

    /// Written bytes of a sector.
    pub(super) fn written_in(&self, sector: u32) -> u32 {
        (self.written >> (sector * 32)) as u32
    }
}

/// Tags of a slice by line number within the slice. A slot is the position of a line.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Tags {
    tags: Vec<u64>,
    lines: Vec<Line>,
    /// Age of each slot: the age count at its allocation or last renewal; 0 if empty.
    used: Vec<u64>,
    uses: u64,
    /// Replacement policy's mark of each slot.
    marks: Vec<u8>,
    /// Dirty lines.
    #[serde(skip)]
    modified: u32,
    /// State by set.
    #[serde(skip)]
    sets: Vec<Set>,
    /// A byte of each tag's [`digest`], eight ways to a word; sets do not share words.
    #[serde(skip)]
    digests: Vec<u64>,
}

/// Masks of a set's ways.
#[derive(Debug, Clone, Copy, Default)]
struct Set {
    /// Ways with outstanding sectors.
    pending: u64,
    /// Ways with dirty sectors.
    modified: u64,
}

/// Most ways of a set.
pub(super) const MOST_WAYS: u32 = u64::BITS;

/// Ways per word of digests.
const PER_WORD: u32 = 8;

/// Digests of an empty slice.
fn digests(spec: &L2Spec) -> Vec<u64> {
    vec![0; (spec.sets() * spec.ways.div_ceil(PER_WORD)) as usize]
}

/// A byte that differs for most lines of a set.
fn digest(line: u64) -> u8 {
    (line.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 56) as u8
}

/// High bit of each zero byte; bits above the lowest zero byte may be wrong.
fn zero_bytes(word: u64) -> u64 {
    word.wrapping_sub(u64::MAX / 0xff) & !word & ((u64::MAX / 0xff) << 7)
}

impl Tags {
    pub(super) fn new(spec: &L2Spec) -> Tags {
        let lines = (spec.sets() * spec.ways) as usize;
        Tags {
            tags: vec![NONE; lines],
            lines: vec![Line::default(); lines],
            used: vec![0; lines],
            uses: 0,
            marks: vec![0; lines],
            modified: 0,
            sets: vec![Set::default(); spec.sets() as usize],
            digests: digests(spec),
        }
    }

    /// Recomputes digests of restored tags.
    pub(super) fn derive(&mut self, spec: &L2Spec) {
        self.digests = digests(spec);
        self.modified = self.lines.iter().filter(|line| line.modified != 0).count() as u32;
        let ways = |lines: &[Line], has: fn(&Line) -> bool| {
            (0..).zip(lines).fold(0, |mask, (way, line)| mask | u64::from(has(line)) << way)
        };
        let sets = self.lines.chunks(spec.ways as usize).map(|lines| Set {
            pending: ways(lines, |line| line.pending != 0),
            modified: ways(lines, |line| line.modified != 0),
        });
        self.sets = sets.collect();
        for slot in 0..self.tags.len() {
            self.set_digest(spec, slot as u32);
        }
    }

    fn set_digest(&mut self, spec: &L2Spec, slot: u32) {
        let (set, way) = (slot / spec.ways, slot % spec.ways);
        let word = &mut self.digests[(set * spec.ways.div_ceil(PER_WORD) + way / PER_WORD) as usize];
        let shift = way % PER_WORD * 8;
        *word = *word & !(0xff << shift) | u64::from(digest(self.tags[slot as usize])) << shift;
    }

    /// Checks restored tags.
    pub(super) fn check(&self, spec: &L2Spec) -> Validity {
        let Tags { tags, lines, used, uses, marks, .. } = self;
        let count = (spec.sets() * spec.ways) as usize;
        let counts = [tags.len(), lines.len(), used.len(), marks.len()];
        ensure(counts == [count; 4], "the number of lines differs")?;
        ensure(*uses < MOST_COUNTED && used.iter().all(|used| used <= uses), "a line's age is too large")?;
        for (slot, (tag, line)) in (0..).zip(tags.iter().zip(lines)) {
            let sectors = line.readable | line.pending | line.modified;
            let fine = match *tag {
                NONE => *line == Line::default(),
                tag if tag >= 1 << 57 => false,
                tag => Tags::set(spec, tag) == slot / spec.ways * spec.ways && sectors >> SECTORS == 0,
            };
            ensure(fine, "a line is in a wrong set")?;
        }
        Ok(())
    }

    /// First slot of a line's set.
    pub(super) fn set(spec: &L2Spec, line: u64) -> u32 {
        let sets = spec.sets();
        let set = (line % u64::from(sets)) as u32;
        spec.set_hash.permuted(set, line / u64::from(sets), sets) * spec.ways
    }

    /// Prefetches a set into host caches.
    pub(super) fn prefetch_host(&self, spec: &L2Spec, set: u32) {
        fetch(&self.digests[(set / spec.ways * spec.ways.div_ceil(PER_WORD)) as usize]);
        self.tags[set as usize..(set + spec.ways) as usize].iter().step_by(8).for_each(fetch);
    }

    /// Prefetches a line's tag into host caches.
    pub(super) fn prefetch_host_line(&self, spec: &L2Spec, set: u32, line: u64) {
        match self.find(spec, set, line) {
            Some(slot) => fetch(&self.lines[slot as usize]),
            None => fetch_all(&self.used[set as usize..(set + spec.ways) as usize]),
        }
    }

    /// Prefetches a slot into host caches.
    pub(super) fn prefetch_host_fill(&self, slot: u32) {
        fetch(&self.lines[slot as usize]);
    }

    /// Slot of a line, if allocated.
    pub(super) fn find(&self, spec: &L2Spec, set: u32, line: u64) -> Option<u32> {
        let words = spec.ways.div_ceil(PER_WORD);
        let first = (set / spec.ways * words) as usize;
        let tags = &self.tags[set as usize..(set + spec.ways) as usize];
        let wanted = u64::from(digest(line)) * (u64::MAX / 0xff);
        for (word, way) in self.digests[first..first + words as usize].iter().zip((0..).step_by(8)) {
            let mut equal = zero_bytes(word ^ wanted);
            while equal != 0 {
                let way = way + equal.trailing_zeros() as usize / 8;
                if tags.get(way) == Some(&line) {
                    return Some(set + way as u32);
                }
                equal &= equal - 1;
            }
        }
        None
    }

    /// Victim slot of a set: an empty one, else the policy's choice among lines without outstanding
    /// sectors.
    pub(super) fn victim(&self, spec: &L2Spec, set: u32) -> Option<u32> {
        let may_go = !self.sets[(set / spec.ways) as usize].pending;
        spec.replacement.victim(&SetLines { tags: self, set, ways: spec.ways, may_go })
    }

    /// View of a slot's set for the replacement policy.
    fn set_lines(&mut self, spec: &L2Spec, slot: u32) -> SetLines<&mut Tags> {
        SetLines { tags: self, set: slot / spec.ways * spec.ways, ways: spec.ways, may_go: u64::MAX }
    }

    /// Line number in a slot, if any.
    pub(super) fn tag(&self, slot: u32) -> Option<u64> {
        Some(self.tags[slot as usize]).filter(|tag| *tag != NONE)
    }

    pub(super) fn line(&self, slot: u32) -> &Line {
        &self.lines[slot as usize]
    }

    /// All lines, by slot.
    pub(super) fn lines(&self) -> impl Iterator<Item = &Line> {
        self.lines.iter()
    }

    /// Marks sectors valid.
    pub(super) fn make_readable(&mut self, slot: u32, sectors: u8) {
        self.lines[slot as usize].readable |= sectors;
    }

    /// Marks sectors outstanding.
    pub(super) fn expect(&mut self, spec: &L2Spec, slot: u32, sectors: u8) {
        self.lines[slot as usize].pending |= sectors;
        self.sets[(slot / spec.ways) as usize].pending |= u64::from(sectors != 0) << (slot % spec.ways);
    }

    /// Accepts sectors of a line; true if none is outstanding any more.
    pub(super) fn fill(&mut self, spec: &L2Spec, slot: u32, sectors: u8) -> bool {
        let line = &mut self.lines[slot as usize];
        line.pending &= !sectors;
        line.readable |= sectors;
        let whole = line.pending == 0;
        if whole {
            self.sets[(slot / spec.ways) as usize].pending &= !(1 << (slot % spec.ways));
        }
        whole
    }

    /// Allocates a line in a slot, without valid sectors.
    pub(super) fn allocate(&mut self, spec: &L2Spec, slot: u32, line: u64) {
        if self.tags[slot as usize] != NONE {
            spec.replacement.evicted(&mut self.set_lines(spec, slot), slot);
        }
        self.clean(spec, slot);
        self.tags[slot as usize] = line;
        self.lines[slot as usize] = Line::default();
        self.set_digest(spec, slot);
        self.uses += 1;
        self.used[slot as usize] = self.uses;
        self.marks[slot as usize] = 0;
        spec.replacement.filled(&mut self.set_lines(spec, slot), slot);
    }

    /// Number of dirty lines.
    pub(super) fn modified(&self) -> u32 {
        self.modified
    }

    /// Marks bytes of these sectors written.
    pub(super) fn modify(&mut self, spec: &L2Spec, slot: u32, sectors: u8, bytes: u128) {
        let line = &mut self.lines[slot as usize];
        self.modified += u32::from(line.modified == 0 && sectors != 0);
        self.sets[(slot / spec.ways) as usize].modified |= u64::from(sectors != 0) << (slot % spec.ways);
        line.modified |= sectors;
        line.written |= bytes;
    }

    /// Marks a line clean; returns the sectors that were dirty.
    pub(super) fn clean(&mut self, spec: &L2Spec, slot: u32) -> u8 {
        let modified = std::mem::take(&mut self.lines[slot as usize].modified);
        self.modified -= u32::from(modified != 0);
        self.sets[(slot / spec.ways) as usize].modified &= !(1 << (slot % spec.ways));
        modified
    }

    /// Oldest dirty line of a set.
    pub(super) fn oldest_modified(&self, spec: &L2Spec, set: u32) -> Option<u32> {
        let may_go = self.sets[(set / spec.ways) as usize].modified;
        SetLines { tags: self, set, ways: spec.ways, may_go }.oldest(|_| true)
    }

    /// Records a use of a line.
    pub(super) fn touch(&mut self, spec: &L2Spec, slot: u32) {
        spec.replacement.hit(&mut self.set_lines(spec, slot), slot);
    }

    /// Invalidates all lines; outstanding sectors keep their slots.
    pub(super) fn invalidate(&mut self) {
        self.modified = 0;
        self.sets.iter_mut().for_each(|set| set.modified = 0);
        for ((tag, line), used) in self.tags.iter_mut().zip(&mut self.lines).zip(&mut self.used) {
            *line = Line { pending: line.pending, ..Line::default() };
            if line.pending == 0 {
                (*tag, *used) = (NONE, 0);
            }
        }
    }
}

/// Set of the tags, as the replacement policy sees it.
struct SetLines<T> {
    tags: T,
    /// First slot of the set.
    set: u32,
    ways: u32,
    /// Ways that may be evicted, a bit each.
    may_go: u64,
}

impl<T: Deref<Target = Tags>> SetLines<T> {
    /// Ages by way.
    fn ages(&self) -> impl Iterator<Item = (u32, u64)> {
        let slots = self.set as usize..(self.set + self.ways) as usize;
        (0..).zip(self.tags.used[slots].iter().copied())
    }
}

impl<T: Deref<Target = Tags>> Lines for SetLines<T> {
    type Line = u32;

    fn younger(&self, line: Option<u32>) -> Option<u32> {
        let than = line.map_or(0, |slot| self.tags.used[slot as usize]);
        let younger = self.ages().filter(|(_, age)| *age > than);
        younger.min_by_key(|(_, age)| *age).map(|(way, _)| self.set + way)
    }

    fn may_go(&self, slot: u32) -> bool {
        self.may_go >> (slot - self.set) & 1 != 0
    }

    fn mark(&self, slot: u32) -> u8 {
        self.tags.marks[slot as usize]
    }

    /// An empty slot always fits.
    #[inline(always)]
    fn oldest(&self, may: impl Fn(u8) -> bool) -> Option<u32> {
        let (mut slot, mut least) = (None, u64::MAX);
        for (way, age) in self.ages() {
            let may_leave = || age == 0 || may(self.tags.marks[(self.set + way) as usize]);
            if age < least && self.may_go >> way & 1 != 0 && may_leave() {
                (slot, least) = (Some(self.set + way), age);
            }
        }
        slot
    }
}

impl<T: DerefMut<Target = Tags>> LinesMut for SetLines<T> {
    fn set_mark(&mut self, slot: u32, mark: u8) {
        self.tags.marks[slot as usize] = mark;
    }

    #[inline(always)]
    fn renew(&mut self, slot: u32) {
        self.tags.uses += 1;
        let age = self.tags.uses;
        self.tags.used[slot as usize] = age;
    }
}
