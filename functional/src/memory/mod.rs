//! Device memory: one reserved range of host addresses, in which a device address *is* the host address.
//!
//! Every access of a kernel is checked exactly against the live allocations. The check compares with the
//! range of a cached allocation, so a valid access costs next to nothing.

mod allocator;
mod arena;
mod claimed;
mod lost_pages;
mod mapping;
mod multicast;
mod own_mappings;
mod pages;
mod registered;
mod requests;
mod retired;
mod saved;

pub use allocator::{Allocation, AllocationKind};
pub use lost_pages::{Loss, Losses};
pub(crate) use lost_pages::{code_begins, code_ends};
pub use mapping::Mapping;
pub use multicast::FindReplicas;
pub use pages::{FileIdentity, Pages};
pub use requests::{OtherRequest, Requests};
pub use saved::{MemoryState, RestoreError};

use std::collections::BTreeMap;
use std::fmt;
use std::ops::Range;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use parking_lot::RwLock;

use allocator::FreeList;
use arena::{Arena, LARGE_PAGE, PAGE};
use retired::Retired;

/// Alignment guaranteed by `cudaMalloc` (CUDA programming guide, device memory accesses).
pub const ALLOCATION_ALIGNMENT: u64 = 256;

/// Bytes of the address windows of local memory, of a CTA's shared memory, and of code.
pub const WINDOW_SIZE: u64 = 1 << 24;

/// Windows of a cluster's shared memory: the CTA's own, and one for each CTA of the cluster.
pub const CLUSTER_WINDOWS: u64 = 1 + 16;

/// Windows follow each other from the second on, and memory follows the windows.
const LOCAL_WINDOW: u64 = 1;
const CODE_WINDOW: u64 = 2;
const SHARED_WINDOW: u64 = 3;
const FIRST_OF_MEMORY: u64 = SHARED_WINDOW + CLUSTER_WINDOWS;

/// Bytes of reserved address space.
const RESERVED: u64 = 1 << 40;

/// Areas at the end of the reserved range for the SMs of timed launches: maximum number, and maximum bytes
/// of each.
const AREAS: u64 = 256;
const AREA: u64 = 1 << 30;

/// Reason for which device memory could not serve a request.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum MemoryError {
    /// The device is full.
    #[error("out of device memory: {requested} bytes requested, {free} of {total} free")]
    OutOfMemory {
        /// Requested bytes.
        requested: u64,
        /// Free bytes.
        free: u64,
        /// Bytes of the device.
        total: u64,
    },
    /// Alignment that is no power of two.
    #[error("alignment {0} is not a power of two")]
    Alignment(u64),
    /// Address that is not the start of a live allocation.
    #[error("{0:#x} is not the start of an allocation")]
    NotAllocated(u64),
    /// Range with a byte outside of every allocation.
    #[error("{address:#x} (of {length} bytes from {start:#x}) is outside every allocation")]
    OutOfRange {
        /// First invalid address.
        address: u64,
        /// Start of the range.
        start: u64,
        /// Length of the range in bytes.
        length: u64,
    },
    /// Host range that overlaps a registered one.
    #[error("host memory at {0:#x} is already registered")]
    AlreadyRegistered(u64),
    /// Range that contains mapped memory.
    #[error("memory is mapped at {0:#x}")]
    StillMapped(u64),
    /// The host provided no address space or pages.
    #[error("the host refused memory: {0}")]
    Host(String),
}

/// First address of machine code, outside of the device addresses that a host allocates.
const CODE_START: u64 = 1 << 45;

/// Memory of one device.
#[derive(Debug)]
pub struct Memory {
    arena: Arena,
    capacity: u64,
    used: Arc<AtomicU64>,
    functions: AtomicU64,
    /// Bytes of machine code that have a place.
    code: AtomicU64,
    state: RwLock<Allocations>,
    elsewhere: OnceLock<Elsewhere>,
    multicast: OnceLock<multicast::Multicast>,
    /// True to delay the reuse of freed addresses.
    keeps_freed: AtomicBool,
}

/// Accessible memory of another device.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct AccessibleRange {
    /// First address.
    pub start: u64,
    /// End address.
    pub end: u64,
    /// True for memory of the program that is registered with the other device.
    pub is_registered: bool,
}

/// Looks up accessible memory of other devices.
pub type FindElsewhere = Box<dyn Fn(u64) -> Option<AccessibleRange> + Send + Sync>;

