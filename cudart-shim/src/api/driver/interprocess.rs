//! Memory and pools of other processes, for calls that differ from the runtime's; see
//! [`crate::api::shared`].

use crate::abi::{Address, Out, PoolHandle};
use crate::api::entry::api;
use crate::objects::interprocess::Handle;
use crate::objects::pool;
use crate::root::{shared, simulator};
use std::ffi::{c_int, c_uint, c_ulonglong, c_void};

api! { Driver;
    /// As `cuIpcOpenMemHandle`, on the device of the memory's allocation; both open memory in the
    /// same way here.
    fn cuIpcOpenMemHandle_v2(devPtr: Out<Address>, handle: Handle, flags: c_uint) {
        devPtr.check()?;
        devPtr.set(Address(simulator()?.open_memory_handle(&handle, flags)? as usize))
    }

    /// A file descriptor for a pool.
    fn cuMemPoolExportToShareableHandle(
        shareableHandle: Out<c_void>, memPool: PoolHandle, handleType: c_int, flags: c_ulonglong,
    ) {
        pool::export(shared(), shareableHandle, memPool, handleType, flags)
    }

    /// The pool of a file descriptor, which is passed in place of a pointer.
    fn cuMemPoolImportFromShareableHandle(
        memPool: Out<PoolHandle>, shareableHandle: Address, handleType: c_int, flags: c_ulonglong,
    ) {
        pool::import(shared(), memPool, shareableHandle, handleType, flags)
    }
}
