//! Memory and events of other processes.

use crate::abi::{Address, EventHandle, In, Out, PoolHandle};
use crate::context::driver_context;
use crate::entry::api;
use crate::interprocess::Handle;
use crate::pool;
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

api! { Driver;
    /// A handle for device memory.
    fn cuIpcGetMemHandle(handle: Out<Handle>, devPtr: Address) {
        handle.check()?;
        handle.set(driver_context()?.memory_handle(devPtr.0 as u64)?)
    }

    /// Maps memory of another process.
    fn cuIpcOpenMemHandle(devPtr: Out<Address>, handle: Handle, flags: c_uint) {
        devPtr.check()?;
        devPtr.set(Address(driver_context()?.open_memory_handle(&handle, flags)? as usize))
    }

    /// As above, for the device of the memory's allocation; there is but one way to open memory here.
    fn cuIpcOpenMemHandle_v2(devPtr: Out<Address>, handle: Handle, flags: c_uint) {
        devPtr.check()?;
        devPtr.set(Address(driver_context()?.open_memory_handle(&handle, flags)? as usize))
    }

    /// Unmaps memory of another process.
    fn cuIpcCloseMemHandle(devPtr: Address) { driver_context()?.close_memory_handle(devPtr.0 as u64) }

    /// A handle for an event.
    fn cuIpcGetEventHandle(handle: Out<Handle>, event: EventHandle) {
        handle.check()?;
        handle.set(driver_context()?.event_handle(event)?)
    }

    /// An event of another process.
    fn cuIpcOpenEventHandle(event: Out<EventHandle>, handle: Handle) {
        driver_context()?.open_event_handle(event, &handle)
    }

    /// A file descriptor for a pool.
    fn cuMemPoolExportToShareableHandle(
        shareableHandle: Out<c_void>, memPool: PoolHandle, handleType: c_int, flags: c_ulonglong,
    ) {
        driver_context()?;
        pool::export(shareableHandle, memPool, handleType, flags)
    }

    /// The pool behind a file descriptor, which is passed as if it were a pointer.
    fn cuMemPoolImportFromShareableHandle(
        memPool: Out<PoolHandle>, shareableHandle: Address, handleType: c_int, flags: c_ulonglong,
    ) {
        driver_context()?;
        pool::import(memPool, shareableHandle, handleType, flags)
    }

    /// What another process needs to reach memory of a pool.
    fn cuMemPoolExportPointer(exportData: Out<Handle>, ptr: Address) {
        exportData.check()?;
        exportData.set(driver_context()?.export_pool_pointer(ptr.0 as u64)?)
    }

    /// Maps memory of a pool of another process.
    fn cuMemPoolImportPointer(ptr: Out<Address>, memPool: PoolHandle, exportData: In<Handle>) {
        ptr.check()?;
        let address = driver_context()?.import_pool_pointer(memPool, &exportData.get()?)?;
        ptr.set(Address(address as usize))
    }
}
