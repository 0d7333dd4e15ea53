//! Memory that something outside of CUDA has made. Of the kinds of handles only file descriptors are known, and semaphores
//! of other systems not at all: no system object of this host stands behind their descriptors.

use crate::abi::{Address, In, Out};
use crate::context::driver_context;
use crate::entry::api;
use crate::external_memory::{self, BufferDescription, HandleDescription};

api! { Driver;
    /// Takes over memory behind a file descriptor.
    fn cuImportExternalMemory(extMem_out: Out<u64>, memHandleDesc: In<HandleDescription>) {
        driver_context()?;
        external_memory::import(extMem_out, memHandleDesc)
    }

    /// Maps a part of it.
    fn cuExternalMemoryGetMappedBuffer(devPtr: Out<Address>, extMem: u64, bufferDesc: In<BufferDescription>) {
        driver_context()?.map_external(devPtr, extMem, bufferDesc)
    }

    /// Lets go of it.
    fn cuDestroyExternalMemory(extMem: u64) {
        driver_context()?;
        external_memory::destroy(extMem)
    }
}
