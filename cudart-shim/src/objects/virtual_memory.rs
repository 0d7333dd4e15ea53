//! Virtual memory management: physical allocations by handle, and their mappings.

use crate::abi::MemoryLocation;
use crate::abi::error::{Error, Result};
use crate::abi::handle::MAX_DEVICES;
use crate::host::log;
use crate::objects::context::{check_device, ordinal};
use crate::objects::device::DeviceObjects;
use crate::objects::multicast::{Multicast, MulticastProperties, is_in_memory};
use crate::objects::shared::Shared;
use functional::memory::{Memory, Pages};
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::os::fd::{AsFd, BorrowedFd, IntoRawFd, OwnedFd};
use std::sync::Arc;
use stream_engine::Scope;

/// Granularity of allocations and mappings in bytes: a page of the device.
pub(crate) const GRANULARITY: u64 = 2 << 20;

/// `CU_MEM_HANDLE_TYPE_POSIX_FILE_DESCRIPTOR`.
pub(crate) const FILE_DESCRIPTOR: c_int = 1;

/// `CU_MEM_LOCATION_TYPE_DEVICE`.
const DEVICE: c_int = 1;

/// `CU_MEM_ACCESS_FLAGS_PROT_…`: none, read, read and write.
const PROT_NONE: c_int = 0;
const PROT_READ: c_int = 1;
const PROT_READ_WRITE: c_int = 3;

/// `CUmemAllocationProp`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct AllocationProperties {
    /// Allocation type; 1: pinned.
    pub(crate) kind: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: MemoryLocation,
    pub(crate) windows_data: usize,
    pub(crate) compression: u8,
    pub(crate) rdma_capable: u8,
    pub(crate) usage: u16,
    pub(crate) reserved: [u8; 4],
}

impl AllocationProperties {
    /// Properties of memory imported from a descriptor.
    fn imported() -> Self {
        Self {
            kind: 1,
            handle_types: FILE_DESCRIPTOR,
            location: MemoryLocation { kind: DEVICE, id: 0 },
            windows_data: 0,
            compression: 0,
            rdma_capable: 0,
            usage: 0,
            reserved: [0; 4],
        }
    }

    /// Tells whether the memory is on a device, not on the host.
    pub(crate) fn is_on_device(&self) -> bool {
        self.location.kind == DEVICE
    }

    /// Rejects properties that are not supported here.
    pub(crate) fn check(&self) -> Result<()> {
        match self.location.kind {
            DEVICE => check_device(self.location.id)?,
            2..=4 => {}
            _ => return Err(Error::InvalidValue),
        }
        match (self.kind, self.handle_types, self.usage) {
            (1, 0 | FILE_DESCRIPTOR, 0) => Ok(()),
            (1 | 2, ..) => Err(Error::NotSupported),
            _ => Err(Error::InvalidValue),
        }
    }
}

/// A physical allocation.
#[derive(Debug)]
struct Physical {
    properties: AllocationProperties,
    pages: Arc<Pages>,
    /// Number of `cuMemRelease` calls that release the handle.
    references: usize,
    /// Number of mappings. The allocation lives until both numbers reach 0.
    mappings: usize,
    /// The multicast object, for a handle without memory.
    multicast: Option<Multicast>,
}

/// A mapping and the access of each location (`CU_MEM_ACCESS_FLAGS_PROT_…`).
#[derive(Clone, Copy, Debug)]
struct Mapped {
    handle: u64,
    devices: [c_int; MAX_DEVICES],
    host: c_int,
}

/// All physical allocations and mappings.
#[derive(Default)]
pub(crate) struct Table {
    live: FxHashMap<u64, Physical>,
    created: u64,
    mapped: BTreeMap<u64, Mapped>,
}

/// Handle values lie outside the address space of any process.
const HANDLES: u64 = 0x6000_0000_0000_0000;

