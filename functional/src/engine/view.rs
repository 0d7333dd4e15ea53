//! The allocations a worker remembers, so that most accesses are checked by two comparisons.

use crate::memory::Memory;

/// Allocations remembered; a memory op looks at its own slot first.
pub const SLOTS: usize = 16;

/// An allocation's addresses.
#[derive(Debug, Clone, Copy)]
pub struct Range {
    /// First address.
    pub start: u64,
    /// Behind the last address.
    pub end: u64,
}

impl Range {
    /// All addresses that a process can have.
    pub(crate) const ALL: Range = Range { start: 0, end: 1 << 62 };
}

const NOTHING: Range = Range { start: u64::MAX, end: 0 };

/// A worker's remembered allocations.
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
    /// Forgets everything: allocations may have gone.
    pub fn clear(&mut self) {
        self.slots = [NOTHING; SLOTS];
    }

    /// The allocation that holds the address; the slot's is tried first, and is this one afterwards.
    #[inline(always)]
    pub fn find(&mut self, memory: &Memory, slot: u32, address: u64) -> Option<Range> {
        let range = self.remembered(slot);
        if address >= range.start && address < range.end {
            Some(range)
        } else {
            self.look_up(memory, slot, address)
        }
    }

    /// The slot's allocation.
    #[inline(always)]
    pub fn remembered(&self, slot: u32) -> Range {
        self.slots[slot as usize % SLOTS]
    }

    /// Remembers a range in a slot, and gives what was there.
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
