//! Digests of allocations, independent of their address. Blocks of zeros equal untouched blocks, so
//! large and mostly unused allocations take little time.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;

use functional::memory::{Allocation, AllocationKind, Memory, MemoryError};

use super::{Name, Sum, named};
use crate::step::Digest;

/// Block size, counted from the allocation's start.
const BLOCK: usize = 4096;
/// Blocks read at once.
const BLOCKS: u64 = 256;

/// Unreadable memory.
#[derive(Debug, thiserror::Error)]
pub enum Unreadable {
    /// The program's own memory, read through the system.
    #[error("/proc/self/mem: {0}")]
    Own(#[from] io::Error),
    /// Device memory.
    #[error(transparent)]
    Device(#[from] MemoryError),
}

/// Computes digests of allocations.
#[derive(Debug)]
pub struct MemoryDigester {
    blocks: Vec<u8>,
    /// The program's own memory. Registered memory may be unmapped by now; reading it must not end
    /// the program.
    own: Option<File>,
}

impl Default for MemoryDigester {
    fn default() -> Self {
        MemoryDigester { blocks: vec![0; BLOCK * BLOCKS as usize], own: None }
    }
}

impl MemoryDigester {
    /// Digests of a device's allocations. The memory must not change meanwhile.
    pub fn sums(&mut self, device: u64, memory: &Memory) -> Result<Vec<(Name, Sum)>, Unreadable> {
        let allocations = memory.allocations();
        let touched = touched(memory, &allocations);
        let sum = |(name, allocation): (Name, Allocation)| {
            let digest = self.digest(memory, &allocation, &touched)?;
            Ok((name, Sum { address: allocation.address, size: allocation.size, digest }))
        };
        named(device, &allocations).into_iter().map(sum).collect()
    }

    /// Digest of an allocation, given the touched pages of all.
    fn digest(
        &mut self,
        memory: &Memory,
        allocation: &Allocation,
        touched: &[Range<u64>],
    ) -> Result<Digest, Unreadable> {
        let Self { blocks, own } = self;
        let mut contents = Contents::default();
        if allocation.kind != AllocationKind::Registered {
            let first = touched.partition_point(|range| range.end <= allocation.address);
            for range in touched[first..].iter().take_while(|range| range.start < allocation.end()) {
                contents
                    .add(allocation, range, blocks, |address, bytes| memory.read_pages(address, bytes))?;
            }
            return Ok(contents.digest(allocation.size));
        }
        let own = match own {
            Some(own) => own,
            None => own.insert(File::open("/proc/self/mem")?),
        };
        let all = allocation.address..allocation.end();
        contents.add(allocation, &all, blocks, |address, bytes| {
            if own.read_exact_at(bytes, address).is_err() {
                // Unmapped memory reads as zeros.
                bytes.fill(0);
            }
            Ok::<(), Unreadable>(())
        })?;
        Ok(contents.digest(allocation.size))
    }
}

/// Touched pages of a device's allocations, by address.
fn touched(memory: &Memory, allocations: &[Allocation]) -> Vec<Range<u64>> {
    let of_device = allocations.iter().filter(|allocation| allocation.kind != AllocationKind::Registered);
    memory.touched(&of_device.copied().collect::<Vec<_>>())
}

/// Contents of an allocation, as far as read.
#[derive(Default)]
struct Contents {
    bytes: blake3::Hasher,
    /// Hash of the bounds of non-zero stretches.
    places: blake3::Hasher,
    /// Block after the last non-zero one.
    end: Option<u64>,
    /// Blocks read.
    read: u64,
}

impl Contents {
    /// Adds the part of the allocation in a range of addresses; ranges arrive in order.
    fn add<E>(
        &mut self,
        allocation: &Allocation,
        range: &Range<u64>,
        blocks: &mut [u8],
        mut read: impl FnMut(u64, &mut [u8]) -> Result<(), E>,
    ) -> Result<(), E> {
        let inside = |address: u64| address.clamp(allocation.address, allocation.end()) - allocation.address;
        let mut next = (inside(range.start) / BLOCK as u64).max(self.read);
        let last = inside(range.end).div_ceil(BLOCK as u64);
        while next < last {
            let at = next * BLOCK as u64;
            let count = (last - next).min(BLOCKS);
            let length = (allocation.size - at).min(count * BLOCK as u64) as usize;
            let Some(bytes) = blocks.get_mut(..length) else { break };
            read(allocation.address + at, bytes)?;
            self.add_blocks(next, bytes);
            next += count;
        }
        self.read = self.read.max(last);
        Ok(())
    }

    fn add_blocks(&mut self, first: u64, bytes: &[u8]) {
        let is_zero = |block: &[u8]| block == &[0; BLOCK][..block.len()];
        // Long stretches hash several times faster.
        let mut stretch = 0..0;
        for (number, block) in (first..).zip(bytes.chunks(BLOCK)) {
            if is_zero(block) {
                self.bytes.update(bytes.get(stretch.clone()).unwrap_or_default());
                stretch = stretch.end + block.len()..stretch.end + block.len();
                continue;
            }
            stretch.end += block.len();
            if self.end != Some(number) {
                self.end_stretch();
                self.places.update(&number.to_le_bytes());
            }
            self.end = Some(number + 1);
        }
        self.bytes.update(bytes.get(stretch).unwrap_or_default());
    }

    fn end_stretch(&mut self) {
        if let Some(end) = self.end {
            self.places.update(&end.to_le_bytes());
        }
    }

    fn digest(mut self, size: u64) -> Digest {
        self.end_stretch();
        let parts = [self.places.finalize(), self.bytes.finalize()];
        let parts = parts.iter().flat_map(|part| *part.as_bytes());
        Digest::of(&size.to_le_bytes().into_iter().chain(parts).collect::<Vec<u8>>())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Digests of allocations of `size` bytes with bytes at offsets.
    fn digests<const N: usize>(size: u64, written: [&[(u64, &[u8])]; N]) -> [Digest; N] {
        let memory = Memory::new(1 << 30).unwrap();
        written.map(|written| {
            let address = memory.allocate(size, 1, AllocationKind::Module).unwrap();
            written.iter().for_each(|(offset, bytes)| memory.write(address + offset, bytes).unwrap());
            digest_of(&memory, address)
        })
    }

    fn digest_of(memory: &Memory, address: u64) -> Digest {
        let allocation = memory.allocation_of(address).unwrap();
        let touched = touched(memory, &memory.allocations());
        MemoryDigester::default().digest(memory, &allocation, &touched).unwrap()
    }

    #[test]
    fn digest_is_independent_of_the_address() {
        // Allocations of these sizes do not start at page bounds.
        for size in [700, 5000, 3 << 20] {
            let written: &[(u64, &[u8])] = &[(0, b"some"), (size - 4, b"more")];
            let [one, other] = digests(size, [written; 2]);
            assert_eq!(one, other, "{size}");
        }
    }

    #[test]
    fn changed_or_moved_byte_changes_the_digest() {
        let at = |offset| vec![(offset, &b"x"[..])];
        let [here, there, next, other] = digests(3 << 20, [&at(0), &at(1), &at(4096), &[(0, b"y")]]);
        let distinct: std::collections::HashSet<_> = [here, there, next, other].into();
        assert_eq!(distinct.len(), 4);
    }

    #[test]
    fn touched_zeros_equal_untouched_memory() {
        let [touched, untouched] = digests(3 << 20, [&[(1 << 20, &[0; 9000])], &[]]);
        assert_eq!(touched, untouched);
    }

    #[test]
    fn long_stretch_digests_like_a_short_one() {
        let long = vec![7; 2 << 20];
        let [at_once, in_parts, less] = digests(
            3 << 20,
            [&[(0, &long)], &[(0, &long[..1 << 20]), (1 << 20, &long[1 << 20..])], &[(0, &long[1..])]],
        );
        assert_eq!(at_once, in_parts);
        assert_ne!(at_once, less);
    }

    #[test]
    fn unmapped_program_memory_reads_as_zeros() {
        let memory = Memory::new(1 << 30).unwrap();
        let digest = |address: u64| {
            memory.register_host(address, 5000).unwrap();
            digest_of(&memory, address)
        };
        let (zeros, ones) = (vec![0_u8; 5000], vec![1_u8; 5000]);
        let [zeros_there, ones_there] = [&zeros, &ones].map(|bytes| digest(bytes.as_ptr() as u64));
        // Nothing is ever mapped in the first page.
        assert_eq!(digest(16), zeros_there);
        assert_ne!(ones_there, zeros_there);
    }
}