fn with_table<T>(shared: &'static Shared, use_it: impl FnOnce(&mut Table) -> T) -> T {
    use_it(&mut shared.physical.lock())
}

impl Table {
    fn insert(&mut self, properties: AllocationProperties, pages: Arc<Pages>) -> u64 {
        self.created += 1;
        let handle = HANDLES | (self.created << 4);
        self.live.insert(handle, Physical { properties, pages, references: 1, mappings: 0, multicast: None });
        handle
    }

    /// Tells whether a mapping is of a multicast object.
    fn is_multicast(&self, mapped: &Mapped) -> bool {
        self.live.get(&mapped.handle).is_some_and(|physical| physical.multicast.is_some())
    }

    /// The allocation of an unreleased handle.
    fn held(&mut self, handle: u64) -> Result<&mut Physical> {
        self.live.get_mut(&handle).filter(|physical| physical.references > 0).ok_or(Error::InvalidValue)
    }

    fn forget_unused(&mut self, handle: u64) {
        if self.live.get(&handle).is_some_and(|physical| physical.references == 0 && physical.mappings == 0) {
            self.live.remove(&handle);
        }
    }
}

/// Waits for the work of all devices, which may use mappings.
pub(crate) fn wait_for_devices(shared: &'static Shared) -> Result<()> {
    shared.started().try_for_each(|simulator| Ok(simulator.engine.synchronize(Scope::Context)?))
}

fn is_granular(bytes: u64) -> bool {
    bytes > 0 && bytes.is_multiple_of(GRANULARITY)
}

/// Releases one reference to a handle.
pub(crate) fn release(shared: &'static Shared, handle: u64) -> Result<()> {
    with_table(shared, |table| {
        table.held(handle)?.references -= 1;
        table.forget_unused(handle);
        Ok(())
    })
}

/// Properties of an allocation.
pub(crate) fn properties(shared: &'static Shared, handle: u64) -> Result<AllocationProperties> {
    with_table(shared, |table| table.held(handle).map(|physical| physical.properties))
}

/// Properties of the allocation mapped at an address; `None` if nothing is mapped.
pub(crate) fn properties_at(simulator: &DeviceObjects, address: u64) -> Option<AllocationProperties> {
    let mapping = simulator.device.memory.mapping_of(address)?;
    with_table(simulator.shared, |table| {
        let mapped = table.mapped.get(&mapping.address)?;
        table.live.get(&mapped.handle).map(|physical| physical.properties)
    })
}

/// A file descriptor that exports an allocation. The caller owns it.
pub(crate) fn export(shared: &'static Shared, handle: u64) -> Result<c_int> {
    let pages = with_table(shared, |table| {
        let physical = table.held(handle)?;
        let allowed = physical.properties.handle_types & FILE_DESCRIPTOR != 0;
        if allowed { Ok(Arc::clone(&physical.pages)) } else { Err(Error::InvalidValue) }
    })?;
    let descriptor = pages.descriptor().try_clone_to_owned().map_err(|_| Error::OperatingSystem)?;
    Ok(descriptor.into_raw_fd())
}

/// The pages behind an exported descriptor of any process. The caller keeps the descriptor.
pub(crate) fn pages_of_descriptor(shared: &'static Shared, descriptor: c_int) -> Result<Arc<Pages>> {
    if descriptor < 0 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the number is only duplicated, which fails unless it is an open descriptor.
    let own: OwnedFd = unsafe { BorrowedFd::borrow_raw(descriptor) }
        .try_clone_to_owned()
        .map_err(|_| Error::InvalidValue)?;
    let pages = Pages::from_descriptor(own.as_fd().try_clone_to_owned().map_err(|_| Error::OperatingSystem)?)
        .map_err(|_| Error::InvalidValue)?;
    let identity = pages.identity().map_err(|_| Error::InvalidValue)?;
    // Memory of this process keeps its existing entry.
    let known = with_table(shared, |table| {
        let same = |physical: &&Physical| physical.pages.identity().ok() == Some(identity);
        table.live.values().find(same).map(|physical| Arc::clone(&physical.pages))
    });
    Ok(known.unwrap_or_else(|| Arc::new(pages)))
}

