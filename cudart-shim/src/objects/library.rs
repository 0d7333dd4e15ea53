//! Libraries (`CUlibrary`): code that belongs to no device. Each device loads a library at its
//! first use there.

use crate::abi::error::{Error, Result};
use crate::abi::{FunctionHandle, LibraryHandle, Out};
use crate::code::image::Code;
use crate::objects::device::DeviceObjects;
use crate::objects::shared::Shared;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString, c_uint};
use std::sync::Arc;

/// Handle values lie outside the address space of any process.
const LIBRARIES: usize = 0x4e00_0000_0000_0000;
const KERNELS: usize = 0x4f00_0000_0000_0000;

/// All libraries and the kernel handles created for them.
#[derive(Default)]
pub(crate) struct Libraries {
    live: FxHashMap<LibraryHandle, Arc<Code>>,
    kernels: FxHashMap<FunctionHandle, (LibraryHandle, CString)>,
    by_name: FxHashMap<(LibraryHandle, CString), FunctionHandle>,
    created: usize,
}

impl Libraries {
    fn next(&mut self) -> usize {
        self.created += 1;
        self.created << 4
    }

    /// The code of a library.
    pub(crate) fn code(&self, library: LibraryHandle) -> Result<Arc<Code>> {
        self.live.get(&library).cloned().ok_or(Error::InvalidResourceHandle)
    }

    /// The library and name of a kernel handle.
    pub(crate) fn kernel(&self, kernel: FunctionHandle) -> Option<(LibraryHandle, CString)> {
        self.kernels.get(&kernel).cloned()
    }

    /// The handle for a kernel of a library.
    fn handle_of(&mut self, library: LibraryHandle, name: &CStr) -> FunctionHandle {
        let key = (library, name.to_owned());
        if let Some(known) = self.by_name.get(&key) {
            return *known;
        }
        let handle = FunctionHandle(KERNELS | self.next());
        self.kernels.insert(handle, key.clone());
        self.by_name.insert(key, handle);
        handle
    }

    fn remove(&mut self, library: LibraryHandle) -> Result<()> {
        self.live.remove(&library).ok_or(Error::InvalidResourceHandle)?;
        self.kernels.retain(|_, (owner, _)| *owner != library);
        self.by_name.retain(|(owner, _), _| *owner != library);
        Ok(())
    }
}

/// Libraries, as used by the current device.
impl DeviceObjects {
    /// Adds a library and loads it on this device, to report errors immediately.
    pub(crate) fn add_library(&self, code: Code) -> Result<LibraryHandle> {
        let library = {
            let mut libraries = self.shared.libraries.lock();
            let library = LibraryHandle(LIBRARIES | libraries.next());
            libraries.live.insert(library, Arc::new(code));
            library
        };
        match self.library_module(library) {
            Ok(_) => Ok(library),
            Err(error) => {
                unload(self.shared, library)?;
                Err(error)
            }
        }
    }

    /// The handle of a library's kernel, valid on all devices.
    pub(crate) fn find_library_kernel(&self, library: LibraryHandle, name: &CStr) -> Result<FunctionHandle> {
        self.find_kernel(self.library_module(library)?, name)?;
        Ok(self.shared.libraries.lock().handle_of(library, name))
    }

    /// Kernel names of a library.
    fn library_kernels(&self, library: LibraryHandle) -> Result<Vec<CString>> {
        Ok(self.module(self.library_module(library)?)?.kernel_names())
    }

    /// Number of kernels of a library.
    pub(crate) fn library_kernel_count(&self, library: LibraryHandle) -> Result<c_uint> {
        c_uint::try_from(self.library_kernels(library)?.len()).map_err(|_| Error::InvalidValue)
    }

    /// Stores up to `room` kernel handles of a library.
    pub(crate) fn enumerate_library_kernels(
        &self,
        result: Out<FunctionHandle>,
        room: c_uint,
        library: LibraryHandle,
    ) -> Result<()> {
        result.check()?;
        for (index, name) in self.library_kernels(library)?.iter().take(room as usize).enumerate() {
            let kernel = self.find_library_kernel(library, name)?;
            Out::new(result.pointer().wrapping_add(index)).set(kernel)?;
        }
        Ok(())
    }
}

/// Unloads a library and its variables on every device after the devices' work. Returns the first
/// error.
pub(crate) fn unload(shared: &'static Shared, library: LibraryHandle) -> Result<()> {
    shared.libraries.lock().remove(library)?;
    let mut outcome = Ok(());
    for device in shared.started() {
        outcome = outcome.and(device.unload_library(library));
    }
    outcome
}
