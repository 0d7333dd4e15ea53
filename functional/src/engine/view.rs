//! The allocations a worker remembers, so that most accesses are checked by two comparisons.

use crate::fault::FaultKind;
use crate::memory::Memory;

/// Allocations remembered; a memory op looks at its own slot first.
pub const SLOTS: usize = 16;

#[derive(Debug, Clone, Copy)]
struct Range {
    start: u64,
    end: u64,
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

    /// Does the slot's allocation hold all of `[start, end)`?
    #[inline(always)]
    pub fn holds(&self, slot: u32, start: u64, end: u64) -> bool {
        let range = &self.slots[slot as usize % SLOTS];
        start >= range.start && end <= range.end && start <= end
    }

    /// Looks the range up in the memory's table and remembers its allocation.
    #[cold]
    pub fn look_up(&mut self, memory: &Memory, slot: u32, start: u64, length: u64) -> Result<(), FaultKind> {
        match memory.allocation_of(start) {
            Some(allocation) if start.checked_add(length).is_some_and(|end| end <= allocation.end()) => {
                self.slots[slot as usize % SLOTS] =
                    Range { start: allocation.address, end: allocation.end() };
                Ok(())
            }
            _ => Err(FaultKind::IllegalAddress { address: start, width: length as u32, lane: 0 }),
        }
    }
}
