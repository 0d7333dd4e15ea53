//! Functions that NVTX 3 calls for the program's markers and ranges.
//!
//! NVTX is header-only. The first call of NVTX loads the library `NVTX_INJECTION64_PATH`, which
//! fills the program's function tables. The variable names this library if a run is traced or
//! ranges select launches.

use crate::root::session;
use crate::session::{annotations, nvtx, trace};
use std::ffi::{CStr, c_char, c_int, c_void};

type FunctionPointer = *const c_void;
/// Function slots by number.
type FunctionTable = *mut *mut FunctionPointer;

/// Result of `NvtxGetExportTableFunc_t` for [`CALLBACKS`].
#[repr(C)]
struct Callbacks {
    size: usize,
    function_table: extern "C" fn(module: c_int, table: *mut FunctionTable, size: *mut u32) -> c_int,
}

/// `NVTX_ETID_CALLBACKS`.
const CALLBACKS: u32 = 1;
/// `NVTX_CB_MODULE_CORE`, `NVTX_CB_MODULE_CORE2`.
const CORE: c_int = 1;
const CORE_WITH_DOMAINS: c_int = 5;

/// `nvtxEventAttributes_t`, version 2.
#[repr(C)]
pub(crate) struct Attributes {
    version: u16,
    size: u16,
    category: u32,
    color_type: i32,
    color: u32,
    payload_type: i32,
    reserved: i32,
    payload: u64,
    message_type: i32,
    message: usize,
}

/// Message types.
const MESSAGE_ASCII: i32 = 1;
const MESSAGE_UNICODE: i32 = 2;
const MESSAGE_REGISTERED: i32 = 3;

/// # Safety
/// `pointer` must be null or a C string.
unsafe fn text(pointer: *const c_char) -> String {
    if pointer.is_null() {
        return String::new();
    }
    // SAFETY: the caller upholds the contract.
    unsafe { CStr::from_ptr(pointer) }.to_string_lossy().into_owned()
}

/// # Safety
/// `pointer` must be null or a zero-terminated string of 32-bit `wchar_t`.
unsafe fn wide_text(pointer: *const u32) -> String {
    let mut text = String::new();
    if pointer.is_null() {
        return text;
    }
    for index in 0.. {
        // SAFETY: by the caller's contract the string ends with zero.
        match unsafe { pointer.add(index).read_unaligned() } {
            0 => break,
            code => text.push(char::from_u32(code).unwrap_or(char::REPLACEMENT_CHARACTER)),
        }
    }
    text
}

/// # Safety
/// `attributes` must be null or valid NVTX attributes.
unsafe fn message(attributes: *const Attributes) -> String {
    if attributes.is_null() {
        return String::new();
    }
    // SAFETY: the caller upholds the contract.
    let Attributes { message_type, message, .. } = unsafe { attributes.read_unaligned() };
    match message_type {
        // SAFETY: the type identifies the message.
        MESSAGE_ASCII => unsafe { text(message as *const c_char) },
        // SAFETY: as above.
        MESSAGE_UNICODE => unsafe { wide_text(message as *const u32) },
        MESSAGE_REGISTERED => nvtx::registered(session(), message),
        _ => String::new(),
    }
}

/// Functions for the program's tables, with their numbers (`NvtxCallbackIdCore`,
/// `NvtxCallbackIdCore2`). By NVTX's contract a pointer is null or valid for its type.
mod functions {
    use super::*;

    macro_rules! functions {
        ($($module:ident $number:literal fn $name:ident($($argument:ident: $type:ty),*) $(-> $result:ty)? $body:block)*) => {
            $(#[allow(unused_unsafe, reason = "not every body reads what the program points to")]
            unsafe extern "C" fn $name($($argument: $type),*) $(-> $result)? {
                // SAFETY: the program upholds NVTX's contract.
                unsafe { $body }
            })*

            /// All functions: module, number, address.
            pub(crate) fn all() -> Vec<(c_int, u32, FunctionPointer)> {
                vec![$(($module, $number, $name as FunctionPointer)),*]
            }
        };
    }

