//! Memory pools and stream-ordered allocation.

use crate::abi::{Address, In, MemoryLocation, Out, PoolHandle, StreamHandle};
use crate::api::entry::api;
use crate::api::runtime::{AccessDescription, PoolProperties, access, home_of_properties, set_access};
use crate::objects::pool::{self, Home};
use crate::root::{session, shared, simulator};
use crate::session::context::ordinal;
use crate::session::streams::of_stream;
use std::ffi::{c_int, c_void};

api! { Driver;
    /// Device memory, usable in stream order.
    fn cuMemAllocAsync, cuMemAllocAsync_ptsz [default] (dptr: Out<Address>, size: usize, stream: StreamHandle) {
        simulator()?.allocate_from_pool(dptr, size, None, stream, default)
    }

    /// Device memory of a pool, usable in stream order.
    fn cuMemAllocFromPoolAsync, cuMemAllocFromPoolAsync_ptsz [default] (
        dptr: Out<Address>, size: usize, memPool: PoolHandle, stream: StreamHandle,
    ) {
        simulator()?.allocate_from_pool(dptr, size, Some(memPool), stream, default)
    }

    /// Frees device memory in stream order.
    fn cuMemFreeAsync, cuMemFreeAsync_ptsz [default] (dptr: Address, stream: StreamHandle) {
        let simulator = of_stream(session(), stream)?;
        simulator.free_in_stream(dptr.0 as u64, simulator.stream(stream, default)?)
    }

    /// The device's first pool.
    fn cuDeviceGetDefaultMemPool(memPool: Out<PoolHandle>, dev: c_int) {
        memPool.set(pool::default_pool(ordinal(dev)?))
    }

    /// The device's pool for `cuMemAllocAsync`.
    fn cuDeviceGetMemPool(memPool: Out<PoolHandle>, dev: c_int) {
        memPool.set(pool::current_pool(shared(), ordinal(dev)?))
    }

    /// Sets the device's pool for `cuMemAllocAsync`.
    fn cuDeviceSetMemPool(dev: c_int, memPool: PoolHandle) {
        pool::set_current_pool(shared(), Home::of_device(ordinal(dev)?), memPool)
    }

    /// A new pool.
    fn cuMemPoolCreate(memPool: Out<PoolHandle>, poolProps: In<PoolProperties>) {
        memPool.check()?;
        let properties = poolProps.get()?;
        let home = home_of_properties(properties)?;
        memPool.set(pool::create(shared(), home, properties.handle_types)?)
    }

    /// Destroys a pool.
    fn cuMemPoolDestroy(memPool: PoolHandle) {
        pool::destroy(shared(), memPool)
    }

    /// An attribute.
    fn cuMemPoolGetAttribute(memPool: PoolHandle, attribute: c_int, value: Out<c_void>) {
        pool::get_attribute(shared(), memPool, attribute, value)
    }

    /// Sets one attribute.
    fn cuMemPoolSetAttribute(memPool: PoolHandle, attribute: c_int, value: *const c_void) {
        pool::set_attribute(shared(), memPool, attribute, value)
    }

    /// Releases unused memory; a pool here keeps none.
    fn cuMemPoolTrimTo(memPool: PoolHandle, _minBytesToKeep: usize) {
        pool::check(shared(), memPool)
    }

    /// Sets the devices that can access the pool's memory.
    fn cuMemPoolSetAccess(memPool: PoolHandle, map: In<AccessDescription>, count: usize) {
        pool::check(shared(), memPool)?;
        map.list(count)?.into_iter().try_for_each(|description| set_access(memPool, description))
    }

    /// Access of a device to the pool's memory.
    fn cuMemPoolGetAccess(flags: Out<c_int>, memPool: PoolHandle, location: In<MemoryLocation>) {
        pool::check(shared(), memPool)?;
        flags.set(access(memPool, location.get()?)?)
    }
}
