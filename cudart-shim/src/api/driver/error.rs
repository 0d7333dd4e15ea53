//! Names and texts of the driver's codes.

use crate::abi::Out;
use crate::abi::error::{self, Error, Result};
use crate::api::entry::api;
use crate::objects::sass_only;
use std::ffi::{CStr, c_char, c_int};

fn answer(result: Out<*const c_char>, text: Option<&'static CStr>) -> Result<()> {
    result.set(text.map_or(std::ptr::null(), CStr::as_ptr))?;
    text.map(|_| ()).ok_or(Error::InvalidValue)
}

api! { Driver;
    /// `CUDA_ERROR_INVALID_VALUE` and the like.
    fn cuGetErrorName(error: c_int, pStr: Out<*const c_char>) {
        sass_only::asked(error);
        answer(pStr, error::texts(error).and_then(|texts| texts.driver_name))
    }

    /// `invalid argument` and the like.
    fn cuGetErrorString(error: c_int, pStr: Out<*const c_char>) {
        sass_only::asked(error);
        answer(pStr, error::texts(error).filter(|texts| texts.driver_name.is_some()).map(sass_only::text_of))
    }
}
