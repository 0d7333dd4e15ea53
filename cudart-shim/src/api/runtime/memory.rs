//! Memory: allocation, registration, queries, advice.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, CudaExtent, MemoryLocation, Out, PitchedPointer, StreamHandle};
use crate::api::entry::api;
use crate::objects::allocation::HOST_ALLOC_FLAGS;
use crate::objects::managed::Place;
use crate::objects::ownership::{self, Object};
use crate::root::{shared, simulator};
use functional::memory::AllocationKind;
use std::ffi::{c_int, c_uint};

/// Kinds of memory that `cudaFree` accepts.
const DEVICE_KINDS: &[AllocationKind] = &[AllocationKind::Device, AllocationKind::Managed];

fn allocate(result: Out<Address>, size: usize, kind: AllocationKind, flags: u32) -> Result<()> {
    result.check()?;
    let simulator = simulator()?;
    simulator.check_unsafe_call()?;
    let address = simulator.allocate(size, kind, flags)?;
    ownership::adopt(shared(), Object::Memory(address));
    result.set(Address(address as usize))
}

api! { Runtime;
    /// Device memory.
    fn cudaMalloc(devPtr: Out<Address>, size: usize) { allocate(devPtr, size, AllocationKind::Device, 0) }

    /// Rows of device memory.
    fn cudaMallocPitch(devPtr: Out<Address>, pitch: Out<usize>, width: usize, height: usize) {
        devPtr.check()?;
        pitch.check()?;
        let (address, row) = simulator()?.allocate_rows(width, height)?;
        pitch.set(row)?;
        devPtr.set(Address(address as usize))
    }

    /// Slices of rows of device memory.
    fn cudaMalloc3D(pitchedDevPtr: Out<PitchedPointer>, extent: CudaExtent) {
        pitchedDevPtr.check()?;
        let rows = extent.height.checked_mul(extent.depth).ok_or(Error::MemoryAllocation)?;
        let (address, pitch) = simulator()?.allocate_rows(extent.width, rows)?;
        let (xsize, ysize) = (extent.width, extent.height);
        pitchedDevPtr.set(PitchedPointer { address: Address(address as usize), pitch, xsize, ysize })
    }

    /// Memory that host and device access at one address.
    fn cudaMallocManaged(devPtr: Out<Address>, size: usize, flags: c_uint) {
        if size == 0 || !matches!(flags, 1 | 2) {
            return Err(Error::InvalidValue);
        }
        allocate(devPtr, size, AllocationKind::Managed, flags)
    }

    /// Pinned host memory.
    fn cudaMallocHost(ptr: Out<Address>, size: usize) { allocate(ptr, size, AllocationKind::Host, 0) }

    /// Pinned host memory.
    fn cudaHostAlloc(pHost: Out<Address>, size: usize, flags: c_uint) {
        if flags & !HOST_ALLOC_FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        allocate(pHost, size, AllocationKind::Host, flags)
    }

    /// Frees device or managed memory after pending device work.
    fn cudaFree(devPtr: Address) { simulator()?.free(devPtr.0 as u64, DEVICE_KINDS) }

    /// Frees pinned host memory after pending device work.
    fn cudaFreeHost(ptr: Address) { simulator()?.free(ptr.0 as u64, &[AllocationKind::Host]) }

    /// Makes host memory accessible to kernels.
    fn cudaHostRegister(ptr: Address, size: usize, flags: c_uint) {
        simulator()?.register_host(ptr.0 as u64, size, flags)
    }

    /// Undoes `cudaHostRegister`.
    fn cudaHostUnregister(ptr: Address) { simulator()?.unregister_host(ptr.0 as u64) }

    /// The device address of pinned memory, which equals the host address.
    fn cudaHostGetDevicePointer(pDevice: Out<Address>, pHost: Address, flags: c_uint) {
        pDevice.check()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        simulator()?.host_allocation(pHost.0 as u64)?;
        pDevice.set(pHost)
    }

    /// Allocation flags of pinned memory; it is always mapped.
    fn cudaHostGetFlags(pFlags: Out<c_uint>, pHost: Address) {
        pFlags.check()?;
        let simulator = simulator()?;
        let allocation = simulator.host_allocation(pHost.0 as u64)?;
        pFlags.set(simulator.allocation_flags(allocation.address) | 2)
    }

    /// Free and total device memory.
    fn cudaMemGetInfo(free: Out<usize>, total: Out<usize>) {
        let (free_bytes, total_bytes) = simulator()?.memory_info();
        free.set(free_bytes as usize)?;
        total.set(total_bytes as usize)
    }

    /// Advice about managed memory.
    fn cudaMemAdvise(devPtr: Address, count: usize, advice: c_int, device: c_int) {
        simulator()?.advise(devPtr, count, advice, || Place::from_ordinal(device))
    }

    /// Advice about managed memory; `cudaMemAdvise` of CUDA 13.
    fn cudaMemAdvise_v2(devPtr: Address, count: usize, advice: c_int, location: MemoryLocation) {
        simulator()?.advise(devPtr, count, advice, || Place::from_location(location))
    }

    /// Migrates managed memory to the place of its use.
    fn cudaMemPrefetchAsync, cudaMemPrefetchAsync_ptsz [default] (
        devPtr: Address, count: usize, dstDevice: c_int, stream: StreamHandle,
    ) {
        let simulator = simulator()?;
        simulator.check_stream(stream, default)?;
        simulator.prefetch(devPtr, count, Place::from_ordinal(dstDevice)?)
    }

    /// Migrates managed memory to the place of its use; `cudaMemPrefetchAsync` of CUDA 13.
    fn cudaMemPrefetchAsync_v2, cudaMemPrefetchAsync_v2_ptsz [default] (
        devPtr: Address, count: usize, location: MemoryLocation, _flags: c_uint, stream: StreamHandle,
    ) {
        let simulator = simulator()?;
        simulator.check_stream(stream, default)?;
        simulator.prefetch(devPtr, count, Place::from_location(location)?)
    }
}
