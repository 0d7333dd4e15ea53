//! Preloaded into programs whose runs are saved or resumed: gives each thread a name that is equal
//! in every run. The name encodes the starting thread and the count of threads it started before.
//! The system's thread number encodes neither, and stack addresses depend on other threads.
//!
//! `pthread_create` is the loader's, with a start routine around the program's. Threads of
//! Voltsim's libraries vary from run to run, so they are not counted and have no name.

#![allow(unsafe_code)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

use std::cell::Cell;
use std::ffi::{CStr, c_int, c_void};
use std::sync::OnceLock;

type Start = unsafe extern "C-unwind" fn(*mut c_void) -> *mut c_void;
type Create = unsafe extern "C" fn(
    *mut libc::pthread_t,
    *const libc::pthread_attr_t,
    Option<Start>,
    *mut c_void,
) -> c_int;

/// Name of the process's first thread.
const FIRST: u64 = 1;
/// Name of nameless threads.
const NONE: u64 = 0;
/// Prefix of the file names of Voltsim's libraries.
const OWN: &[u8] = b"libvoltsim_";

thread_local! {
    /// The thread's name, and the threads it has started.
    static SELF: Cell<(u64, u64)> = const { Cell::new((NONE, 0)) };
}

/// A thread in creation.
struct Started {
    name: u64,
    start: Start,
    argument: *mut c_void,
}

/// Replaces the loader's `pthread_create`.
///
/// # Safety
/// As for the loader's function.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn pthread_create(
    thread: *mut libc::pthread_t,
    attributes: *const libc::pthread_attr_t,
    start: Option<Start>,
    argument: *mut c_void,
) -> c_int {
    let Some(real) = real() else { return libc::EAGAIN };
    let name = match start {
        Some(start) if !is_own(start) => next_name(),
        _ => NONE,
    };
    let (Some(start), true) = (start, name != NONE) else {
        // SAFETY: passed on from the caller.
        return unsafe { real(thread, attributes, start, argument) };
    };
    let started = Box::into_raw(Box::new(Started { name, start, argument }));
    // SAFETY: passed on from the caller; `begin` gets what it takes.
    let result = unsafe { real(thread, attributes, Some(begin), started.cast()) };
    if result != 0 {
        // SAFETY: of the box above, which no thread has got.
        drop(unsafe { Box::from_raw(started) });
    }
    result
}

/// First function of a program's thread.
// Unwinds if the program's routine does, as on `pthread_exit` or cancellation.
unsafe extern "C-unwind" fn begin(started: *mut c_void) -> *mut c_void {
    // SAFETY: the box that `pthread_create` has passed on.
    let Started { name, start, argument } = *unsafe { Box::from_raw(started.cast::<Started>()) };
    SELF.set((name, 0));
    // SAFETY: the program's routine with its argument.
    unsafe { start(argument) }
}

/// For the core: name of the calling thread, or 0.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub extern "C" fn voltsim_thread_name() -> u64 {
    let (name, started) = SELF.get();
    // SAFETY: neither has a precondition.
    if name == NONE && unsafe { libc::gettid() == libc::getpid() } {
        SELF.set((FIRST, started));
        return FIRST;
    }
    name
}

/// Name of the next thread that this one starts; 0 for a nameless thread.
fn next_name() -> u64 {
    let parent = voltsim_thread_name();
    if parent == NONE {
        return NONE;
    }
    let (_, started) = SELF.get();
    SELF.set((parent, started + 1));
    child_of(parent, started)
}

/// A name that is almost certainly unique (the finalizer of MurmurHash3).
fn child_of(parent: u64, number: u64) -> u64 {
    let mut name = parent.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number + 1);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        name = (name ^ (name >> 33)).wrapping_mul(factor);
    }
    (name ^ (name >> 33)).max(FIRST + 1)
}

/// True if the thread starts in one of Voltsim's libraries.
fn is_own(start: Start) -> bool {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
    let found = unsafe { libc::dladdr(start as *const c_void, information.as_mut_ptr()) };
    // SAFETY: zeroed above, and all-zero is a valid value of this structure of pointers.
    let file = unsafe { information.assume_init() }.dli_fname;
    if found == 0 || file.is_null() {
        return false;
    }
    // SAFETY: the loader keeps the name alive while the library is loaded.
    let path = unsafe { CStr::from_ptr(file) }.to_bytes();
    path.rsplit(|&byte| byte == b'/').next().is_some_and(|file| file.starts_with(OWN))
}

/// The loader's original function.
fn real() -> Option<Create> {
    static REAL: OnceLock<Option<Create>> = OnceLock::new();
    *REAL.get_or_init(|| {
        // SAFETY: a C string; the handle names the next library in the search order.
        let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"pthread_create".as_ptr()) };
        // SAFETY: the function that has this name is of this type.
        (!real.is_null()).then(|| unsafe { std::mem::transmute::<*mut c_void, Create>(real) })
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn thread_names_encode_parent_and_count() {
        let children = |parent: u64| (0..100).map(move |number| child_of(parent, number));
        let names: BTreeSet<u64> = children(FIRST).chain(children(FIRST).flat_map(children)).collect();
        assert_eq!(names.len(), 100 + 100 * 100);
        assert!(!names.contains(&FIRST) && !names.contains(&NONE));
    }
}
