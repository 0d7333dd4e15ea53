//! Memory pools and stream-ordered allocation.

use crate::abi::{Address, In, MemoryLocation, Out, PoolHandle, StreamHandle};
use crate::context::{check_device, runtime_context};
use crate::entry::api;
use crate::error::Error;
use crate::pool;
use crate::runtime::check_location;
use std::ffi::{c_int, c_void};

/// Start of `cudaMemPoolProps`: pinned device memory (1), handles for other processes (0 is none), location.
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

/// Read and write.
pub(crate) const ACCESS_READ_WRITE: c_int = 3;

/// Refuses properties of pools there cannot be here.
pub(crate) fn check_properties(properties: PoolProperties) -> crate::error::Result<()> {
    check_location(properties.location)?;
    if properties.allocation_type == 1 { Ok(()) } else { Err(Error::InvalidValue) }
}

api! { Runtime;
    /// Device memory, usable in stream order.
    fn cudaMallocAsync, cudaMallocAsync_ptsz [default] (devPtr: Out<Address>, size: usize, stream: StreamHandle) {
        runtime_context()?.allocate_from_pool(devPtr, size, pool::current_pool(), stream, default)
    }

    /// Device memory of a pool, usable in stream order.
    fn cudaMallocFromPoolAsync, cudaMallocFromPoolAsync_ptsz [default] (
        ptr: Out<Address>, size: usize, memPool: PoolHandle, stream: StreamHandle,
    ) {
        runtime_context()?.allocate_from_pool(ptr, size, memPool, stream, default)
    }

    /// Frees device memory at its turn in a stream.
    fn cudaFreeAsync, cudaFreeAsync_ptsz [default] (devPtr: Address, stream: StreamHandle) {
        let simulator = runtime_context()?;
        simulator.free_in_stream(devPtr.0 as u64, simulator.stream(stream, default)?)
    }

    /// The device's first pool.
    fn cudaDeviceGetDefaultMemPool(memPool: Out<PoolHandle>, device: c_int) {
        runtime_context()?;
        check_device(device)?;
        memPool.set(pool::default_pool())
    }

    /// The device's pool for `cudaMallocAsync`.
    fn cudaDeviceGetMemPool(memPool: Out<PoolHandle>, device: c_int) {
        runtime_context()?;
        check_device(device)?;
        memPool.set(pool::current_pool())
    }

    /// Chooses the device's pool for `cudaMallocAsync`.
    fn cudaDeviceSetMemPool(device: c_int, memPool: PoolHandle) {
        runtime_context()?;
        check_device(device)?;
        pool::set_current_pool(memPool)
    }

    /// A new pool.
    fn cudaMemPoolCreate(memPool: Out<PoolHandle>, poolProps: In<PoolProperties>) {
        memPool.check()?;
        runtime_context()?;
        let properties = poolProps.get()?;
        check_properties(properties)?;
        memPool.set(pool::create(properties.handle_types)?)
    }

    /// Destroys a pool.
    fn cudaMemPoolDestroy(memPool: PoolHandle) {
        runtime_context()?;
        pool::destroy(memPool)
    }

    /// One attribute.
    fn cudaMemPoolGetAttribute(memPool: PoolHandle, attribute: c_int, value: Out<c_void>) {
        runtime_context()?;
        pool::get_attribute(memPool, attribute, value)
    }

    /// Sets one attribute.
    fn cudaMemPoolSetAttribute(memPool: PoolHandle, attribute: c_int, value: *const c_void) {
        runtime_context()?;
        pool::set_attribute(memPool, attribute, value)
    }

    /// Gives unused memory back; a pool here keeps none.
    fn cudaMemPoolTrimTo(memPool: PoolHandle, _minBytesToKeep: usize) {
        runtime_context()?;
        pool::check(memPool)
    }

    /// Who reaches the pool's memory: the one device.
    fn cudaMemPoolSetAccess(memPool: PoolHandle, descList: In<AccessDescription>, count: usize) {
        runtime_context()?;
        pool::check(memPool)?;
        descList.list(count)?.into_iter().try_for_each(|description| check_location(description.location))
    }

    /// Who reaches the pool's memory: the one device.
    fn cudaMemPoolGetAccess(flags: Out<c_int>, memPool: PoolHandle, location: In<MemoryLocation>) {
        runtime_context()?;
        pool::check(memPool)?;
        check_location(location.get()?)?;
        flags.set(ACCESS_READ_WRITE)
    }
}
