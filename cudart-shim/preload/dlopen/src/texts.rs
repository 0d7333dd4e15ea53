//! Adds the kernel that could not be launched to error texts: cuDNN's status texts, and Python
//! exceptions with a cuBLAS status. The status alone names neither kernel nor remedy.

use super::{own_folder, symbol};
use std::collections::BTreeSet;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::ptr;
use std::sync::Mutex;
use std::sync::atomic::{AtomicPtr, Ordering};

type Text = unsafe extern "C" fn(c_int) -> *const c_char;
type SetError = unsafe extern "C" fn(*mut c_void, *const c_char);
type Refused = unsafe extern "C" fn() -> *const c_char;

/// Locations of the vendor's function if it is not next in the search order.
const LIBRARIES: [&CStr; 3] = [c"libcudnn.so.7", c"libcudnn.so.8", c"libcudnn.so.9"];
const NAME: &CStr = c"cudnnGetErrorString";
/// Statuses of cuDNN 7 and 8 for a failed launch: not initialized, internal error, mapping error,
/// execution failed.
const FAILED: [c_int; 4] = [1, 4, 7, 8];

/// Replaces cuDNN's function.
///
/// # Safety
/// As for cuDNN's function, which has no precondition.
#[cfg_attr(not(test), unsafe(export_name = "cudnnGetErrorString"))]
pub unsafe extern "C" fn error_string(status: c_int) -> *const c_char {
    let Some(vendor) = vendor() else { return c"CUDNN_UNKNOWN_STATUS".as_ptr() };
    // SAFETY: cuDNN's function takes any number and gives a C string that stays.
    let plain = unsafe { vendor(status) };
    if plain.is_null() || !FAILED.contains(&status) {
        return plain;
    }
    // SAFETY: as above.
    let text = unsafe { CStr::from_ptr(plain) };
    std::panic::catch_unwind(|| explained(text)).ok().flatten().unwrap_or(plain)
}

/// Parts of PyTorch's messages with a cuBLAS status.
const CUBLAS: [&str; 2] = ["CUBLAS_STATUS_", "cublas runtime error"];

/// Replaces Python's function, if that is in a shared library.
///
/// # Safety
/// As for Python's function.
#[cfg_attr(not(test), unsafe(export_name = "PyErr_SetString"))]
pub unsafe extern "C" fn set_python_error(kind: *mut c_void, text: *const c_char) {
    let Some(vendor) = python() else { return };
    let message = || {
        // SAFETY: by Python's contract a C string.
        let told = unsafe { CStr::from_ptr(text) };
        let told_text = told.to_string_lossy();
        CUBLAS.iter().any(|status| told_text.contains(status)).then(|| explained(told)).flatten()
    };
    let message = if text.is_null() { None } else { std::panic::catch_unwind(message).ok().flatten() };
    // SAFETY: passed on from the caller; a replaced text is a C string, too.
    unsafe { vendor(kind, message.unwrap_or(text)) };
}

/// Python's original function.
fn python() -> Option<SetError> {
    static FOUND: AtomicPtr<c_void> = AtomicPtr::new(ptr::null_mut());
    const NAME: &CStr = c"PyErr_SetString";
    let mut address = FOUND.load(Ordering::Acquire);
    if address.is_null() {
        // A program may have opened Python with local scope, outside the search order.
        address =
            symbol(libc::RTLD_NEXT, NAME).or_else(|| symbol(loaded(&library_like("libpython")?)?, NAME))?;
        let ours: SetError = set_python_error;
        if ptr::eq(address, ours as *const c_void) {
            return None;
        }
        FOUND.store(address, Ordering::Release);
    }
    // SAFETY: Python's function of this name is of this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, SetError>(address) })
}

/// Path of a loaded library whose file name starts with `start`.
fn library_like(start: &str) -> Option<PathBuf> {
    struct Search<'a> {
        start: &'a str,
        found: Option<PathBuf>,
    }
    unsafe extern "C" fn visit(library: *mut libc::dl_phdr_info, _size: usize, data: *mut c_void) -> c_int {
        // SAFETY: the loader's record of a library, and the search that this was started with.
        let (name, search) = unsafe { ((*library).dlpi_name, &mut *data.cast::<Search<'_>>()) };
        if name.is_null() {
            return 0;
        }
        // SAFETY: the loader keeps the name while the library is loaded.
        let path = Path::new(OsStr::from_bytes(unsafe { CStr::from_ptr(name) }.to_bytes()));
        let fits = path.file_name().is_some_and(|name| name.to_string_lossy().starts_with(search.start));
        if fits {
            search.found = Some(path.to_owned());
        }
        c_int::from(fits)
    }
    let mut search = Search { start, found: None };
    // SAFETY: the function takes what is passed for it, which lives until the call returns.
    unsafe { libc::dl_iterate_phdr(Some(visit), (&raw mut search).cast()) };
    search.found
}

/// Extended texts, never freed, like the vendor's.
static EXPLAINED: Mutex<BTreeSet<&'static CStr>> = Mutex::new(BTreeSet::new());

/// The text with the core's description of the last refused kernel.
fn explained(text: &CStr) -> Option<*const c_char> {
    let core = loaded(&own_folder()?.join("libvoltsim_core.so"))?;
    let refused = symbol(core, c"voltsim_refused_kernel")?;
    // SAFETY: the core's function of this name is of this type.
    let refused = unsafe { std::mem::transmute::<*mut c_void, Refused>(refused) };
    // SAFETY: it has no precondition.
    let kernel = unsafe { refused() };
    if kernel.is_null() {
        return None;
    }
    // SAFETY: not null, so a C string that stays.
    let kernel = unsafe { CStr::from_ptr(kernel) };
    let explained = format!("{}: {}", text.to_string_lossy(), kernel.to_string_lossy());
    let explained = CString::new(explained).ok()?;
    let mut known = EXPLAINED.lock().ok()?;
    if let Some(known) = known.get(explained.as_c_str()) {
        return Some(known.as_ptr());
    }
    let explained: &CStr = Box::leak(explained.into_boxed_c_str());
    known.insert(explained);
    Some(explained.as_ptr())
}

/// cuDNN's original function.
fn vendor() -> Option<Text> {
    let next = symbol(libc::RTLD_NEXT, NAME).or_else(|| {
        let of = |name: &CStr| symbol(loaded(Path::new(name.to_str().ok()?))?, NAME);
        LIBRARIES.into_iter().find_map(of)
    })?;
    let ours: unsafe extern "C" fn(c_int) -> *const c_char = error_string;
    if ptr::eq(next, ours as *const c_void) {
        return None;
    }
    // SAFETY: cuDNN's function of this name is of this type.
    Some(unsafe { std::mem::transmute::<*mut c_void, Text>(next) })
}

/// A library, if already loaded.
fn loaded(path: &Path) -> Option<*mut c_void> {
    let path = CString::new(path.as_os_str().as_bytes()).ok()?;
    // SAFETY: a C string; nothing is loaded.
    let library = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_NOLOAD) };
    (!library.is_null()).then_some(library)
}
