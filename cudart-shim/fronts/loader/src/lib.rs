//! Connects a front library to the core when it is loaded.
//!
//! All fronts of a process share one simulator: each opens `libvoltsim_core.so` in its own folder,
//! which fills its function table. No thread is started. Without a core, the first call reports the
//! reason and every call returns an error.

use std::ffi::{CStr, CString, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Once, OnceLock};

/// File name of the core, beside the fronts.
pub const CORE: &str = "libvoltsim_core.so";

/// `voltsim_core_bind(library number, fingerprint, table, length)` returns 0, or 1 for a front of
/// another build.
type Bind = unsafe extern "C" fn(u32, u64, *mut *const c_void, usize) -> c_int;

/// `cudaErrorInitializationError` and `CUDA_ERROR_NOT_INITIALIZED`.
const NOT_INITIALIZED: c_int = 3;

/// Target of pointers that functions return without a core: a text, with enough zeros for a handle.
static PLACEHOLDER: [u8; 64] = {
    let text = b"the simulator core is not loaded";
    let mut bytes = [0; 64];
    let mut index = 0;
    while index < text.len() {
        bytes[index] = text[index];
        index += 1;
    }
    bytes
};

static FAILURE: OnceLock<String> = OnceLock::new();
static REPORT: Once = Once::new();

/// Opens the core and fills `table`. On failure the table stays as it is, and the first call
/// reports the reason.
///
/// # Safety
/// `table` points to `length` writable entries that no other thread uses yet.
pub unsafe fn bind(soname: &str, number: u32, fingerprint: u64, table: *mut *const c_void, length: usize) {
    // SAFETY: passed on from the caller. The table lies in the front's data, so its address locates
    // the front.
    if let Err(reason) = unsafe { try_bind(number, fingerprint, table, length, table.cast_const().cast()) } {
        let _ = FAILURE.set(format!("{soname}: {reason}"));
    }
}

/// Opens the core in the folder of the library that contains address `inside`, and fills `table`.
///
/// # Safety
/// As for [`bind`].
pub unsafe fn try_bind(
    number: u32,
    fingerprint: u64,
    table: *mut *const c_void,
    length: usize,
    inside: *const c_void,
) -> Result<(), String> {
    let folder = own_folder(inside)?;
    let core = folder.join(CORE);
    let path =
        CString::new(core.as_os_str().as_bytes()).map_err(|_| "the core's path holds a NUL".to_owned())?;
    // SAFETY: `path` is a C string; the core's constructors only set up Rust's runtime.
    let handle = unsafe { libc::dlopen(path.as_ptr(), libc::RTLD_NOW | libc::RTLD_LOCAL) };
    if handle.is_null() {
        return Err(format!("cannot load {}: {}", core.display(), last_loader_error()));
    }
    // SAFETY: `handle` is open and the name is a C string.
    let symbol = unsafe { libc::dlsym(handle, c"voltsim_core_bind".as_ptr()) };
    if symbol.is_null() {
        return Err(format!("{} is not the simulator core", core.display()));
    }
    // SAFETY: the core defines this symbol with this type.
    let bind_in_core: Bind = unsafe { std::mem::transmute::<*mut c_void, Bind>(symbol) };
    // SAFETY: `table` and `length` describe this front's table.
    match unsafe { bind_in_core(number, fingerprint, table, length) } {
        0 => Ok(()),
        _ => Err(format!("{} is of another build; build core and front together", core.display())),
    }
}

/// Folder of the library that holds `address`.
fn own_folder(address: *const c_void) -> Result<PathBuf, String> {
    let mut information = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: dladdr accepts any address and fills the structure when it returns non-zero.
    let found = unsafe { libc::dladdr(address, information.as_mut_ptr()) };
    // SAFETY: zeroed above, and all-zero is a valid value of this structure of pointers.
    let name = unsafe { information.assume_init() }.dli_fname;
    if found == 0 || name.is_null() {
        return Err("the loader cannot name this library's file".to_owned());
    }
    // SAFETY: the loader keeps the name alive while the library is loaded.
    let name = unsafe { CStr::from_ptr(name) };
    let path = Path::new(std::ffi::OsStr::from_bytes(name.to_bytes()));
    path.parent().map(Path::to_path_buf).ok_or_else(|| format!("{} has no folder", path.display()))
}

fn last_loader_error() -> String {
    // SAFETY: dlerror has no precondition.
    let message = unsafe { libc::dlerror() };
    if message.is_null() {
        return "no reason given".to_owned();
    }
    // SAFETY: a non-null result is a C string valid until the next loader call of this thread.
    unsafe { CStr::from_ptr(message) }.to_string_lossy().into_owned()
}

fn report() {
    REPORT.call_once(|| {
        let reason = FAILURE.get().map_or("the core is not bound yet", String::as_str);
        eprintln!("voltsim: {reason}; every CUDA call returns an error");
    });
}

/// Replaces every function that returns a status, without a core.
pub extern "C" fn missing_status() -> c_int {
    report();
    NOT_INITIALIZED
}

/// Replaces every function that returns a pointer, without a core.
pub extern "C" fn missing_word() -> *const c_char {
    report();
    PLACEHOLDER.as_ptr().cast()
}

/// Complete code of a front library; the build script supplies the differences.
#[macro_export]
macro_rules! front {
    () => {
        core::arch::global_asm!(
            include_str!(concat!(env!("OUT_DIR"), "/trampolines.s")),
            missing_status = sym $crate::missing_status,
            missing_word = sym $crate::missing_word,
            options(att_syntax)
        );

        const SONAME: &str = env!("VOLTSIM_FRONT_SONAME");
        const NUMBER: u32 = $crate::parse(env!("VOLTSIM_FRONT_NUMBER")) as u32;
        const LENGTH: usize = $crate::parse(env!("VOLTSIM_FRONT_LENGTH")) as usize;
        const FINGERPRINT: u64 = $crate::parse(env!("VOLTSIM_FRONT_FINGERPRINT"));

        unsafe extern "C" {
            static mut voltsim_front_table: [*const core::ffi::c_void; LENGTH];
        }

        /// Runs when the loader initialises the library, before dependent code.
        #[used]
        #[unsafe(link_section = ".init_array")]
        static BIND: extern "C" fn() = {
            extern "C" fn bind() {
                let table = &raw mut voltsim_front_table;
                // SAFETY: the table has LENGTH entries, and nothing calls through it before the
                // constructors ran.
                unsafe { $crate::bind(SONAME, NUMBER, FINGERPRINT, table.cast(), LENGTH) }
            }
            bind
        };
    };
}

/// Decimal number of a build script's variable at compile time. Non-digits count as zero.
pub const fn parse(text: &str) -> u64 {
    let bytes = text.as_bytes();
    let mut value = 0_u64;
    let mut index = 0;
    while index < bytes.len() {
        value = value.wrapping_mul(10).wrapping_add(bytes[index].wrapping_sub(b'0') as u64);
        index += 1;
    }
    value
}
