//! Front for `libnvrtc.so.{11.2,12,13}`: passes calls on to the real NVRTC. A program that requests
//! a cubin gets its PTX in an image that Voltsim's driver loads.
//!
//! The library looks for the real one when loaded (`vendor-library`). Without a real library, every
//! call reports the problem.

#![allow(unsafe_code)]
// A test exports no symbols.
#![cfg_attr(test, allow(dead_code))]

mod judged;
mod options;

use ptx_frontend::container::Linked;
use std::ffi::{CStr, OsStr, c_char, c_int, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;
use std::sync::Once;
use std::sync::atomic::{AtomicPtr, Ordering};
use vendor_library::Wanted;

/// `nvrtcResult`.
const SUCCESS: c_int = 0;
const INVALID_INPUT: c_int = 3;
const COMPILATION_ERROR: c_int = 6;
const INTERNAL_ERROR: c_int = 11;

/// `nvrtcProgram`.
type Program = *mut c_void;

/// Replaces functions that the real library lacks, or all without a real library.
extern "C" fn unavailable() -> c_int {
    static SAID: Once = Once::new();
    SAID.call_once(|| {
        eprintln!(
            "voltsim: the real NVRTC was not found or lacks the called function; set VOLTSIM_NVRTC to its file"
        );
    });
    INTERNAL_ERROR
}

/// Exports a function under the three versions' nodes, as a jump to `$target`.
macro_rules! export {
    ($name:ident, $jump:literal, $target:path) => {
        // A test has no symbol versions.
        #[cfg(not(test))]
        core::arch::global_asm!(
            concat!(
                ".text\n.balign 8\n",
                ".globl voltsim_", stringify!($name), "_11\n.type voltsim_", stringify!($name), "_11,@function\n",
                ".globl voltsim_", stringify!($name), "_12\n.type voltsim_", stringify!($name), "_12,@function\n",
                ".globl voltsim_", stringify!($name), "_13\n.type voltsim_", stringify!($name), "_13,@function\n",
                "voltsim_", stringify!($name), "_11:\n",
                "voltsim_", stringify!($name), "_12:\n",
                "voltsim_", stringify!($name), "_13:\n",
                $jump, "\n",
                ".symver voltsim_", stringify!($name), "_11,", stringify!($name), "@libnvrtc.so.11.2,remove\n",
                ".symver voltsim_", stringify!($name), "_12,", stringify!($name), "@@libnvrtc.so.12,remove\n",
                ".symver voltsim_", stringify!($name), "_13,", stringify!($name), "@libnvrtc.so.13,remove\n",
            ),
            target = sym $target,
            options(att_syntax)
        );
    };
}

/// Addresses in the real library: of forwarded functions, and of those used here.
macro_rules! real_functions {
    (passed on: $($name:ident)*; needed: $($needed:ident)*) => {
        #[allow(non_upper_case_globals)]
        mod real {
            use super::*;
            $(pub(super) static $name: AtomicPtr<c_void> = AtomicPtr::new(unavailable as *mut c_void);)*
            $(pub(super) static $needed: AtomicPtr<c_void> = AtomicPtr::new(unavailable as *mut c_void);)*
            pub(super) static ALL: &[(&CStr, &AtomicPtr<c_void>)] = &[
                $((as_text(concat!(stringify!($name), "\0")), &$name),)*
                $((as_text(concat!(stringify!($needed), "\0")), &$needed),)*
            ];
        }
        $(export!($name, "jmp *{target}(%rip)", real::$name);)*
    };
}

const fn as_text(text: &str) -> &CStr {
    match CStr::from_bytes_with_nul(text.as_bytes()) {
        Ok(text) => text,
        Err(_) => c"",
    }
}

real_functions! {
    passed on:
        __nvrtcCPEx
        nvrtcAddNameExpression
        nvrtcCreateProgram
        nvrtcGetBundledHeadersInfo
        nvrtcGetErrorString
        nvrtcGetLTOIR
        nvrtcGetLTOIRSize
        nvrtcGetLoweredName
        nvrtcGetNVVM
        nvrtcGetNVVMSize
        nvrtcGetNumSupportedArchs
        nvrtcGetOptiXIR
        nvrtcGetOptiXIRSize
        nvrtcGetPCHCreateStatus
        nvrtcGetPCHHeapSize
        nvrtcGetPCHHeapSizeRequired
        nvrtcGetPTX
        nvrtcGetPTXSize
        nvrtcGetSupportedArchs
        nvrtcGetTileIR
        nvrtcGetTileIRSize
        nvrtcInstallBundledHeaders
        nvrtcRemoveBundledHeaders
        nvrtcSetFlowCallback
        nvrtcSetPCHHeapSize
        nvrtcVersion;
    needed:
        nvrtcCompileProgram
        nvrtcDestroyProgram
        nvrtcGetProgramLog
        nvrtcGetProgramLogSize
}

export!(nvrtcCompileProgram, "jmp {target}", compile);
export!(nvrtcDestroyProgram, "jmp {target}", destroy);
export!(nvrtcGetProgramLog, "jmp {target}", log);
export!(nvrtcGetProgramLogSize, "jmp {target}", log_size);
export!(nvrtcGetCUBINSize, "jmp {target}", image_size);
export!(nvrtcGetCUBIN, "jmp {target}", image);

/// Runs when the loader initialises the library.
#[cfg(not(test))]
#[used]
#[unsafe(link_section = ".init_array")]
static OPEN: extern "C" fn() = open;

/// Names of the real library after the front's own, newest first. A client that tries several
/// versions finds every front, though only one real library may exist.
const NAMES: [&str; 3] = ["libnvrtc.so.13", "libnvrtc.so.12", "libnvrtc.so.11.2"];

/// Looks up the functions of the real library, if there is one.
extern "C" fn open() {
    let own = vendor_library::own_file();
    let own_name = own.as_deref().and_then(Path::file_name);
    let own_name = own_name.filter(|name| name.as_bytes().starts_with(b"libnvrtc.so."));
    let usual = OsStr::new("libnvrtc.so.12");
    let names: Vec<&OsStr> = [own_name.unwrap_or(usual)].into_iter().chain(NAMES.map(OsStr::new)).collect();
    let wanted = Wanted {
        variable: "VOLTSIM_NVRTC",
        stem: c"libnvrtc.so",
        names: &names,
        packages: &["nvidia/cuda_nvrtc/lib", "nvidia/cu13/lib", "nvidia/cu12/lib"],
    };
    let Some(library) = wanted.open(own.as_deref()) else { return };
    for (name, place) in real::ALL {
        if let Some(address) = library.symbol(name) {
            place.store(address, Ordering::Relaxed);
        }
    }
}

/// Newest architecture of the real library, which NVRTC reports since CUDA 11.2.
fn newest_architecture() -> Option<u32> {
    type Ask = unsafe extern "C" fn(*mut c_int) -> c_int;
    let count = real::nvrtcGetNumSupportedArchs.load(Ordering::Relaxed);
    let list = real::nvrtcGetSupportedArchs.load(Ordering::Relaxed);
    if [count, list].contains(&(unavailable as *mut c_void)) {
        return None;
    }
    // SAFETY: the addresses of NVRTC's functions of this type.
    let (count_them, list_them): (Ask, Ask) = unsafe {
        (std::mem::transmute::<*mut c_void, Ask>(count), std::mem::transmute::<*mut c_void, Ask>(list))
    };
    let mut count = 0;
    // SAFETY: writes one number.
    if unsafe { count_them(&mut count) } != 0 {
        return None;
    }
    let mut numbers = vec![0; usize::try_from(count).ok()?];
    // SAFETY: writes as many numbers as it said.
    if unsafe { list_them(numbers.as_mut_ptr()) } != 0 {
        return None;
    }
    numbers.into_iter().filter_map(|number| u32::try_from(number).ok()).max()
}

/// Compiles for a virtual architecture if the program names a real one, so that PTX results instead
/// of machine code.
///
/// # Safety
/// As for `nvrtcCompileProgram`: `options` has `count` C strings.
unsafe extern "C" fn compile(program: Program, count: c_int, options: *const *const c_char) -> c_int {
    type Compile = unsafe extern "C" fn(Program, c_int, *const *const c_char) -> c_int;
    let given = match usize::try_from(count) {
        Ok(count) if !options.is_null() => {
            // SAFETY: by the API's contract `count` pointers to C strings.
            unsafe { std::slice::from_raw_parts(options, count) }
        }
        _ => &[],
    };
    // SAFETY: by the API's contract each points to a C string that outlives the call.
    let given: Vec<&CStr> = given.iter().map(|option| unsafe { CStr::from_ptr(*option) }).collect();
    let texts = options::virtual_architecture(&given, newest_architecture());
    let pointers: Vec<*const c_char> = texts.iter().map(|text| text.as_ptr()).collect();
    // SAFETY: the address of NVRTC's function of this type, or of one that takes nothing.
    let real: Compile = unsafe { std::mem::transmute(real::nvrtcCompileProgram.load(Ordering::Relaxed)) };
    judged::forget(program as usize);
    // SAFETY: the program is the caller's, the options live until the call returns.
    let code = unsafe { real(program, pointers.len() as c_int, pointers.as_ptr()) };
    if code != SUCCESS || !options::asks_for_machine_code(&given) {
        return code;
    }
    // A program without PTX (with -dlto) needs no check.
    match ptx_of(program) {
        Ok(text) if !judged::is_legal(program as usize, &text) => COMPILATION_ERROR,
        _ => code,
    }
}

/// # Safety
/// As for `nvrtcDestroyProgram`.
unsafe extern "C" fn destroy(program: *mut Program) -> c_int {
    type Destroy = unsafe extern "C" fn(*mut Program) -> c_int;
    if !program.is_null() {
        // SAFETY: by the API's contract a program's handle.
        judged::forget(unsafe { program.read() } as usize);
    }
    // SAFETY: the address of NVRTC's function of this type, or of one that takes nothing.
    let real: Destroy = unsafe { std::mem::transmute(real::nvrtcDestroyProgram.load(Ordering::Relaxed)) };
    // SAFETY: passed on from the caller.
    unsafe { real(program) }
}

/// # Safety
/// As for `nvrtcGetProgramLogSize`.
unsafe extern "C" fn log_size(program: Program, size: *mut usize) -> c_int {
    type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
    // SAFETY: the address of NVRTC's function of this type, or of one that takes nothing.
    let real: Size = unsafe { std::mem::transmute(real::nvrtcGetProgramLogSize.load(Ordering::Relaxed)) };
    // SAFETY: passed on from the caller.
    let code = unsafe { real(program, size) };
    if code == SUCCESS && !size.is_null() {
        // SAFETY: NVRTC has written a size there.
        unsafe { size.write(size.read() + judged::log_of(program as usize).len()) };
    }
    code
}

/// # Safety
/// As for `nvrtcGetProgramLog`: there is room for as many bytes as [`log_size`] has said.
unsafe extern "C" fn log(program: Program, text: *mut c_char) -> c_int {
    type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
    // SAFETY: the address of NVRTC's function of this type, or of one that takes nothing.
    let real: Text = unsafe { std::mem::transmute(real::nvrtcGetProgramLog.load(Ordering::Relaxed)) };
    // SAFETY: passed on from the caller.
    let code = unsafe { real(program, text) };
    let more = judged::log_of(program as usize);
    if code == SUCCESS && !text.is_null() && !more.is_empty() {
        // SAFETY: NVRTC has written a C string there, and the caller has room for ours behind it
        // and its NUL.
        unsafe {
            let end = text.add(CStr::from_ptr(text).to_bytes().len());
            std::ptr::copy_nonoverlapping(more.as_ptr().cast(), end, more.len());
            end.add(more.len()).write(0);
        }
    }
    code
}

/// Image of a program's PTX.
fn image_of(program: Program) -> Result<Vec<u8>, c_int> {
    let text = ptx_of(program)?;
    Ok(Linked { texts: vec![text.as_bytes()], max_registers: None }.to_bytes())
}

/// A program's PTX.
fn ptx_of(program: Program) -> Result<String, c_int> {
    type Size = unsafe extern "C" fn(Program, *mut usize) -> c_int;
    type Text = unsafe extern "C" fn(Program, *mut c_char) -> c_int;
    // SAFETY: the addresses of NVRTC's functions of these types, or of one that takes nothing.
    let (size, text): (Size, Text) = unsafe {
        (
            std::mem::transmute::<*mut c_void, Size>(real::nvrtcGetPTXSize.load(Ordering::Relaxed)),
            std::mem::transmute::<*mut c_void, Text>(real::nvrtcGetPTX.load(Ordering::Relaxed)),
        )
    };
    let succeeded = |code| if code == SUCCESS { Ok(()) } else { Err(code) };
    let mut length = 0;
    // SAFETY: the program is the caller's.
    succeeded(unsafe { size(program, &mut length) })?;
    let mut bytes = vec![0_u8; length];
    // SAFETY: as above, with room for as many bytes as NVRTC has said.
    succeeded(unsafe { text(program, bytes.as_mut_ptr().cast()) })?;
    let end = bytes.iter().position(|byte| *byte == 0).unwrap_or(length);
    Ok(String::from_utf8_lossy(bytes.get(..end).unwrap_or_default()).into_owned())
}

/// # Safety
/// As for `nvrtcGetCUBINSize`.
unsafe extern "C" fn image_size(program: Program, size: *mut usize) -> c_int {
    if size.is_null() {
        return INVALID_INPUT;
    }
    image_of(program).map_or_else(
        |code| code,
        |image| {
            // SAFETY: not null, so by the API's contract room for a size.
            unsafe { size.write(image.len()) };
            SUCCESS
        },
    )
}

/// # Safety
/// As for `nvrtcGetCUBIN`: there is room for as many bytes as [`image_size`] has said.
unsafe extern "C" fn image(program: Program, target: *mut c_char) -> c_int {
    if target.is_null() {
        return INVALID_INPUT;
    }
    image_of(program).map_or_else(
        |code| code,
        |image| {
            // SAFETY: by the API's contract there is room for the image.
            unsafe { std::ptr::copy_nonoverlapping(image.as_ptr(), target.cast(), image.len()) };
            SUCCESS
        },
    )
}
