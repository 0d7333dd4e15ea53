//! Results of calls, by the documentation of cuFFT.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `cufftResult` of a failed call. `CUFFT_SUCCESS` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    InvalidPlan = 1,
    AllocationFailed = 2,
    InvalidType = 3,
    InvalidValue = 4,
    InternalError = 5,
    ExecutionFailed = 6,
    SetupFailed = 7,
    InvalidSize = 8,
    NoWorkspace = 13,
    NotSupported = 16,
}

pub(crate) type Answer<T = ()> = Result<T, Status>;

impl From<standin_driver::Error> for Status {
    fn from(error: standin_driver::Error) -> Self {
        match error {
            standin_driver::Error::NO_DRIVER => Status::SetupFailed,
            standin_driver::Error::OUT_OF_MEMORY => Status::AllocationFailed,
            _ => Status::ExecutionFailed,
        }
    }
}

/// Code of a call's result. A panic is an internal error.
pub(crate) fn code(body: impl FnOnce() -> Answer) -> c_int {
    let answer = catch_unwind(AssertUnwindSafe(body)).unwrap_or(Err(Status::InternalError));
    answer.map_or_else(|status| status as c_int, |()| 0)
}

/// Replaces a function without a body: `name` is the function's.
///
/// # Safety
/// `name` is a C string.
pub(crate) unsafe extern "C" fn refused(name: *const c_char) -> c_int {
    code(|| {
        // SAFETY: the caller's promise.
        let name = unsafe { CStr::from_ptr(name) };
        not_supported(&name.to_string_lossy())
    })
}

/// Says once that `what` is missing.
pub(crate) fn not_supported<T>(what: &str) -> Answer<T> {
    standin_driver::refuse("cuFFT", what);
    Err(Status::NotSupported)
}

/// Stores a value for the caller.
///
/// # Safety
/// `place` is null or has room for the value.
pub(crate) unsafe fn store<T>(place: *mut T, value: T) -> Answer {
    if place.is_null() {
        return Err(Status::InvalidValue);
    }
    // SAFETY: not null, so there is room.
    unsafe { place.write_unaligned(value) };
    Ok(())
}
