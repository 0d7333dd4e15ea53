//! Memory: allocation, registration, queries, advice.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, MemoryLocation, Out, StreamHandle};
use crate::api::entry::api;
use crate::objects::allocation::HOST_ALLOC_FLAGS;
use crate::objects::managed::Place;
use crate::objects::ownership::{self, Object};
use crate::objects::pool;
use crate::objects::virtual_memory::{self, FILE_DESCRIPTOR};
use crate::root::{owner_of, process, shared, simulator};
use crate::session::context;
use crate::session::simulator::Simulator;
use functional::memory::{Allocation, AllocationKind};
use std::ffi::{c_int, c_uint, c_void};

/// Kinds of memory that `cuMemFree` accepts.
const DEVICE_KINDS: &[AllocationKind] = &[AllocationKind::Device, AllocationKind::Managed];

fn allocate(result: Out<Address>, size: usize, kind: AllocationKind, flags: u32) -> Result<()> {
    result.check()?;
    if size == 0 {
        return Err(Error::InvalidValue);
    }
    let simulator = simulator()?;
    simulator.check_unsafe_call()?;
    let address = simulator.allocate(size, kind, flags)?;
    ownership::adopt(shared(), Object::Memory(address));
    result.set(Address(address as usize))
}

/// `CUpointer_attribute`.
mod attribute {
    pub(super) const CONTEXT: i32 = 1;
    pub(super) const MEMORY_TYPE: i32 = 2;
    pub(super) const DEVICE_POINTER: i32 = 3;
    pub(super) const HOST_POINTER: i32 = 4;
    pub(super) const SYNC_MEMOPS: i32 = 6;
    pub(super) const BUFFER_ID: i32 = 7;
    pub(super) const IS_MANAGED: i32 = 8;
    pub(super) const DEVICE_ORDINAL: i32 = 9;
    pub(super) const IS_LEGACY_IPC_CAPABLE: i32 = 10;
    pub(super) const RANGE_START: i32 = 11;
    pub(super) const RANGE_SIZE: i32 = 12;
    pub(super) const MAPPED: i32 = 13;
    pub(super) const ALLOWED_HANDLE_TYPES: i32 = 14;
    pub(super) const IS_GPU_DIRECT_RDMA_CAPABLE: i32 = 15;
    pub(super) const ACCESS_FLAGS: i32 = 16;
    pub(super) const MEMPOOL_HANDLE: i32 = 17;
}

/// A value of `cuPointerGetAttribute`, in the attribute's size.
enum Value {
    Word(u64),
    Int(u32),
    /// Four bytes, though the manual says boolean: the runtime of CUDA 10.2 reads four.
    Flag(bool),
}

/// Attribute of a pointer into an allocation; `None` for an unknown attribute.
fn pointer_attribute(
    simulator: &Simulator,
    attribute: c_int,
    address: u64,
    found: &Allocation,
) -> Option<Result<Value>> {
    let mapped = virtual_memory::properties_at(simulator, address);
    let pool = pool::pool_of(shared(), found.address);
    let host = matches!(found.kind, AllocationKind::Host | AllocationKind::Registered)
        || mapped.is_some_and(|properties| !properties.is_on_device());
    let reached_by_host = host || found.kind == AllocationKind::Managed;
    Some(Ok(match attribute {
        attribute::CONTEXT => {
            let objects = [Object::Memory(found.address), Object::Registration(found.address)];
            let created = objects.into_iter().find_map(|object| ownership::context_of(shared(), object));
            Value::Word(created.unwrap_or(context::primary(simulator.ordinal)).0 as u64)
        }
        attribute::MEMORY_TYPE => Value::Int(if host { 1 } else { 2 }),
        attribute::DEVICE_POINTER => Value::Word(address),
        attribute::HOST_POINTER if reached_by_host => Value::Word(address),
        attribute::HOST_POINTER => return Some(Err(Error::InvalidValue)),
        attribute::IS_LEGACY_IPC_CAPABLE => {
            Value::Flag(found.kind == AllocationKind::Device && pool.is_none())
        }
        attribute::SYNC_MEMOPS => Value::Flag(process().synchronous.lock().contains(&found.address)),
        attribute::IS_GPU_DIRECT_RDMA_CAPABLE => Value::Flag(false),
        attribute::BUFFER_ID => Value::Word(found.serial),
        attribute::IS_MANAGED => Value::Flag(found.kind == AllocationKind::Managed),
        attribute::DEVICE_ORDINAL => Value::Int(simulator.ordinal as u32),
        attribute::RANGE_START => Value::Word(found.address),
        attribute::RANGE_SIZE => Value::Word(found.size),
        attribute::MAPPED => Value::Flag(true),
        attribute::ALLOWED_HANDLE_TYPES => {
            let of_pool =
                pool.filter(|pool| pool::exported_identity(shared(), *pool).is_ok()).map(|_| FILE_DESCRIPTOR);
            Value::Word(mapped.map(|properties| properties.handle_types).or(of_pool).unwrap_or(0) as u64)
        }
        attribute::MEMPOOL_HANDLE => Value::Word(pool.map_or(0, |pool| pool.0 as u64)),
        // Read and write access.
        attribute::ACCESS_FLAGS => Value::Int(3),
        _ => return None,
    }))
}

