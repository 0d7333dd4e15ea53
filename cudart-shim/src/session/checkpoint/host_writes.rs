//! Changes by kernels to host-visible memory: managed, pinned and registered.

use super::place;
use crate::session::state::Session;
use functional::memory::{Allocation, AllocationKind};
use rustc_hash::FxHashMap;
use saved_run::Address;
use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

/// Comparison granularity in bytes.
const BLOCK: usize = 4096;
/// Size of a word in bytes, which may be an address. A changed word is stored whole, because half
/// an address is useless. An unchanged word may hold another address in the program's next run, so
/// it is not stored.
const WORD: u64 = 8;

/// Shadow copy of host-visible memory: nonzero blocks by address.
#[derive(Debug, Default)]
pub(super) struct Shadow {
    blocks: FxHashMap<u64, Box<[u8]>>,
}

impl Shadow {
    /// Updates the copy without reporting changes.
    pub(super) fn follow(&mut self, session: &'static Session) -> io::Result<()> {
        self.changes(session).map(drop)
    }

    /// Updates the copy and returns the changes: addresses with their new bytes.
    pub(super) fn changes(&mut self, session: &'static Session) -> io::Result<Vec<(Address, Vec<u8>)>> {
        let mut changes = Vec::new();
        let mut own_memory = None;
        let mut now = [0; BLOCK];
        for allocation in seen_by_host(session) {
            for address in (allocation.address..allocation.end()).step_by(BLOCK) {
                let now = &mut now[..(allocation.end() - address).min(BLOCK as u64) as usize];
                read(session, &mut own_memory, &allocation, address, now)?;
                let changed = self.update(address, now);
                changes
                    .extend(changed.into_iter().map(|(address, bytes)| (place::of(session, address), bytes)));
            }
        }
        Ok(changes)
    }

    /// The changed words of a block. Adjacent words form one piece.
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

fn seen_by_host(session: &'static Session) -> impl Iterator<Item = Allocation> {
    let allocations = session.started().flat_map(|simulator| simulator.device.memory.allocations());
    allocations.filter(|allocation| allocation.kind.is_seen_by_host())
}

/// Reads a part of an allocation. An unmapped registration must not crash the process.
fn read(
    session: &'static Session,
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
    let owner = session.started().find(|simulator| simulator.device.memory.owns(address));
    let read = owner.map(|simulator| simulator.device.memory.read(address, bytes));
    read.map_or(Ok(()), |read| read.map_err(io::Error::other))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn changed_words_are_reported_whole_and_once() {
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
    fn words_are_aligned_in_the_address_space() {
        let mut shadow = Shadow::default();
        let block = [1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 2];
        let changes = [(0x1006, vec![1, 0]), (0x1010, vec![2])];
        assert_eq!(shadow.update(0x1006, &block), changes);
    }
}
