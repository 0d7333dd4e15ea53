//! Separation of addresses and memory: reserved addresses with mapped pages (CUDA driver API, "Virtual
//! Memory Management"), and pages shared with other processes ("interprocess communication").
//!
//! A mapping is a live allocation only while it has access. A kernel's access to any other part of a
//! reservation faults as usual.

use std::io;
use std::sync::Arc;

use super::allocator::{Allocation, AllocationKind};
use super::arena::PAGE;
use super::pages::Pages;
use super::{Allocations, Memory, MemoryError};

/// Pages mapped at an address.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// First address.
    pub address: u64,
    /// Size in bytes.
    pub size: u64,
    /// Mapped pages.
    pub pages: Arc<Pages>,
    /// Byte offset of the mapping in the pages.
    pub offset: u64,
}

impl Mapping {
    fn end(&self) -> u64 {
        self.address + self.size
    }
}

fn host(error: io::Error) -> MemoryError {
    MemoryError::Host(error.to_string())
}

fn beyond(start: u64, length: u64) -> MemoryError {
    MemoryError::OutOfRange { address: start, start, length }
}

fn uncounted_pages(size: u64) -> Result<Pages, MemoryError> {
    let size = size.checked_next_multiple_of(PAGE).ok_or(beyond(0, size))?;
    Pages::anonymous(size).map_err(host)
}

impl Allocations {
    /// Mapping that contains an address.
    pub(super) fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end()).then_some(mapping)
    }

    /// Mappings that exactly cover a range.
    fn mappings_of(&self, start: u64, size: u64) -> Result<Vec<Mapping>, MemoryError> {
        let end = start.checked_add(size).ok_or(beyond(start, size))?;
        let mut found = Vec::new();
        let mut at = start;
        while at < end {
            let mapping = self.mappings.get(&at).filter(|mapping| mapping.end() <= end);
            let mapping = mapping.ok_or(MemoryError::OutOfRange { address: at, start, length: size })?;
            at = mapping.end();
            found.push(mapping.clone());
        }
        Ok(found)
    }

    /// True if a reservation contains the range.
    fn is_reserved(&self, start: u64, size: u64) -> bool {
        let Some(end) = start.checked_add(size) else { return false };
        let reservation = self.reservations.range(..=start).next_back();
        reservation.is_some_and(|(&address, &length)| end <= address + length)
    }

    /// Adds an allocation, whose addresses were already taken.
    pub(super) fn set_live(&mut self, address: u64, size: u64, reserved: u64, kind: AllocationKind) {
        let serial = self.next_serial;
        self.next_serial += 1;
        let number = self.numbers.entry(kind).or_default();
        *number += 1;
        let number = *number;
        self.requests.add(kind, size);
        self.live.insert(address, Allocation { address, size, reserved, kind, serial, number, idle: false });
    }
}

/// Pages.
impl Memory {
    /// Creates pages that count as device memory; the size is rounded up to whole pages.
    pub fn create_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        let free = self.capacity.saturating_sub(self.used());
        let full = MemoryError::OutOfMemory { requested: size, free, total: self.capacity };
        if size > free {
            return Err(full);
        }
        let size = size.checked_next_multiple_of(PAGE).ok_or(full)?;
        Ok(Arc::new(Pages::anonymous(size).map_err(host)?.charged_to(Arc::clone(&self.used))))
    }

    /// Creates pages of host memory, which do not count.
    pub fn create_host_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        Ok(Arc::new(uncounted_pages(size)?.of_host()))
    }

    /// Creates pages that stay untouched and do not count.
    pub fn create_untouched_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        uncounted_pages(size).map(Arc::new)
    }

    /// Pages of a live allocation of whole pages, for mapping by another process. Private pages become
    /// shareable; no thread may write to them meanwhile.
    pub fn share(&self, address: u64) -> Result<Mapping, MemoryError> {
        let mut state = self.state.write();
        if let Some(mapping) = state.mapping_at(address) {
            return Ok(mapping.clone());
        }
        let Some(&allocation) = state.live.get(&address) else {
            return Err(MemoryError::NotAllocated(address));
        };
        let size = allocation.reserved;
        if size == 0 || !address.is_multiple_of(PAGE) || !size.is_multiple_of(PAGE) {
            return Err(MemoryError::NotAllocated(address));
        }
        let pages = Arc::new(Pages::anonymous(size).map_err(host)?);
        // SAFETY: the bytes belong to an allocation that stays live while the lock is held.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size as usize) };
        pages.write(bytes).map_err(host)?;
        // SAFETY: the old contents have been copied.
        unsafe { pages.show_at(address, 0, size) }.map_err(host)?;
        let mapping = Mapping { address, size, pages, offset: 0 };
        state.mappings.insert(address, mapping.clone());
        Ok(mapping)
    }

    /// Maps foreign pages at new addresses, with the `size` bytes from `offset` on as an allocation of this
    /// kind, and returns its address. [`Memory::free`] undoes the mapping.
    pub fn attach(
        &self,
        pages: &Arc<Pages>,
        offset: u64,
        size: u64,
        kind: AllocationKind,
    ) -> Result<u64, MemoryError> {
        let end = offset.checked_add(size).filter(|end| size > 0 && *end <= pages.size());
        end.ok_or(beyond(offset, size))?;
        let first = offset / PAGE * PAGE;
        let length = (offset - first + size).next_multiple_of(PAGE);
        let mut state = self.state.write();
        let base = state.free.take(length, super::LARGE_PAGE).ok_or(beyond(offset, size))?;
        // SAFETY: a free stretch has no contents.
        if let Err(error) = unsafe { pages.show_at(base, first, length) } {
            state.free.give(base, length);
            return Err(host(error));
        }
        let mapping = Mapping { address: base, size: length, pages: Arc::clone(pages), offset: first };
        state.mappings.insert(base, mapping);
        let address = base + (offset - first);
        // The stretch starts at the mapping, not at the allocation.
        state.set_live(address, size, length, kind);
        Ok(address)
    }
}

