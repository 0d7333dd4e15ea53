//! Preloaded into programs whose runs are saved or resumed: each thread has a name that is the same in each run. It tells which thread
//! has started it, and after how many others. A thread's number for the system tells neither, and where its stack lies depends on
//! what other threads do.
//!
//! `pthread_create` is the loader's own, with a start routine of ours around the program's. Threads of Voltsim's own libraries are
//! not counted, as there are more or fewer of them from run to run, and have no name.

#![allow(unsafe_code)]
// A test is no library, so it exports nothing.
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

/// The name of the process's first thread.
const FIRST: u64 = 1;
/// The name of threads that have none.
const NONE: u64 = 0;
/// How files of Voltsim's libraries are called.
const OWN: &[u8] = b"libvoltsim_";

thread_local! {
    /// The thread's name, and how many threads it has started.
    static SELF: Cell<(u64, u64)> = const { Cell::new((NONE, 0)) };
}

/// A thread that is being started.
struct Started {
    name: u64,
    start: Start,
    argument: *mut c_void,
}

/// In place of the loader's function.
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

/// The first that a thread of the program does.
// Unwinds where the program's routine does: a thread that ends itself, or is cancelled.
unsafe extern "C-unwind" fn begin(started: *mut c_void) -> *mut c_void {
    // SAFETY: the box that `pthread_create` has passed on.
    let Started { name, start, argument } = *unsafe { Box::from_raw(started.cast::<Started>()) };
    SELF.set((name, 0));
    // SAFETY: the program's routine with its argument.
    unsafe { start(argument) }
}

/// The name of the calling thread; 0 if it has none. For the core.
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

/// The name of the next thread that this one starts; none if it has none itself.
fn next_name() -> u64 {
    let parent = voltsim_thread_name();
    if parent == NONE {
        return NONE;
    }
    let (_, started) = SELF.get();
    SELF.set((parent, started + 1));
    child_of(parent, started)
}

/// A name that no other thread has, in all likelihood (the finalizer of MurmurHash3).
fn child_of(parent: u64, number: u64) -> u64 {
    let mut name = parent.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(number + 1);
    for factor in [0xff51_afd7_ed55_8ccd, 0xc4ce_b9fe_1a85_ec53] {
        name = (name ^ (name >> 33)).wrapping_mul(factor);
    }
    (name ^ (name >> 33)).max(FIRST + 1)
}

/// Whether a thread starts in one of Voltsim's own libraries.
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

/// The loader's own function.
fn real() -> Option<Create> {
    static REAL: OnceLock<Option<Create>> = OnceLock::new();
    *REAL.get_or_init(|| {
        // SAFETY: a C string; the handle says that the next library in the search order is meant.
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
    fn names_tell_who_has_started_a_thread_and_after_how_many_others() {
        let children = |parent: u64| (0..100).map(move |number| child_of(parent, number));
        let names: BTreeSet<u64> = children(FIRST).chain(children(FIRST).flat_map(children)).collect();
        assert_eq!(names.len(), 100 + 100 * 100);
        assert!(!names.contains(&FIRST) && !names.contains(&NONE));
    }
}
