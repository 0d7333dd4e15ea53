//! Results of calls, by the documentation of cuBLAS.

use std::ffi::{CStr, c_char, c_int};
use std::panic::{AssertUnwindSafe, catch_unwind};

/// `cublasStatus_t` of a failed call. `CUBLAS_STATUS_SUCCESS` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Status {
    NotInitialized = 1,
    AllocationFailed = 3,
    InvalidValue = 7,
    ExecutionFailed = 13,
    InternalError = 14,
    NotSupported = 15,
}

impl Status {
    /// The status of a code of a failed call.
    pub(crate) fn of(code: c_int) -> Status {
        use Status::*;
        [NotInitialized, AllocationFailed, InvalidValue, ExecutionFailed, NotSupported]
            .into_iter()
            .find(|status| *status as c_int == code)
            .unwrap_or(InternalError)
    }
}

pub(crate) type Answer<T = ()> = Result<T, Status>;

impl From<standin_driver::Error> for Status {
    fn from(error: standin_driver::Error) -> Self {
        match error {
            standin_driver::Error::NO_DRIVER => Status::NotInitialized,
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

/// Statuses with the names and texts of cuBLAS.
const TEXTS: [(c_int, &CStr, &CStr); 10] = [
    (0, c"CUBLAS_STATUS_SUCCESS", c"success"),
    (1, c"CUBLAS_STATUS_NOT_INITIALIZED", c"the library was not initialized"),
    (3, c"CUBLAS_STATUS_ALLOC_FAILED", c"the resource allocation failed"),
    (7, c"CUBLAS_STATUS_INVALID_VALUE", c"an unsupported value or parameter was passed to the function"),
    (
        8,
        c"CUBLAS_STATUS_ARCH_MISMATCH",
        c"the function requires a feature absent from the device architecture",
    ),
    (11, c"CUBLAS_STATUS_MAPPING_ERROR", c"an access to GPU memory space failed"),
    (13, c"CUBLAS_STATUS_EXECUTION_FAILED", c"the GPU program failed to execute"),
    (14, c"CUBLAS_STATUS_INTERNAL_ERROR", c"an internal operation failed"),
    (15, c"CUBLAS_STATUS_NOT_SUPPORTED", c"the functionality requested is not supported"),
    (16, c"CUBLAS_STATUS_LICENSE_ERROR", c"the functionality requested requires some license"),
];

fn text(status: c_int) -> Option<&'static (c_int, &'static CStr, &'static CStr)> {
    TEXTS.iter().find(|(code, ..)| *code == status)
}

/// `cublasGetStatusName`
pub(crate) extern "C" fn name_of(status: c_int) -> *const c_char {
    text(status).map_or(c"CUBLAS_STATUS_UNKNOWN", |(_, name, _)| name).as_ptr()
}

/// `cublasGetStatusString`
pub(crate) extern "C" fn text_of(status: c_int) -> *const c_char {
    text(status).map_or(c"unknown cublasStatus_t value", |(.., text)| text).as_ptr()
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
    standin_driver::refuse("cuBLAS", what);
    Err(Status::NotSupported)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_failure_has_a_name() {
        for status in [
            Status::NotInitialized,
            Status::AllocationFailed,
            Status::InvalidValue,
            Status::ExecutionFailed,
            Status::InternalError,
            Status::NotSupported,
        ] {
            assert!(text(status as c_int).is_some(), "{status:?}");
        }
    }
}
