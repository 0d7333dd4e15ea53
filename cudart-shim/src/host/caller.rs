//! The libraries and functions that called into this library.

use crate::host::mapped::file_at;
use std::ffi::{CStr, c_int, c_void};

/// `struct _Unwind_Context`.
#[repr(C)]
struct Context {
    _opaque: [u8; 0],
}

type Visit = extern "C" fn(*mut Context, *mut c_void) -> c_int;

/// `_URC_NO_REASON` and `_URC_END_OF_STACK`.
const GO_ON: c_int = 0;
const STOP: c_int = 5;

// The C++ ABI's unwinder, which is part of Rust's standard library.
unsafe extern "C" {
    fn _Unwind_Backtrace(visit: Visit, data: *mut c_void) -> c_int;
    fn _Unwind_GetIP(context: *mut Context) -> usize;
}

struct Search {
    own: Option<String>,
    found: Option<String>,
}

/// File of the calling program or library.
pub(crate) fn calling_file() -> Option<String> {
    let mut search = Search { own: file_at(calling_file as *const () as usize), found: None };
    // SAFETY: the function takes what is passed for it, which lives until the call returns.
    unsafe { _Unwind_Backtrace(visit, (&raw mut search).cast()) };
    search.found
}

extern "C" fn visit(context: *mut Context, data: *mut c_void) -> c_int {
    // SAFETY: a frame of the walk, and the search that it was started with.
    let (address, search) = unsafe { (_Unwind_GetIP(context), &mut *data.cast::<Search>()) };
    let file = file_at(address);
    if file == search.own {
        return GO_ON;
    }
    search.found = file;
    STOP
}

struct NameSearch<'a> {
    prefix: &'a [u8],
    is_found: bool,
}

/// A function whose exported name begins with `prefix` is among the callers.
pub(crate) fn is_called_by(prefix: &str) -> bool {
    let mut search = NameSearch { prefix: prefix.as_bytes(), is_found: false };
    // SAFETY: the function takes what is passed for it, which lives until the call returns.
    unsafe { _Unwind_Backtrace(visit_name, (&raw mut search).cast()) };
    search.is_found
}

extern "C" fn visit_name(context: *mut Context, data: *mut c_void) -> c_int {
    // SAFETY: a frame of the walk, and the search that it was started with.
    let (address, search) = unsafe { (_Unwind_GetIP(context), &mut *data.cast::<NameSearch<'_>>()) };
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // A call may be the last instruction of its function. dladdr heeds the sizes of functions.
    let call = address.saturating_sub(1) as *const c_void;
    // SAFETY: dladdr accepts any address, and all zeros is a valid value of the structure.
    let name = unsafe {
        libc::dladdr(call, information.as_mut_ptr());
        information.assume_init().dli_sname
    };
    // SAFETY: the loader keeps the name alive while the library is loaded.
    search.is_found =
        !name.is_null() && unsafe { CStr::from_ptr(name) }.to_bytes().starts_with(search.prefix);
    if search.is_found { STOP } else { GO_ON }
}
