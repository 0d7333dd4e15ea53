//! Saving and restoring a device's memory: live allocations and their touched pages.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::atomic::Ordering;

use serde::{Deserialize, Serialize};

use super::arena::PAGE;
use super::{Allocation, AllocationKind, Memory, MemoryError};

/// Bits of an entry in /proc/self/pagemap: page present, page swapped out (proc_pid_pagemap(5)).
const PRESENT: u64 = 1 << 63;
const SWAPPED: u64 = 1 << 62;

/// Page-map entries per read.
const ENTRIES: u64 = 1 << 15;

/// State of device memory, without its bytes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct MemoryState {
    /// Live allocations whose bytes are saved, by address.
    pub allocations: Vec<Allocation>,
    /// Number of allocated function addresses.
    functions: u64,
}

/// Reason for which memory cannot be restored.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RestoreError {
    /// An allocation of the checkpoint is missing.
    #[error("the {size} bytes at {address:#x} ({kind:?}) are not allocated")]
    Missing {
        /// First address.
        address: u64,
        /// Size in bytes.
        size: u64,
        /// Owner.
        kind: AllocationKind,
    },
    /// An allocation is not in the checkpoint.
    #[error("{size} bytes at {address:#x} ({kind:?}) are allocated, but not in the checkpoint")]
    Unexpected {
        /// First address.
        address: u64,
        /// Size in bytes.
        size: u64,
        /// Owner.
        kind: AllocationKind,
    },
    /// An allocation differs from the checkpoint.
    #[error("{address:#x} held {} bytes ({:?}), now {} bytes ({:?})", was.0, was.1, is.0, is.1)]
    Other {
        /// First address.
        address: u64,
        /// Bytes and owner in the checkpoint.
        was: (u64, AllocationKind),
        /// Bytes and owner now.
        is: (u64, AllocationKind),
    },
    /// The host failed to provide memory.
    #[error("the host refused memory: {0}")]
    Host(String),
}

impl Allocation {
    /// True if a checkpoint holds the bytes. Memory that host code writes is written again when the program
    /// runs again.
    fn is_saved(&self) -> bool {
        !self.kind.is_seen_by_host() && self.kind != AllocationKind::Parameters
    }

    /// Properties that are independent of earlier allocations.
    fn identity(&self) -> (u64, u64, AllocationKind, bool) {
        (self.address, self.size, self.kind, self.idle)
    }

    /// Pages of the allocation.
    fn pages(&self) -> Range<u64> {
        self.address / PAGE * PAGE..self.end().next_multiple_of(PAGE)
    }
}

impl Memory {
    /// State of the memory, without its bytes.
    pub fn state(&self) -> MemoryState {
        let allocations = self.allocations().into_iter().filter(Allocation::is_saved).collect();
        MemoryState { allocations, functions: self.functions.load(Ordering::Relaxed) }
    }

    /// Ranges of whole pages with all nonzero bytes of the allocations, by address. Includes pages from
    /// elsewhere, and all pages if the host has no page map.
    pub fn touched(&self, allocations: &[Allocation]) -> Vec<Range<u64>> {
        let map = File::open("/proc/self/pagemap").ok();
        let mut touched: Vec<Range<u64>> = Vec::new();
        let (own, shared) = self.pages_of(allocations);
        for pages in own {
            let known = map
                .as_ref()
                .is_some_and(|map| present(map, pages.clone(), &mut |page| join(&mut touched, page)).is_ok());
            if !known {
                touched.push(pages);
            }
        }
        touched.extend(shared);
        touched.sort_unstable_by_key(|part| part.start);
        touched.into_iter().fold(Vec::new(), |mut joined, part| {
            join(&mut joined, part);
            joined
        })
    }

    /// Pages of allocations, with adjacent ones merged: own pages, and pages mapped from elsewhere.
    fn pages_of(&self, allocations: &[Allocation]) -> (Vec<Range<u64>>, Vec<Range<u64>>) {
        let state = self.state.read();
        let (mut own, mut shared) = (Vec::new(), Vec::new());
        for allocation in allocations.iter().filter(|allocation| allocation.size > 0) {
            let is_shared = state.mapping_at(allocation.address).is_some();
            join(if is_shared { &mut shared } else { &mut own }, allocation.pages());
        }
        (own, shared)
    }

