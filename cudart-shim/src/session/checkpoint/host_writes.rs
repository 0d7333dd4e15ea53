//! What kernels change in memory that the program's own code reads without asking: managed, pinned and registered memory.

use super::place;
use crate::session::simulator::started;
use functional::memory::{Allocation, AllocationKind};
use rustc_hash::FxHashMap;
use saved_run::Address;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Bytes that are compared at once.
const BLOCK: usize = 4096;
/// Bytes of a word, which may be an address. Of one that has changed all bytes are given, since half an address is none; one that has
/// not is the program's own affair, which may have another address there in its next run.
const WORD: u64 = 8;

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
    pub(super) fn changes(&mut self) -> io::Result<Vec<(Address, Vec<u8>)>> {
        let mut changes = Vec::new();
        let mut own_memory = None;
        let mut now = [0; BLOCK];
        for allocation in seen_by_host() {
            for address in (allocation.address..allocation.end()).step_by(BLOCK) {
                let now = &mut now[..(allocation.end() - address).min(BLOCK as u64) as usize];
                read(&mut own_memory, &allocation, address, now)?;
                let changed = self.update(address, now);
                changes.extend(changed.into_iter().map(|(address, bytes)| (place::of(address), bytes)));
            }
        }
        Ok(changes)
    }

    /// Words of a block that are not what they were, those that follow each other in one piece.
    fn update(&mut self, address: u64, now: &[u8]) -> Vec<(u64, Vec<u8>)> {
        let before = self.blocks.get(&address).map_or(&[0; BLOCK][..], |block| block);
        if now.len() == before.len() && now == before {
            return Vec::new();
        }
        let mut changed: Vec<Range<usize>> = Vec::new();
        for (index, value) in now.iter().enumerate() {
            if *value == before.get(index).copied().unwrap_or(0) {
                continue;
            }
            let word = (address + index as u64) / WORD * WORD;
            let first = word.saturating_sub(address) as usize;
            let end = ((word + WORD - address) as usize).min(now.len());
            match changed.last_mut() {
                Some(last) if first <= last.end => last.end = end,
                _ => changed.push(first..end),
            }
        }
        if !changed.is_empty() {
            self.blocks.insert(address, now.into());
        }
        let piece = |range: Range<usize>| Some((address + range.start as u64, now.get(range)?.to_vec()));
        changed.into_iter().filter_map(piece).collect()
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
    fn words_that_have_changed_are_given_whole_and_once() {
        let mut shadow = Shadow::default();
        let mut block = [0; BLOCK];
        assert_eq!(shadow.update(0x1000, &block), []);
        block[7] = 1;
        block[9] = 2;
        block[32] = 3;
        let changes = [(0x1000, block[..16].to_vec()), (0x1020, block[32..40].to_vec())];
        assert_eq!(shadow.update(0x1000, &block), changes);
        assert_eq!(shadow.update(0x1000, &block), []);
        block[9] = 0;
        assert_eq!(shadow.update(0x1000, &block), [(0x1008, vec![0; 8])]);
    }

    #[test]
    fn words_are_those_of_the_address_space_wherever_memory_begins_and_ends() {
        let mut shadow = Shadow::default();
        let block = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        let changes = [(0x1006, vec![1, 0]), (0x1010, vec![2])];
        assert_eq!(shadow.update(0x1006, &block), changes);
    }
}
