//! Memory of our own devices, written and read without a call that would take simulated time.

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
type Told = unsafe extern "C" fn(*const u8, usize) -> c_int;
type Claim = unsafe extern "C" fn(u64, u64) -> c_int;
type Place = unsafe extern "C" fn(u64) -> c_int;
type Last = unsafe extern "C" fn();
type Read = unsafe extern "C" fn(u64, *mut u8, usize) -> c_int;

/// Functions of our core.
pub(crate) struct Direct {
    write: Write,
    read: Read,
    claim: Claim,
    narrow: Told,
    place_variables: Told,
    place_array: Place,
    heap: Told,
    recall: Told,
    transfer: Told,
    last: Last,
}

impl Direct {
    /// Of the core beside a driver of ours; a real driver has none.
    pub(crate) fn beside(driver: &Path) -> Option<Direct> {
        let core = driver.parent()?.join(library_folder::CORE);
        // SAFETY: the core was loaded with the driver; the functions have these signatures.
        unsafe {
            let library = core.is_file().then(|| Library::new(core).ok())??;
            let direct = Direct {
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
            Some(direct)
        }
    }
}

impl Driver {
    /// Writes device memory that nothing uses now, if possible without simulated time.
    pub fn put(&self, address: u64, bytes: &[u8]) -> Result<(), DriverError> {
        // SAFETY: the bytes are ours; by the contract of this function nothing uses the memory.
        let done = |direct: &Direct| unsafe { (direct.write)(address, bytes.as_ptr(), bytes.len()) } == 0;
        if self.direct.as_ref().is_some_and(done) { Ok(()) } else { self.write(address, bytes) }
    }

    /// Reads device memory that nothing writes to now, if possible without simulated time.
    pub fn peek(&self, address: u64, size: u64) -> Result<Vec<u8>, DriverError> {
        let mut bytes = vec![0; usize::try_from(size).unwrap_or(0)];
        // SAFETY: as above.
        let done = |direct: &Direct| unsafe { (direct.read)(address, bytes.as_mut_ptr(), bytes.len()) } == 0;
        if self.direct.as_ref().is_some_and(done) { Ok(bytes) } else { self.read(address, size) }
    }

    /// Takes whole blocks of addresses of a device of ours, whose memory they do not count as. `None` from a real driver.
    pub(crate) fn claim(&self, address: u64, size: u64) -> Option<bool> {
        // SAFETY: it has no precondition.
        self.direct.as_ref().map(|direct| unsafe { (direct.claim)(address, size) } == 0)
    }

    /// Can it leave kernels a part of what [`Driver::map_at`] gives?
    pub fn can_narrow(&self) -> bool {
        self.direct.is_some()
    }

    /// Leaves kernels only these ranges, address and bytes each, of what [`Driver::map_at`] gave; all of it again without. A real
    /// driver leaves it as it is.
    pub fn narrow(&self, ranges: Option<&[(u64, u64)]>) {
        self.tell(|direct| direct.narrow, &ranges);
    }

    /// Has variables of these names lie at these addresses, which are there, in modules that are loaded from now on. A real driver puts
    /// them where it likes.
    pub fn place_variables(&self, addresses: &HashMap<&str, u64>) {
        self.tell(|direct| direct.place_variables, addresses);
    }

    /// Has the next array lie at an address, which is there. Whether a driver of ours does so.
    pub fn place_array(&self, address: u64) -> bool {
        // SAFETY: it has no precondition.
        self.direct.as_ref().is_some_and(|direct| unsafe { (direct.place_array)(address) } == 0)
    }

    /// Makes the heap of kernels what it was at a launch, each block where it lay. Whether a driver of ours has done so.
    pub fn set_heap(&self, heap: &Heap) -> bool {
        self.direct.is_some() && self.tell(|direct| direct.heap, heap)
    }

    /// Tells a timing model, if there is one, what came before the next launch. Whether it understands.
    pub fn recall(&self, past: &Past) -> bool {
        self.tell(|direct| direct.recall, past)
    }

    /// Has a timing model, if there is one, spend the time of a copy within the device or a fill.
    pub fn transfer(&self, transfer: &Transfer) -> Result<(), DriverError> {
        let done = self.tell(|direct| direct.transfer, transfer);
        self.check("voltsim_core_transfer", if done { 0 } else { INVALID_VALUE })
    }

    fn tell(&self, told: impl FnOnce(&Direct) -> Told, what: &impl Serialize) -> bool {
        let Some(direct) = &self.direct else { return true };
        let Ok(bytes) = codec::encode(what) else { return false };
        // SAFETY: the bytes are ours; nothing runs between two launches.
        unsafe { told(direct)(bytes.as_ptr(), bytes.len()) == 0 }
    }

    /// Tells a timing model, if there is one, that nobody needs what the next launch leaves in memory and caches.
    pub fn next_is_last(&self) {
        if let Some(direct) = &self.direct {
            // SAFETY: nothing runs between two launches.
            unsafe { (direct.last)() }
        }
    }
}