    functions! {
        CORE 1 fn mark_ex(attributes: *const Attributes) { trace::mark(session(), &message(attributes)) }
        CORE 2 fn mark(name: *const c_char) { trace::mark(session(), &text(name)) }
        CORE 3 fn mark_wide(name: *const u32) { trace::mark(session(), &wide_text(name)) }
        CORE 4 fn range_start_ex(attributes: *const Attributes) -> u64 { nvtx::start(session(), message(attributes)) }
        CORE 5 fn range_start(name: *const c_char) -> u64 { nvtx::start(session(), text(name)) }
        CORE 6 fn range_start_wide(name: *const u32) -> u64 { nvtx::start(session(), wide_text(name)) }
        CORE 7 fn range_end(range: u64) { nvtx::end(session(), range) }
        CORE 8 fn range_push_ex(attributes: *const Attributes) -> c_int { nvtx::push(session(), message(attributes)) }
        CORE 9 fn range_push(name: *const c_char) -> c_int { nvtx::push(session(), text(name)) }
        CORE 10 fn range_push_wide(name: *const u32) -> c_int { nvtx::push(session(), wide_text(name)) }
        CORE 11 fn range_pop() -> c_int { nvtx::pop(session()) }
        CORE 14 fn name_thread(thread: u32, name: *const c_char) { trace::name_thread(session(), thread.into(), &text(name)) }
        CORE 15 fn name_thread_wide(thread: u32, name: *const u32) { trace::name_thread(session(), thread.into(), &wide_text(name)) }
        CORE_WITH_DOMAINS 1 fn domain_mark(_domain: usize, attributes: *const Attributes) { trace::mark(session(), &message(attributes)) }
        CORE_WITH_DOMAINS 2 fn domain_range_start(_domain: usize, attributes: *const Attributes) -> u64 { nvtx::start(session(), message(attributes)) }
        CORE_WITH_DOMAINS 3 fn domain_range_end(_domain: usize, range: u64) { nvtx::end(session(), range) }
        CORE_WITH_DOMAINS 4 fn domain_range_push(_domain: usize, attributes: *const Attributes) -> c_int { nvtx::push(session(), message(attributes)) }
        CORE_WITH_DOMAINS 5 fn domain_range_pop(_domain: usize) -> c_int { nvtx::pop(session()) }
        CORE_WITH_DOMAINS 10 fn register_string(_domain: usize, name: *const c_char) -> usize { nvtx::register(session(), text(name)) }
        CORE_WITH_DOMAINS 11 fn register_string_wide(_domain: usize, name: *const u32) -> usize { nvtx::register(session(), wide_text(name)) }
        CORE_WITH_DOMAINS 12 fn create_domain(name: *const c_char) -> usize { nvtx::register(session(), text(name)) }
        CORE_WITH_DOMAINS 13 fn create_domain_wide(name: *const u32) -> usize { nvtx::register(session(), wide_text(name)) }
    }
}

/// Entry point for NVTX's headers at the program's first use. Returns 1 if the functions were
/// installed.
///
/// # Safety
/// `export_table` must be the function that NVTX passes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn InitializeInjectionNvtx2(
    export_table: Option<extern "C" fn(u32) -> *const c_void>,
) -> c_int {
    let Some(export_table) =
        export_table.filter(|_| trace::enabled(session()) || annotations::needs_ranges(session()))
    else {
        return 0;
    };
    let callbacks = export_table(CALLBACKS).cast::<Callbacks>();
    // SAFETY: not null, so it points to a table that starts with its size.
    if callbacks.is_null() || unsafe { (*callbacks).size } < size_of::<Callbacks>() {
        return 0;
    }
    nvtx::follow(session());
    for (module, number, function) in functions::all() {
        let (mut table, mut size) = (std::ptr::null_mut(), 0);
        // SAFETY: the size of the table covers this function.
        let found = unsafe { (*callbacks).function_table }(module, &mut table, &mut size);
        if found == 0 || table.is_null() || number >= size {
            continue;
        }
        // SAFETY: the table has `size` entries, each null or a valid slot.
        unsafe {
            let place = *table.add(number as usize);
            if !place.is_null() {
                *place = function;
            }
        }
    }
    1
}
