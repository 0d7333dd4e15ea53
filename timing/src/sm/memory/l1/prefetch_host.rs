//! What L1 asks the host's caches for before lines are loaded and filled, in steps: what one asks
//! for tells the next what to ask.

use warp_stream::host_cache::read_all;

use super::L1;
use crate::slab::NONE;

impl L1 {
    /// Prefetches the tables before a busy turn.
    pub fn prefetch_host_all(&self) {
        self.table.prefetch_host_all();
        self.entries.prefetch_host_all();
        self.waiters.prefetch_host_all();
        read_all(&self.sets);
    }

    /// A line is going to be loaded or stored to.
    pub fn prefetch_host(&self, line: u64) {
        self.table.prefetch_host(line);
    }

    /// The same a little later.
    pub fn prefetch_host_entry(&self, line: u64) {
        if let Some(entry) = self.table.guess(line) {
            self.entries.prefetch_host(entry);
        }
    }

    /// Sectors of the line of an entry are going to arrive.
    pub fn prefetch_host_fill(&self, number: u32) {
        self.entries.prefetch_host(number);
    }

    /// The same a little later.
    pub fn prefetch_host_answer(&self, number: u32) {
        let waiter = self.entries[number].first_waiter;
        if waiter != NONE {
            self.waiters.prefetch_host(waiter);
        }
        if let Some(leaving) = self.leaving(number) {
            self.entries.prefetch_host(leaving);
        }
    }

    /// The same at last.
    pub fn prefetch_host_eviction(&self, number: u32) {
        if let Some(leaving) = self.leaving(number) {
            self.table.prefetch_host(self.entries[leaving].line);
        }
    }

    /// The entry that is likely to make place for another.
    fn leaving(&self, number: u32) -> Option<u32> {
        let entry = &self.entries[number];
        let last = self.sets[entry.set as usize].last;
        (!entry.resident && last != NONE).then_some(last)
    }
}