struct Elsewhere(FindElsewhere);

impl fmt::Debug for Elsewhere {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Elsewhere")
    }
}

#[derive(Debug)]
struct Allocations {
    free: FreeList,
    live: BTreeMap<u64, Allocation>,
    next_serial: u64,
    /// Number of allocations so far, by kind.
    numbers: BTreeMap<AllocationKind, u64>,
    requests: Requests,
    /// Reserved address ranges: start and size.
    reservations: BTreeMap<u64, u64>,
    /// Foreign pages mapped into the arena, by address.
    mappings: BTreeMap<u64, Mapping>,
    /// Freed addresses that are not reused yet.
    retired: Retired,
    /// Registered memory of the program: start and size.
    registered: BTreeMap<u64, u64>,
    /// Registered memory that the program has unmapped: start and size.
    unmapped: BTreeMap<u64, u64>,
    /// Addresses claimed for memory of another process.
    claimed: Vec<Range<u64>>,
}

impl Memory {
    /// Reserves address space for a device with `capacity` bytes.
    pub fn new(capacity: u64) -> Result<Memory, MemoryError> {
        let arena = Arena::reserve(RESERVED).map_err(|error| MemoryError::Host(error.to_string()))?;
        let heap = arena.base() + FIRST_OF_MEMORY * WINDOW_SIZE;
        let free = FreeList::new(heap, arena.base() + arena.length() - heap);
        let state = Allocations {
            free,
            live: BTreeMap::new(),
            next_serial: 1,
            numbers: BTreeMap::new(),
            requests: Requests::default(),
            reservations: BTreeMap::new(),
            mappings: BTreeMap::new(),
            retired: Retired::default(),
            registered: BTreeMap::new(),
            unmapped: BTreeMap::new(),
            claimed: Vec::new(),
        };
        Ok(Memory {
            arena,
            capacity,
            used: Arc::default(),
            functions: AtomicU64::new(0),
            code: AtomicU64::new(0),
            state: RwLock::new(state),
            elsewhere: OnceLock::new(),
            multicast: OnceLock::new(),
            keeps_freed: AtomicBool::new(false),
        })
    }

    /// Sets the lookup for addresses that are not allocated here; callable once.
    pub fn look_elsewhere(&self, find: FindElsewhere) {
        let _ = self.elsewhere.set(Elsewhere(find));
    }

    fn elsewhere(&self, address: u64) -> Option<AccessibleRange> {
        self.elsewhere.get().and_then(|elsewhere| (elsewhere.0)(address))
    }

    /// Generic address of the first byte of shared memory: the CTA's own window, followed by its cluster's.
    pub fn shared_window(&self) -> u64 {
        self.window(SHARED_WINDOW)
    }

    /// Generic address of the first byte of local memory.
    pub fn local_window(&self) -> u64 {
        self.window(LOCAL_WINDOW)
    }

    /// True for an address in a window, which no allocation contains.
    #[inline(always)]
    pub(crate) fn is_in_window(&self, address: u64) -> bool {
        address.wrapping_sub(self.local_window()) < (FIRST_OF_MEMORY - LOCAL_WINDOW) * WINDOW_SIZE
    }

    fn window(&self, number: u64) -> u64 {
        self.arena.base() + number * WINDOW_SIZE
    }

    /// Allocates a function address: inside the reserved range, outside of every allocation, unique.
    pub fn next_code_address(&self) -> u64 {
        let number = self.functions.fetch_add(1, Ordering::Relaxed);
        self.window(CODE_WINDOW) + 16 * (number % (WINDOW_SIZE / 16))
    }

    /// Allocates addresses for so many bytes of machine code, which the timing model sees.
    pub(crate) fn place_code(&self, bytes: u64) -> u64 {
        CODE_START + self.code.fetch_add(bytes, Ordering::Relaxed)
    }

    /// True for addresses that [`Memory::next_code_address`] may return.
    pub fn is_code_address(&self, address: u64) -> bool {
        address.wrapping_sub(self.window(CODE_WINDOW)) < WINDOW_SIZE && address.is_multiple_of(16)
    }

    /// Bytes of the device.
    pub fn capacity(&self) -> u64 {
        self.capacity
    }

    /// Allocated bytes on the device, without host memory.
    pub fn used(&self) -> u64 {
        self.used.load(Ordering::Relaxed)
    }

