//! Pools of other processes, where the driver's calls are others; see [`crate::api::shared`].

use crate::abi::{Address, Out, PoolHandle};
use crate::api::entry::api;
use crate::objects::pool;
use std::ffi::{c_int, c_uint, c_void};

api! { Runtime;
    /// A file descriptor for a pool.
    fn cudaMemPoolExportToShareableHandle(
        shareableHandle: Out<c_void>, memPool: PoolHandle, handleType: c_int, flags: c_uint,
    ) {
        pool::export(shareableHandle, memPool, handleType, flags.into())
    }

    /// The pool behind a file descriptor, which is passed as if it were a pointer.
    fn cudaMemPoolImportFromShareableHandle(
        memPool: Out<PoolHandle>, shareableHandle: Address, handleType: c_int, flags: c_uint,
    ) {
        pool::import(memPool, shareableHandle, handleType, flags.into())
    }
}
