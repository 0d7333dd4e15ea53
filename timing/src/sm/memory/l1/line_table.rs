//! Finds a cache's entry by its line: open addressing, grown when half full.

use warp_stream::host_cache::fetch;

use crate::message::LINE_BYTES;
use crate::slab::NONE;

/// Places at first.
const PLACES: usize = 64;

/// Entries by line address.
#[derive(Debug, Clone)]
pub struct LineTable {
    /// Line address and entry; entry [`NONE`] if the place is empty. Their count is a power of two.
    places: Vec<(u64, u32)>,
    used: usize,
}

impl Default for LineTable {
    fn default() -> LineTable {
        LineTable { places: vec![(0, NONE); PLACES], used: 0 }
    }
}

impl LineTable {
    /// A line is going to be looked for.
    pub fn foresee(&self, line: u64) {
        fetch(&self.places[self.home(line)]);
    }

    /// The entry of a line.
    pub fn find(&self, line: u64) -> Option<u32> {
        let (_, entry) = self.places[self.place(line)];
        (entry != NONE).then_some(entry)
    }

    /// Adds a line that is not there.
    pub fn insert(&mut self, line: u64, entry: u32) {
        if 2 * (self.used + 1) > self.places.len() {
            let larger = vec![(0, NONE); 2 * self.places.len()];
            for (line, entry) in std::mem::replace(&mut self.places, larger) {
                if entry != NONE {
                    let place = self.place(line);
                    self.places[place] = (line, entry);
                }
            }
        }
        let place = self.place(line);
        self.places[place] = (line, entry);
        self.used += 1;
    }

    /// Removes a line; those behind it move up, so that none is hidden behind an empty place.
    pub fn remove(&mut self, line: u64) {
        let mask = self.places.len() - 1;
        let mut empty = self.place(line);
        if self.places[empty].1 == NONE {
            return;
        }
        self.used -= 1;
        let mut next = (empty + 1) & mask;
        while self.places[next].1 != NONE {
            let home = self.home(self.places[next].0);
            if (next.wrapping_sub(home) & mask) >= (next.wrapping_sub(empty) & mask) {
                self.places[empty] = self.places[next];
                empty = next;
            }
            next = (next + 1) & mask;
        }
        self.places[empty].1 = NONE;
    }

    /// Removes all.
    pub fn clear(&mut self) {
        self.places.fill((0, NONE));
        self.used = 0;
    }

    /// Where a line is, or would be.
    fn place(&self, line: u64) -> usize {
        let mut place = self.home(line);
        while self.places[place].1 != NONE && self.places[place].0 != line {
            place = (place + 1) & (self.places.len() - 1);
        }
        place
    }

    /// Where the search for a line begins (Fibonacci hashing).
    fn home(&self, line: u64) -> usize {
        let spread = (line / LINE_BYTES).wrapping_mul(0x9e37_79b9_7f4a_7c15);
        (spread >> 32) as usize & (self.places.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_are_found_until_they_are_removed() {
        let mut table = LineTable::default();
        for i in 0..1000 {
            table.insert(i * LINE_BYTES, i as u32);
        }
        for i in (0..1000).step_by(3) {
            table.remove(i * LINE_BYTES);
        }
        for i in 0..1000 {
            assert_eq!(table.find(i * LINE_BYTES), (i % 3 != 0).then_some(i as u32));
        }
    }
}