/// A handle for memory behind a descriptor.
pub(crate) fn import(shared: &'static Shared, descriptor: c_int) -> Result<u64> {
    let pages = pages_of_descriptor(shared, descriptor)?;
    if !is_granular(pages.size()) {
        return Err(Error::InvalidValue);
    }
    Ok(with_table(shared, |table| table.insert(AllocationProperties::imported(), pages)))
}

/// Tells whether a device can access the mapping at an address.
pub(crate) fn has_access(shared: &'static Shared, device: usize, mapping: u64) -> bool {
    with_table(shared, |table| {
        let mapped = table.mapped.get(&mapping);
        mapped.and_then(|mapped| mapped.devices.get(device)).is_some_and(|flags| *flags == PROT_READ_WRITE)
    })
}

/// A handle for a multicast object.
pub(crate) fn create_multicast(
    shared: &'static Shared,
    memory: &Memory,
    properties: &MulticastProperties,
) -> Result<u64> {
    /// No device.
    const NOWHERE: MemoryLocation = MemoryLocation { kind: DEVICE, id: -1 };
    properties.check()?;
    let pages = memory.create_untouched_pages(properties.size as u64)?;
    // Not exportable: another process would not see the bindings.
    let made_with =
        AllocationProperties { location: NOWHERE, handle_types: 0, ..AllocationProperties::imported() };
    Ok(with_table(shared, |table| {
        let handle = table.insert(made_with, pages);
        if let Some(physical) = table.live.get_mut(&handle) {
            physical.multicast = Some(Multicast::new(shared, properties));
        }
        handle
    }))
}

/// Calls a function with the multicast object of a handle.
pub(crate) fn with_multicast<T>(
    shared: &'static Shared,
    handle: u64,
    use_it: impl FnOnce(&mut Multicast) -> Result<T>,
) -> Result<T> {
    with_table(shared, |table| {
        table.held(handle)?.multicast.as_mut().ok_or(Error::InvalidValue).and_then(use_it)
    })
}

/// The device that owns a handle's memory.
pub(crate) fn device_of_handle(shared: &'static Shared, handle: u64) -> Result<usize> {
    let location = properties(shared, handle)?.location;
    if location.kind == DEVICE { ordinal(location.id) } else { Err(Error::InvalidValue) }
}

/// The device that owns the memory at an address.
pub(crate) fn device_at(shared: &'static Shared, address: u64) -> Result<usize> {
    let (owner, _) = shared.owner_of(address).ok_or(Error::InvalidValue)?;
    match properties_at(owner, address).map(|properties| properties.location) {
        None => Ok(owner.ordinal),
        Some(location) if location.kind == DEVICE => ordinal(location.id),
        Some(_) => Err(Error::InvalidValue),
    }
}

/// Binds memory at an address, for a device, to a range of a multicast object.
pub(crate) fn bind_address(
    shared: &'static Shared,
    multicast: u64,
    device: usize,
    range: (u64, u64),
    address: u64,
) -> Result<()> {
    if !is_in_memory(shared, device, address, range.1) {
        return Err(Error::InvalidValue);
    }
    with_multicast(shared, multicast, |object| object.bind_address(device, range, address))
}

/// Binds memory of a handle, from an offset on, to a range of a multicast object.
pub(crate) fn bind_memory(
    shared: &'static Shared,
    multicast: u64,
    device: usize,
    range: (u64, u64),
    memory: u64,
    from: u64,
) -> Result<()> {
    with_table(shared, |table| {
        let physical = table.held(memory)?;
        let location = physical.properties.location;
        if physical.multicast.is_some() || (location.kind == DEVICE && location.id != device as c_int) {
            return Err(Error::InvalidValue);
        }
        let pages = Arc::clone(&physical.pages);
        let object = table.held(multicast)?.multicast.as_mut().ok_or(Error::InvalidValue)?;
        object.bind_pages(device, range, &pages, from)
    })
}

