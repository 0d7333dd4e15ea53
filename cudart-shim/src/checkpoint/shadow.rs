//! What kernels change in memory that the program's own code reads without asking: managed, pinned and registered memory.

use crate::simulator::started;
use functional::memory::{Allocation, AllocationKind};
use rustc_hash::FxHashMap;
use std::fs::File;
use std::io;
use std::os::unix::fs::FileExt;

/// Bytes that are compared at once.
const BLOCK: usize = 4096;

/// A copy of that memory: blocks by address, those of zeros left out.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    blocks: FxHashMap<u64, Box<[u8]>>,
}

impl Shadow {
    /// Takes over what the memory holds now.
    pub(super) fn follow(&mut self) -> io::Result<()> {
        self.changes().map(drop)
    }

    /// What differs from the copy, which takes it over: addresses, and the bytes there now.
    pub(super) fn changes(&mut self) -> io::Result<Vec<(u64, Vec<u8>)>> {
        let mut changes = Vec::new();
        let mut own_memory = None;
        let mut now = [0; BLOCK];
        for allocation in seen_by_host() {
            for address in (allocation.address..allocation.end()).step_by(BLOCK) {
                let now = &mut now[..(allocation.end() - address).min(BLOCK as u64) as usize];
                read(&mut own_memory, &allocation, address, now)?;
                if let Some(change) = self.update(address, now) {
                    changes.push(change);
                }
            }
        }
        Ok(changes)
    }

    fn update(&mut self, address: u64, now: &[u8]) -> Option<(u64, Vec<u8>)> {
        let before = self.blocks.get(&address).map_or(&[0; BLOCK][..], |block| block);
        let byte = |index: usize| before.get(index).copied().unwrap_or(0);
        let differs = |index: &usize| now.get(*index).is_some_and(|value| *value != byte(*index));
        if now.len() == before.len() && now == before {
            return None;
        }
        let first = (0..now.len()).find(differs)?;
        let last = (first..now.len()).rev().find(differs)?;
        self.blocks.insert(address, now.into());
        Some((address + first as u64, now.get(first..=last)?.to_vec()))
    }
}

fn seen_by_host() -> impl Iterator<Item = Allocation> {
    let allocations = started().flat_map(|simulator| simulator.device.memory.allocations());
    allocations.filter(|allocation| allocation.kind.is_seen_by_host())
}

/// Reads a part of an allocation. What the program has registered it may have unmapped, which must not end it.
fn read(
    own_memory: &mut Option<File>,
    allocation: &Allocation,
    address: u64,
    bytes: &mut [u8],
) -> io::Result<()> {
    if allocation.kind == AllocationKind::Registered {
        let file = match own_memory {
            Some(file) => file,
            None => own_memory.insert(File::open("/proc/self/mem")?),
        };
        return file.read_exact_at(bytes, address);
    }
    let owner = started().find(|simulator| simulator.device.memory.owns(address));
    let read = owner.map(|simulator| simulator.device.memory.read(address, bytes));
    read.map_or(Ok(()), |read| read.map_err(io::Error::other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_smallest_range_that_holds_all_that_has_changed_is_given_once() {
        let mut shadow = Shadow::default();
        let mut block = [0; BLOCK];
        assert_eq!(shadow.update(0x1000, &block), None);
        block[7] = 1;
        block[9] = 2;
        assert_eq!(shadow.update(0x1000, &block), Some((0x1007, vec![1, 0, 2])));
        assert_eq!(shadow.update(0x1000, &block), None);
        block[9] = 0;
        assert_eq!(shadow.update(0x1000, &block), Some((0x1009, vec![0])));
    }
}
