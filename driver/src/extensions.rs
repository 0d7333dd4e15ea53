//! Extensions of Voltsim's driver: memory access without simulated time, and setup of saved launches.

use std::collections::HashMap;
use std::ffi::c_int;
use std::path::Path;

use launch_capture::Heap;
use libloading::Library;
use serde::Serialize;
use timing::gpu::Transfer;
use voltsim_checkpoint::codec;
use warp_stream::Past;

use crate::{Driver, DriverError};

/// `CUDA_ERROR_INVALID_VALUE`.
const INVALID_VALUE: c_int = 1;

type Write = unsafe extern "C" fn(u64, *const u8, usize) -> c_int;
type SendMessage = unsafe extern "C" fn(*const u8, usize) -> c_int;
type Claim = unsafe extern "C" fn(u64, u64) -> c_int;
type PlaceArray = unsafe extern "C" fn(u64) -> c_int;
type MarkLast = unsafe extern "C" fn();
type Read = unsafe extern "C" fn(u64, *mut u8, usize) -> c_int;

/// Extension functions of Voltsim's core.
pub(crate) struct CoreExtensions {
    write: Write,
    read: Read,
    claim: Claim,
    narrow: SendMessage,
    place_variables: SendMessage,
    place_array: PlaceArray,
    heap: SendMessage,
    recall: SendMessage,
    transfer: SendMessage,
    last: MarkLast,
}

impl CoreExtensions {
    /// Returns the extensions if the driver is Voltsim's. Other drivers have none.
    pub(crate) fn load(driver: &Path) -> Option<CoreExtensions> {
        let core = driver.parent()?.join(library_folder::CORE);
        // SAFETY: the core was loaded with the driver, and the functions have these signatures.
        unsafe {
            let library = core.is_file().then(|| Library::new(core).ok())??;
            let extensions = CoreExtensions {
                write: *library.get(b"voltsim_core_write\0").ok()?,
                read: *library.get(b"voltsim_core_read\0").ok()?,
                claim: *library.get(b"voltsim_core_claim\0").ok()?,
                narrow: *library.get(b"voltsim_core_narrow\0").ok()?,
                place_variables: *library.get(b"voltsim_core_place_variables\0").ok()?,
                place_array: *library.get(b"voltsim_core_place_array\0").ok()?,
                heap: *library.get(b"voltsim_core_heap\0").ok()?,
                recall: *library.get(b"voltsim_core_recall\0").ok()?,
                transfer: *library.get(b"voltsim_core_transfer\0").ok()?,
                last: *library.get(b"voltsim_core_last\0").ok()?,
            };
            std::mem::forget(library);
            Some(extensions)
        }
    }
}

impl Driver {
    /// Writes idle device memory, if possible without simulated time.
    pub fn put(&self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the buffer is valid, and by this function's contract the memory is idle.
        let done = |extensions: &CoreExtensions| unsafe { (extensions.write)(address, bytes.as_ptr(), bytes.len()) } == 0;
        if self.extensions.as_ref().is_some_and(done) { Ok(()) } else { self.write(address, bytes) }
    }

    /// Reads idle device memory, if possible without simulated time.
    pub fn peek(&self, address: u64, size: u64) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        // SAFETY: as above.
        let done = |extensions: &CoreExtensions| unsafe { (extensions.read)(address, bytes.as_mut_ptr(), bytes.len()) } == 0;
        if self.extensions.as_ref().is_some_and(done) { Ok(bytes) } else { self.read(address, size) }
    }

    /// Reserves whole blocks of a Voltsim device's addresses, which do not count as used memory. Other
    /// drivers return `None`.
    pub(crate) fn claim(&self, address: u64, size: u64) -> Option<bool> {
        // SAFETY: the function has no precondition.
        self.extensions.as_ref().map(|extensions| unsafe { (extensions.claim)(address, size) } == 0)
    }

    /// Returns whether the driver supports [`Driver::narrow`].
    pub fn can_narrow(&self) -> bool {
        self.extensions.is_some()
    }

    /// Limits kernels to these ranges (address and bytes) of the memory from [`Driver::map_at`]; `None`
    /// removes the limit. No effect on other drivers.
    pub fn narrow(&self, ranges: Option<&[(u64, u64)]>) {
        self.send(|extensions| extensions.narrow, &ranges);
    }

    /// Sets the addresses of variables with these names in modules loaded from now on. The addresses must
    /// be mapped. No effect on other drivers.
    pub fn place_variables(&self, addresses: &HashMap<&str, u64>) {
        self.send(|extensions| extensions.place_variables, addresses);
    }

    /// Sets the address of the next array, which must be mapped. Returns false on other drivers.
    pub fn place_array(&self, address: u64) -> bool {
        // SAFETY: the function has no precondition.
        self.extensions.as_ref().is_some_and(|extensions| unsafe { (extensions.place_array)(address) } == 0)
    }

    /// Restores the device heap as of a launch, with each block at its address. Returns false on other
    /// drivers.
    pub fn set_heap(&self, heap: &Heap) -> bool {
        self.extensions.is_some() && self.send(|extensions| extensions.heap, heap)
    }

    /// Passes the history before the next launch to the timing model. Returns whether the model accepted
    /// it.
    pub fn recall(&self, past: &Past) -> bool {
        self.send(|extensions| extensions.recall, past)
    }

    /// Simulates the time of a device-to-device copy or a fill, if there is a timing model.
    pub fn transfer(&self, transfer: &Transfer) -> Result<(), DriverError> {
        let done = self.send(|extensions| extensions.transfer, transfer);
        self.check("voltsim_core_transfer", if done { 0 } else { INVALID_VALUE })
    }

    fn send(&self, function: impl FnOnce(&CoreExtensions) -> SendMessage, what: &impl Serialize) -> bool {
        let Some(extensions) = &self.extensions else { return true };
        let Ok(bytes) = codec::encode(what) else { return false };
        // SAFETY: the buffer is valid, and nothing runs between two launches.
        unsafe { function(extensions)(bytes.as_ptr(), bytes.len()) == 0 }
    }

    /// Tells the timing model that the next launch's effects on memory and caches are not needed.
    pub fn next_is_last(&self) {
        if let Some(extensions) = &self.extensions {
            // SAFETY: nothing runs between two launches.
            unsafe { (extensions.last)() }
        }
    }
}
