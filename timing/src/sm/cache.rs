//! Tags of a cache of lines that are only read: instructions, constants.

use serde::{Deserialize, Serialize};

use crate::policy::replacement::{Lines, LinesMut, Replacement};
use crate::restore::{MOST_COUNTED, Validity, ensure};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Tag {
    line: u64,
    /// Turn in which the line came or was renewed; 0 for an empty place.
    used: u64,
    /// Mark of the replacement policy.
    mark: u8,
    /// Nobody has asked for it yet: it was prefetched.
    ahead: bool,
}

/// Result of a lookup.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The line is there.
    Hit,
    /// First hit of a prefetched line.
    FirstUse,
    /// The line is absent.
    Miss,
}

/// A set-associative cache.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cache {
    tags: Vec<Tag>,
    ways: usize,
    replacement: Replacement,
    sets: u64,
    /// Bytes of a line.
    line: u64,
    turn: u64,
    /// Places of the lines that were looked up last, by the last bits of their numbers.
    #[serde(skip)]
    recent: [u32; RECENT],
}

/// Lines in a row of which the places are known.
const RECENT: usize = 16;

/// Bytes of such a line, or a few times as many or as few: another line is found more slowly.
const RECENT_BYTES: u64 = 128;

impl Cache {
    /// An empty cache of so many bytes, with lines of `line` bytes.
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

    /// A saved cache has the shape of the one that [`Cache::new`] makes.
    pub fn check(&self, bytes: u32, ways: u32, line: u64, replacement: Replacement) -> Validity {
        let empty = Cache::new(bytes, ways, line, replacement);
        let shape = |cache: &Cache| (cache.tags.len(), cache.ways, cache.sets, cache.line, cache.replacement);
        ensure(shape(self) == shape(&empty), "a cache of instructions or constants has another size")?;
        let used = self.tags.iter().all(|tag| tag.used <= self.turn);
        ensure(used && self.turn < MOST_COUNTED, "a line of instructions or constants was used too often")
    }

    /// The first place of a line's set.
    fn first_place(&self, line: u64) -> usize {
        (line / self.line % self.sets) as usize * self.ways
    }

    fn set(&self, line: u64) -> &[Tag] {
        &self.tags[self.first_place(line)..][..self.ways]
    }

    /// A set as its replacement policy sees it.
    fn places(&mut self, first: usize) -> Places<'_> {
        Places { tags: &mut self.tags, first, ways: self.ways, turn: &mut self.turn }
    }

    /// Looks for a line that is wanted.
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

    /// The line is present.
    pub fn has(&self, line: u64) -> bool {
        self.set(line).iter().any(|tag| tag.line == line && tag.used != 0)
    }

    /// A line comes; `ahead` if nobody has asked for it yet.
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

    /// Forgets lines below an address.
    pub fn forget_below(&mut self, address: u64) {
        self.tags.iter_mut().filter(|tag| tag.line < address).for_each(|tag| tag.used = 0);
    }

    /// Forgets everything.
    pub fn clear(&mut self) {
        self.tags.iter_mut().for_each(|tag| tag.used = 0);
    }
}

/// A set: the view of the replacement policy. Lines are places of the cache.
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
    fn the_line_of_a_set_that_was_used_least_recently_goes() {
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
    fn a_use_renews_no_line_of_a_fifo_cache() {
        let mut cache = Cache::new(4 * 128, 2, 128, Replacement::Fifo);
        [0, 2 * 128].into_iter().for_each(|line| cache.fill(line, false));
        assert_eq!(cache.look_up(0), Lookup::Hit);
        cache.fill(4 * 128, false);
        assert_eq!([0, 2, 4].map(|line| cache.has(line * 128)), [false, true, true]);
    }

    #[test]
    fn lines_below_an_address_are_forgotten() {
        let mut cache = Cache::new(1024, 2, 128, Replacement::Lru);
        [128, 256, 384].into_iter().for_each(|line| cache.fill(line, false));
        cache.forget_below(256);
        assert_eq!([128, 256, 384].map(|line| cache.has(line)), [false, true, true]);
    }

    #[test]
    fn the_first_use_of_a_prefetched_line_is_told() {
        let mut cache = Cache::new(1024, 2, 128, Replacement::Lru);
        cache.fill(128, true);
        assert_eq!([cache.look_up(128), cache.look_up(128)], [Lookup::FirstUse, Lookup::Hit]);
    }
}
