//! Tags of a cache of what is only read: instructions, constants.

use serde::{Deserialize, Serialize};

use crate::restore::{Fits, MOST_COUNTED, fits};

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
struct Tag {
    line: u64,
    /// Turn of the last use; 0 for an empty place.
    used: u64,
    /// Nobody has asked for it yet: it was prefetched.
    ahead: bool,
}

/// What a lookup finds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Lookup {
    /// The line is there.
    Hit,
    /// It is there because it was prefetched, and is used for the first time.
    FirstUse,
    /// It is not.
    Miss,
}

/// A cache with the least recently used line of a set replaced.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Cache {
    tags: Vec<Tag>,
    ways: usize,
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
    /// An empty one of so many bytes, with lines of `line` bytes.
    pub fn new(bytes: u32, ways: u32, line: u64) -> Cache {
        let lines = (u64::from(bytes) / line).max(1) as usize;
        let ways = (ways.max(1) as usize).min(lines);
        let lines = lines / ways * ways;
        let sets = (lines / ways) as u64;
        Cache {
            tags: vec![Tag { line: 0, used: 0, ahead: false }; lines],
            ways,
            sets,
            line,
            turn: 0,
            recent: [0; RECENT],
        }
    }

    /// Whether one that was read can be that which [`Cache::new`] makes.
    pub fn check(&self, bytes: u32, ways: u32, line: u64) -> Fits {
        let empty = Cache::new(bytes, ways, line);
        let shape = |cache: &Cache| (cache.tags.len(), cache.ways, cache.sets, cache.line);
        fits(shape(self) == shape(&empty), "a cache of instructions or constants has another size")?;
        let used = self.tags.iter().all(|tag| tag.used <= self.turn);
        fits(used && self.turn < MOST_COUNTED, "a line of instructions or constants was used too often")
    }

    /// The first place of a line's set.
    fn first_place(&self, line: u64) -> usize {
        (line / self.line % self.sets) as usize * self.ways
    }

    fn set(&mut self, line: u64) -> &mut [Tag] {
        let first = self.first_place(line);
        &mut self.tags[first..][..self.ways]
    }

    /// Looks for a line that is wanted.
    pub fn look_up(&mut self, line: u64) -> Lookup {
        self.turn += 1;
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
        let tag = &mut self.tags[place];
        tag.used = self.turn;
        if std::mem::take(&mut tag.ahead) { Lookup::FirstUse } else { Lookup::Hit }
    }

    /// Whether a line is there.
    pub fn has(&mut self, line: u64) -> bool {
        self.set(line).iter().any(|tag| tag.line == line && tag.used != 0)
    }

    /// A line comes; `ahead` if nobody has asked for it yet.
    pub fn fill(&mut self, line: u64, ahead: bool) {
        self.turn += 1;
        let turn = self.turn;
        if let Some(tag) = self.set(line).iter_mut().min_by_key(|tag| tag.used) {
            *tag = Tag { line, used: turn, ahead };
        }
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_of_a_set_that_was_used_least_recently_goes() {
        let mut cache = Cache::new(4 * 128, 2, 128);
        for line in [0, 2 * 128] {
            cache.fill(line, false);
        }
        assert_eq!(cache.look_up(0), Lookup::Hit);
        cache.fill(4 * 128, false);
        assert_eq!(cache.look_up(2 * 128), Lookup::Miss);
        assert_eq!(cache.look_up(0), Lookup::Hit);
    }

    #[test]
    fn lines_below_an_address_are_forgotten() {
        let mut cache = Cache::new(1024, 2, 128);
        [128, 256, 384].into_iter().for_each(|line| cache.fill(line, false));
        cache.forget_below(256);
        assert_eq!([128, 256, 384].map(|line| cache.has(line)), [false, true, true]);
    }

    #[test]
    fn the_first_use_of_a_prefetched_line_is_told() {
        let mut cache = Cache::new(1024, 2, 128);
        cache.fill(128, true);
        assert_eq!([cache.look_up(128), cache.look_up(128)], [Lookup::FirstUse, Lookup::Hit]);
    }
}
