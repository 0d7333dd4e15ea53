//! Memory created outside CUDA and imported by file descriptor.
//!
//! CUDA treats the descriptor as opaque. Here it must be a mappable file, such as one from
//! memfd_create(2) or `cuMemExportToShareableHandle`.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, In, Out};
use crate::objects::context::current_device;
use crate::objects::device::DeviceObjects;
use crate::objects::shared::Shared;
use functional::memory::{AllocationKind, Pages};
use rustc_hash::FxHashMap;
use std::ffi::{c_int, c_uint, c_ulonglong};
use std::os::fd::{BorrowedFd, FromRawFd, OwnedFd};
use std::sync::Arc;

/// `cudaExternalMemoryHandleTypeOpaqueFd`.
const OPAQUE_DESCRIPTOR: c_int = 1;
/// Largest handle type of the API.
const LAST_KIND: c_int = 9;

/// Start of `cudaExternalMemoryHandleDesc`, `CUDA_EXTERNAL_MEMORY_HANDLE_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct HandleDescription {
    kind: c_int,
    padding: c_int,
    /// A descriptor; other handle types use up to 16 bytes.
    descriptor: c_int,
    other: [c_int; 3],
    size: c_ulonglong,
    flags: c_uint,
}

#[cfg(test)]
impl HandleDescription {
    /// Offset of the descriptor in bytes.
    pub(crate) const DESCRIPTOR: usize = std::mem::offset_of!(HandleDescription, descriptor);
    /// Offset of the size in bytes.
    pub(crate) const SIZE: usize = std::mem::offset_of!(HandleDescription, size);
    /// Offset of the flags in bytes.
    pub(crate) const FLAGS: usize = std::mem::offset_of!(HandleDescription, flags);
}

/// Start of `cudaExternalMemoryBufferDesc`, `CUDA_EXTERNAL_MEMORY_BUFFER_DESC`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct BufferDescription {
    offset: c_ulonglong,
    size: c_ulonglong,
    flags: c_uint,
}

struct External {
    pages: Arc<Pages>,
    size: u64,
    /// The importing device.
    device: usize,
}

/// All imported memory.
#[derive(Default)]
pub(crate) struct Table {
    live: FxHashMap<u64, External>,
    created: u64,
}

/// Handle values lie outside the address space of any process.
const HANDLES: u64 = 0x6100_0000_0000_0000;

/// Imports the memory behind a descriptor and takes ownership of the descriptor.
pub(crate) fn import(
    shared: &'static Shared,
    result: Out<u64>,
    description: In<HandleDescription>,
) -> Result<()> {
    result.check()?;
    let HandleDescription { kind, descriptor, size, flags, .. } = description.get()?;
    match kind {
        OPAQUE_DESCRIPTOR => {}
        2..=LAST_KIND => return Err(Error::NotSupported),
        _ => return Err(Error::InvalidValue),
    }
    // Flag 1 marks dedicated memory of a resource, which makes no difference here.
    if descriptor < 0 || size == 0 || flags > 1 {
        return Err(Error::InvalidValue);
    }
    // SAFETY: the number is only duplicated, which fails unless it is an open descriptor.
    let own = unsafe { BorrowedFd::borrow_raw(descriptor) }.try_clone_to_owned();
    let pages = Pages::from_descriptor(own.map_err(|_| Error::InvalidValue)?);
    let pages = pages.map_err(|_| Error::OperatingSystem)?;
    if size > pages.size() {
        return Err(Error::InvalidValue);
    }
    // SAFETY: a successful call takes ownership of the program's open descriptor.
    drop(unsafe { OwnedFd::from_raw_fd(descriptor) });
    let mut table = shared.external.lock();
    table.created += 1;
    let handle = HANDLES | (table.created << 4);
    table.live.insert(handle, External { pages: Arc::new(pages), size, device: current_device() });
    result.set(handle)
}

/// Releases imported memory. Mapped buffers of the memory remain until they are freed.
pub(crate) fn destroy(shared: &'static Shared, handle: u64) -> Result<()> {
    shared.external.lock().live.remove(&handle).map(|_| ()).ok_or(Error::InvalidResourceHandle)
}

/// Removes the imports of a device that is being reset.
pub(crate) fn forget(shared: &'static Shared, device: usize) {
    shared.external.lock().live.retain(|_, external| external.device != device);
}

impl DeviceObjects {
    /// Maps a part of imported memory. The result is freed like local memory.
    pub(crate) fn map_external(
        &self,
        result: Out<Address>,
        handle: u64,
        description: In<BufferDescription>,
    ) -> Result<()> {
        result.check()?;
        let BufferDescription { offset, size, flags } = description.get()?;
        let pages = {
            let table = self.shared.external.lock();
            let external = table.live.get(&handle).ok_or(Error::InvalidResourceHandle)?;
            let fits = offset.checked_add(size).is_some_and(|end| end <= external.size);
            if flags != 0 || size == 0 || !fits {
                return Err(Error::InvalidValue);
            }
            Arc::clone(&external.pages)
        };
        let address = self.device.memory.attach(&pages, offset, size, AllocationKind::Imported)?;
        result.set(Address(address as usize))
    }
}
