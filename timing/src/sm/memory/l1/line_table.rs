//! Hash table of a cache's entries by line: open addressing, grown at three quarters full.
//!
//! A slot holds a part of the line's hash and the number of its entry, which stores the line.
//! Sixteen slots fit a cache line of the host.

use warp_stream::host_cache::{fetch, read_all};

use super::Entry;
use crate::message::LINE_BYTES;
use crate::slab::Slab;

/// Upper bound of entry numbers.
pub const MOST_ENTRIES: u32 = u16::MAX as u32;

/// Initial number of slots.
const PLACES: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Place {
    /// [`hash`] of the line.
    hash: u16,
    /// Entry, or [`NONE`] for an empty slot.
    entry: u16,
}

const NONE: u16 = u16::MAX;

const EMPTY: Place = Place { hash: 0, entry: NONE };

/// Entries by line address.
#[derive(Debug, Clone)]
pub struct LineTable {
    /// Slots; their number is a power of two up to 2^16.
    places: Vec<Place>,
    used: usize,
}

impl Default for LineTable {
    fn default() -> LineTable {
        LineTable { places: vec![EMPTY; PLACES], used: 0 }
    }
}

/// Fibonacci hash of a line number, whose low bits determine the home slot.
fn hash(line: u64) -> u16 {
    ((line / LINE_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u16
}

impl LineTable {
    /// Prefetches the host's cache lines for many lookups.
    pub fn prefetch_host_all(&self) {
        read_all(&self.places);
    }

    /// Prefetches the host's cache line for a lookup.
    pub fn prefetch_host(&self, line: u64) {
        fetch(&self.places[self.home(hash(line))]);
    }

    /// The entry of a line, or of another line with its hash.
    #[inline]
    pub fn guess(&self, line: u64) -> Option<u32> {
        self.find_place(line, |_| true)
    }

    /// The entry of a line.
    #[inline]
    pub fn find(&self, line: u64, entries: &Slab<Entry>) -> Option<u32> {
        self.find_place(line, |entry| entries[entry].line == line)
    }

    #[inline]
    fn find_place(&self, line: u64, is_it: impl Fn(u32) -> bool) -> Option<u32> {
        let hash = hash(line);
        let mut index = self.home(hash);
        loop {
            let place = self.places[index];
            if place.entry == NONE {
                return None;
            }
            if place.hash == hash && is_it(u32::from(place.entry)) {
                return Some(u32::from(place.entry));
            }
            index = self.next(index);
        }
    }

    /// Adds a new line.
    pub fn insert(&mut self, line: u64, entry: u32) {
        debug_assert!(entry < MOST_ENTRIES);
        if 4 * (self.used + 1) > 3 * self.places.len() && self.places.len() <= usize::from(u16::MAX) {
            let larger = vec![EMPTY; 2 * self.places.len()];
            let old = std::mem::replace(&mut self.places, larger);
            old.into_iter().filter(|place| place.entry != NONE).for_each(|place| self.put(place));
        }
        self.put(Place { hash: hash(line), entry: entry as u16 });
        self.used += 1;
    }

    fn put(&mut self, place: Place) {
        let mut index = self.home(place.hash);
        while self.places[index].entry != NONE {
            index = self.next(index);
        }
        self.places[index] = place;
    }

    /// Removes the entry of a line and closes the gap in its probe sequence.
    pub fn remove(&mut self, line: u64, entry: u32) {
        let mut empty = self.home(hash(line));
        while u32::from(self.places[empty].entry) != entry {
            if self.places[empty].entry == NONE {
                return;
            }
            empty = self.next(empty);
        }
        self.used -= 1;
        let mask = self.places.len() - 1;
        let mut next = self.next(empty);
        while self.places[next].entry != NONE {
            let home = self.home(self.places[next].hash);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(empty) & mask) {
                self.places[empty] = self.places[next];
                empty = next;
            }
            next = self.next(next);
        }
        self.places[empty] = EMPTY;
    }

    /// Removes all entries.
    pub fn clear(&mut self) {
        self.places.fill(EMPTY);
        self.used = 0;
    }

    /// Home slot of a hash.
    fn home(&self, hash: u16) -> usize {
        usize::from(hash) & (self.places.len() - 1)
    }

    fn next(&self, index: usize) -> usize {
        (index + 1) & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_until_removed() {
        let mut table = LineTable::default();
        let mut entries = Slab::default();
        for i in 0..1000 {
            let line = i * LINE_BYTES;
            table.insert(line, entries.insert(Entry::new(line, 0, 0)));
        }
        for i in (0..1000).step_by(3) {
            table.remove(i * LINE_BYTES, i as u32);
        }
        for i in 0..1000 {
            assert_eq!(table.find(i * LINE_BYTES, &entries), (i % 3 != 0).then_some(i as u32));
        }
    }

    #[test]
    fn lines_with_equal_hash_are_distinguished() {
        let number = (1..).find(|number| hash(number * LINE_BYTES) == 0);
        let twins = [0, number.unwrap() * LINE_BYTES];
        assert_eq!(hash(twins[0]), hash(twins[1]));
        let mut table = LineTable::default();
        let mut entries = Slab::default();
        for line in twins {
            table.insert(line, entries.insert(Entry::new(line, 0, 0)));
        }
        assert_eq!(twins.map(|line| table.find(line, &entries)), [Some(0), Some(1)]);
        table.remove(twins[0], 0);
        assert_eq!(twins.map(|line| table.find(line, &entries)), [None, Some(1)]);
    }
}
