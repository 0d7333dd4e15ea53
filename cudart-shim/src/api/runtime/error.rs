//! Error handling: the last error, names and texts.

use crate::abi::error::{self, UNRECOGNIZED};
use crate::api::entry::api;
use crate::objects::{last_error, sass_only};
use std::ffi::{c_char, c_int};

api! { Runtime;
    /// Returns and clears the thread's last error.
    fn cudaGetLastError() -> c_int = 0; {
        let code = last_error::take_last_code();
        sass_only::asked(code);
        code
    }

    /// The thread's last error.
    fn cudaPeekAtLastError() -> c_int = 0; {
        let code = last_error::last_code();
        sass_only::asked(code);
        code
    }

    /// `cudaErrorInvalidValue` and the like.
    fn cudaGetErrorName(error: c_int) -> *const c_char = UNRECOGNIZED.as_ptr(); {
        sass_only::asked(error);
        error::texts(error).and_then(|texts| texts.runtime_name).unwrap_or(UNRECOGNIZED).as_ptr()
    }

    /// `invalid argument` and the like.
    fn cudaGetErrorString(error: c_int) -> *const c_char = UNRECOGNIZED.as_ptr(); {
        sass_only::asked(error);
        match error::texts(error) {
            Some(texts) if texts.runtime_name.is_some() => sass_only::text_of(texts).as_ptr(),
            _ => UNRECOGNIZED.as_ptr(),
        }
    }
}