    /// Allocates `size` zero bytes aligned to `align`.
    pub fn allocate(&self, size: u64, align: u64, kind: AllocationKind) -> Result<u64, MemoryError> {
        self.allocate_on(None, size, align, kind)
    }

    /// [`Memory::allocate`] for a kernel on SM `sm`, if known. Addresses are independent of other SMs while
    /// the SM's area has room and no other SM frees memory in it.
    pub(crate) fn allocate_on(
        &self,
        sm: Option<u32>,
        size: u64,
        align: u64,
        kind: AllocationKind,
    ) -> Result<u64, MemoryError> {
        if !align.is_power_of_two() {
            return Err(MemoryError::Alignment(align));
        }
        let mut state = self.state.write();
        let charged = if kind.is_device() { size } else { 0 };
        let free = self.capacity.saturating_sub(self.used());
        let full = MemoryError::OutOfMemory { requested: size, free, total: self.capacity };
        if charged > free {
            return Err(full);
        }
        let unit = unit(size, kind);
        let reserved = size.max(1).checked_next_multiple_of(unit).ok_or(full.clone())?;
        let align = align.max(unit);
        let taken = match kind.is_of_kernels() {
            true => {
                let area = sm.and_then(|sm| state.free.take_last(&self.area(sm), reserved, align));
                area.or_else(|| state.free.take_last(&(0..u64::MAX), reserved, align))
            }
            false => state.free.take(reserved, align),
        };
        let address = taken.ok_or(full)?;
        if unit == LARGE_PAGE {
            self.arena.prefer_large_pages(address, reserved);
        }
        self.used.fetch_add(charged, Ordering::Relaxed);
        state.set_live(address, size, reserved, kind);
        Ok(address)
    }

    /// Area of an SM in timed launches.
    fn area(&self, sm: u32) -> Range<u64> {
        let size = AREA.min(self.arena.length() / 2 / AREAS);
        let end = self.arena.base() + self.arena.length() - u64::from(sm) % AREAS * size;
        end - size..end
    }

    /// Allocates `size` zero bytes at a former address of this kind, which does not count as device memory.
    /// Returns `false` if part of it is taken.
    pub(crate) fn allocate_again(&self, address: u64, size: u64, kind: AllocationKind) -> bool {
        let unit = unit(size, kind);
        let Some(reserved) = size.max(1).checked_next_multiple_of(unit) else { return false };
        let mut state = self.state.write();
        if !address.is_multiple_of(unit) || !state.free.take_at(address, reserved) {
            return false;
        }
        state.set_live(address, size, reserved, kind);
        true
    }

    /// Frees the allocation that starts at `address`.
    pub fn free(&self, address: u64) -> Result<Allocation, MemoryError> {
        let mut state = self.state.write();
        let allocation = match state.live.get(&address) {
            Some(allocation) if allocation.kind.is_freed() => *allocation,
            _ => return Err(MemoryError::NotAllocated(address)),
        };
        state.live.remove(&address);
        let start = if allocation.kind == AllocationKind::Imported { address / PAGE * PAGE } else { address };
        let cleared = if state.mappings.remove(&start).is_some() {
            self.arena.clear(start, allocation.reserved)
        } else {
            Ok(())
        };
        cleared
            .and_then(|()| self.give_addresses(&mut state, start, allocation.reserved))
            .map_err(|error| MemoryError::Host(error.to_string()))?;
        self.used.fetch_sub(allocation.charged(), Ordering::Relaxed);
        Ok(allocation)
    }

    /// Makes an allocation of [`AllocationKind::Device`] idle, which drops its contents and its charge but
    /// keeps its addresses, or active again.
    pub fn set_idle(&self, address: u64, idle: bool) -> Result<(), MemoryError> {
        let mut state = self.state.write();
        let free = self.capacity.saturating_sub(self.used());
        let allocation = state.live.get_mut(&address).filter(|found| found.kind == AllocationKind::Device);
        let allocation = allocation.ok_or(MemoryError::NotAllocated(address))?;
        let (before, reserved) = (allocation.charged(), allocation.reserved);
        let wanted = if idle { 0 } else { allocation.size };
        if wanted > free + before {
            return Err(MemoryError::OutOfMemory { requested: wanted, free, total: self.capacity });
        }
        allocation.idle = idle;
        self.used.fetch_add(wanted, Ordering::Relaxed);
        self.used.fetch_sub(before, Ordering::Relaxed);
        if !idle {
            return Ok(());
        }
        let cleared = match state.mappings.remove(&address) {
            Some(_) => self.arena.clear(address, reserved),
            None => self.arena.discard(address, reserved),
        };
        cleared.map_err(|error| MemoryError::Host(error.to_string()))
    }

