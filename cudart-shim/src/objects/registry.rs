//! What nvcc's stubs register before `main`: fat binaries, and which host address stands for which kernel or variable.
//!
//! A program may register 65,000 functions, so registration stores pointers and nothing else. Names are read, and fat
//! binaries unpacked, when a kernel is first launched or a variable first used.

use crate::abi::error::{Error, Result};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

/// What `__cudaRegisterFatBinary` returned; the address of an allocation of ours, so that it is unique.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct FatBinaryHandle(usize);

impl FatBinaryHandle {
    /// The handle behind the pointer a stub passes; it is looked up before use.
    pub(crate) fn from_pointer(pointer: *const *const c_void) -> Self {
        Self(pointer as usize)
    }

    /// The pointer for the stub.
    pub(crate) fn to_pointer(self) -> *mut *mut c_void {
        self.0 as *mut *mut c_void
    }
}

/// A name in the program's or library's read-only data, valid while it is registered.
#[derive(Clone, Copy)]
pub(crate) struct Name(*const c_char);

// SAFETY: read-only data of a loaded library.
unsafe impl Send for Name {}

impl Name {
    /// # Safety
    /// `pointer` is null or a C string that outlives the registration.
    pub(crate) unsafe fn new(pointer: *const c_char) -> Self {
        Self(pointer)
    }

    /// The text; empty for null.
    pub(crate) fn text(self) -> String {
        if self.0.is_null() {
            return String::new();
        }
        // SAFETY: not null, so a C string by the contract of `new`.
        unsafe { CStr::from_ptr(self.0) }.to_string_lossy().into_owned()
    }
}

/// What a host address stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// A kernel; the address is its stub function.
    Kernel,
    /// A variable; the address is its host shadow. Size in bytes as the host compiler saw it.
    Variable { size: usize },
    /// A managed variable; the address holds the pointer the host reads. Size in bytes.
    ManagedVariable { size: usize },
    /// A texture reference; the address is the host's structure. Integers are read as numbers up to 1, or not.
    Texture { normalized_reads: bool },
    /// A surface reference; the address is the host's structure.
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
    /// Its name in the PTX.
    pub(crate) name: String,
    pub(crate) kind: Kind,
}

struct FatBinary {
    /// The 24-byte wrapper in the program's data.
    wrapper: usize,
    /// Keeps the handle's address taken.
    _handle: Box<[u64; 2]>,
    /// Host addresses registered with it.
    addresses: Vec<usize>,
}

/// All registrations of the process.
#[derive(Default)]
pub(crate) struct Registry {
    fat_binaries: FxHashMap<FatBinaryHandle, FatBinary>,
    entries: FxHashMap<usize, Entry>,
}

/// The registrations of this process.
pub(crate) fn registry() -> &'static Mutex<Registry> {
    static REGISTRY: OnceLock<Mutex<Registry>> = OnceLock::new();
    REGISTRY.get_or_init(Mutex::default)
}

impl Registry {
    /// A program or library presents its fat binary.
    pub(crate) fn add_fat_binary(&mut self, wrapper: usize) -> FatBinaryHandle {
        let allocation = Box::new([0; 2]);
        let handle = FatBinaryHandle(std::ptr::from_ref(&*allocation) as usize);
        self.fat_binaries.insert(handle, FatBinary { wrapper, _handle: allocation, addresses: Vec::new() });
        handle
    }

    /// Ties a host address to a name in a fat binary. An unknown handle is ignored, as a stub cannot be told.
    pub(crate) fn add(&mut self, fat_binary: FatBinaryHandle, address: usize, name: Name, kind: Kind) {
        if let Some(owner) = self.fat_binaries.get_mut(&fat_binary) {
            owner.addresses.push(address);
            self.entries.insert(address, Entry { fat_binary, name, kind });
        }
    }

    /// Forgets a fat binary and everything registered with it; false when the handle is unknown.
    pub(crate) fn remove_fat_binary(&mut self, handle: FatBinaryHandle) -> bool {
        let Some(removed) = self.fat_binaries.remove(&handle) else { return false };
        for address in removed.addresses {
            if self.entries.get(&address).is_some_and(|entry| entry.fat_binary == handle) {
                self.entries.remove(&address);
            }
        }
        true
    }

    /// What this host address stands for.
    pub(crate) fn find(&self, address: usize) -> Option<Registered> {
        let entry = self.entries.get(&address)?;
        Some(Registered { fat_binary: entry.fat_binary, name: entry.name.text(), kind: entry.kind })
    }

    /// The host addresses registered with a fat binary that are of a kind.
    pub(crate) fn addresses_of(&self, handle: FatBinaryHandle, wanted: impl Fn(Kind) -> bool) -> Vec<usize> {
        let addresses = self.fat_binaries.get(&handle).map_or(&[][..], |owner| &owner.addresses);
        let of_kind = |address: &&usize| self.entries.get(address).is_some_and(|entry| wanted(entry.kind));
        addresses.iter().filter(of_kind).copied().collect()
    }

    /// Addresses of the wrappers of all fat binaries.
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
    fn a_registered_address_is_found_by_name_until_its_fat_binary_goes() {
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
    fn an_address_registered_again_belongs_to_the_newer_fat_binary() {
        let mut registry = Registry::default();
        let first = registry.add_fat_binary(1);
        let second = registry.add_fat_binary(2);
        registry.add(first, 0x2000, name(c"a"), Kind::Kernel);
        registry.add(second, 0x2000, name(c"b"), Kind::Kernel);
        registry.remove_fat_binary(first);
        assert_eq!(registry.find(0x2000).map(|found| found.fat_binary), Some(second));
    }

    #[test]
    fn sixty_five_thousand_functions_register_in_well_under_two_seconds() {
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