/// Reservations.
impl Memory {
    /// Reserves addresses without memory, at the wanted address if that is free.
    pub fn reserve(&self, size: u64, align: u64, wanted: u64) -> Result<u64, MemoryError> {
        if !align.is_power_of_two() {
            return Err(MemoryError::Alignment(align));
        }
        let full = MemoryError::OutOfMemory { requested: size, free: 0, total: self.arena.length() };
        let mut state = self.state.write();
        let there = wanted.is_multiple_of(align) && state.free.take_at(wanted, size);
        let address = if there { wanted } else { state.free.take(size, align).ok_or(full)? };
        state.reservations.insert(address, size);
        Ok(address)
    }

    /// Frees reserved addresses without mappings.
    pub fn give_back(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        let mut state = self.state.write();
        if state.reservations.get(&address) != Some(&size) {
            return Err(MemoryError::NotAllocated(address));
        }
        if state.mappings.range(address..address + size).next().is_some() {
            return Err(MemoryError::StillMapped(address));
        }
        state.reservations.remove(&address);
        state.free.give(address, size);
        Ok(())
    }

    /// Maps pages into an unmapped part of a reservation, without access.
    pub fn map(&self, address: u64, pages: &Arc<Pages>, offset: u64, size: u64) -> Result<(), MemoryError> {
        let end = offset.checked_add(size).filter(|end| size > 0 && *end <= pages.size());
        end.ok_or(beyond(offset, size))?;
        let mut state = self.state.write();
        if !state.is_reserved(address, size) {
            return Err(beyond(address, size));
        }
        if state.mappings.range(..address + size).next_back().is_some_and(|(_, last)| last.end() > address) {
            return Err(MemoryError::StillMapped(address));
        }
        // SAFETY: a reservation without mappings has no contents.
        unsafe { pages.show_at(address, offset, size) }.map_err(host)?;
        let mapping = Mapping { address, size, pages: Arc::clone(pages), offset };
        state.mappings.insert(address, mapping);
        Ok(())
    }

    /// Removes the mappings that exactly cover the range and returns them.
    pub fn unmap(&self, address: u64, size: u64) -> Result<Vec<Mapping>, MemoryError> {
        let mut state = self.state.write();
        if !state.is_reserved(address, size) {
            return Err(beyond(address, size));
        }
        let mappings = state.mappings_of(address, size)?;
        for mapping in &mappings {
            self.arena.clear(mapping.address, mapping.size).map_err(host)?;
            state.mappings.remove(&mapping.address);
            state.live.remove(&mapping.address);
        }
        Ok(mappings)
    }

    /// Allows or forbids access to the mappings that exactly cover the range.
    pub fn set_access(&self, address: u64, size: u64, access: bool) -> Result<(), MemoryError> {
        let mut state = self.state.write();
        if !state.is_reserved(address, size) {
            return Err(beyond(address, size));
        }
        for mapping in state.mappings_of(address, size)? {
            if !access {
                state.live.remove(&mapping.address);
            } else if !state.live.contains_key(&mapping.address) {
                let of_host = mapping.pages.is_of_host();
                let kind = if of_host { AllocationKind::MappedHost } else { AllocationKind::Mapped };
                state.set_live(mapping.address, mapping.size, mapping.size, kind);
            }
        }
        Ok(())
    }

    /// Checks that mappings exactly cover the range.
    pub fn check_mapped(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        self.state.read().mappings_of(address, size).map(|_| ())
    }

    /// Mapping in a reservation that contains an address.
    pub fn mapping_of(&self, address: u64) -> Option<Mapping> {
        let state = self.state.read();
        let mapping = state.mapping_at(address)?;
        state.is_reserved(mapping.address, mapping.size).then(|| mapping.clone())
    }