/// Address in each device's memory for a multicast address; empty if the device's kernels may not
/// access it.
pub(crate) fn replicas(shared: &'static Shared, device: usize, address: u64, bytes: u32) -> Vec<u64> {
    let Ok(mapping) =
        arena(shared, address).and_then(|memory| memory.mapping_of(address).ok_or(Error::InvalidValue))
    else {
        return Vec::new();
    };
    let places = with_table(shared, |table| {
        let mapped = table.mapped.get(&mapping.address);
        let mapped = mapped.filter(|mapped| mapped.devices.get(device) == Some(&PROT_READ_WRITE));
        let object = mapped.and_then(|mapped| table.live.get(&mapped.handle)?.multicast.as_ref());
        let offset = address - mapping.address + mapping.offset;
        let inside = address + u64::from(bytes) <= mapping.address + mapping.size;
        object.filter(|_| inside).map_or_else(Vec::new, |object| object.places(offset, bytes.into()))
    });
    // Memory bound by address may have been freed.
    match places.iter().all(|(device, address)| is_in_memory(shared, *device, *address, bytes.into())) {
        true => places.into_iter().map(|(_, address)| address).collect(),
        false => Vec::new(),
    }
}

/// Removes the mappings in the addresses of a device that is being reset, and its memory.
pub(crate) fn forget(simulator: &DeviceObjects) {
    let memory = &simulator.device.memory;
    with_table(simulator.shared, |table| {
        for (_, mapped) in table.mapped.extract_if(.., |address, _| memory.owns(*address)) {
            if let Some(physical) = table.live.get_mut(&mapped.handle) {
                physical.mappings -= 1;
            }
        }
        for physical in table.live.values_mut() {
            physical.multicast.iter_mut().for_each(|object| object.forget(simulator.ordinal));
        }
        table.live.retain(|_, physical| {
            let location = physical.properties.location;
            let is_own = location.kind != DEVICE || location.id == simulator.ordinal as c_int;
            physical.mappings > 0 || !is_own
        });
    });
    // A failed unmapping leaks the address and does not stop the reset.
    let _ = memory.give_back_everything();
}

