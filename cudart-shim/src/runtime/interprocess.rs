//! Memory and events of other processes.

use crate::abi::{Address, EventHandle, In, Out, PoolHandle};
use crate::context::runtime_context;
use crate::entry::api;
use crate::interprocess::Handle;
use crate::pool;
use std::ffi::{c_int, c_uint, c_void};

api! { Runtime;
    /// A handle for device memory.
    fn cudaIpcGetMemHandle(handle: Out<Handle>, devPtr: Address) {
        handle.check()?;
        handle.set(runtime_context()?.memory_handle(devPtr.0 as u64)?)
    }

    /// Maps memory of another process.
    fn cudaIpcOpenMemHandle(devPtr: Out<Address>, handle: Handle, flags: c_uint) {
        devPtr.check()?;
        devPtr.set(Address(runtime_context()?.open_memory_handle(&handle, flags)? as usize))
    }

    /// Unmaps memory of another process.
    fn cudaIpcCloseMemHandle(devPtr: Address) { runtime_context()?.close_memory_handle(devPtr.0 as u64) }

    /// A handle for an event.
    fn cudaIpcGetEventHandle(handle: Out<Handle>, event: EventHandle) {
        handle.check()?;
        handle.set(runtime_context()?.event_handle(event)?)
    }

    /// An event of another process.
    fn cudaIpcOpenEventHandle(event: Out<EventHandle>, handle: Handle) {
        runtime_context()?.open_event_handle(event, &handle)
    }

    /// A file descriptor for a pool.
    fn cudaMemPoolExportToShareableHandle(
        shareableHandle: Out<c_void>, memPool: PoolHandle, handleType: c_int, flags: c_uint,
    ) {
        runtime_context()?;
        pool::export(shareableHandle, memPool, handleType, flags.into())
    }

    /// The pool behind a file descriptor, which is passed as if it were a pointer.
    fn cudaMemPoolImportFromShareableHandle(
        memPool: Out<PoolHandle>, shareableHandle: Address, handleType: c_int, flags: c_uint,
    ) {
        runtime_context()?;
        pool::import(memPool, shareableHandle, handleType, flags.into())
    }

    /// What another process needs to reach memory of a pool.
    fn cudaMemPoolExportPointer(exportData: Out<Handle>, ptr: Address) {
        exportData.check()?;
        exportData.set(runtime_context()?.export_pool_pointer(ptr.0 as u64)?)
    }

    /// Maps memory of a pool of another process.
    fn cudaMemPoolImportPointer(ptr: Out<Address>, memPool: PoolHandle, exportData: In<Handle>) {
        ptr.check()?;
        let address = runtime_context()?.import_pool_pointer(memPool, &exportData.get()?)?;
        ptr.set(Address(address as usize))
    }
}
