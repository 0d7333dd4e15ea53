//! Lines that accesses wait for, for hang reports.

use super::{L1, NONE};

/// A table entry that an access waits for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AwaitedEntry {
    /// Entry number.
    pub entry: u32,
    /// Line address.
    pub line: u64,
    /// Mask of outstanding sectors.
    pub pending: u8,
    /// Number of waiting accesses.
    pub waiters: u32,
}

impl L1 {
    /// The entries that an access waits for.
    pub fn awaited(&self, access: u32) -> Vec<AwaitedEntry> {
        let numbers = self.entries.numbers().into_iter();
        let waits = |number: &u32| {
            let mut waiter = self.entries[*number].first_waiter;
            while waiter != NONE && self.waiters[waiter].access != access {
                waiter = self.waiters[waiter].next;
            }
            waiter != NONE
        };
        let awaited = numbers.filter(waits).map(|number| {
            let entry = &self.entries[number];
            AwaitedEntry { entry: number, line: entry.line, pending: entry.pending, waiters: entry.waiters }
        });
        awaited.collect()
    }
}
