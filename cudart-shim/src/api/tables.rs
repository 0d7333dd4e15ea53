//! Tables of the exported functions of each front: bodies, and stubs for unimplemented functions.

use crate::abi::error::Error;
use crate::api::nvml;
use crate::host::log;
use crate::objects::last_error;
use std::ffi::{CStr, c_int, c_void};

#[cfg(test)]
use crate::abi::check::signature_of;

/// Address of a function of the core.
#[derive(Clone, Copy)]
pub(crate) struct Address(*const c_void);

// SAFETY: the address of a function; it is never written through.
unsafe impl Sync for Address {}

/// Target of an exported function.
pub(crate) enum Slot {
    /// Implementation.
    Body(Address),
    /// The stub with this number.
    Stub(u16),
}

/// One name of `cuGetProcAddress`; sorted by name, then version.
pub(crate) struct Lookup {
    pub(crate) name: &'static str,
    pub(crate) since: u32,
    pub(crate) per_thread: bool,
    /// Index in the driver's table.
    pub(crate) slot: u16,
}

macro_rules! body {
    ($function:path) => {
        Slot::Body(Address($function as *const c_void))
    };
}

#[allow(non_upper_case_globals, non_snake_case)]
mod generated {
    use super::*;
    include!(concat!(env!("OUT_DIR"), "/tables.rs"));
}

/// Required context of each body, by name.
#[allow(non_snake_case)]
pub(crate) mod needs {
    pub(crate) use super::generated::{Driver, Runtime};
}

pub(crate) use generated::LOOKUPS;
#[cfg(test)]
pub(crate) use generated::bodies;

std::arch::global_asm!(
    include_str!(concat!(env!("OUT_DIR"), "/stubs.s")),
    report = sym report_stub,
    options(att_syntax)
);

/// Distance of stubs in bytes; the assembly aligns them.
const STUB_SIZE: usize = 16;

unsafe extern "C" {
    static voltsim_stubs: u8;
}

impl Slot {
    /// Address for callers.
    pub(crate) fn address(&self) -> *const c_void {
        match self {
            Slot::Body(address) => address.0,
            // The stubs are contiguous; number and count come from the same table.
            Slot::Stub(number) => {
                (&raw const voltsim_stubs).wrapping_add(usize::from(*number) * STUB_SIZE).cast()
            }
        }
    }
}

/// Driver function at an index of its table.
pub(crate) fn driver_function(slot: u16) -> Option<*const c_void> {
    generated::Cuda.get(usize::from(slot)).map(Slot::address)
}

/// Table of one front.
pub(crate) struct Front {
    /// Fingerprint of the API table that the front and this library are built from.
    pub(crate) fingerprint: u64,
    pub(crate) slots: &'static [Slot],
}

/// The table of a front by its number.
pub(crate) fn front(number: u32) -> Option<Front> {
    let [cudart_11, cudart_12, cudart_13, cuda, nvml, nvjitlink_12, nvjitlink_13] = generated::FINGERPRINTS;
    let (fingerprint, slots): (u64, &[Slot]) = match number {
        0 => (cudart_11, &generated::Cudart11),
        1 => (cudart_12, &generated::Cudart12),
        2 => (cudart_13, &generated::Cudart13),
        3 => (cuda, &generated::Cuda),
        4 => (nvml, &generated::Nvml),
        5 => (nvjitlink_12, &generated::NvJitLink12),
        6 => (nvjitlink_13, &generated::NvJitLink13),
        _ => return None,
    };
    Some(Front { fingerprint, slots })
}

/// Called by each stub with its number and its return address.
extern "C" fn report_stub(number: u32, caller: *const c_void) -> c_int {
    let name = generated::STUB_NAMES.get(number as usize).copied().unwrap_or("?");
    log::stub_called(name, || place_of(caller));
    if name.starts_with("nvml") {
        return nvml::Failure::NotSupported as c_int;
    }
    let error = generated::STUB_ERRORS.get(number as usize).copied().unwrap_or(Error::NotSupported);
    if name.starts_with("cuda") || name.starts_with("__cuda") {
        last_error::remember(error);
    }
    error.code()
}

/// `libfoo.so (some_function)` for a code address.
fn place_of(address: *const c_void) -> String {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
    let found = unsafe { libc::dladdr(address, information.as_mut_ptr()) };
    if found == 0 {
        return format!("{address:?}");
    }
    // SAFETY: filled, as dladdr said.
    let information = unsafe { information.assume_init() };
    let text = |name: *const libc::c_char| {
        // SAFETY: the loader keeps these names alive while the library is loaded.
        (!name.is_null()).then(|| unsafe { CStr::from_ptr(name) }.to_string_lossy().into_owned())
    };
    let library = text(information.dli_fname).unwrap_or_default();
    match text(information.dli_sname) {
        Some(symbol) => format!("{library} ({symbol})"),
        None => format!("{library}+{:#x}", address as usize - information.dli_fbase as usize),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bodies_have_their_tables_signatures() {
        let wrong: Vec<_> = bodies()
            .into_iter()
            .filter(|(_, text, actual)| api_table::Signature::parse(text).as_ref() != Some(actual))
            .map(|(name, text, actual)| format!("{name}: {text} but {actual:?}"))
            .collect();
        assert!(wrong.is_empty(), "{wrong:#?}");
    }

    #[test]
    fn stub_returns_not_supported_as_the_last_error() {
        let stub = generated::STUB_NAMES.iter().position(|name| *name == "cudaGraphicsMapResources");
        let slot = Slot::Stub(stub.and_then(|number| u16::try_from(number).ok()).unwrap_or(0));
        // SAFETY: a stub takes no argument and returns a status.
        let function: extern "C" fn() -> c_int = unsafe { std::mem::transmute(slot.address()) };
        assert_eq!(function(), Error::NotSupported.code());
        assert_eq!(last_error::take_last_code(), Error::NotSupported.code());
    }
}