    /// Copies whole pages that [`Memory::touched`] returned, allocated or not.
    pub fn read_pages(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        let length = bytes.len() as u64;
        let inside = address.wrapping_sub(self.arena.base());
        if inside.checked_add(length).is_none_or(|end| end > self.arena.length()) {
            return Err(MemoryError::OutOfRange { address, start: address, length });
        }
        // SAFETY: the pages lie in the reserved range, which is mapped and readable.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }

    /// Restores bytes of whole pages, where they belong to saved allocations.
    pub fn fill_saved(&self, address: u64, bytes: &[u8]) {
        let end = address.saturating_add(bytes.len() as u64);
        let state = self.state.read();
        let first = state.live.range(..=address).next_back().map_or(address, |(start, _)| *start);
        for (_, allocation) in state.live.range(first..end).filter(|(_, allocation)| allocation.is_saved()) {
            let from = allocation.address.max(address);
            let until = allocation.end().min(end);
            if from < until {
                let part = &bytes[(from - address) as usize..(until - address) as usize];
                // SAFETY: inside an allocation that stays live while the lock is held.
                unsafe { std::ptr::copy_nonoverlapping(part.as_ptr(), from as *mut u8, part.len()) };
            }
        }
    }

    /// Restores the allocations of a checkpoint, all zero. Allocations of calls must already exist; those
    /// of kernels are created.
    pub fn restore(&self, saved: &MemoryState) -> Result<(), RestoreError> {
        self.take_places_of_kernels(saved)?;
        let now = self.state().allocations;
        let mut there = now.iter().peekable();
        for wanted in &saved.allocations {
            let missing = || {
                let Allocation { address, size, kind, .. } = *wanted;
                RestoreError::Missing { address, size, kind }
            };
            let found = there.next().ok_or_else(missing)?;
            if found.address < wanted.address {
                return Err(unexpected(found));
            }
            let (was, is) = ((wanted.size, wanted.kind), (found.size, found.kind));
            if found.address == wanted.address && was != is {
                return Err(RestoreError::Other { address: found.address, was, is });
            }
            if found.identity() != wanted.identity() {
                return Err(missing());
            }
        }
        if let Some(found) = there.next() {
            return Err(unexpected(found));
        }
        for allocation in &now {
            self.clear(allocation).map_err(|error| RestoreError::Host(error.to_string()))?;
        }
        self.functions.fetch_max(saved.functions, Ordering::Relaxed);
        Ok(())
    }

    /// Re-allocates the memory of kernels at its addresses.
    fn take_places_of_kernels(&self, saved: &MemoryState) -> Result<(), RestoreError> {
        for wanted in saved.allocations.iter().filter(|allocation| allocation.kind.is_of_kernels()) {
            let Allocation { address, size, kind, .. } = *wanted;
            if !self.allocate_again(address, size, kind) {
                return Err(RestoreError::Missing { address, size, kind });
            }
        }
        Ok(())
    }

    /// Zeroes an allocation, whose last page may be shared with another.
    fn clear(&self, allocation: &Allocation) -> io::Result<()> {
        let whole = allocation.address.next_multiple_of(PAGE)..allocation.end() / PAGE * PAGE;
        if self.state.read().mapping_at(allocation.address).is_some() || whole.is_empty() {
            self.arena.zero(allocation.address, allocation.end());
            return Ok(());
        }
        self.arena.zero(allocation.address, whole.start);
        self.arena.zero(whole.end, allocation.end());
        self.arena.discard(whole.start, whole.end - whole.start)
    }
}

fn unexpected(found: &Allocation) -> RestoreError {
    let Allocation { address, size, kind, .. } = *found;
    RestoreError::Unexpected { address, size, kind }
}

/// Adds a range, merged with the last one if they overlap or touch.
fn join(ranges: &mut Vec<Range<u64>>, range: Range<u64>) {
    match ranges.last_mut() {
        Some(last) if (last.start..=last.end).contains(&range.start) => last.end = last.end.max(range.end),
        _ => ranges.push(range),
    }
}

/// Pages of a range that are present on the host.
fn present(map: &File, pages: Range<u64>, add: &mut impl FnMut(Range<u64>)) -> io::Result<()> {
    let mut entries = vec![0_u8; (ENTRIES * 8) as usize];
    let (mut number, last) = (pages.start / PAGE, pages.end / PAGE);
    while number < last {
        let count = (last - number).min(ENTRIES);
        let part = &mut entries[..count as usize * 8];
        map.read_exact_at(part, number * 8)?;
        for (entry, page) in part.chunks_exact(8).zip(number..) {
            let bits = entry.iter().rev().fold(0, |bits, byte| bits << 8 | u64::from(*byte));
            if bits & (PRESENT | SWAPPED) != 0 {
                add(page * PAGE..(page + 1) * PAGE);
            }
        }
        number += count;
    }
    Ok(())
}

#[cfg(test)]
mod tests {

