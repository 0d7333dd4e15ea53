//! Lines of an L1 set in age order.

use serde::{Deserialize, Serialize};

use super::Entry;
use crate::policy::replacement::{Lines, LinesMut};
use crate::slab::{NONE, Slab};

/// A linked list of a set's entries, from the youngest to the oldest.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Set {
    /// The youngest line.
    pub first: u32,
    /// The oldest line.
    pub last: u32,
    /// Number of lines.
    pub lines: u32,
}

impl Set {
    /// An empty set.
    pub const EMPTY: Set = Set { first: NONE, last: NONE, lines: 0 };

    /// Adds a line at the front.
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

    /// Removes a line.
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

/// A set with the cache's entries, as seen by the replacement policy.
pub struct SetLines<'l> {
    /// The set.
    pub set: &'l mut Set,
    /// Lines of the cache.
    pub entries: &'l mut Slab<Entry>,
    /// Set if lines with outstanding sectors must not be evicted.
    pub keeps_pending: bool,
}

impl Lines for SetLines<'_> {
    type Line = u32;

    #[inline(always)]
    fn younger(&self, line: Option<u32>) -> Option<u32> {
        let younger = line.map_or(self.set.last, |line| self.entries[line].previous);
        (younger != NONE).then_some(younger)
    }

    #[inline(always)]
    fn may_go(&self, line: u32) -> bool {
        !self.keeps_pending || self.entries[line].pending == 0
    }

    fn mark(&self, line: u32) -> u8 {
        self.entries[line].mark
    }
}

impl LinesMut for SetLines<'_> {
    fn set_mark(&mut self, line: u32, mark: u8) {
        self.entries[line].mark = mark;
    }

    #[inline(always)]
    fn renew(&mut self, line: u32) {
        self.set.move_to_front(self.entries, line);
    }
}
