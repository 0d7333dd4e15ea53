//! Allocator of the reserved range: live allocations and a first-fit free list.
//!
//! First fit by address makes addresses depend on the sequence of calls alone, which resumption needs.
//! Kernels allocate at any moment between the program's calls, so their memory comes from the other end. In
//! timed launches each SM has its own area there, because SMs run in any order.

use std::collections::BTreeMap;
use std::ops::Range;

use serde::{Deserialize, Serialize};

/// Owner of an allocation, which decides who may access it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum AllocationKind {
    /// `cudaMalloc` and its variants.
    Device,
    /// Texels of an array (`cudaMallocArray` and its variants), whose address programs do not see.
    Array,
    /// `cudaMallocManaged`.
    Managed,
    /// Pinned host memory (`cudaHostAlloc`), which is no device memory.
    Host,
    /// The program's own memory (`cudaHostRegister`).
    Registered,
    /// Variables of a module.
    Module,
    /// Device-side `malloc`.
    Heap,
    /// Parameters of a launch.
    Parameters,
    /// Pages mapped into reserved addresses (`cuMemMap`); they count as memory where they were created.
    Mapped,
    /// Host pages mapped into reserved addresses.
    MappedHost,
    /// Pages from elsewhere, such as another process.
    Imported,
}

impl AllocationKind {
    /// True if the allocation counts as device memory.
    pub fn is_device(self) -> bool {
        matches!(
            self,
            AllocationKind::Device | AllocationKind::Array | AllocationKind::Managed | AllocationKind::Module
        )
    }

    /// True if the program's host code can access the allocation.
    pub fn is_seen_by_host(self) -> bool {
        matches!(
            self,
            AllocationKind::Managed
                | AllocationKind::Host
                | AllocationKind::Registered
                | AllocationKind::MappedHost
        )
    }

    /// True if kernels allocate such memory, as opposed to API calls.
    pub fn is_of_kernels(self) -> bool {
        matches!(self, AllocationKind::Heap | AllocationKind::Parameters)
    }

    /// True if the allocation lies in reserved addresses.
    pub fn is_mapping(self) -> bool {
        matches!(self, AllocationKind::Mapped | AllocationKind::MappedHost)
    }

    /// True if an address alone suffices to free the allocation.
    pub(super) fn is_freed(self) -> bool {
        self != AllocationKind::Registered && !self.is_mapping()
    }
}

/// A live allocation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Allocation {
    /// First address.
    pub address: u64,
    /// Requested bytes.
    pub size: u64,
    /// Bytes of the reserved range.
    pub reserved: u64,
    /// Owner.
    pub kind: AllocationKind,
    /// Serial number of the allocation, from 1.
    pub serial: u64,
    /// Number among the allocations of its kind, from 1. For kinds that API calls allocate, the number is
    /// equal in every run with the same calls.
    pub number: u64,
    /// True if the allocation keeps its addresses but has no contents and does not count.
    pub idle: bool,
}

impl Allocation {
    /// End address.
    pub fn end(&self) -> u64 {
        self.address + self.size
    }

    /// Bytes that count as device memory.
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

    /// Takes the first stretch with `size` bytes at the alignment.
    pub(super) fn take(&mut self, size: u64, align: u64) -> Option<u64> {
        let (start, length, address) = self.stretches.iter().find_map(|(&start, &length)| {
            let address = start.checked_next_multiple_of(align)?;
            let used = (address - start).checked_add(size)?;
            (used <= length).then_some((start, length, address))
        })?;
        self.cut(start, start + length, address, size);
        Some(address)
    }

    /// Takes the last `size` bytes in a range at the alignment, a power of two.
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

    /// Takes the stretch at an address, if it is entirely free.
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

    /// Frees a stretch and merges it with free neighbours.
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

    /// Free stretch that contains `address`: (start, end).
    pub(super) fn around(&self, address: u64) -> Option<(u64, u64)> {
        let (&start, &length) = self.stretches.range(..=address).next_back()?;
        (address < start + length).then_some((start, start + length))
    }
}