    use super::*;

    fn memory() -> Memory {
        Memory::new(1 << 30).unwrap()
    }

    #[test]
    fn only_written_pages_are_touched() {
        let memory = memory();
        let address = memory.allocate(64 << 20, 1, AllocationKind::Device).unwrap();
        let at = address + (40 << 20);
        memory.write(at, &[1]).unwrap();
        let touched = memory.touched(&memory.allocations());
        assert!(touched.iter().any(|range| range.contains(&at)));
        let bytes: u64 = touched.iter().map(|range| range.end - range.start).sum();
        assert!(bytes <= 4 << 20, "{bytes}");
    }

    #[test]
    fn restored_memory_is_zero_with_kernels_allocations() {
        let memory = memory();
        let address = memory.allocate(3 << 20, 1, AllocationKind::Device).unwrap();
        let heap = memory.allocate(100, 1, AllocationKind::Heap).unwrap();
        let large = memory.allocate(5 << 20, 1, AllocationKind::Heap).unwrap();
        let saved = memory.state();
        memory.free(heap).unwrap();
        memory.free(large).unwrap();
        memory.write(address + 5, b"volta").unwrap();
        memory.restore(&saved).unwrap();
        let mut bytes = [1; 5];
        memory.read(address + 5, &mut bytes).unwrap();
        assert_eq!(bytes, [0; 5]);
        for (address, size) in [(heap, 100), (large, 5 << 20)] {
            assert_eq!(memory.allocation_of(address).map(|found| found.size), Some(size));
        }
    }

    #[test]
    fn allocation_differences_are_named() {
        let memory = memory();
        let first = memory.allocate(5000, 1, AllocationKind::Device).unwrap();
        let saved = memory.state();
        let second = memory.allocate(5000, 1, AllocationKind::Device).unwrap();
        let kind = AllocationKind::Device;
        let error = memory.restore(&saved).unwrap_err();
        assert_eq!(error, RestoreError::Unexpected { address: second, size: 5000, kind });
        memory.free(second).unwrap();
        memory.free(first).unwrap();
        let missing = RestoreError::Missing { address: first, size: 5000, kind };
        assert_eq!(memory.restore(&saved).unwrap_err(), missing);
        memory.allocate(6000, 1, AllocationKind::Device).unwrap();
        let other = RestoreError::Other { address: first, was: (5000, kind), is: (6000, kind) };
        assert_eq!(memory.restore(&saved).unwrap_err(), other);
        assert_eq!(
            other.to_string(),
            format!("{first:#x} held 5000 bytes (Device), now 6000 bytes (Device)")
        );
    }

    #[test]
    fn host_visible_memory_is_not_saved() {
        let memory = memory();
        memory.allocate(100, 1, AllocationKind::Host).unwrap();
        memory.allocate(100, 1, AllocationKind::Managed).unwrap();
        assert!(memory.state().allocations.is_empty());
    }

    #[test]
    fn kernel_allocations_do_not_move_program_addresses() {
        let memory = memory();
        let first = memory.allocate(100, 1, AllocationKind::Device).unwrap();
        memory.free(first).unwrap();
        memory.allocate(100, 1, AllocationKind::Heap).unwrap();
        memory.allocate(100, 1, AllocationKind::Parameters).unwrap();
        assert_eq!(memory.allocate(100, 1, AllocationKind::Device), Ok(first));
    }
}
