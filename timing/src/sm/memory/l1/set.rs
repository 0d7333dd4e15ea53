//! The lines of a cache set, in the order in which its replacement policy keeps them.

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::slab::{NONE, Slab};

/// Lines of a set: a list through their entries, from the one to keep longest to the first candidate for eviction.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// The line to keep longest.
    pub first: u32,
    /// The first candidate for eviction.
    pub last: u32,
    /// Lines.
    pub lines: u32,
}

impl Set {
    /// No line.
    pub const EMPTY: Set = Set { first: NONE, last: NONE, lines: 0 };

    /// Adds a line in front.
    pub fn push(&mut self, entries: &mut Slab<Entry>, number: u32) {
        entries[number].previous = NONE;
        entries[number].next = self.first;
        match self.first {
            NONE => self.last = number,
            first => entries[first].previous = number,
        }
        self.first = number;
        self.lines += 1;
    }

    /// Takes a line out.
    pub fn remove(&mut self, entries: &mut Slab<Entry>, number: u32) {
        let Entry { previous, next, .. } = entries[number];
        match previous {
            NONE => self.first = next,
            previous => entries[previous].next = next,
        }
        match next {
            NONE => self.last = previous,
            next => entries[next].previous = previous,
        }
        self.lines -= 1;
    }

    /// Moves a line to the front.
    pub fn move_to_front(&mut self, entries: &mut Slab<Entry>, number: u32) {
        if self.first != number {
            self.remove(entries, number);
            self.push(entries, number);
        }
    }
}
