//! Host prefetches before loads and fills of L1, in steps: the result of each step gives the
//! address of the next.

use warp_stream::host_cache::read_all;

use super::L1;
use crate::slab::NONE;

impl L1 {
    /// Prefetches for a busy epoch.
    pub fn prefetch_host_all(&self) {
        self.table.prefetch_host_all();
        self.entries.prefetch_host_all();
        self.waiters.prefetch_host_all();
        read_all(&self.sets);
    }

    /// First step for a load or store of a line.
    pub fn prefetch_host(&self, line: u64) {
        self.table.prefetch_host(line);
    }

    /// Second step for a load or store.
    pub fn prefetch_host_entry(&self, line: u64) {
        if let Some(entry) = self.table.guess(line) {
            self.entries.prefetch_host(entry);
        }
    }

    /// First step for the arrival of an entry's sectors.
    pub fn prefetch_host_fill(&self, number: u32) {
        self.entries.prefetch_host(number);
    }

    /// Second step for an arrival.
    pub fn prefetch_host_answer(&self, number: u32) {
        let waiter = self.entries[number].first_waiter;
        if waiter != NONE {
            self.waiters.prefetch_host(waiter);
        }
        if let Some(leaving) = self.leaving(number) {
            self.entries.prefetch_host(leaving);
        }
    }

    /// Third step for an arrival.
    pub fn prefetch_host_eviction(&self, number: u32) {
        if let Some(leaving) = self.leaving(number) {
            self.table.prefetch_host(self.entries[leaving].line);
        }
    }

    /// The entry that will probably be evicted.
    fn leaving(&self, number: u32) -> Option<u32> {
        let entry = &self.entries[number];
        let last = self.sets[entry.set as usize].last;
        (!entry.resident && last != NONE).then_some(last)
    }
}
