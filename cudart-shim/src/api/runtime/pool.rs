//! Memory pools and stream-ordered allocation.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, MemoryLocation, Out, PoolHandle, StreamHandle};
use crate::api::entry::api;
use crate::objects::pool::{self, Home};
use crate::root::{session, shared, simulator};
use crate::session::context::ordinal;
use crate::session::streams::of_stream;
use std::ffi::{c_int, c_void};

/// Start of `cudaMemPoolProps`: pinned device memory (1), handle type for other processes (0 for
/// none), location.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct PoolProperties {
    pub(crate) allocation_type: c_int,
    pub(crate) handle_types: c_int,
    pub(crate) location: MemoryLocation,
}

impl PoolProperties {
    /// Pinned memory of the device.
    pub(crate) fn of_device() -> Self {
        Self { allocation_type: 1, handle_types: 0, location: MemoryLocation { kind: 1, id: 0 } }
    }
}

/// `cudaMemAccessDesc`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct AccessDescription {
    pub(crate) location: MemoryLocation,
    pub(crate) flags: c_int,
}

/// Read and write access.
pub(crate) const ACCESS_READ_WRITE: c_int = 3;

/// Location of a pool's memory; rejects unsupported properties.
pub(crate) fn home_of_properties(properties: PoolProperties) -> Result<Home> {
    pool::home_of_location(properties.location, properties.allocation_type)
}

/// Sets a location's access to a pool's memory; the host has none.
pub(crate) fn set_access(pool: PoolHandle, description: AccessDescription) -> Result<()> {
    let device = pool::home_of_location(description.location, 1)?.device;
    match description.flags {
        0 => pool::set_access(shared(), pool, device, false),
        ACCESS_READ_WRITE => pool::set_access(shared(), pool, device, true),
        1 => Err(Error::NotSupported),
        _ => Err(Error::InvalidValue),
    }
}

/// Access of a location to a pool's memory.
pub(crate) fn access(pool: PoolHandle, location: MemoryLocation) -> Result<c_int> {
    let device = pool::home_of_location(location, 1)?.device;
    Ok(if pool::has_access(shared(), pool, device)? { ACCESS_READ_WRITE } else { 0 })
}

api! { Runtime;
    /// Device memory, usable in stream order.
    fn cudaMallocAsync, cudaMallocAsync_ptsz [default] (devPtr: Out<Address>, size: usize, stream: StreamHandle) {
        simulator()?.allocate_from_pool(devPtr, size, None, stream, default)
    }

    /// Device memory of a pool, usable in stream order.
    fn cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz [default] (
        ptr: Out<Address>, size: usize, memPool: PoolHandle, stream: StreamHandle,
    ) {
        simulator()?.allocate_from_pool(ptr, size, Some(memPool), stream, default)
    }

    /// Frees device memory in stream order.
    fn cudaFreeAsync, cudaFreeAsync_ptsz [default] (devPtr: Address, stream: StreamHandle) {
        let simulator = of_stream(session(), stream)?;
        simulator.free_in_stream(devPtr.0 as u64, simulator.stream(stream, default)?)
    }

    /// The device's first pool.
    fn cudaDeviceGetDefaultMemPool(memPool: Out<PoolHandle>, device: c_int) {
        memPool.set(pool::default_pool(ordinal(device)?))
    }

    /// The device's pool for `cudaMallocAsync`.
    fn cudaDeviceGetMemPool(memPool: Out<PoolHandle>, device: c_int) {
        memPool.set(pool::current_pool(shared(), ordinal(device)?))
    }

    /// Sets the device's pool for `cudaMallocAsync`.
    fn cudaDeviceSetMemPool(device: c_int, memPool: PoolHandle) {
        pool::set_current_pool(shared(), Home::of_device(ordinal(device)?), memPool)
    }

    /// A new pool.
    fn cudaMemPoolCreate(memPool: Out<PoolHandle>, poolProps: In<PoolProperties>) {
        memPool.check()?;
        let properties = poolProps.get()?;
        let home = home_of_properties(properties)?;
        memPool.set(pool::create(shared(), home, properties.handle_types)?)
    }

    /// Destroys a pool.
    fn cudaMemPoolDestroy(memPool: PoolHandle) {
        pool::destroy(shared(), memPool)
    }

    /// An attribute.
    fn cudaMemPoolGetAttribute(memPool: PoolHandle, attribute: c_int, value: Out<c_void>) {
        pool::get_attribute(shared(), memPool, attribute, value)
    }

    /// Sets one attribute.
    fn cudaMemPoolSetAttribute(memPool: PoolHandle, attribute: c_int, value: *const c_void) {
        pool::set_attribute(shared(), memPool, attribute, value)
    }

    /// Releases unused memory; a pool here keeps none.
    fn cudaMemPoolTrimTo(memPool: PoolHandle, _minBytesToKeep: usize) {
        pool::check(shared(), memPool)
    }

    /// Sets the devices that can access the pool's memory.
    fn cudaMemPoolSetAccess(memPool: PoolHandle, descList: In<AccessDescription>, count: usize) {
        pool::check(shared(), memPool)?;
        descList.list(count)?.into_iter().try_for_each(|description| set_access(memPool, description))
    }

    /// Access of a device to the pool's memory.
    fn cudaMemPoolGetAccess(flags: Out<c_int>, memPool: PoolHandle, location: In<MemoryLocation>) {
        pool::check(shared(), memPool)?;
        flags.set(access(memPool, location.get()?)?)
    }
}
