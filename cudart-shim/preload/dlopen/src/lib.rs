//! Preloaded into programs that load CUDA's libraries themselves: `dlopen` of one of these opens
//! Voltsim's from this library's folder. Sonames and paths are both replaced, since the loader's
//! search path does not affect paths; Python packages open the libraries beside them by path.
//!
//! The library also extends error texts with the cause that Voltsim knows (`texts`). Outputs are
//! written when a signal's default action ends the program (`signals`).
//!
//! `dlopen` continues by a jump, so the loader sees the program's own call: search path and
//! `$ORIGIN` of the caller apply.

#![allow(unsafe_code)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

mod bindings;
mod names;
mod signals;
mod texts;

use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::{OsStrExt as _, OsStringExt as _};
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::OnceLock;
use std::sync::atomic::{AtomicPtr, Ordering};

/// Ends the program when its parent, the command in the value of options, is killed.
#[used]
#[unsafe(link_section = ".init_array")]
static DIE_WITH_COMMAND: extern "C" fn() = {
    extern "C" fn at_start() {
        // SAFETY: a C string; the value is read before anything changes the environment.
        let options = unsafe { libc::getenv(c"VOLTSIM_RUN".as_ptr()) };
        if options.is_null() {
            return;
        }
        // SAFETY: values of the environment are C strings; the other calls have no precondition.
        unsafe {
            if supervisor(CStr::from_ptr(options).to_bytes()) == Some(libc::getppid()) {
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL);
            }
        }
    }
    at_start
};

/// The process in the value of options, which has entries between semicolons. The crate
/// `run-options` writes the value; this library is loaded into every program and stays small
/// without that crate.
fn supervisor(options: &[u8]) -> Option<libc::pid_t> {
    let mut entries = options.split(|byte| *byte == b';');
    let process = entries.find_map(|entry| entry.strip_prefix(b"supervisor="))?;
    str::from_utf8(process).ok()?.parse().ok()
}

/// Tells whether the run has stand-ins for the vendor's libraries.
fn has_stand_ins() -> bool {
    static HAS: OnceLock<bool> = OnceLock::new();
    *HAS.get_or_init(|| {
        let options = std::env::var_os("VOLTSIM_RUN").unwrap_or_default();
        options.as_bytes().split(|byte| *byte == b';').any(|entry| entry == b"libraries=stand-ins")
            || std::env::var_os("VOLTSIM_LIBRARIES").is_some_and(|value| value == "stand-ins")
    })
}

type Open = unsafe extern "C" fn(*const c_char, c_int) -> *mut c_void;

/// The loader's own `dlopen`.
static REAL: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
/// Paths under which the program last named a library, by its place in [`names::PASSED_ON`].
static ASKED_FOR: [AtomicPtr<c_char>; names::PASSED_ON.len()] =
    [const { AtomicPtr::new(ptr::null_mut()) }; names::PASSED_ON.len()];

/// Replaces the loader's `dlopen`.
///
/// # Safety
/// As for the loader's function.
#[cfg(not(test))]
#[unsafe(naked)]
#[unsafe(no_mangle)]
pub unsafe extern "C" fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void {
    core::arch::naked_asm!(
        ".cfi_startproc",
        // Keeps the flags and aligns the stack.
        "pushq %rsi",
        ".cfi_adjust_cfa_offset 8",
        "call {choose}",
        "popq %rsi",
        ".cfi_adjust_cfa_offset -8",
        "movq %rax, %rdi",
        "jmp *{real}(%rip)",
        ".cfi_endproc",
        choose = sym choose,
        real = sym REAL,
        options(att_syntax)
    );
}

/// Path to open in place of `path`, or `path` itself. Looks up the real `dlopen`.
///
/// # Safety
/// `path` is null or a C string.
unsafe extern "C" fn choose(path: *const c_char) -> *const c_char {
    if REAL.load(Ordering::Acquire).is_null() {
        // SAFETY: a C string; the handle names the next library in the search order.
        let real = unsafe { libc::dlsym(libc::RTLD_NEXT, c"dlopen".as_ptr()) };
        REAL.store(if real.is_null() { unavailable as *mut c_void } else { real }, Ordering::Release);
    }
    if path.is_null() {
        return path;
    }
    // SAFETY: by `dlopen`'s contract a C string.
    let asked = unsafe { CStr::from_ptr(path) };
    match std::panic::catch_unwind(|| replacement(asked)) {
        Ok(Some(ours)) => ours.as_ptr(),
        _ => path,
    }
}

