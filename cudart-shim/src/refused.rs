//! Kernels that cannot be launched because they exist only as machine code.
//!
//! Programs get a code, which libraries like cuBLAS and cuDNN turn into one of their own. So that a user can tell what to do,
//! each such kernel is told once on standard error and each time in the log, and the text of the code names the last one.

use crate::error::Error;
use crate::log;
use crate::process::process;
use rustc_hash::FxHashMap;
use std::ffi::{CStr, CString, c_char};

/// What has been told, and the text of the code that goes with it.
#[derive(Default)]
pub(crate) struct Told {
    texts: FxHashMap<String, &'static CStr>,
    last: Option<&'static CStr>,
}

/// What a user of other people's libraries and what an author can do.
const REMEDY: &str = "a library may have PTX of other kernels, and chooses by the compute capability that it is told: \
voltsim run --profile pytorch, or --device with a file that tells another one (8.0 for cuBLAS 10.2, 3.0 for cuDNN 7.6, \
12.0 for CUDA 12.4); code of your own: compile it with PTX (code=compute_NN)";

/// Tells why there is nothing to run, and gives the error for the program.
pub(crate) fn refuse(what: &str) -> Error {
    let error = Error::NoKernelImageForDevice;
    let mut told = process().refused.lock();
    let message = || format!("{what}, which cannot be executed; {REMEDY}");
    let text = match told.texts.get(what) {
        Some(text) => {
            log::line(message);
            text
        }
        None => {
            log::report(message);
            let plain = error.text().to_string_lossy();
            let text = CString::new(format!("{plain} (voltsim: {})", message())).unwrap_or_default();
            // Programs keep such texts for ever; there is one for each kernel.
            let text: &CStr = Box::leak(text.into_boxed_c_str());
            told.texts.insert(what.to_owned(), text);
            text
        }
    };
    told.last = Some(text);
    error
}

/// The text of the code that such launches give, with the last kernel.
pub(crate) fn text() -> Option<&'static CStr> {
    process().refused.lock().last
}

/// For the preloaded library, which adds it to the texts of other libraries: the same, or null.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_refused_kernel() -> *const c_char {
    std::panic::catch_unwind(text).ok().flatten().map_or(std::ptr::null(), CStr::as_ptr)
}
