//! Error handling: the last error, names and texts.

use crate::entry::api;
use crate::error;
use crate::refused;
use std::ffi::{CStr, c_char, c_int};

/// What the originals answer for a number that is no code.
pub(crate) const UNRECOGNIZED: &CStr = c"unrecognized error code";

api! { Runtime;
    /// The thread's last error, which is then forgotten.
    fn cudaGetLastError() -> c_int = 0; {
        let code = error::take_last_code();
        refused::asked(code);
        code
    }

    /// The thread's last error.
    fn cudaPeekAtLastError() -> c_int = 0; {
        let code = error::last_code();
        refused::asked(code);
        code
    }

    /// `cudaErrorInvalidValue` and the like.
    fn cudaGetErrorName(error: c_int) -> *const c_char = UNRECOGNIZED.as_ptr(); {
        refused::asked(error);
        error::texts(error).and_then(|texts| texts.runtime_name).unwrap_or(UNRECOGNIZED).as_ptr()
    }

    /// `invalid argument` and the like.
    fn cudaGetErrorString(error: c_int) -> *const c_char = UNRECOGNIZED.as_ptr(); {
        refused::asked(error);
        match error::texts(error) {
            Some(texts) if texts.runtime_name.is_some() => texts.told().as_ptr(),
            _ => UNRECOGNIZED.as_ptr(),
        }
    }
}
