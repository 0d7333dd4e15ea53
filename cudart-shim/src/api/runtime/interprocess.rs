//! Pools of other processes, for calls that differ from the driver's; see [`crate::api::shared`].

use crate::abi::{Address, Out, PoolHandle};
use crate::api::entry::api;
use crate::objects::pool;
use crate::root::shared;
use std::ffi::{c_int, c_uint, c_void};

api! { Runtime;
    /// A file descriptor for a pool.
    fn cudaMemPoolExportToShareableHandle(
        shareableHandle: Out<c_void>, memPool: PoolHandle, handleType: c_int, flags: c_uint,
    ) {
        pool::export(shared(), shareableHandle, memPool, handleType, flags.into())
    }

    /// The pool of a file descriptor, which is passed in place of a pointer.
    fn cudaMemPoolImportFromShareableHandle(
        memPool: Out<PoolHandle>, shareableHandle: Address, handleType: c_int, flags: c_uint,
    ) {
        pool::import(shared(), memPool, shareableHandle, handleType, flags.into())
    }
}
