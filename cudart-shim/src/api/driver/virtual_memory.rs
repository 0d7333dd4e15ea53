//! Virtual memory management: address ranges and physical memory as separate objects.

use crate::abi::error::Error;
use crate::abi::{Address, In, MemoryLocation, Out};
use crate::api::entry::api;
use crate::api::runtime::AccessDescription;
use crate::objects::virtual_memory::{self, AllocationProperties, FILE_DESCRIPTOR, GRANULARITY};
use crate::root::{shared, simulator, simulator_of};
use std::ffi::{c_int, c_ulonglong, c_void};

/// Granularity of host address reservations in bytes.
const HOST_PAGE: usize = 4096;

api! { Driver;
    /// Reserves an address range without memory.
    fn cuMemAddressReserve(ptr: Out<Address>, size: usize, alignment: usize, addr: Address, flags: c_ulonglong) {
        ptr.check()?;
        let simulator = simulator()?;
        let is_aligned = size > 0 && size.is_multiple_of(HOST_PAGE) && addr.0.is_multiple_of(HOST_PAGE);
        if flags != 0 || !is_aligned || (alignment != 0 && !alignment.is_power_of_two()) {
            return Err(Error::InvalidValue);
        }
        let alignment = (alignment as u64).max(GRANULARITY);
        let address = simulator.device.memory.reserve(size as u64, alignment, addr.0 as u64)?;
        ptr.set(Address(address as usize))
    }

    /// Releases a reserved range.
    fn cuMemAddressFree(ptr: Address, size: usize) {
        virtual_memory::give_back(shared(), ptr.0 as u64, size as u64)
    }

    /// Allocates memory without an address.
    fn cuMemCreate(handle: Out<u64>, size: usize, prop: In<AllocationProperties>, flags: c_ulonglong) {
        handle.check()?;
        let simulator = simulator()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        handle.set(simulator.create_physical(size as u64, prop.get()?, |device| Ok(simulator_of(device)?))?)
    }

    /// Releases a handle; mapped memory stays.
    fn cuMemRelease(handle: u64) {
        virtual_memory::release(shared(), handle)
    }

    /// Maps memory into reserved addresses.
    fn cuMemMap(ptr: Address, size: usize, offset: usize, handle: u64, flags: c_ulonglong) {
        let simulator = simulator()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        simulator.map(ptr.0 as u64, size as u64, offset as u64, handle)
    }

    /// Unmaps memory.
    fn cuMemUnmap(ptr: Address, size: usize) { simulator()?.unmap(ptr.0 as u64, size as u64) }

    /// Sets access rights to mapped memory.
    fn cuMemSetAccess(ptr: Address, size: usize, desc: In<AccessDescription>, count: usize) {
        let simulator = simulator()?;
        if count == 0 {
            return Err(Error::InvalidValue);
        }
        let wanted: Vec<_> = desc.list(count)?.into_iter().map(|one| (one.location, one.flags)).collect();
        simulator.set_access(ptr.0 as u64, size as u64, &wanted)
    }

    /// Access right of a location.
    fn cuMemGetAccess(flags: Out<c_ulonglong>, location: In<MemoryLocation>, ptr: Address) {
        flags.check()?;
        flags.set(simulator()?.access(ptr.0 as u64, location.get()?)? as c_ulonglong)
    }

    /// Granularity of sizes: minimum (option 0) or recommended (1).
    fn cuMemGetAllocationGranularity(granularity: Out<usize>, prop: In<AllocationProperties>, option: c_int) {
        granularity.check()?;
        prop.get()?.check()?;
        if !matches!(option, 0 | 1) {
            return Err(Error::InvalidValue);
        }
        granularity.set(GRANULARITY as usize)
    }

    /// Properties of an allocation.
    fn cuMemGetAllocationPropertiesFromHandle(prop: Out<AllocationProperties>, handle: u64) {
        prop.check()?;
        prop.set(virtual_memory::properties(shared(), handle)?)
    }

    /// Handle of the memory mapped at an address.
    fn cuMemRetainAllocationHandle(handle: Out<u64>, addr: Address) {
        handle.check()?;
        handle.set(simulator()?.retain_physical(addr.0 as u64)?)
    }

    /// Exports a file descriptor for another process; other handle types are of other systems.
    fn cuMemExportToShareableHandle(
        shareableHandle: Out<c_void>, handle: u64, handleType: c_int, flags: c_ulonglong,
    ) {
        shareableHandle.check()?;
        if flags != 0 || handleType != FILE_DESCRIPTOR {
            return Err(Error::InvalidValue);
        }
        Out::new(shareableHandle.pointer().cast()).set(virtual_memory::export(shared(), handle)?)
    }

    /// Memory of a file descriptor, which is passed in place of a pointer.
    fn cuMemImportFromShareableHandle(handle: Out<u64>, osHandle: Address, shHandleType: c_int) {
        handle.check()?;
        if shHandleType != FILE_DESCRIPTOR {
            return Err(Error::InvalidValue);
        }
        handle.set(virtual_memory::import(shared(), osHandle.0 as c_int)?)
    }
}
