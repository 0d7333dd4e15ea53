//! Functions of the program that run in stream order.

use crate::abi::error::{Error, Result};
use std::ffi::c_void;

/// `cudaHostFn_t`, `CUhostFn`.
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// A host function with its argument.
#[derive(Clone, Copy, Debug)]
pub(crate) struct HostCall {
    function: unsafe extern "C" fn(*mut c_void),
    argument: *mut c_void,
}

// SAFETY: the program passes the argument for use on the calling thread.
unsafe impl Send for HostCall {}
// SAFETY: as above; the two addresses are immutable.
unsafe impl Sync for HostCall {}

impl HostCall {
    /// A call of a function, which must not be null.
    pub(crate) fn new(function: HostFunction, argument: *mut c_void) -> Result<Self> {
        Ok(Self { function: function.ok_or(Error::InvalidValue)?, argument })
    }

    /// The function and its argument.
    pub(crate) fn parts(self) -> (HostFunction, *mut c_void) {
        (Some(self.function), self.argument)
    }

    pub(crate) fn call(self) {
        // SAFETY: by the API's contract the function takes this argument.
        unsafe { (self.function)(self.argument) };
    }
}
