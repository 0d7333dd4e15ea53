//! Host memory of the program, registered for kernels (`cudaHostRegister`). The program may unmap or
//! protect such memory without a call; [`lost_pages`] handles accesses of a kernel that runs meanwhile.

use super::allocator::{Allocation, AllocationKind};
use super::arena::PAGE;
use super::{Memory, MemoryError, lost_pages};
use std::sync::atomic::{AtomicU8, Ordering};

/// True if every page of a range is mapped, with any access rights.
fn is_mapped(address: u64, size: u64) -> bool {
    let start = address / PAGE * PAGE;
    let length = address.saturating_add(size.max(1)) - start;
    // SAFETY: with this flag the call accesses no page. The call walks the mappings and fails at a gap.
    unsafe { libc::msync(start as *mut _, length as usize, libc::MS_ASYNC) == 0 }
}

impl Memory {
    /// Makes `size` bytes of the program's memory at `address` accessible to kernels (`cudaHostRegister`).
    pub fn register_host(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        let mut state = self.state.write();
        let end = address.checked_add(size).ok_or(MemoryError::OutOfRange {
            address,
            start: address,
            length: size,
        })?;
        let overlaps = state.live.range(..end).next_back().is_some_and(|(_, last)| last.end() > address);
        if overlaps {
            return Err(MemoryError::AlreadyRegistered(address));
        }
        state.set_live(address, size, 0, AllocationKind::Registered);
        state.registered.insert(address, size);
        lost_pages::watch(address..end);
        state.unmapped.retain(|start, size| *start >= end || *start + *size <= address);
        Ok(())
    }

    /// Undoes [`Memory::register_host`], even for memory that the program unmapped.
    pub fn unregister_host(&self, address: u64) -> Result<(), MemoryError> {
        let mut state = self.state.write();
        if state.unmapped.remove(&address).is_some() {
            lost_pages::forget(address);
            return Ok(());
        }
        match state.live.get(&address) {
            Some(allocation) if allocation.kind == AllocationKind::Registered => {
                state.live.remove(&address);
                state.registered.remove(&address);
                lost_pages::forget(address);
                Ok(())
            }
            _ => Err(MemoryError::NotAllocated(address)),
        }
    }

    /// Accesses each page of a range of registered memory before the host copies there. Memory that the
    /// program has protected is then a loss ([`super::Losses`]), and not the end of the process. Does
    /// nothing for other memory.
    pub fn touch_registered(&self, address: u64, size: u64, is_written: bool) {
        let is_registered =
            self.allocation_of(address).is_some_and(|found| found.kind == AllocationKind::Registered);
        if size == 0 || !is_registered || self.check_range(address, size).is_err() {
            return;
        }
        let first_page = address / PAGE * PAGE;
        for page in (first_page..address + size).step_by(PAGE as usize) {
            // SAFETY: the byte is registered memory of the program, which the copy accesses as well. The
            // exchange writes the value that it finds.
            unsafe {
                let byte = page.max(address) as *mut u8;
                let value = byte.read_volatile();
                if is_written {
                    let exchanged = AtomicU8::from_ptr(byte).compare_exchange(
                        value,
                        value,
                        Ordering::Relaxed,
                        Ordering::Relaxed,
                    );
                    // Another thread has written the byte since; the page is writable.
                    let _ = exchanged;
                }
            }
        }
    }

    /// Ends and returns the registrations of memory that the program unmapped at least in part, or
    /// protected against a kernel. Protects that memory again.
    pub fn end_unmapped(&self) -> Vec<Allocation> {
        lost_pages::protect_again();
        let gone: Vec<u64> = {
            let state = self.state.read();
            let is_gone = |(address, size): &(&u64, &u64)| {
                !is_mapped(**address, **size) || lost_pages::has_lost(**address..**address + **size)
            };
            state.registered.iter().filter(is_gone).map(|(address, _)| *address).collect()
        };
        if gone.is_empty() {
            return Vec::new();
        }
        let mut state = self.state.write();
        let mut ended = Vec::new();
        for address in gone {
            // Another thread may have ended the registration meanwhile.
            if state.registered.remove(&address).is_none() {
                continue;
            }
            if let Some(allocation) = state.live.remove(&address) {
                state.unmapped.insert(address, allocation.size);
                ended.push(allocation);
            }
        }
        ended
    }

    /// True for addresses whose registration [`Memory::end_unmapped`] has ended.
    pub fn was_unmapped(&self, address: u64) -> bool {
        let state = self.state.read();
        state.unmapped.range(..=address).next_back().is_some_and(|(start, size)| address - start < *size)
    }