    /// Live allocation that contains `address`.
    pub fn allocation_of(&self, address: u64) -> Option<Allocation> {
        let state = self.state.read();
        let (_, allocation) = state.live.range(..=address).next_back()?;
        (address < allocation.end() || (allocation.size == 0 && address == allocation.address))
            .then_some(*allocation)
    }

    /// Allocations requested by API calls so far.
    pub fn requests(&self) -> Requests {
        self.state.read().requests.clone()
    }

    /// All live allocations, by address.
    pub fn allocations(&self) -> Vec<Allocation> {
        self.state.read().live.values().copied().collect()
    }

    /// Accessible range around an address in a live allocation: the allocation, with adjacent mappings if
    /// it is one. The memory may belong to another device.
    pub fn accessible_around(&self, address: u64) -> Option<(u64, u64)> {
        let Some(allocation) = self.allocation_of(address) else {
            return self.elsewhere(address).map(|found| (found.start, found.end));
        };
        let mut end = allocation.end();
        if allocation.kind.is_mapping() {
            let state = self.state.read();
            while let Some(next) = state.live.get(&end).filter(|next| next.kind.is_mapping()) {
                end = next.end();
            }
        }
        Some((allocation.address, end))
    }

    /// Checks that the whole range is allocated, in one allocation or in adjacent mappings.
    pub fn check_range(&self, start: u64, length: u64) -> Result<(), MemoryError> {
        if length == 0 {
            return Ok(());
        }
        let end =
            start.checked_add(length).ok_or(MemoryError::OutOfRange { address: start, start, length })?;
        match self.accessible_around(start) {
            Some((_, last)) if end <= last => Ok(()),
            Some((_, last)) => Err(MemoryError::OutOfRange { address: last, start, length }),
            None => Err(MemoryError::OutOfRange { address: start, start, length }),
        }
    }

    /// True for an address in the reserved range, which is never a host pointer of the program.
    pub fn owns(&self, address: u64) -> bool {
        address.wrapping_sub(self.arena.base()) < self.arena.length()
    }

    /// Copies `bytes` to device memory at `address`.
    pub fn write(&self, address: u64, bytes: &[u8]) -> Result<(), MemoryError> {
        self.check_range(address, bytes.len() as u64)?;
        // SAFETY: the range lies in one live allocation, inside the mapped range.
        unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), address as *mut u8, bytes.len()) };
        Ok(())
    }

    /// Copies device memory at `address` to `bytes`.
    pub fn read(&self, address: u64, bytes: &mut [u8]) -> Result<(), MemoryError> {
        self.check_range(address, bytes.len() as u64)?;
        // SAFETY: as in `write`; the destination is an exclusive slice.
        unsafe { std::ptr::copy_nonoverlapping(address as *const u8, bytes.as_mut_ptr(), bytes.len()) };
        Ok(())
    }
}

