//! The library that called into this one.

use crate::host::mapped::file_at;
use std::ffi::{c_int, c_void};

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