    /// True for addresses in registered memory of this device, or of another device that this one can
    /// access.
    pub fn is_registered(&self, address: u64) -> bool {
        match self.allocation_of(address) {
            Some(allocation) => allocation.kind == AllocationKind::Registered,
            None => self.elsewhere(address).is_some_and(|found| found.is_registered),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::own_mappings::mapping_at;
    use super::super::{Loss, Losses};
    use super::*;

    fn map(length: usize) -> u64 {
        let (access, flags) = (libc::PROT_READ | libc::PROT_WRITE, libc::MAP_PRIVATE | libc::MAP_ANONYMOUS);
        // SAFETY: a fresh anonymous mapping.
        let at = unsafe { libc::mmap(std::ptr::null_mut(), length, access, flags, -1, 0) };
        assert_ne!(at, libc::MAP_FAILED);
        at as u64
    }

    fn unmap(address: u64, length: usize) {
        // SAFETY: part of a mapping of `map` without other users.
        assert_eq!(unsafe { libc::munmap(address as *mut _, length) }, 0);
    }

    #[test]
    fn registered_memory_is_visible_until_unregistered() {
        let memory = Memory::new(1 << 30).unwrap();
        let mut host = vec![0u8; 64];
        let address = host.as_mut_ptr() as u64;
        memory.register_host(address, 64).unwrap();
        assert!(memory.check_range(address, 64).is_ok() && memory.is_registered(address + 63));
        assert_eq!(memory.register_host(address + 8, 8), Err(MemoryError::AlreadyRegistered(address + 8)));
        assert!(memory.end_unmapped().is_empty());
        memory.unregister_host(address).unwrap();
        assert!(memory.check_range(address, 1).is_err() && !memory.is_registered(address));
    }

    #[test]
    fn unmapping_one_page_ends_the_registration() {
        let memory = Memory::new(1 << 30).unwrap();
        let address = map(3 << 12);
        memory.register_host(address + 100, 2 << 12).unwrap();
        assert!(memory.end_unmapped().is_empty());
        unmap(address + (2 << 12), 1 << 12);
        let ended: Vec<_> = memory.end_unmapped().iter().map(|ended| (ended.address, ended.size)).collect();
        assert_eq!(ended, [(address + 100, 2 << 12)]);
        assert!(memory.check_range(address + 100, 1).is_err() && memory.was_unmapped(address + 100));
        assert!(memory.end_unmapped().is_empty() && !memory.was_unmapped(address + 99));
        memory.unregister_host(address + 100).unwrap();
        assert_eq!(memory.unregister_host(address + 100), Err(MemoryError::NotAllocated(address + 100)));
        unmap(address, 2 << 12);
    }

    #[test]
    fn unmapped_memory_can_be_registered_again() {
        let memory = Memory::new(1 << 30).unwrap();
        let address = map(1 << 12);
        memory.register_host(address, 1 << 12).unwrap();
        unmap(address, 1 << 12);
        assert_eq!(memory.end_unmapped().len(), 1);
        memory.register_host(address, 1 << 12).unwrap();
        assert!(!memory.was_unmapped(address) && memory.check_range(address, 1).is_ok());
    }

    #[test]
    fn touch_of_protected_memory_is_a_loss_and_keeps_rights() {
        let memory = Memory::new(1 << 30).unwrap();
        let address = map(3 << 12);
        memory.register_host(address, 3 << 12).unwrap();
        let before = Losses::now();
        memory.touch_registered(address + 8, 2 << 12, true);
        assert_eq!(before.since(), None);
        // SAFETY: part of a mapping of `map` without other users.
        assert_eq!(unsafe { libc::mprotect((address + (1 << 12)) as *mut _, 1 << 12, libc::PROT_READ) }, 0);
        memory.touch_registered(address, 3 << 12, false);
        assert_eq!(before.since(), None, "the memory is readable");
        memory.touch_registered(address, 3 << 12, true);
        assert_eq!(before.since(), Some(Loss::Protected(address + (1 << 12))));
        assert_eq!(memory.end_unmapped().len(), 1);
        let rights = mapping_at(address + (1 << 12)).map(|mapping| mapping.rights);
        assert_eq!(rights, Some(libc::PROT_READ));
        // The memory may be registered again, and nothing is lost of it.
        memory.unregister_host(address).unwrap();
        memory.register_host(address, 3 << 12).unwrap();
        assert!(memory.end_unmapped().is_empty());
        memory.unregister_host(address).unwrap();
        unmap(address, 3 << 12);
    }
}