impl Value {
    fn store(&self, target: Out<c_void>) -> Result<()> {
        target.check()?;
        let target = target.pointer();
        match *self {
            Self::Word(value) => Out::new(target.cast()).set(value),
            Self::Int(value) => Out::new(target.cast()).set(value),
            Self::Flag(value) => Out::new(target.cast()).set(u32::from(value)),
        }
    }
}

/// Zeros of the attribute's size, which `cuPointerGetAttributes` returns for unknown pointers.
fn unknown_value(attribute: c_int) -> Value {
    match attribute {
        attribute::MEMORY_TYPE | attribute::ACCESS_FLAGS => Value::Int(0),
        // CU_DEVICE_INVALID.
        attribute::DEVICE_ORDINAL => Value::Int(-2_i32 as u32),
        attribute::SYNC_MEMOPS
        | attribute::IS_MANAGED
        | attribute::IS_LEGACY_IPC_CAPABLE
        | attribute::MAPPED
        | attribute::IS_GPU_DIRECT_RDMA_CAPABLE => Value::Flag(false),
        _ => Value::Word(0),
    }
}

api! { Driver;
    /// Device memory.
    fn cuMemAlloc_v2(dptr: Out<Address>, size: usize) { allocate(dptr, size, AllocationKind::Device, 0) }

    /// Rows of device memory for elements of 4, 8 or 16 bytes.
    fn cuMemAllocPitch_v2(
        dptr: Out<Address>, pitch: Out<usize>, width: usize, height: usize, elementSize: c_uint,
    ) {
        dptr.check()?;
        pitch.check()?;
        if width == 0 || height == 0 || !matches!(elementSize, 4 | 8 | 16) {
            return Err(Error::InvalidValue);
        }
        let (address, row) = simulator()?.allocate_rows(width, height)?;
        pitch.set(row)?;
        dptr.set(Address(address as usize))
    }

    /// Memory that host and device access at one address.
    fn cuMemAllocManaged(dptr: Out<Address>, size: usize, flags: c_uint) {
        if !matches!(flags, 1 | 2) {
            return Err(Error::InvalidValue);
        }
        allocate(dptr, size, AllocationKind::Managed, flags)
    }

    /// Pinned host memory.
    fn cuMemAllocHost_v2(pp: Out<Address>, size: usize) { allocate(pp, size, AllocationKind::Host, 0) }

    /// Pinned host memory.
    fn cuMemHostAlloc(pp: Out<Address>, size: usize, flags: c_uint) {
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        allocate(pp, size, AllocationKind::Host, flags)
    }

    /// Frees device or managed memory after pending device work.
    fn cuMemFree_v2(dptr: Address) { simulator()?.free(dptr.0 as u64, DEVICE_KINDS) }

    /// Frees pinned host memory after pending device work.
    fn cuMemFreeHost(p: Address) { simulator()?.free(p.0 as u64, &[AllocationKind::Host]) }

    /// Makes host memory accessible to kernels.
    fn cuMemHostRegister_v2(p: Address, size: usize, flags: c_uint) {
        simulator()?.register_host(p.0 as u64, size, flags)
    }

    /// Undoes `cuMemHostRegister`.
    fn cuMemHostUnregister(p: Address) { simulator()?.unregister_host(p.0 as u64) }

    /// The device address of pinned memory, which equals the host address.
    fn cuMemHostGetDevicePointer_v2(dptr: Out<Address>, p: Address, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        simulator()?.host_allocation(p.0 as u64)?;
        dptr.set(p)
    }

    /// Allocation flags of pinned memory; it is always mapped.
    fn cuMemHostGetFlags(flags: Out<c_uint>, p: Address) {
        let simulator = simulator()?;
        let allocation = simulator.host_allocation(p.0 as u64)?;
        flags.set(simulator.allocation_flags(allocation.address) | 2)
    }

    /// Start and size of the allocation that contains an address.
    fn cuMemGetAddressRange_v2(base: Out<Address>, size: Out<usize>, dptr: Address) {
        let (_, found) = owner_of(dptr.0 as u64).ok_or(Error::SymbolNotFound)?;
        base.set_if_wanted(Address(found.address as usize));
        size.set_if_wanted(found.size as usize);
        Ok(())
    }

    /// Free and total device memory.
    fn cuMemGetInfo_v2(free: Out<usize>, total: Out<usize>) {
        let (free_bytes, total_bytes) = simulator()?.memory_info();
        free.set(free_bytes as usize)?;
        total.set(total_bytes as usize)
    }

    /// Advice about managed memory.
    fn cuMemAdvise(devPtr: Address, count: usize, advice: c_int, device: c_int) {
        simulator()?.advise(devPtr, count, advice, || Place::from_ordinal(device))
    }

    /// Advice about managed memory.
    fn cuMemAdvise_v2(devPtr: Address, count: usize, advice: c_int, location: MemoryLocation) {
        simulator()?.advise(devPtr, count, advice, || Place::from_location(location))
    }

    /// Migrates managed memory to the place of its use.
    fn cuMemPrefetchAsync, cuMemPrefetchAsync_ptsz [default] (
        devPtr: Address, count: usize, dstDevice: c_int, stream: StreamHandle,
    ) {
        let simulator = simulator()?;
        simulator.check_stream(stream, default)?;
        simulator.prefetch(devPtr, count, Place::from_ordinal(dstDevice)?)
    }

    /// Migrates managed memory to the place of its use.
    fn cuMemPrefetchAsync_v2, cuMemPrefetchAsync_v2_ptsz [default] (
        devPtr: Address, count: usize, location: MemoryLocation, _flags: c_uint, stream: StreamHandle,
    ) {
        let simulator = simulator()?;
        simulator.check_stream(stream, default)?;
        simulator.prefetch(devPtr, count, Place::from_location(location)?)
    }

    /// An attribute of a pointer.
    fn cuPointerGetAttribute(data: Out<c_void>, attribute: c_int, ptr: Address) {
        let (simulator, found) = owner_of(ptr.0 as u64).ok_or(Error::InvalidValue)?;
        pointer_attribute(simulator, attribute, ptr.0 as u64, &found).ok_or(Error::InvalidValue)??.store(data)
    }

    /// Several attributes of a pointer; zeros for an unknown pointer.
    fn cuPointerGetAttributes(
        count: c_uint, attributes: In<c_int>, data: In<*mut c_void>, ptr: Address,
    ) {
        let found = owner_of(ptr.0 as u64);
        let attributes = attributes.list(count as usize)?;
        for (attribute, target) in attributes.into_iter().zip(data.list(count as usize)?) {
            let known =
                found.and_then(|(owner, found)| pointer_attribute(owner, attribute, ptr.0 as u64, &found));
            let value = match known {
                Some(Ok(value)) => value,
                Some(Err(_)) | None => unknown_value(attribute),
            };
            value.store(Out::new(target))?;
        }
        Ok(())
    }

    /// Sets the only settable attribute, synchronous memory operations, which has no effect here.
    fn cuPointerSetAttribute(value: In<c_uint>, attribute: c_int, ptr: Address) {
        let value = value.get()?;
        let (_, found) = owner_of(ptr.0 as u64).ok_or(Error::InvalidValue)?;
        if attribute != attribute::SYNC_MEMOPS {
            return Err(Error::InvalidValue);
        }
        let mut synchronous = process().synchronous.lock();
        let _ = if value != 0 { synchronous.insert(found.address) } else { synchronous.remove(&found.address) };
        Ok(())
    }
}
