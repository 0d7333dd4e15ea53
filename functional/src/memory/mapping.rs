//! Addresses and memory apart: reserved ranges of addresses, and pages mapped into them (CUDA driver API, "Virtual Memory
//! Management"), or lent to and taken from other processes ("interprocess communication").
//!
//! Only a mapping that has access is a live allocation, so that a kernel's access to any other part of a reservation
//! is a fault like any other.

use std::io;
use std::sync::Arc;

use super::allocator::{Allocation, AllocationKind};
use super::arena::PAGE;
use super::pages::Pages;
use super::{Memory, MemoryError, State};

/// Pages mapped at an address.
#[derive(Debug, Clone)]
pub struct Mapping {
    /// First byte.
    pub address: u64,
    /// Bytes.
    pub size: u64,
    /// What is mapped.
    pub pages: Arc<Pages>,
    /// Where in the pages the mapping starts, bytes.
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

impl State {
    /// The mapping that holds an address.
    pub(super) fn mapping_at(&self, address: u64) -> Option<&Mapping> {
        let (_, mapping) = self.mappings.range(..=address).next_back()?;
        (address < mapping.end()).then_some(mapping)
    }

    /// The mappings that make up a range, which begins and ends with a mapping and has no gap.
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

    /// The reservation that holds a range.
    fn is_reserved(&self, start: u64, size: u64) -> bool {
        let Some(end) = start.checked_add(size) else { return false };
        let reservation = self.reservations.range(..=start).next_back();
        reservation.is_some_and(|(&address, &length)| end <= address + length)
    }

    /// Adds an allocation, which has room in the reserved range already.
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
    /// Makes pages that count as memory of the device; the size is rounded up to whole pages.
    pub fn create_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        let free = self.capacity.saturating_sub(self.used());
        let full = MemoryError::OutOfMemory { requested: size, free, total: self.capacity };
        if size > free {
            return Err(full);
        }
        let size = size.checked_next_multiple_of(PAGE).ok_or(full)?;
        Ok(Arc::new(Pages::anonymous(size).map_err(host)?.charged_to(Arc::clone(&self.used))))
    }

    /// Makes pages of the host's memory, which do not count.
    pub fn create_host_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        Ok(Arc::new(uncounted_pages(size)?.of_host()))
    }

    /// Makes pages that nobody touches, which do not count.
    pub fn create_untouched_pages(&self, size: u64) -> Result<Arc<Pages>, MemoryError> {
        uncounted_pages(size).map(Arc::new)
    }

    /// The pages of a live allocation of whole pages, so that another process can map them too. What is private to this
    /// process becomes shareable; nobody may write to the allocation meanwhile.
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
        // SAFETY: the bytes of a live allocation, which stays one while the lock is held.
        let bytes = unsafe { std::slice::from_raw_parts(address as *const u8, size as usize) };
        pages.write(bytes).map_err(host)?;
        // SAFETY: what lay there has been copied.
        unsafe { pages.show_at(address, 0, size) }.map_err(host)?;
        let mapping = Mapping { address, size, pages, offset: 0 };
        state.mappings.insert(address, mapping.clone());
        Ok(mapping)
    }

    /// Maps all of somebody else's pages at an address of their own, of which `size` bytes from `offset` on are an
    /// allocation of the kind; gives the allocation's address. [`Memory::free`] takes it back.
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
        // SAFETY: a free stretch holds nothing.
        if let Err(error) = unsafe { pages.show_at(base, first, length) } {
            state.free.give(base, length);
            return Err(host(error));
        }
        let mapping = Mapping { address: base, size: length, pages: Arc::clone(pages), offset: first };
        state.mappings.insert(base, mapping);
        let address = base + (offset - first);
        // The stretch taken starts with the mapping, not with the allocation.
        state.set_live(address, size, length, kind);
        Ok(address)
    }
}

/// Reservations.
impl Memory {
    /// Reserves addresses with nothing behind them, at the wanted address if that is free.
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

    /// Gives reserved addresses back, into which nothing is mapped.
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

    /// Maps pages into a reservation, where nothing is mapped yet. Nobody has access.
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
        // SAFETY: a reservation in which nothing is mapped holds nothing.
        unsafe { pages.show_at(address, offset, size) }.map_err(host)?;
        let mapping = Mapping { address, size, pages: Arc::clone(pages), offset };
        state.mappings.insert(address, mapping);
        Ok(())
    }

    /// Undoes [`Memory::map`] for the mappings that make up the range, and gives them.
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

    /// Lets the mappings that make up the range be accessed, or not.
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

    /// Refuses a range that mappings do not make up.
    pub fn check_mapped(&self, address: u64, size: u64) -> Result<(), MemoryError> {
        self.state.read().mappings_of(address, size).map(|_| ())
    }

    /// The mapping in a reservation that holds an address.
    pub fn mapping_of(&self, address: u64) -> Option<Mapping> {
        let state = self.state.read();
        let mapping = state.mapping_at(address)?;
        state.is_reserved(mapping.address, mapping.size).then(|| mapping.clone())
    }

    /// Takes every mapping out of its reservation and gives all reservations back.
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
    fn a_range_is_accessible_where_it_is_mapped_with_access_and_nowhere_else() {
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
    fn pages_of_the_host_are_seen_by_it_wherever_they_are_mapped() {
        let memory = memory();
        let range = memory.reserve(2 * UNIT, UNIT, 0).unwrap();
        memory.map(range, &memory.create_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        memory.map(range + UNIT, &memory.create_host_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        memory.set_access(range, 2 * UNIT, true).unwrap();
        let seen: Vec<_> = memory.allocations().iter().map(|found| found.kind.is_seen_by_host()).collect();
        assert_eq!(seen, [false, true]);
    }

    #[test]
    fn mappings_side_by_side_are_one_range() {
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
    fn what_is_written_through_one_mapping_is_read_through_the_other() {
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
    fn a_part_of_a_mapping_cannot_be_unmapped_nor_a_mapped_reservation_given_back() {
        let memory = memory();
        let range = memory.reserve(UNIT, UNIT, 0).unwrap();
        memory.map(range, &memory.create_pages(UNIT).unwrap(), 0, UNIT).unwrap();
        assert!(memory.unmap(range, UNIT / 2).is_err());
        assert_eq!(memory.give_back(range, UNIT), Err(MemoryError::StillMapped(range)));
    }

    #[test]
    fn a_shared_allocation_keeps_its_contents_and_is_private_again_when_it_is_taken_anew() {
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
