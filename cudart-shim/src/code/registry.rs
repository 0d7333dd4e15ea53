//! Registrations by nvcc's stubs before `main`: fat binaries, and the host addresses of kernels and
//! variables.
//!
//! A program may register 65,000 functions, so registration only stores pointers. The first launch
//! of a kernel or use of a variable reads the names and unpacks the fat binary.

use crate::abi::error::{Error, Result};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

/// Result of `__cudaRegisterFatBinary`: the address of an allocation of this library, hence unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FatBinaryHandle(usize);

impl FatBinaryHandle {
    /// The handle for a stub's pointer, which is looked up before use.
    pub(crate) fn from_pointer(pointer: *const *const c_void) -> Self {
        Self(pointer as usize)
    }

    /// The pointer returned to the stub.
    pub(crate) fn to_pointer(self) -> *mut *mut c_void {
        self.0 as *mut *mut c_void
    }
}

/// A name in read-only data of the program or library, valid while it is registered.
#[derive(Clone, Copy)]
pub(crate) struct Name(*const c_char);

// SAFETY: read-only data of a loaded library.
unsafe impl Send for Name {}

impl Name {
    /// # Safety
    /// `pointer` must be null or a C string that outlives the registration.
    pub(crate) unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    /// The text; empty for null.
    pub(crate) fn text(self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: a C string, since it is not null, by the contract of `new`.
        unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned()
    }
}

/// Kinds of registered host addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A kernel; the address of its stub function.
    Kernel,
    /// A variable; the address of its host shadow. Size in bytes according to the host compiler.
    Variable { size: usize },
    /// A managed variable; the address of the host's pointer to it. Size in bytes.
    ManagedVariable { size: usize },
    /// A texture reference; the address of the host's structure. With `normalized_reads`, integers
    /// are read as fractions of 1.
    Texture { normalized_reads: bool },
    /// A surface reference; the address of the host's structure.
    Surface,
}

#[derive(Clone, Copy)]
struct Entry {
    fat_binary: FatBinaryHandle,
    name: Name,
    kind: Kind,
}

/// A registered kernel or variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Registered {
    pub(crate) fat_binary: FatBinaryHandle,
    /// The name in the PTX.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

struct FatBinary {
    /// The 24-byte wrapper in the program's data.
    wrapper: usize,
    /// Reserves the address that serves as the handle.
    _handle: Box<[u64; 2]>,
    /// Host addresses registered for the fat binary.
    addresses: Vec<usize>,
}

/// All registrations of the process.
#[derive(Default)]
pub(crate) struct Registry {
    fat_binaries: FxHashMap<FatBinaryHandle, FatBinary>,
    entries: FxHashMap<usize, Entry>,
}

/// The registrations of the process.
pub(crate) fn registry() -> &'static Mutex<Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(Mutex::default)
}

impl Registry {
    /// Registers a fat binary of a program or library.
    pub(crate) fn add_fat_binary(&mut self, wrapper: usize) -> FatBinaryHandle {
        let allocation = Box::new([0; 2]);
        let handle = FatBinaryHandle(std::ptr::from_ref(&*allocation) as usize);
        self.fat_binaries.insert(handle, FatBinary { wrapper, _handle: allocation, addresses: Vec::new() });
        handle
    }

    /// Registers a host address for a name in a fat binary. An unknown handle is ignored, because
    /// the stub takes no error.
    pub(crate) fn add(&mut self, fat_binary: FatBinaryHandle, address: usize, name: Name, kind: Kind) {
        if let Some(owner) = self.fat_binaries.get_mut(&fat_binary) {
            owner.addresses.push(address);
            self.entries.insert(address, Entry { fat_binary, name, kind });
        }
    }

    /// Removes a fat binary and everything registered for it. Returns false if the handle is
    /// unknown.
    pub(crate) fn remove_fat_binary(&mut self, handle: FatBinaryHandle) -> bool {
        let Some(removed) = self.fat_binaries.remove(&handle) else { return false };
        for address in removed.addresses {
            if self.entries.get(&address).is_some_and(|entry| entry.fat_binary == handle) {
                self.entries.remove(&address);
            }
        }
        true
    }

    /// The registration of a host address.
    pub(crate) fn find(&self, address: usize) -> Option<Registered> {
        let entry = self.entries.get(&address)?;
        Some(Registered { fat_binary: entry.fat_binary, name: entry.name.text(), kind: entry.kind })
    }

    /// The host addresses of a fat binary whose kind matches.
    pub(crate) fn addresses_of(&self, handle: FatBinaryHandle, wanted: impl Fn(Kind) -> bool) -> Vec<usize> {
        let addresses = self.fat_binaries.get(&handle).map_or(&[][..], |owner| &owner.addresses);
        let of_kind = |address: &&usize| self.entries.get(address).is_some_and(|entry| wanted(entry.kind));
        addresses.iter().filter(of_kind).copied().collect()
    }

    /// Addresses of all fat binary wrappers.
    pub(crate) fn wrappers(&self) -> Vec<usize> {
        self.fat_binaries.values().map(|owner| owner.wrapper).collect()
    }

    /// Address of a fat binary's wrapper.
    pub(crate) fn wrapper(&self, handle: FatBinaryHandle) -> Result<usize> {
        self.fat_binaries.get(&handle).map(|owner| owner.wrapper).ok_or(Error::InvalidResourceHandle)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::time::{Duration, Instant};

    fn name(text: &'static CStr) -> Name {
        // SAFETY: a constant.
        unsafe { Name::new(text.as_ptr()) }
    }

    #[test]
    fn address_is_registered_until_its_fat_binary_is_removed() {
        let mut registry = Registry::default();
        let fat_binary = registry.add_fat_binary(0x1000);
        registry.add(fat_binary, 0x2000, name(c"_Z3addPf"), Kind::Kernel);
        let found = registry.find(0x2000);
        assert_eq!(found, Some(Registered { fat_binary, name: "_Z3addPf".into(), kind: Kind::Kernel }));
        assert!(registry.remove_fat_binary(fat_binary));
        assert_eq!(registry.find(0x2000), None);
        assert_eq!(registry.wrapper(fat_binary), Err(Error::InvalidResourceHandle));
    }

    #[test]
    fn newer_registration_of_an_address_wins() {
        let mut registry = Registry::default();
        let first = registry.add_fat_binary(1);
        let second = registry.add_fat_binary(2);
        registry.add(first, 0x2000, name(c"a"), Kind::Kernel);
        registry.add(second, 0x2000, name(c"b"), Kind::Kernel);
        registry.remove_fat_binary(first);
        assert_eq!(registry.find(0x2000).map(|found| found.fat_binary), Some(second));
    }

    #[test]
    fn registering_65_000_functions_takes_under_one_second() {
        let start = Instant::now();
        let mut registry = Registry::default();
        for library in 0..1_381 {
            let fat_binary = registry.add_fat_binary(library);
            for function in 0..48 {
                registry.add(fat_binary, (library * 48 + function + 1) * 16, name(c"kernel"), Kind::Kernel);
            }
        }
        assert_eq!(registry.entries.len(), 66_288);
        assert!(start.elapsed() < Duration::from_secs(1));
    }
}
