//! Reserved range of host addresses.
//!
//! The host allocates pages at first touch. A page that no allocation uses any more is returned and then
//! reads as zero.

use std::io;

use super::allocator::FreeList;

/// Preferred address of the range. The address is far from where Linux places programs, heaps and
/// libraries, so that a program gets equal device addresses in every run.
const PREFERRED_BASE: usize = 0x2000_0000_0000;

/// Size of host pages in bytes.
pub(super) const PAGE: u64 = 4096;
/// Size of large host pages, and alignment of allocations of at least this size, as in CUDA.
pub(super) const LARGE_PAGE: u64 = 2 << 20;

/// Minimum useful size in bytes.
const MINIMUM: u64 = 1 << 32;

/// A reserved range.
#[derive(Debug)]
pub(super) struct Arena {
    base: u64,
    length: u64,
}

impl Arena {
    /// Reserves `length` bytes of address space, or the largest power of two below it that the host allows.
    pub(super) fn reserve(mut length: u64) -> io::Result<Arena> {
        loop {
            match Arena::reserve_exactly(length) {
                Err(_) if length > MINIMUM => length /= 2,
                answer => return answer,
            }
        }
    }

    fn reserve_exactly(length: u64) -> io::Result<Arena> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE;
        let map = |hint: usize, extra: i32| {
            // SAFETY: a fresh anonymous mapping; MAP_FIXED_NOREPLACE never replaces an existing mapping.
            unsafe {
                libc::mmap(
                    hint as *mut _,
                    length as usize,
                    libc::PROT_READ | libc::PROT_WRITE,
                    flags | extra,
                    -1,
                    0,
                )
            }
        };
        let mut at = libc::MAP_FAILED;
        for step in 0..16 {
            at = map(PREFERRED_BASE + step * (1 << 41), libc::MAP_FIXED_NOREPLACE);
            if at != libc::MAP_FAILED {
                break;
            }
        }
        if at == libc::MAP_FAILED {
            at = map(0, 0);
        }
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(Arena { base: at as u64, length })
    }

    pub(super) fn base(&self) -> u64 {
        self.base
    }

    pub(super) fn length(&self) -> u64 {
        self.length
    }

    /// Requests large pages for a large allocation. Scattered accesses otherwise spend much time on address
    /// translation.
    pub(super) fn prefer_large_pages(&self, address: u64, length: u64) {
        // SAFETY: the pages lie in the reserved range. The advice has no visible effect, and a host without
        // large pages ignores it.
        unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_HUGEPAGE) };
    }

    /// Returns the pages of a freed range that no allocation shares, and zeroes the shared parts.
    pub(super) fn decommit(&self, free: &mut FreeList, address: u64, length: u64) -> io::Result<()> {
        let Some((free_start, free_end)) = free.around(address) else { return Ok(()) };
        let end = address + length;
        let first = free_start.next_multiple_of(PAGE).max(address / PAGE * PAGE);
        let last = (free_end / PAGE * PAGE).min(end.next_multiple_of(PAGE));
        if first >= last {
            self.zero(address, end);
            return Ok(());
        }
        self.zero(address, first.min(end));
        self.zero(last.max(address), end);
        self.discard(first, last - first)
    }

    /// Returns a range of whole pages, which then read as zero.
    pub(super) fn discard(&self, address: u64, length: u64) -> io::Result<()> {
        // SAFETY: the pages lie in the reserved range, and their owner has dropped the contents.
        if unsafe { libc::madvise(address as *mut _, length as usize, libc::MADV_DONTNEED) } != 0 {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    /// Replaces foreign mappings by fresh pages of the arena, which read as zero.
    pub(super) fn clear(&self, address: u64, length: u64) -> io::Result<()> {
        let flags = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS | libc::MAP_NORESERVE | libc::MAP_FIXED;
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the pages lie in the reserved range, and the old mapping is unused.
        let at = unsafe { libc::mmap(address as *mut _, length as usize, access, flags, -1, 0) };
        if at == libc::MAP_FAILED {
            return Err(io::Error::last_os_error());
        }
        Ok(())
    }

    pub(super) fn zero(&self, start: u64, end: u64) {
        if start < end {
            // SAFETY: the bytes belong to an allocation just freed, inside the reserved range.
            unsafe { std::ptr::write_bytes(start as *mut u8, 0, (end - start) as usize) };
        }
    }
}

impl Drop for Arena {
    fn drop(&mut self) {
        // SAFETY: `reserve` mapped the range, and nothing refers to it after its `Memory` is gone.
        unsafe { libc::munmap(self.base as *mut _, self.length as usize) };
    }
}