/// Granularity and minimum alignment of an allocation, bytes.
fn unit(size: u64, kind: AllocationKind) -> u64 {
    match kind {
        _ if size >= LARGE_PAGE => LARGE_PAGE,
        // Another process may map the allocation, page by page.
        AllocationKind::Device => PAGE,
        _ => ALLOCATION_ALIGNMENT,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn memory() -> Memory {
        Memory::new(1 << 30).unwrap()
    }

    #[test]
    fn sm_allocations_are_independent_of_other_sms() {
        let sizes = [(3, 100), (5, 5 << 20), (3, 300), (0, 1), (5, 70)];
        let addresses = |order: [usize; 5]| {
            let memory = memory();
            let mut addresses = [0; 5];
            for index in order {
                let (sm, size) = sizes[index];
                let address = memory.allocate_on(Some(sm), size, 16, AllocationKind::Heap).unwrap();
                addresses[index] = address - memory.arena.base();
            }
            addresses
        };
        assert_eq!(addresses([0, 1, 2, 3, 4]), addresses([1, 3, 4, 0, 2]));
    }

    #[test]
    fn sm_with_full_area_allocates_elsewhere() {
        let memory = memory();
        let [first, second] =
            [(); 2].map(|()| memory.allocate_on(Some(2), AREA / 4 * 3, 16, AllocationKind::Heap).unwrap());
        let area = memory.area(2);
        assert!(area.contains(&first) && !area.contains(&second));
    }

    #[test]
    fn idle_allocations_keep_only_their_addresses() {
        let memory = Memory::new(1 << 20).unwrap();
        let address = memory.allocate(1 << 19, 1, AllocationKind::Device).unwrap();
        memory.write(address, &[7]).unwrap();
        memory.set_idle(address, true).unwrap();
        assert_eq!(memory.used(), 0);
        let other = memory.allocate(1 << 20, 1, AllocationKind::Device).unwrap();
        assert!(other >= address + (1 << 19));
        assert!(matches!(memory.set_idle(address, false), Err(MemoryError::OutOfMemory { .. })));
        memory.free(other).unwrap();
        memory.set_idle(address, false).unwrap();
        let mut byte = [1];
        memory.read(address, &mut byte).unwrap();
        assert_eq!((byte, memory.used()), ([0], 1 << 19));
        memory.set_idle(address, true).unwrap();
        memory.free(address).unwrap();
        assert_eq!(memory.used(), 0);
    }

    #[test]
    fn allocations_are_numbered_per_kind() {
        let memory = memory();
        let number = |address| memory.allocation_of(address).map(|found| found.number);
        let first = memory.allocate(100, 1, AllocationKind::Device).unwrap();
        memory.allocate(100, 1, AllocationKind::Heap).unwrap();
        memory.register_host(0x1000, 100).unwrap();
        memory.free(first).unwrap();
        let second = memory.allocate(100, 1, AllocationKind::Device).unwrap();
        assert_eq!((number(second), number(0x1000)), (Some(2), Some(1)));
    }

    #[test]
    fn memory_returns_written_bytes() {
        let memory = memory();
        let address = memory.allocate(1000, 1, AllocationKind::Device).unwrap();
        assert_eq!(address % ALLOCATION_ALIGNMENT, 0);
        memory.write(address + 10, b"volta").unwrap();
        let mut bytes = [0; 5];
        memory.read(address + 10, &mut bytes).unwrap();
        assert_eq!(&bytes, b"volta");
    }

    #[test]
    fn one_byte_past_the_end_is_out_of_range() {
        let memory = memory();
        let address = memory.allocate(1000, 1, AllocationKind::Device).unwrap();
        assert!(memory.check_range(address, 1000).is_ok());
        assert!(matches!(
            memory.check_range(address, 1001),
            Err(MemoryError::OutOfRange { address: bad, .. }) if bad == address + 1000
        ));
    }

    #[test]
    fn freed_memory_is_invalid_and_available() {
        let memory = memory();
        let address = memory.allocate(1 << 20, 1, AllocationKind::Device).unwrap();
        assert_eq!(memory.used(), 1 << 20);
        memory.free(address).unwrap();
        assert_eq!(memory.used(), 0);
        assert!(memory.check_range(address, 1).is_err());
        assert_eq!(memory.free(address), Err(MemoryError::NotAllocated(address)));
    }

    #[test]
    fn reused_memory_is_zero() {
        let memory = memory();
        let address = memory.allocate(1 << 20, 1, AllocationKind::Device).unwrap();
        memory.write(address, &[7; 4096]).unwrap();
        memory.free(address).unwrap();
        let again = memory.allocate(1 << 20, 1, AllocationKind::Device).unwrap();
        assert_eq!(again, address);
        let mut bytes = [1; 4096];
        memory.read(again, &mut bytes).unwrap();
        assert!(bytes.iter().all(|&byte| byte == 0));
    }

    #[test]
    fn oversized_request_fails_without_side_effect() {
        let memory = memory();
        assert!(matches!(
            memory.allocate(2 << 30, 1, AllocationKind::Device),
            Err(MemoryError::OutOfMemory { .. })
        ));
        assert!(matches!(
            memory.allocate(u64::MAX, 1, AllocationKind::Device),
            Err(MemoryError::OutOfMemory { .. })
        ));
        assert!(memory.allocate(1 << 30, 1, AllocationKind::Device).is_ok());
    }
}
