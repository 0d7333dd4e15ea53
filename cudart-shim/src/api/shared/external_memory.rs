//! External memory. Only file descriptors are supported handles. External semaphores are not
//! supported, since no system object of the host is behind their descriptors.

use crate::abi::{Address, In, Out};
use crate::api::entry::shared;
use crate::objects::external_memory::{self, BufferDescription, HandleDescription};
use crate::root::shared;

shared! {
    /// Imports the memory of a file descriptor.
    fn cudaImportExternalMemory = cuImportExternalMemory(extMem_out: Out<u64>, memHandleDesc: In<HandleDescription>) {
        context()?;
        external_memory::import(shared(), extMem_out, memHandleDesc)
    }

    /// Maps a part of imported memory.
    fn cudaExternalMemoryGetMappedBuffer = cuExternalMemoryGetMappedBuffer(devPtr: Out<Address>, extMem: u64, bufferDesc: In<BufferDescription>) {
        context()?.map_external(devPtr, extMem, bufferDesc)
    }

    /// Releases imported memory.
    fn cudaDestroyExternalMemory = cuDestroyExternalMemory(extMem: u64) {
        context()?;
        external_memory::destroy(shared(), extMem)
    }
}
