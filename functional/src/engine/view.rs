//! Worker's cache of allocations, with which two comparisons check most accesses.

use std::mem::offset_of;

use crate::memory::Memory;

/// Entries of the cache; a memory op tries its own slot first.
pub const SLOTS: usize = 16;

/// Address range of an allocation.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// End address.
    pub end: u64,
}

impl Range {
    /// All addresses that a process can have.
    pub(crate) const ALL: Range = Range { start: 0, end: 1 << 62 };
}

const NOTHING: Range = Range { start: u64::MAX, end: 0 };

/// Cache of a worker.
#[derive(Debug)]
pub struct View {
    slots: [Range; SLOTS],
}

impl Default for View {
    fn default() -> View {
        View { slots: [NOTHING; SLOTS] }
    }
}

impl View {
    /// Empties the cache, as needed after allocations were freed.
    pub fn clear(&mut self) {
        self.slots = [NOTHING; SLOTS];
    }

    /// Allocation that contains the address; the slot is tried first and updated.
    #[inline(always)]
    pub fn find(&mut self, memory: &Memory, slot: u32, address: u64) -> Option<Range> {
        let range = self.remembered(slot);
        if address >= range.start && address < range.end {
            Some(range)
        } else {
            self.look_up(memory, slot, address)
        }
    }

    /// Bytes from the start of the cache to a slot's range.
    pub(super) const fn slot_offset(slot: u32) -> usize {
        offset_of!(View, slots) + slot as usize % SLOTS * size_of::<Range>()
    }

    /// Allocation in a slot.
    #[inline(always)]
    pub fn remembered(&self, slot: u32) -> Range {
        self.slots[slot as usize % SLOTS]
    }

    /// Puts a range into a slot and returns the old one.
    pub(crate) fn replace(&mut self, slot: u32, range: Range) -> Range {
        std::mem::replace(&mut self.slots[slot as usize % SLOTS], range)
    }

    #[cold]
    fn look_up(&mut self, memory: &Memory, slot: u32, address: u64) -> Option<Range> {
        let (start, end) = memory.accessible_around(address)?;
        let range = Range { start, end };
        self.slots[slot as usize % SLOTS] = range;
        Some(range)
    }
}
