//! Which parts of the reserved range are taken: allocations, and a first-fit list of free stretches.
//!
//! First fit by address makes addresses a function of the sequence of calls alone, which resuming relies on. What kernels
//! take while they run comes from the other end, since it may come at any moment between the program's calls; in timed launches each SM
//! has an area of its own there, since SMs run in any order.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Who asked for memory, and so who may touch it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AllocationKind {
    /// `cudaMalloc` and its kin.
    Device,
    /// Texels of an array (`cudaMallocArray` and its kin); programs do not see the address.
    Array,
    /// `cudaMallocManaged`.
    Managed,
    /// Pinned host memory (`cudaHostAlloc`), not counted as device memory.
    Host,
    /// The program's own memory, registered (`cudaHostRegister`).
    Registered,
    /// A module's variables.
    Module,
    /// `malloc` on the device.
    Heap,
    /// Parameters of a launch.
    Parameters,
    /// Pages mapped into reserved addresses (`cuMemMap`), which count where they were made.
    Mapped,
    /// Pages of the host's memory mapped so.
    MappedHost,
    /// Pages that something else has made, such as another process.
    Imported,
}

impl AllocationKind {
    /// Does it take room on the device?
    pub fn is_device(self) -> bool {
        matches!(
            self,
            AllocationKind::Device | AllocationKind::Array | AllocationKind::Managed | AllocationKind::Module
        )
    }

    /// Does the program's own code reach it like any of its memory?
    pub fn is_seen_by_host(self) -> bool {
        matches!(
            self,
            AllocationKind::Managed
                | AllocationKind::Host
                | AllocationKind::Registered
                | AllocationKind::MappedHost
        )
    }

    /// Do kernels take it while they run, rather than calls of the program?
    pub fn is_of_kernels(self) -> bool {
        matches!(self, AllocationKind::Heap | AllocationKind::Parameters)
    }

    /// Does it lie in reserved addresses?
    pub fn is_mapping(self) -> bool {
        matches!(self, AllocationKind::Mapped | AllocationKind::MappedHost)
    }

    /// Is it freed by its address alone?
    pub(super) fn is_freed(self) -> bool {
        self != AllocationKind::Registered && !self.is_mapping()
    }
}

/// A live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// First byte.
    pub address: u64,
    /// Bytes asked for.
    pub size: u64,
    /// Bytes taken from the reserved range.
    pub reserved: u64,
    /// Who asked.
    pub kind: AllocationKind,
    /// Counts allocations from 1.
    pub serial: u64,
    /// Counts allocations of its kind from 1: of a kind that calls of the program ask for, the same in each run that makes the same
    /// calls, wherever it lies.
    pub number: u64,
    /// It takes no room at present and holds nothing, though its addresses are taken.
    pub idle: bool,
}

impl Allocation {
    /// The byte after the last one.
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Bytes of the device that it takes.
    pub(super) fn charged(&self) -> u64 {
        if self.kind.is_device() && !self.idle { self.size } else { 0 }
    }
}

/// Free stretches of the reserved range, by address.
#[derive(Debug)]
pub(super) struct FreeList {
    stretches: BTreeMap<u64, u64>,
}

impl FreeList {
    pub(super) fn new(start: u64, length: u64) -> FreeList {
        FreeList { stretches: BTreeMap::from([(start, length)]) }
    }

    /// Takes the first stretch that holds `size` bytes at the alignment.
    pub(super) fn take(&mut self, size: u64, align: u64) -> Option<u64> {
        let (start, length, address) = self.stretches.iter().find_map(|(&start, &length)| {
            let address = start.checked_next_multiple_of(align)?;
            let used = (address - start).checked_add(size)?;
            (used <= length).then_some((start, length, address))
        })?;
        self.cut(start, start + length, address, size);
        Some(address)
    }

    /// Takes the end of the last stretch that holds `size` bytes at the alignment, a power of two, in a range.
    pub(super) fn take_last(&mut self, within: &Range<u64>, size: u64, align: u64) -> Option<u64> {
        let reaching = self.stretches.range(..within.end).rev();
        let mut reaching = reaching.take_while(|(start, length)| **start + **length > within.start);
        let (start, end, address) = reaching.find_map(|(&start, &length)| {
            let end = start + length;
            let address = end.min(within.end).checked_sub(size)? & !(align - 1);
            (address >= start.max(within.start)).then_some((start, end, address))
        })?;
        self.cut(start, end, address, size);
        Some(address)
    }

    /// Takes the stretch at an address, if all of it is free.
    pub(super) fn take_at(&mut self, address: u64, size: u64) -> bool {
        let Some((start, end)) = self.around(address) else { return false };
        if size > end - address {
            return false;
        }
        self.cut(start, end, address, size);
        true
    }

    /// Takes a part of a free stretch.
    fn cut(&mut self, start: u64, end: u64, address: u64, size: u64) {
        self.stretches.remove(&start);
        if address > start {
            self.stretches.insert(start, address - start);
        }
        if address + size < end {
            self.stretches.insert(address + size, end - (address + size));
        }
    }

    /// Gives a stretch back, joined with its free neighbours.
    pub(super) fn give(&mut self, address: u64, size: u64) {
        let mut start = address;
        let mut length = size;
        if let Some((&before, &before_length)) = self.stretches.range(..address).next_back()
            && before + before_length == address
        {
            self.stretches.remove(&before);
            start = before;
            length += before_length;
        }
        if let Some(after_length) = self.stretches.remove(&(address + size)) {
            length += after_length;
        }
        self.stretches.insert(start, length);
    }

    /// The free stretch that holds `address`: (start, end).
    pub(super) fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &length) = self.stretches.range(..=address).next_back()?;
        (address < start + length).then_some((start, start + length))
    }
}
