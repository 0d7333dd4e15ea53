//! Retired addresses of freed allocations. With [`Memory::keep_freed`], their reuse is delayed, so that an
//! access to freed memory hits no other allocation.

use super::arena::PAGE;
use super::{Allocations, Memory};
use std::collections::VecDeque;
use std::io;
use std::sync::atomic::Ordering;

/// Maximum retired allocations.
const KEPT: usize = 4096;

/// Maximum bytes of retired addresses: an eighth of the reserved range.
const KEPT_BYTES: u64 = 1 << 37;

/// Retired stretches, the oldest first.
#[derive(Debug, Default)]
pub(super) struct Retired {
    stretches: VecDeque<(u64, u64)>,
    bytes: u64,
}

impl Retired {
    fn push(&mut self, start: u64, length: u64) {
        self.stretches.push_back((start, length));
        self.bytes += length;
    }

    /// Oldest stretch, while too many are retired.
    fn pop(&mut self) -> Option<(u64, u64)> {
        if self.stretches.len() <= KEPT && self.bytes <= KEPT_BYTES {
            return None;
        }
        let oldest = self.stretches.pop_front()?;
        self.bytes -= oldest.1;
        Some(oldest)
    }
}

impl Memory {
    /// Delays the reuse of freed addresses from now on as long as possible.
    pub fn keep_freed(&self) {
        self.keeps_freed.store(true, Ordering::Relaxed);
    }

    /// Retires the addresses of a freed allocation; its pages return to the host at once.
    pub(super) fn give_addresses(&self, state: &mut Allocations, start: u64, length: u64) -> io::Result<()> {
        if !self.keeps_freed.load(Ordering::Relaxed) {
            state.free.give(start, length);
            return self.arena.decommit(&mut state.free, start, length);
        }
        let (first, last) = (start.next_multiple_of(PAGE), (start + length) / PAGE * PAGE);
        if first < last {
            self.arena.discard(first, last - first)?;
        }
        state.retired.push(start, length);
        while let Some((start, length)) = state.retired.pop() {
            state.free.give(start, length);
            self.arena.decommit(&mut state.free, start, length)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::memory::AllocationKind::{Device, Module};

    #[test]
    fn freed_addresses_are_reused_late() {
        let memory = Memory::new(1 << 30).unwrap();
        memory.keep_freed();
        let first = memory.allocate(5000, 1, Device).unwrap();
        memory.write(first, &[7; 5000]).unwrap();
        memory.free(first).unwrap();
        let module = memory.allocate(100, 1, Module).unwrap();
        assert!(module >= first + 5000 && memory.check_range(first, 1).is_err());
        for _ in 0..KEPT {
            let other = memory.allocate(5000, 1, Device).unwrap();
            assert_ne!(other, first);
            memory.free(other).unwrap();
        }
        let again = memory.allocate(5000, 1, Device).unwrap();
        let mut bytes = [1; 5000];
        memory.read(again, &mut bytes).unwrap();
        assert_eq!((again, bytes), (first, [0; 5000]));
    }
}
