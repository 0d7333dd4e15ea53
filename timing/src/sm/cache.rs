//! A read-only cache, for instructions or constants.

use serde::{Deserialize, Serialize};

use crate::policy::replacement::{Lines, LinesMut, Replacement};
use crate::restore::{MOST_COUNTED, Validity, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Tag {
    line: u64,
    /// Turn of the fill or last renewal; 0 for an invalid line.
    used: u64,
    /// Mark of the replacement policy.
    mark: u8,
    /// Prefetched and not used yet.
    ahead: bool,
}

/// Result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// Hit.
    Hit,
    /// First use of a prefetched line.
    FirstUse,
    /// Miss.
    Miss,
}

/// A set-associative cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cache {
    tags: Vec<Tag>,
    ways: usize,
    replacement: Replacement,
    sets: u64,
    /// Line size in bytes.
    line: u64,
    turn: u64,
    /// Ways of recently used lines, indexed by the low bits of the line number.
    #[serde(skip)]
    recent: [u32; RECENT],
}

/// Entries of the shortcut table.
const RECENT: usize = 16;

/// Line size in bytes for which the shortcut works best. Other sizes are only slower.
const RECENT_BYTES: u64 = 128;

impl Cache {
    /// An empty cache of `bytes` bytes with lines of `line` bytes.
    pub fn new(bytes: u32, ways: u32, line: u64, replacement: Replacement) -> Cache {
        let lines = (u64::from(bytes) / line).max(1) as usize;
        let ways = (ways.max(1) as usize).min(lines);
        let lines = lines / ways * ways;
        let sets = (lines / ways) as u64;
        Cache {
            tags: vec![Tag { line: 0, used: 0, mark: 0, ahead: false }; lines],
            ways,
            replacement,
            sets,
            line,
            turn: 0,
            recent: [0; RECENT],
        }
    }

    /// Checks a saved cache against its geometry.
    pub fn check(&self, bytes: u32, ways: u32, line: u64, replacement: Replacement) -> Validity {
        let empty = Cache::new(bytes, ways, line, replacement);
        let shape = |cache: &Cache| (cache.tags.len(), cache.ways, cache.sets, cache.line, cache.replacement);
        ensure(shape(self) == shape(&empty), "the size of an instruction or constant cache differs")?;
        let used = self.tags.iter().all(|tag| tag.used <= self.turn);
        ensure(
            used && self.turn < MOST_COUNTED,
            "the use count of an instruction or constant line is too large",
        )
    }

    /// Index of the first way in a line's set.
    fn first_place(&self, line: u64) -> usize {
        (line / self.line % self.sets) as usize * self.ways
    }

    fn set(&self, line: u64) -> &[Tag] {
        &self.tags[self.first_place(line)..][..self.ways]
    }

    /// A set as seen by the replacement policy.
    fn places(&mut self, first: usize) -> Places<'_> {
        Places { tags: &mut self.tags, first, ways: self.ways, turn: &mut self.turn }
    }

    /// Looks up a line and updates its recency.
    pub fn look_up(&mut self, line: u64) -> Lookup {
        let is_there = |tag: &Tag| tag.line == line && tag.used != 0;
        let recent = (line / RECENT_BYTES) as usize % RECENT;
        let mut place = self.recent[recent] as usize;
        if !is_there(&self.tags[place]) {
            let first = self.first_place(line);
            let Some(way) = self.tags[first..][..self.ways].iter().position(is_there) else {
                return Lookup::Miss;
            };
            place = first + way;
            self.recent[recent] = place as u32;
        }
        let (replacement, first) = (self.replacement, place - place % self.ways);
        replacement.hit(&mut self.places(first), place);
        if std::mem::take(&mut self.tags[place].ahead) { Lookup::FirstUse } else { Lookup::Hit }
    }

    /// Tells whether a line is valid.
    pub fn has(&self, line: u64) -> bool {
        self.set(line).iter().any(|tag| tag.line == line && tag.used != 0)
    }

    /// Fills a line. `ahead` marks a prefetch.
    pub fn fill(&mut self, line: u64, ahead: bool) {
        let (replacement, first) = (self.replacement, self.first_place(line));
        let empty = self.set(line).iter().position(|tag| tag.used == 0).map(|way| first + way);
        let mut places = self.places(first);
        let Some(place) = empty.or_else(|| replacement.victim(&places)) else { return };
        if empty.is_none() {
            replacement.evicted(&mut places, place);
        }
        *places.turn += 1;
        places.tags[place] = Tag { line, used: *places.turn, mark: 0, ahead };
        replacement.filled(&mut places, place);
    }

    /// Invalidates the lines below an address.
    pub fn forget_below(&mut self, address: u64) {
        self.tags.iter_mut().filter(|tag| tag.line < address).for_each(|tag| tag.used = 0);
    }

    /// Invalidates all lines.
    pub fn clear(&mut self) {
        self.tags.iter_mut().for_each(|tag| tag.used = 0);
    }
}

/// A set as seen by the replacement policy. Lines are indices of ways.
struct Places<'c> {
    tags: &'c mut [Tag],
    first: usize,
    ways: usize,
    turn: &'c mut u64,
}

impl Lines for Places<'_> {
    type Line = usize;

    fn younger(&self, line: Option<usize>) -> Option<usize> {
        let after = line.map_or(0, |line| self.tags[line].used);
        let places = self.first..self.first + self.ways;
        places.filter(|place| self.tags[*place].used > after).min_by_key(|place| self.tags[*place].used)
    }

    fn may_go(&self, _: usize) -> bool {
        true
    }

    fn mark(&self, line: usize) -> u8 {
        self.tags[line].mark
    }
}

impl LinesMut for Places<'_> {
    fn set_mark(&mut self, line: usize, mark: u8) {
        self.tags[line].mark = mark;
    }

    #[inline(always)]
    fn renew(&mut self, line: usize) {
        *self.turn += 1;
        self.tags[line].used = *self.turn;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lru_evicts_the_least_recently_used_line() {
        let mut cache = Cache::new(4 * 128, 2, 128, Replacement::Lru);
        for line in [0, 2 * 128] {
            cache.fill(line, false);
        }
        assert_eq!(cache.look_up(0), Lookup::Hit);
        cache.fill(4 * 128, false);
        assert_eq!(cache.look_up(2 * 128), Lookup::Miss);
        assert_eq!(cache.look_up(0), Lookup::Hit);
    }

    #[test]
    fn fifo_ignores_uses() {
        let mut cache = Cache::new(4 * 128, 2, 128, Replacement::Fifo);
        [0, 2 * 128].into_iter().for_each(|line| cache.fill(line, false));
        assert_eq!(cache.look_up(0), Lookup::Hit);
        cache.fill(4 * 128, false);
        assert_eq!([0, 2, 4].map(|line| cache.has(line * 128)), [false, true, true]);
    }

    #[test]
    fn lines_below_an_address_are_invalidated() {
        let mut cache = Cache::new(1024, 2, 128, Replacement::Lru);
        [128, 256, 384].into_iter().for_each(|line| cache.fill(line, false));
        cache.forget_below(256);
        assert_eq!([128, 256, 384].map(|line| cache.has(line)), [false, true, true]);
    }

    #[test]
    fn first_use_of_a_prefetched_line_is_reported() {
        let mut cache = Cache::new(1024, 2, 128, Replacement::Lru);
        cache.fill(128, true);
        assert_eq!([cache.look_up(128), cache.look_up(128)], [Lookup::FirstUse, Lookup::Hit]);
    }
}