    /// Removes all mappings and frees all reservations.
    pub fn give_back_everything(&self) -> Result<(), MemoryError> {
        let reservations: Vec<(u64, u64)> =
            self.state.read().reservations.iter().map(|(&address, &size)| (address, size)).collect();
        for (address, size) in reservations {
            let starts: Vec<(u64, u64)> = {
                let state = self.state.read();
                state
                    .mappings
                    .range(address..address + size)
                    .map(|(&at, mapping)| (at, mapping.size))
                    .collect()
            };
            for (at, length) in starts {
                self.unmap(at, length)?;
            }
            self.give_back(address, size)?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const UNIT: u64 = 2 << 20;

    fn memory() -> Memory {
        Memory::new(1 << 30).unwrap()
    }

    #[test]
    fn only_mapped_ranges_with_access_are_accessible() {
        let memory = memory();
        let range = memory.reserve(4 * UNIT, UNIT, 0).unwrap();
        let pages = memory.create_pages(UNIT).unwrap();
        memory.map(range + UNIT, &pages, 0, UNIT).unwrap();
        assert!(memory.check_range(range + UNIT, 1).is_err());
        memory.set_access(range + UNIT, UNIT, true).unwrap();
        assert!(memory.check_range(range + UNIT, UNIT).is_ok());
        assert!(memory.check_range(range + UNIT - 1, 2).is_err());
        assert!(memory.check_range(range + 2 * UNIT, 1).is_err());
        memory.set_access(range + UNIT, UNIT, false).unwrap();
        assert!(memory.check_range(range + UNIT, 1).is_err());
    }

    #[test]
    fn mapped_host_pages_are_visible_to_the_host() {
        let memory = memory();
        let range = memory.reserve(2 * UNIT, UNIT, 0).unwrap();
        memory.map(range, &memory.create_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        memory.map(range + UNIT, &memory.create_host_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        memory.set_access(range, 2 * UNIT, true).unwrap();
        let seen: Vec<_> = memory.allocations().iter().map(|found| found.kind.is_seen_by_host()).collect();
        assert_eq!(seen, [false, true]);
    }

    #[test]
    fn adjacent_mappings_form_one_range() {
        let memory = memory();
        let range = memory.reserve(2 * UNIT, UNIT, 0).unwrap();
        for at in [range, range + UNIT] {
            memory.map(at, &memory.create_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        }
        memory.set_access(range, 2 * UNIT, true).unwrap();
        assert!(memory.check_range(range, 2 * UNIT).is_ok());
        assert!(memory.check_range(range, 2 * UNIT + 1).is_err());
    }

    #[test]
    fn mappings_of_the_same_pages_alias() {
        let memory = memory();
        let range = memory.reserve(2 * UNIT, UNIT, 0).unwrap();
        let pages = memory.create_pages(UNIT).unwrap();
        for at in [range, range + UNIT] {
            memory.map(at, &pages, 0, UNIT).unwrap();
        }
        memory.set_access(range, 2 * UNIT, true).unwrap();
        memory.write(range + 5, b"volta").unwrap();
        let mut bytes = [0; 5];
        memory.read(range + UNIT + 5, &mut bytes).unwrap();
        assert_eq!(&bytes, b"volta");
    }

    #[test]
    fn pages_count_until_the_last_mapping_has_gone() {
        let memory = memory();
        let range = memory.reserve(UNIT, UNIT, 0).unwrap();
        let pages = memory.create_pages(UNIT).unwrap();
        memory.map(range, &pages, 0, UNIT).unwrap();
        drop(pages);
        assert_eq!(memory.used(), UNIT);
        memory.unmap(range, UNIT).unwrap();
        assert_eq!(memory.used(), 0);
        memory.give_back(range, UNIT).unwrap();
        assert_eq!(memory.reserve(UNIT, UNIT, range), Ok(range));
    }

    #[test]
    fn partial_unmap_and_mapped_reservation_free_fail() {
        let memory = memory();
        let range = memory.reserve(UNIT, UNIT, 0).unwrap();
        memory.map(range, &memory.create_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        assert!(memory.unmap(range, UNIT / 2).is_err());
        assert_eq!(memory.give_back(range, UNIT), Err(MemoryError::StillMapped(range)));
    }

    #[test]
    fn shared_allocations_keep_contents_and_free_to_private() {
        let memory = memory();
        let address = memory.allocate(5000, 1, AllocationKind::Device).unwrap();
        memory.write(address, &[7; 5000]).unwrap();
        let mapping = memory.share(address).unwrap();
        let there = memory.attach(&mapping.pages, mapping.offset, 5000, AllocationKind::Imported).unwrap();
        memory.write(address, b"volta").unwrap();
        let mut bytes = [0; 6];
        memory.read(there, &mut bytes).unwrap();
        assert_eq!(&bytes, b"volta\x07");
        memory.free(address).unwrap();
        memory.read(there, &mut bytes).unwrap();
        assert_eq!(&bytes, b"volta\x07");
        memory.free(there).unwrap();
        let again = memory.allocate(5000, 1, AllocationKind::Device).unwrap();
        memory.read(again, &mut bytes).unwrap();
        assert_eq!((again, bytes), (address, [0; 6]));
    }
}