/// The device whose address space contains an address.
fn arena(shared: &'static Shared, address: u64) -> Result<&'static Memory> {
    let found =
        shared.started().map(|simulator| &simulator.device.memory).find(|memory| memory.owns(address));
    found.ok_or(Error::InvalidValue)
}

/// Frees reserved addresses.
pub(crate) fn give_back(shared: &'static Shared, address: u64, size: u64) -> Result<()> {
    Ok(arena(shared, address)?.give_back(address, size)?)
}

impl DeviceObjects {
    /// Creates an allocation without an address. `device` finds a device by number.
    pub(crate) fn create_physical(
        &self,
        size: u64,
        properties: AllocationProperties,
        device: impl FnOnce(usize) -> Result<&'static Self>,
    ) -> Result<u64> {
        properties.check()?;
        if !is_granular(size) {
            return Err(Error::InvalidValue);
        }
        let pages = match properties.location.kind {
            DEVICE => device(ordinal(properties.location.id)?)?.device.memory.create_pages(size)?,
            _ => self.device.memory.create_host_pages(size)?,
        };
        let properties = AllocationProperties { compression: 0, ..properties };
        Ok(with_table(self.shared, |table| table.insert(properties, pages)))
    }

    /// Maps an allocation into reserved addresses.
    pub(crate) fn map(&self, address: u64, size: u64, offset: u64, handle: u64) -> Result<()> {
        // The driver supports no other offset yet.
        if !is_granular(size) || !address.is_multiple_of(GRANULARITY) || offset != 0 {
            return Err(Error::InvalidValue);
        }
        with_table(self.shared, |table| {
            let physical = table.held(handle)?;
            if physical.multicast.as_ref().is_some_and(|object| !object.is_complete()) {
                return Err(Error::InvalidValue);
            }
            arena(self.shared, address)?.map(address, &physical.pages, offset, size)?;
            physical.mappings += 1;
            let devices = [PROT_NONE; MAX_DEVICES];
            table.mapped.insert(address, Mapped { handle, devices, host: PROT_NONE });
            Ok(())
        })
    }

    /// Removes all mappings of a range after the work that may use them.
    pub(crate) fn unmap(&self, address: u64, size: u64) -> Result<()> {
        wait_for_devices(self.shared)?;
        with_table(self.shared, |table| {
            for mapping in arena(self.shared, address)?.unmap(address, size)? {
                let Some(mapped) = table.mapped.remove(&mapping.address) else { continue };
                if let Some(physical) = table.live.get_mut(&mapped.handle) {
                    physical.mappings -= 1;
                }
                table.forget_unused(mapped.handle);
            }
            Ok(())
        })
    }

    /// Sets each location's access to all mappings of a range after the work that may use them.
    pub(crate) fn set_access(
        &self,
        address: u64,
        size: u64,
        wanted: &[(MemoryLocation, c_int)],
    ) -> Result<()> {
        for (location, flags) in wanted {
            match (location.kind, *flags) {
                (DEVICE, PROT_READ) => {
                    log::report(|| {
                        "cuMemSetAccess: read-only access by a device is not supported".to_owned()
                    });
                    return Err(Error::NotSupported);
                }
                (DEVICE, PROT_NONE | PROT_READ_WRITE) => check_device(location.id)?,
                (2..=4, PROT_NONE | PROT_READ | PROT_READ_WRITE) => {}
                _ => return Err(Error::InvalidValue),
            }
        }
        wait_for_devices(self.shared)?;
        let memory = arena(self.shared, address)?;
        memory.check_mapped(address, size)?;
        with_table(self.shared, |table| {
            let mut some_device = false;
            let mut of_range = table.mapped.range(address..address + size);
            let some_multicast = of_range.any(|(_, mapped)| table.is_multicast(mapped));
            for mapped in table.mapped.range_mut(address..address + size).map(|(_, mapped)| mapped) {
                for (location, flags) in wanted {
                    let place = match location.kind {
                        DEVICE => {
                            mapped.devices.get_mut(ordinal(location.id)?).ok_or(Error::InvalidDevice)?
                        }
                        _ => &mut mapped.host,
                    };
                    *place = *flags;
                }
                some_device |= mapped.devices.contains(&PROT_READ_WRITE);
            }
            Ok(memory.set_access(address, size, some_device && !some_multicast)?)
        })
    }

    /// A location's access to the mapping at an address.
    pub(crate) fn access(&self, address: u64, location: MemoryLocation) -> Result<c_int> {
        let mapping = arena(self.shared, address)?.mapping_of(address).ok_or(Error::InvalidValue)?;
        let mapped = with_table(self.shared, |table| table.mapped.get(&mapping.address).copied());
        let mapped = mapped.ok_or(Error::InvalidValue)?;
        match location.kind {
            DEVICE => mapped.devices.get(ordinal(location.id)?).copied().ok_or(Error::InvalidDevice),
            2..=4 => Ok(mapped.host),
            _ => Err(Error::InvalidValue),
        }
    }

    /// The handle of the mapping at an address, with its reference count incremented.
    pub(crate) fn retain_physical(&self, address: u64) -> Result<u64> {
        let mapping = arena(self.shared, address)?.mapping_of(address).ok_or(Error::InvalidValue)?;
        with_table(self.shared, |table| {
            let handle = table.mapped.get(&mapping.address).ok_or(Error::InvalidValue)?.handle;
            table.live.get_mut(&handle).ok_or(Error::InvalidValue)?.references += 1;
            Ok(handle)
        })
    }
}
