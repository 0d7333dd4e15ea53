//! The program's NVTX 3 markers and ranges, which appear in the timeline and select launches.
//!
//! NVTX is header-only. The first call of NVTX loads the library `NVTX_INJECTION64_PATH`, which
//! fills the program's function tables. The variable names this library if a run is traced or
//! ranges select launches.

use crate::session::state::session;
use crate::session::{annotations, trace};
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::RefCell;
use std::ffi::{CStr, c_char, c_int, c_void};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

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

/// Strings and ranges of the program.
pub(crate) struct Nvtx {
    /// Registered strings by handle.
    strings: Mutex<Option<FxHashMap<usize, String>>>,
    /// Ranges that may end on another thread: name and start.
    ranges: Mutex<Option<FxHashMap<u64, (String, f64)>>>,
    /// Handles handed out so far.
    made: AtomicU64,
    /// Set if the program's tables contain these functions.
    is_followed: AtomicBool,
}

impl Nvtx {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self {
            strings: Mutex::new(None),
            ranges: Mutex::new(None),
            made: AtomicU64::new(0),
            is_followed: AtomicBool::new(false),
        }
    }
}

thread_local! {
    /// Names of the thread's open ranges.
    static OPEN: RefCell<Vec<String>> = const { RefCell::new(Vec::new()) };
}

fn next() -> u64 {
    session().nvtx.made.fetch_add(1, Ordering::Relaxed) + 1
}

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
        MESSAGE_REGISTERED => {
            session().nvtx.strings.lock().get_or_insert_default().get(&message).cloned().unwrap_or_default()
        }
        _ => String::new(),
    }
}

fn start(name: String) -> u64 {
    let range = next();
    session().nvtx.ranges.lock().get_or_insert_default().insert(range, (name, trace::now()));
    range
}

fn end(range: u64) {
    let ended = session().nvtx.ranges.lock().get_or_insert_default().remove(&range);
    if let Some((name, start)) = ended {
        trace::free_range(&name, start);
    }
}

/// Depth of the new range, from 0.
fn push(name: String) -> c_int {
    trace::begin_range(&name);
    OPEN.with_borrow_mut(|open| {
        open.push(name);
        open.len() as c_int - 1
    })
}

/// Depth of the ended range; negative if none was open.
fn pop() -> c_int {
    let depth = OPEN.with_borrow_mut(|open| open.pop().map(|_| open.len()));
    match depth {
        Some(depth) => {
            trace::end_range();
            depth as c_int
        }
        None => -1,
    }
}

/// Tells whether NVTX ranges are available.
pub(crate) fn is_followed() -> bool {
    session().nvtx.is_followed.load(Ordering::Relaxed)
}

/// Names of this thread's open ranges, and of open ranges that may end on any thread.
pub(crate) fn open_ranges() -> Vec<String> {
    let mut open = OPEN.with_borrow(Vec::clone);
    if let Some(ranges) = &*session().nvtx.ranges.lock() {
        open.extend(ranges.values().map(|(name, _)| name.clone()));
    }
    open
}

fn register(text: String) -> usize {
    // Handles look like addresses but are never dereferenced.
    let handle = (next() as usize) << 4;
    session().nvtx.strings.lock().get_or_insert_default().insert(handle, text);
    handle
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
        CORE 1 fn mark_ex(attributes: *const Attributes) { trace::mark(&message(attributes)) }
        CORE 2 fn mark(name: *const c_char) { trace::mark(&text(name)) }
        CORE 3 fn mark_wide(name: *const u32) { trace::mark(&wide_text(name)) }
        CORE 4 fn range_start_ex(attributes: *const Attributes) -> u64 { start(message(attributes)) }
        CORE 5 fn range_start(name: *const c_char) -> u64 { start(text(name)) }
        CORE 6 fn range_start_wide(name: *const u32) -> u64 { start(wide_text(name)) }
        CORE 7 fn range_end(range: u64) { end(range) }
        CORE 8 fn range_push_ex(attributes: *const Attributes) -> c_int { push(message(attributes)) }
        CORE 9 fn range_push(name: *const c_char) -> c_int { push(text(name)) }
        CORE 10 fn range_push_wide(name: *const u32) -> c_int { push(wide_text(name)) }
        CORE 11 fn range_pop() -> c_int { pop() }
        CORE 14 fn name_thread(thread: u32, name: *const c_char) { trace::name_thread(thread.into(), &text(name)) }
        CORE 15 fn name_thread_wide(thread: u32, name: *const u32) { trace::name_thread(thread.into(), &wide_text(name)) }
        CORE_WITH_DOMAINS 1 fn domain_mark(_domain: usize, attributes: *const Attributes) { trace::mark(&message(attributes)) }
        CORE_WITH_DOMAINS 2 fn domain_range_start(_domain: usize, attributes: *const Attributes) -> u64 { start(message(attributes)) }
        CORE_WITH_DOMAINS 3 fn domain_range_end(_domain: usize, range: u64) { end(range) }
        CORE_WITH_DOMAINS 4 fn domain_range_push(_domain: usize, attributes: *const Attributes) -> c_int { push(message(attributes)) }
        CORE_WITH_DOMAINS 5 fn domain_range_pop(_domain: usize) -> c_int { pop() }
        CORE_WITH_DOMAINS 10 fn register_string(_domain: usize, name: *const c_char) -> usize { register(text(name)) }
        CORE_WITH_DOMAINS 11 fn register_string_wide(_domain: usize, name: *const u32) -> usize { register(wide_text(name)) }
        CORE_WITH_DOMAINS 12 fn create_domain(name: *const c_char) -> usize { register(text(name)) }
        CORE_WITH_DOMAINS 13 fn create_domain_wide(name: *const u32) -> usize { register(wide_text(name)) }
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
    let Some(export_table) = export_table.filter(|_| trace::enabled() || annotations::needs_ranges()) else {
        return 0;
    };
    let callbacks = export_table(CALLBACKS).cast::<Callbacks>();
    // SAFETY: not null, so it points to a table that starts with its size.
    if callbacks.is_null() || unsafe { (*callbacks).size } < size_of::<Callbacks>() {
        return 0;
    }
    session().nvtx.is_followed.store(true, Ordering::Relaxed);
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
