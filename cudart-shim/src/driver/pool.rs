//! Memory pools and stream-ordered allocation.

use crate::abi::{Address, In, MemoryLocation, Out, PoolHandle, StreamHandle};
use crate::context::{check_device, driver, driver_context};
use crate::entry::api;
use crate::pool;
use crate::runtime::{
    ACCESS_READ_WRITE, AccessDescription, PoolProperties, check_location, check_properties,
};
use std::ffi::{c_int, c_void};

api! { Driver;
    /// Device memory, usable in stream order.
    fn cuMemAllocAsync, cuMemAllocAsync_ptsz [default] (dptr: Out<Address>, size: usize, stream: StreamHandle) {
        driver_context()?.allocate_from_pool(dptr, size, pool::current_pool(), stream, default)
    }

    /// Device memory of a pool, usable in stream order.
    fn cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz [default] (
        dptr: Out<Address>, size: usize, memPool: PoolHandle, stream: StreamHandle,
    ) {
        driver_context()?.allocate_from_pool(dptr, size, memPool, stream, default)
    }

    /// Frees device memory at its turn in a stream.
    fn cuMemFreeAsync, cuMemFreeAsync_ptsz [default] (dptr: Address, stream: StreamHandle) {
        let simulator = driver_context()?;
        simulator.free_in_stream(dptr.0 as u64, simulator.stream(stream, default)?)
    }

    /// The device's first pool.
    fn cuDeviceGetDefaultMemPool(memPool: Out<PoolHandle>, dev: c_int) {
        driver()?;
        check_device(dev)?;
        memPool.set(pool::default_pool())
    }

    /// The device's pool for `cuMemAllocAsync`.
    fn cuDeviceGetMemPool(memPool: Out<PoolHandle>, dev: c_int) {
        driver()?;
        check_device(dev)?;
        memPool.set(pool::current_pool())
    }

    /// Chooses the device's pool for `cuMemAllocAsync`.
    fn cuDeviceSetMemPool(dev: c_int, memPool: PoolHandle) {
        driver()?;
        check_device(dev)?;
        pool::set_current_pool(memPool)
    }

    /// A new pool.
    fn cuMemPoolCreate(memPool: Out<PoolHandle>, poolProps: In<PoolProperties>) {
        memPool.check()?;
        driver()?;
        let properties = poolProps.get()?;
        check_properties(properties)?;
        memPool.set(pool::create(properties.handle_types)?)
    }

    /// Destroys a pool.
    fn cuMemPoolDestroy(memPool: PoolHandle) {
        driver()?;
        pool::destroy(memPool)
    }

    /// One attribute.
    fn cuMemPoolGetAttribute(memPool: PoolHandle, attribute: c_int, value: Out<c_void>) {
        driver()?;
        pool::get_attribute(memPool, attribute, value)
    }

    /// Sets one attribute.
    fn cuMemPoolSetAttribute(memPool: PoolHandle, attribute: c_int, value: *const c_void) {
        driver()?;
        pool::set_attribute(memPool, attribute, value)
    }

    /// Gives unused memory back; a pool here keeps none.
    fn cuMemPoolTrimTo(memPool: PoolHandle, _minBytesToKeep: usize) {
        driver()?;
        pool::check(memPool)
    }

    /// Who reaches the pool's memory: the one device.
    fn cuMemPoolSetAccess(memPool: PoolHandle, map: In<AccessDescription>, count: usize) {
        driver()?;
        pool::check(memPool)?;
        map.list(count)?.into_iter().try_for_each(|description| check_location(description.location))
    }

    /// Who reaches the pool's memory: the one device.
    fn cuMemPoolGetAccess(flags: Out<c_int>, memPool: PoolHandle, location: In<MemoryLocation>) {
        driver()?;
        pool::check(memPool)?;
        check_location(location.get()?)?;
        flags.set(ACCESS_READ_WRITE)
    }
}
