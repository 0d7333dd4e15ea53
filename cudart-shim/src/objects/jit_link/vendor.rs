//! The vendor's nvJitLink, which makes PTX of LTO IR. LTO IR has no public definition.

use super::Failure;
use super::options::Options;
use std::ffi::{CStr, CString, OsStr, c_char, c_int, c_void};
use std::ptr;
use vendor_library::{Opened, Wanted};

type Handle = *mut c_void;

/// An input that only the vendor's library understands.
#[derive(Debug)]
pub(crate) struct Input {
    pub(crate) kind: c_int,
    pub(crate) bytes: Vec<u8>,
    pub(crate) name: CString,
}

/// PTX and log of a link.
pub(crate) struct Linked {
    pub(crate) ptx: Vec<u8>,
    pub(crate) information: String,
}

/// A failed link: the code and the error log.
pub(crate) struct NotLinked(pub(crate) Failure, pub(crate) String);

/// The vendor's library.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Vendor {
    library: Opened,
}

impl Vendor {
    /// Opens the library. Version 13 has no code for architectures below 75 (ten times the
    /// capability), so version 12 precedes for these.
    pub(crate) fn open(capability: u32) -> Option<Vendor> {
        let mut names = ["libnvJitLink.so.13", "libnvJitLink.so.12"];
        if capability < 75 {
            names.reverse();
        }
        let wanted = Wanted {
            variable: "VOLTSIM_NVJITLINK",
            stem: c"libnvJitLink.so",
            names: &names.map(OsStr::new),
            packages: &["nvidia/cu13/lib", "nvidia/nvjitlink/lib", "nvidia/cu12/lib"],
        };
        let library = wanted.open(vendor_library::own_file().as_deref())?;
        let has_all = FUNCTIONS.iter().all(|name| library.symbol(name).is_some());
        has_all.then_some(Vendor { library })
    }

    /// Links inputs to PTX with the program's options.
    pub(crate) fn link(self, options: &Options, inputs: &[Input]) -> Result<Linked, NotLinked> {
        type Create = unsafe extern "C" fn(*mut Handle, u32, *const *const c_char) -> c_int;
        type Add = unsafe extern "C" fn(Handle, c_int, *const c_void, usize, *const c_char) -> c_int;
        type Complete = unsafe extern "C" fn(Handle) -> c_int;
        type Destroy = unsafe extern "C" fn(*mut Handle) -> c_int;
        let mut given: Vec<&CStr> = options.given.iter().map(CString::as_c_str).collect();
        if !options.ptx {
            given.push(c"-ptx");
        }
        let pointers: Vec<*const c_char> = given.iter().map(|option| option.as_ptr()).collect();
        let mut handle: Handle = ptr::null_mut();
        // SAFETY: functions of nvJitLink by these names have these types, by its documentation. All
        // pointers are to values that live until the calls return.
        unsafe {
            let create: Create = std::mem::transmute(self.function(CREATE));
            let add: Add = std::mem::transmute(self.function(ADD));
            let complete: Complete = std::mem::transmute(self.function(COMPLETE));
            let destroy: Destroy = std::mem::transmute(self.function(DESTROY));
            let mut code = create(&mut handle, pointers.len() as u32, pointers.as_ptr());
            for input in inputs {
                if code == 0 {
                    let bytes = input.bytes.as_ptr().cast();
                    code = add(handle, input.kind, bytes, input.bytes.len(), input.name.as_ptr());
                }
            }
            if code == 0 {
                code = complete(handle);
            }
            let text = |size, get| String::from_utf8_lossy(&self.bytes(handle, size, get)).into_owned();
            let result = if code == 0 {
                Ok(Linked {
                    ptx: self.bytes(handle, PTX_SIZE, PTX),
                    information: text(INFORMATION_SIZE, INFORMATION),
                })
            } else {
                Err(NotLinked(Failure::of(code), text(ERRORS_SIZE, ERRORS)))
            };
            destroy(&mut handle);
            result
        }
    }

    /// Bytes that a pair of functions gives, without their final NUL.
    ///
    /// # Safety
    /// `handle` is a link of this library; `size` and `get` are names of a pair of its functions.
    unsafe fn bytes(self, handle: Handle, size: &CStr, get: &CStr) -> Vec<u8> {
        type Size = unsafe extern "C" fn(Handle, *mut usize) -> c_int;
        type Get = unsafe extern "C" fn(Handle, *mut c_char) -> c_int;
        if handle.is_null() {
            return Vec::new();
        }
        let mut length = 0;
        // SAFETY: the functions have these types; the buffer has the size that the library said.
        unsafe {
            let size: Size = std::mem::transmute(self.function(size));
            let get: Get = std::mem::transmute(self.function(get));
            if size(handle, &mut length) != 0 || length == 0 {
                return Vec::new();
            }
            let mut bytes = vec![0_u8; length];
            if get(handle, bytes.as_mut_ptr().cast()) != 0 {
                return Vec::new();
            }
            while bytes.last() == Some(&0) {
                bytes.pop();
            }
            bytes
        }
    }

    /// Address of a function, which [`Vendor::open`] has found.
    fn function(self, name: &CStr) -> *mut c_void {
        self.library.symbol(name).unwrap_or(ptr::null_mut())
    }
}

const CREATE: &CStr = c"nvJitLinkCreate";
const ADD: &CStr = c"nvJitLinkAddData";
const COMPLETE: &CStr = c"nvJitLinkComplete";
const DESTROY: &CStr = c"nvJitLinkDestroy";
const PTX_SIZE: &CStr = c"nvJitLinkGetLinkedPtxSize";
const PTX: &CStr = c"nvJitLinkGetLinkedPtx";
const ERRORS_SIZE: &CStr = c"nvJitLinkGetErrorLogSize";
const ERRORS: &CStr = c"nvJitLinkGetErrorLog";
const INFORMATION_SIZE: &CStr = c"nvJitLinkGetInfoLogSize";
const INFORMATION: &CStr = c"nvJitLinkGetInfoLog";

/// Functions that the library must have.
const FUNCTIONS: [&CStr; 10] =
    [CREATE, ADD, COMPLETE, DESTROY, PTX_SIZE, PTX, ERRORS_SIZE, ERRORS, INFORMATION_SIZE, INFORMATION];
