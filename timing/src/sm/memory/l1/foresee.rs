//! What L1 asks the host's caches for before lines are loaded and filled, in steps: what one asks for tells the next what to ask.

use warp_stream::host_cache::read_all;

use super::L1;
use crate::slab::NONE;

impl L1 {
    /// It is going to have much to do.
    pub fn foresee_all(&self) {
        self.table.foresee_all();
        self.entries.foresee_all();
        self.waiters.foresee_all();
        read_all(&self.sets);
    }

    /// A line is going to be loaded or stored to.
    pub fn foresee(&self, line: u64) {
        self.table.foresee(line);
    }

    /// The same a little later.
    pub fn foresee_entry(&self, line: u64) {
        if let Some(entry) = self.table.guess(line) {
            self.entries.foresee(entry);
        }
    }

    /// Sectors of the line of an entry are going to arrive.
    pub fn foresee_fill(&self, number: u32) {
        self.entries.foresee(number);
    }

    /// The same a little later.
    pub fn foresee_answer(&self, number: u32) {
        let waiter = self.entries[number].first_waiter;
        if waiter != NONE {
            self.waiters.foresee(waiter);
        }
        if let Some(leaving) = self.leaving(number) {
            self.entries.foresee(leaving);
        }
    }

    /// The same at last.
    pub fn foresee_eviction(&self, number: u32) {
        if let Some(leaving) = self.leaving(number) {
            self.table.foresee(self.entries[leaving].line);
        }
    }

    /// The entry that is likely to make place for another.
    fn leaving(&self, number: u32) -> Option<u32> {
        let entry = &self.entries[number];
        let last = self.sets[entry.set as usize].last;
        (!entry.resident && last != NONE).then_some(last)
    }
}
