//! Memory and events of other processes.

use crate::abi::{Address, EventHandle, In, Out, PoolHandle};
use crate::api::entry::shared;
use crate::objects::interprocess::Handle;
use crate::root::simulator;
use std::ffi::c_uint;

shared! {
    /// A handle for device memory.
    fn cudaIpcGetMemHandle = cuIpcGetMemHandle(handle: Out<Handle>, devPtr: Address) {
        handle.check()?;
        handle.set(context()?.memory_handle(devPtr.0 as u64)?)
    }

    /// Maps memory of another process.
    fn cudaIpcOpenMemHandle = cuIpcOpenMemHandle(devPtr: Out<Address>, handle: Handle, flags: c_uint) {
        devPtr.check()?;
        devPtr.set(Address(context()?.open_memory_handle(&handle, flags)? as usize))
    }

    /// Unmaps memory of another process.
    fn cudaIpcCloseMemHandle = cuIpcCloseMemHandle(devPtr: Address) { context()?.close_memory_handle(devPtr.0 as u64) }

    /// A handle for an event.
    fn cudaIpcGetEventHandle = cuIpcGetEventHandle(handle: Out<Handle>, event: EventHandle) {
        handle.check()?;
        handle.set(context()?.event_handle(event)?)
    }

    /// An event of another process.
    fn cudaIpcOpenEventHandle = cuIpcOpenEventHandle(event: Out<EventHandle>, handle: Handle) {
        context()?.open_event_handle(event, &handle)
    }

    /// Data with which another process can access memory of a pool.
    fn cudaMemPoolExportPointer = cuMemPoolExportPointer(exportData: Out<Handle>, ptr: Address) {
        exportData.check()?;
        exportData.set(simulator()?.export_pool_pointer(ptr.0 as u64)?)
    }

    /// Maps memory of a pool of another process.
    fn cudaMemPoolImportPointer = cuMemPoolImportPointer(ptr: Out<Address>, memPool: PoolHandle, exportData: In<Handle>) {
        ptr.check()?;
        let address = simulator()?.import_pool_pointer(memPool, &exportData.get()?)?;
        ptr.set(Address(address as usize))
    }
}
