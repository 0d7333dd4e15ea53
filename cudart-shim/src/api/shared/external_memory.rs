//! Memory that something outside of CUDA has made. Of the kinds of handles only file descriptors are known, and semaphores
//! of other systems not at all: no system object of this host stands behind their descriptors.

use crate::abi::{Address, In, Out};
use crate::api::entry::shared;
use crate::objects::external_memory::{self, BufferDescription, HandleDescription};

shared! {
    /// Takes over memory behind a file descriptor.
    fn cudaImportExternalMemory = cuImportExternalMemory(extMem_out: Out<u64>, memHandleDesc: In<HandleDescription>) {
        context()?;
        external_memory::import(extMem_out, memHandleDesc)
    }

    /// Maps a part of it.
    fn cudaExternalMemoryGetMappedBuffer = cuExternalMemoryGetMappedBuffer(devPtr: Out<Address>, extMem: u64, bufferDesc: In<BufferDescription>) {
        context()?.map_external(devPtr, extMem, bufferDesc)
    }

    /// Lets go of it.
    fn cudaDestroyExternalMemory = cuDestroyExternalMemory(extMem: u64) {
        context()?;
        external_memory::destroy(extMem)
    }
}
