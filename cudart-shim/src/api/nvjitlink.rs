//! nvJitLink, `libnvJitLink.so.12` and `.13`. Works without a device, as the vendor's does. The
//! result takes the place of machine code: the driver loads its PTX.

#![allow(non_snake_case)]

use crate::abi::error::Error;
use crate::abi::{Address, In, Out, Text};
use crate::api::entry::api;
use crate::objects::jit_link::{Failure, JitLink};
use crate::root::process;
use std::ffi::{CStr, OsStr, c_char, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt as _;
use std::path::Path;

type Answer<T = ()> = Result<T, Failure>;

/// Result after an internal error of this library.
const INTERNAL: c_int = Failure::Internal as c_int;

impl From<Error> for Failure {
    /// A null pointer is the one error of arguments.
    fn from(_: Error) -> Self {
        Failure::NullInput
    }
}

fn status(body: impl FnOnce() -> Answer) -> c_int {
    body().map_or_else(|failure| failure as c_int, |()| 0)
}

/// Status of `body` for the link with a handle.
fn with(handle: Address, body: impl FnOnce(&mut JitLink) -> Answer) -> c_int {
    status(|| body(process().jit_links.lock().link(handle.0)?))
}

/// Stores a size for the caller.
fn store_size(target: Out<usize>, bytes: &[u8]) -> Answer {
    Ok(target.set(bytes.len())?)
}

/// Copies bytes into the caller's buffer, which has the size that the call for the size said.
fn store(target: *mut c_void, bytes: &[u8]) -> Answer {
    if target.is_null() {
        return Err(Failure::NullInput);
    }
    // SAFETY: not null, so by the API's contract as large as the size that was said.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), target.cast(), bytes.len()) };
    Ok(())
}

/// A name for messages; null is allowed.
fn name_of(name: &Text) -> &CStr {
    name.get().unwrap_or(c"unnamed input")
}

fn store_version(major: Out<c_uint>, minor: Out<c_uint>, version: (c_uint, c_uint)) -> Answer {
    minor.check()?;
    major.set(version.0)?;
    Ok(minor.set(version.1)?)
}

api! { Driver, Nothing;
    /// Begins a link. After a refused option the link exists for its error log.
    fn nvJitLinkCreate(handle: Out<Address>, numOptions: c_uint, options: In<*const c_char>) -> c_int = INTERNAL; {
        status(|| {
            handle.check()?;
            let options = options.list(numOptions as usize)?;
            if options.iter().any(|option| option.is_null()) {
                return Err(Failure::NullInput);
            }
            // SAFETY: not null, so by the API's contract C strings that outlive the call.
            let given: Vec<&CStr> = options.iter().map(|&option| unsafe { CStr::from_ptr(option) }).collect();
            let (link, failure) = process().jit_links.lock().begin(&given);
            handle.set(Address(link))?;
            failure.map_or(Ok(()), Err)
        })
    }

    /// Ends a link and sets its handle to null.
    fn nvJitLinkDestroy(handle: Out<Address>) -> c_int = INTERNAL; {
        status(|| {
            handle.check()?;
            // SAFETY: not null, so by the API's contract a handle.
            let link = unsafe { handle.pointer().read_unaligned() };
            process().jit_links.lock().end(link.0)?;
            Ok(handle.set(Address(0))?)
        })
    }

    /// Adds an input from memory.
    fn nvJitLinkAddData(
        handle: Address, inputType: c_int, data: *const c_void, size: usize, name: Text,
    ) -> c_int = INTERNAL; {
        with(handle, |link| {
            if data.is_null() || size == 0 {
                return Err(Failure::InvalidInput);
            }
            // SAFETY: by the API's contract `size` bytes start there.
            let bytes = unsafe { std::slice::from_raw_parts(data.cast(), size) };
            link.add(inputType, bytes, name_of(&name))
        })
    }

    /// Adds an input from a file.
    fn nvJitLinkAddFile(handle: Address, inputType: c_int, fileName: Text) -> c_int = INTERNAL; {
        with(handle, |link| {
            let name = fileName.get()?;
            match std::fs::read(Path::new(OsStr::from_bytes(name.to_bytes()))) {
                Ok(bytes) => link.add(inputType, &bytes, name),
                Err(error) => Err(link.fail(
                    Failure::InvalidInput,
                    &format!("cannot read {}: {error}", name.to_string_lossy()),
                )),
            }
        })
    }

    /// Links the inputs.
    fn nvJitLinkComplete(handle: Address) -> c_int = INTERNAL; {
        status(|| process().jit_links.lock().complete(handle.0))
    }

    /// Size of the image in bytes.
    fn nvJitLinkGetLinkedCubinSize(handle: Address, size: Out<usize>) -> c_int = INTERNAL; {
        with(handle, |link| store_size(size, link.image()?))
    }

    /// Copies the image.
    fn nvJitLinkGetLinkedCubin(handle: Address, cubin: *mut c_void) -> c_int = INTERNAL; {
        with(handle, |link| store(cubin, link.image()?))
    }

    /// Size of the linked PTX in bytes, with its NUL.
    fn nvJitLinkGetLinkedPtxSize(handle: Address, size: Out<usize>) -> c_int = INTERNAL; {
        with(handle, |link| store_size(size, &link.ptx()?))
    }

    /// Copies the linked PTX.
    fn nvJitLinkGetLinkedPtx(handle: Address, ptx: *mut c_char) -> c_int = INTERNAL; {
        with(handle, |link| store(ptx.cast(), &link.ptx()?))
    }

    /// Size of linked LTO IR. No link results in LTO IR.
    fn nvJitLinkGetLinkedLTOIRSize(handle: Address, _size: Out<usize>) -> c_int = INTERNAL; {
        with(handle, |_| Err(Failure::InvalidInput))
    }

    /// Copies linked LTO IR. No link results in LTO IR.
    fn nvJitLinkGetLinkedLTOIR(handle: Address, _ltoir: *mut c_void) -> c_int = INTERNAL; {
        with(handle, |_| Err(Failure::InvalidInput))
    }

    /// Size of the error log in bytes, with its NUL; 0 without errors.
    fn nvJitLinkGetErrorLogSize(handle: Address, size: Out<usize>) -> c_int = INTERNAL; {
        with(handle, |link| store_size(size, &link.errors()))
    }

    /// Copies the error log.
    fn nvJitLinkGetErrorLog(handle: Address, log: *mut c_char) -> c_int = INTERNAL; {
        with(handle, |link| store(log.cast(), &link.errors()))
    }

    /// Size of the information log in bytes, with its NUL; 0 without information.
    fn nvJitLinkGetInfoLogSize(handle: Address, size: Out<usize>) -> c_int = INTERNAL; {
        with(handle, |link| store_size(size, &link.information()))
    }

    /// Copies the information log.
    fn nvJitLinkGetInfoLog(handle: Address, log: *mut c_char) -> c_int = INTERNAL; {
        with(handle, |link| store(log.cast(), &link.information()))
    }

    /// Version of `libnvJitLink.so.12`.
    fn nvJitLinkVersion_12(major: Out<c_uint>, minor: Out<c_uint>) -> c_int = INTERNAL; {
        status(|| store_version(major, minor, (12, 9)))
    }

    /// Version of `libnvJitLink.so.13`.
    fn nvJitLinkVersion_13(major: Out<c_uint>, minor: Out<c_uint>) -> c_int = INTERNAL; {
        status(|| store_version(major, minor, (13, 5)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KERNEL: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.extern .func f;\n\
                          .visible .entry k() { call f; ret; }\n";
    const FUNCTION: &str = ".version 7.0\n.target sm_70\n.address_size 64\n.visible .func f { ret; }\n";
    const PTX: c_int = 2;
    const ANY: c_int = 10;

    fn begin(options: &[&CStr]) -> (Address, c_int) {
        let pointers: Vec<*const c_char> = options.iter().map(|option| option.as_ptr()).collect();
        let mut handle = Address(0);
        // SAFETY: pointers to values of this function, with the length they have.
        let code = unsafe {
            nvJitLinkCreate(Out::new(&mut handle), pointers.len() as c_uint, In::new(pointers.as_ptr()))
        };
        (handle, code)
    }

    fn add(link: Address, kind: c_int, text: &str, name: &CStr) -> c_int {
        // SAFETY: the text has its length.
        unsafe { nvJitLinkAddData(link, kind, text.as_ptr().cast(), text.len(), Text::new(name.as_ptr())) }
    }

    fn errors(link: Address) -> String {
        let mut size = 0;
        // SAFETY: the buffer has the size that was said.
        unsafe {
            assert_eq!(nvJitLinkGetErrorLogSize(link, Out::new(&mut size)), 0);
            let mut bytes = vec![0_u8; size.max(1)];
            assert_eq!(nvJitLinkGetErrorLog(link, bytes.as_mut_ptr().cast()), 0);
            CStr::from_bytes_until_nul(&bytes).unwrap().to_string_lossy().into_owned()
        }
    }

    fn end(mut link: Address) {
        // SAFETY: the address of a handle.
        unsafe {
            assert_eq!((nvJitLinkDestroy(Out::new(&mut link)), link.0), (0, 0));
            assert_eq!(nvJitLinkDestroy(Out::new(&mut link)), Failure::NullInput as c_int);
        }
    }

    #[test]
    fn linked_image_holds_the_ptx_of_all_inputs() {
        let (link, code) = begin(&[c"-arch=sm_75", c"-maxrregcount=40"]);
        assert_eq!((code, add(link, PTX, KERNEL, c"k.ptx"), add(link, ANY, FUNCTION, c"f.ptx")), (0, 0, 0));
        let mut size = 0;
        // SAFETY: the buffer has the size that was said.
        unsafe {
            assert_eq!(nvJitLinkGetLinkedCubinSize(link, Out::new(&mut size)), Failure::Internal as c_int);
            assert_eq!(nvJitLinkComplete(link), 0);
            assert_eq!(nvJitLinkGetLinkedCubinSize(link, Out::new(&mut size)), 0);
            let mut bytes = vec![0_u8; size];
            assert_eq!(nvJitLinkGetLinkedCubin(link, bytes.as_mut_ptr().cast()), 0);
            let image = ptx_frontend::container::Linked { texts: vec![], max_registers: Some(40) };
            assert_eq!(bytes[16..24], image.to_bytes()[16..24]);
            let text = String::from_utf8_lossy(&bytes);
            assert!(text.contains(".entry k") && text.contains(".visible .func f"), "{text}");
            assert_eq!(nvJitLinkGetLinkedPtxSize(link, Out::new(&mut size)), Failure::InvalidInput as c_int);
        }
        assert_eq!(errors(link), "");
        end(link);
    }

    #[test]
    fn undefined_function_is_named_with_its_input() {
        let (link, _) = begin(&[c"-arch=sm_75"]);
        assert_eq!(add(link, PTX, KERNEL, c"k.ptx"), 0);
        // SAFETY: a handle.
        assert_eq!(unsafe { nvJitLinkComplete(link) }, Failure::Internal as c_int);
        assert_eq!(errors(link), "error   : Undefined reference to 'f' in 'k.ptx'\n");
        end(link);
    }

    #[test]
    fn wrong_inputs_are_refused_with_a_message() {
        let (link, _) = begin(&[c"-arch=sm_75"]);
        assert_eq!(add(link, PTX, &FUNCTION.replace("ret", "frob"), c"f.ptx"), Failure::PtxCompile as c_int);
        assert!(errors(link).contains("line 4") && errors(link).contains("frob"), "{}", errors(link));
        assert_eq!(add(link, ANY, "text", c"t"), Failure::UnrecognizedInput as c_int);
        assert_eq!(add(link, 3, FUNCTION, c"t"), Failure::IncorrectInputType as c_int);
        assert_eq!(add(link, PTX, "", c"t"), Failure::InvalidInput as c_int);
        // SAFETY: a handle and C strings.
        let missing = unsafe { nvJitLinkAddFile(link, ANY, Text::new(c"/no/file".as_ptr())) };
        assert_eq!(missing, Failure::InvalidInput as c_int);
        assert!(errors(link).contains("cannot read /no/file"), "{}", errors(link));
        end(link);
    }

    #[test]
    fn lto_ir_without_the_option_is_refused() {
        let (link, _) = begin(&[c"-arch=sm_75"]);
        let bytes = [0xed_u8, 0x43, 0x4e, 0x7f, 0, 0, 0, 0];
        // SAFETY: the bytes have their length.
        let code = unsafe {
            nvJitLinkAddData(link, ANY, bytes.as_ptr().cast(), bytes.len(), Text::new(c"a.ltoir".as_ptr()))
        };
        assert_eq!(code, Failure::LtoNotEnabled as c_int);
        assert!(errors(link).contains("a.ltoir: LTO IR needs the option -lto"), "{}", errors(link));
        end(link);
    }

    #[test]
    fn refused_option_leaves_a_link_with_a_log() {
        let (link, code) = begin(&[c"-arch=sm_75", c"-frobnicate"]);
        assert_eq!((code, errors(link)), (1, "unrecognized option: -frobnicate\n".to_owned()));
        assert_eq!(add(link, PTX, FUNCTION, c"f.ptx"), Failure::Internal as c_int);
        end(link);
    }
}