/// Replaces a `dlopen` that the loader lacks.
extern "C" fn unavailable(_path: *const c_char, _flags: c_int) -> *mut c_void {
    ptr::null_mut()
}

/// Voltsim's library to open in place of `asked`, if there is one. The path is never freed.
fn replacement(asked: &CStr) -> Option<&'static CStr> {
    let path = Path::new(OsStr::from_bytes(asked.to_bytes()));
    let name = path.file_name()?.to_str()?;
    if let Some(module) = bindings::Module::named(name) {
        module.redirect(asked);
        return None;
    }
    let folder = own_folder()?;
    let target = || path.read_link().ok()?.file_name()?.to_str().map(str::to_owned);
    let stand_in = if has_stand_ins() { names::stand_in(name, target) } else { None };
    let ours = stand_in.or_else(|| names::ours(name, target))?;
    if path.parent().is_some_and(|parent| parent.starts_with(folder)) || !folder.join(&ours).exists() {
        return None;
    }
    if names::is_optional(name) && open(asked).is_none() {
        return None;
    }
    if path.is_file()
        && let Some(place) = passed_on(name)
    {
        place.store(asked.to_owned().into_raw(), Ordering::Release);
    }
    kept(folder.join(ours))
}

/// The path in memory that is never freed.
fn kept(path: PathBuf) -> Option<&'static CStr> {
    let text = CString::new(path.into_os_string().into_vec()).ok()?;
    Some(Box::leak(text.into_boxed_c_str()))
}

/// Place of the path under which the program named a library whose replacement uses the vendor's.
fn passed_on(name: &str) -> Option<&'static AtomicPtr<c_char>> {
    let number = names::PASSED_ON.iter().position(|prefix| name.starts_with(prefix))?;
    ASKED_FOR.get(number)
}

/// For a front: the vendor's file that the program named when it received the front, or null.
///
/// # Safety
/// `name` is a C string: the beginning of the library's name.
#[cfg_attr(not(test), unsafe(no_mangle))]
pub unsafe extern "C" fn voltsim_asked_for(name: *const c_char) -> *const c_char {
    // SAFETY: by this function's contract a C string.
    let name = unsafe { CStr::from_ptr(name) }.to_str().unwrap_or_default();
    passed_on(name).map_or(ptr::null(), |place| place.load(Ordering::Acquire).cast_const())
}

/// The folder of this library.
fn own_folder() -> Option<&'static Path> {
    static FOLDER: OnceLock<Option<PathBuf>> = OnceLock::new();
    let find = || {
        let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
        // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
        let found = unsafe { libc::dladdr((&raw const REAL).cast(), information.as_mut_ptr()) };
        // SAFETY: zeroed above, and all-zero is a valid value of this structure of pointers.
        let name = unsafe { information.assume_init() }.dli_fname;
        if found == 0 || name.is_null() {
            return None;
        }
        // SAFETY: the loader keeps the name alive while the library is loaded.
        let name = unsafe { CStr::from_ptr(name) };
        Path::new(OsStr::from_bytes(name.to_bytes())).parent().map(Path::to_owned)
    };
    FOLDER.get_or_init(find).as_deref()
}

/// Opens a library with the loader's own `dlopen`.
fn open(path: &CStr) -> Option<*mut c_void> {
    let real = REAL.load(Ordering::Acquire);
    if real.is_null() {
        return None;
    }
    // SAFETY: not null, so the address of `dlopen` or of `unavailable`, which are of this type.
    let real: Open = unsafe { std::mem::transmute::<*mut c_void, Open>(real) };
    // SAFETY: a C string; the program was about to open the library itself.
    let library = unsafe { real(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    (!library.is_null()).then_some(library)
}

/// Address of a symbol in an open library, or in the program's libraries with
/// [`libc::RTLD_DEFAULT`].
fn symbol(library: *mut c_void, name: &CStr) -> Option<*mut c_void> {
    // SAFETY: a live handle and a C string.
    let address = unsafe { libc::dlsym(library, name.as_ptr()) };
    (!address.is_null()).then_some(address)
}

#[cfg(test)]
mod tests {
    #[test]
    fn supervisor_is_an_entry_of_the_options() {
        assert_eq!(super::supervisor(b"1;gpu=tiny;supervisor=4711;trace=/t"), Some(4711));
        assert_eq!(super::supervisor(b"1;log=supervisor"), None);
    }
}
