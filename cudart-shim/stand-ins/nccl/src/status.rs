//! Results of calls, by NCCL's documentation.

use std::ffi::{CStr, c_int};

/// Errors of `ncclResult_t`. `ncclSuccess` is 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub enum Failure {
    /// A CUDA call failed.
    Cuda = 1,
    /// A call of the operating system failed.
    System = 2,
    /// A fault of this library.
    Internal = 3,
    /// An argument is out of its range.
    InvalidArgument = 4,
    /// Calls of ranks contradict each other.
    InvalidUsage = 5,
    /// Another rank has ended or aborted.
    Remote = 6,
}

/// Result of a call.
pub type Answer<T = ()> = Result<T, Failure>;

impl Failure {
    /// Failure of a code; `None` for success.
    pub fn of(code: c_int) -> Option<Failure> {
        use Failure::*;
        [Cuda, System, Internal, InvalidArgument, InvalidUsage, Remote]
            .into_iter()
            .find(|failure| *failure as c_int == code)
    }
}

/// Text of `ncclGetErrorString`.
pub fn text(code: c_int) -> &'static CStr {
    match Failure::of(code) {
        None if code == 0 => c"no error",
        None => c"unknown result code",
        Some(Failure::Cuda) => c"unhandled cuda error",
        Some(Failure::System) => c"unhandled system error",
        Some(Failure::Internal) => c"internal error",
        Some(Failure::InvalidArgument) => c"invalid argument",
        Some(Failure::InvalidUsage) => c"invalid usage",
        Some(Failure::Remote) => c"remote process exited or there was a network error",
    }
}
