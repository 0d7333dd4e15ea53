//! Error codes, and the last error of each thread.
//!
//! The runtime keeps the last failure of each host thread (`cudaGetLastError`). A device fault is
//! *sticky*: it belongs to the context, and every later call returns it; see
//! [`crate::session::simulator`].

use crate::session::context::current_device;
use crate::session::process::process;
use crate::session::sass_only;
use std::cell::Cell;
use std::ffi::{CStr, c_int};
use std::sync::atomic::{AtomicU32, Ordering};

include!(concat!(env!("OUT_DIR"), "/errors.rs"));

/// Names and text of one code.
pub(crate) struct ErrorText {
    pub(crate) code: u32,
    /// The variant; `None` for success.
    pub(crate) error: Option<Error>,
    pub(crate) runtime_name: Option<&'static CStr>,
    pub(crate) driver_name: Option<&'static CStr>,
    pub(crate) text: &'static CStr,
}

/// Result of API bodies.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Value of `cudaError_t`.
    pub fn code(self) -> c_int {
        self as c_int
    }

    /// Value of `CUresult`, or the nearest one for errors that the driver lacks.
    pub fn driver_code(self) -> c_int {
        if texts(self.code()).is_some_and(|texts| texts.driver_name.is_some()) {
            return self.code();
        }
        let nearest = match self {
            Error::InvalidSymbol | Error::InvalidDeviceFunction => Error::SymbolNotFound,
            Error::MissingConfiguration
            | Error::InvalidConfiguration
            | Error::InvalidPitchValue
            | Error::InvalidHostPointer
            | Error::InvalidDevicePointer
            | Error::InvalidMemcpyDirection
            | Error::InvalidChannelDescriptor
            | Error::InvalidTexture
            | Error::InvalidFilterSetting
            | Error::InvalidNormSetting
            | Error::InvalidSurface => Error::InvalidValue,
            _ => Error::Unknown,
        };
        nearest.code()
    }

    /// Error of a call that takes a kernel handle.
    pub(crate) fn of_handle(self) -> Error {
        if self == Error::InvalidDeviceFunction { Error::InvalidResourceHandle } else { self }
    }

    /// Text of the error.
    pub(crate) fn text(self) -> &'static CStr {
        texts(self.code()).map_or(c"", |texts| texts.text)
    }

    /// Makes the error the calling thread's last one, except "not ready", which is an answer.
    pub(crate) fn remember(self) {
        if self != Error::NotReady {
            // A terminating thread has no last error.
            let _ = LAST.try_with(|last| last.set(Some(self)));
        }
    }
}

fn sticky(device: usize) -> &'static AtomicU32 {
    // Callers have checked the ordinal.
    let [first, ..] = &process().sticky;
    process().sticky.get(device).unwrap_or(first)
}

/// Records that a call returns the device's fault, which becomes every thread's last error.
pub(crate) fn observe_sticky(device: usize, error: Error) {
    let _ = sticky(device).compare_exchange(0, error as u32, Ordering::Relaxed, Ordering::Relaxed);
}

/// Fails with the device's fault once a call has returned it.
pub(crate) fn check_sticky() -> Result<()> {
    match texts(sticky_code()) {
        Some(texts) if texts.code != 0 => Err(texts.error.unwrap_or(Error::Unknown)),
        _ => Ok(()),
    }
}

/// Clears the fault of a reset device.
pub(crate) fn forget_sticky(device: usize) {
    sticky(device).store(0, Ordering::Relaxed);
}

thread_local! {
    static LAST: Cell<Option<Error>> = const { Cell::new(None) };
}

/// Code of the calling thread's last error, or 0.
pub(crate) fn last_code() -> c_int {
    LAST.try_with(Cell::get).ok().flatten().map_or(sticky_code(), Error::code)
}

/// Code of the last error, which is cleared unless it is the device's fault.
pub(crate) fn take_last_code() -> c_int {
    LAST.try_with(Cell::take).ok().flatten().map_or(sticky_code(), Error::code)
}

fn sticky_code() -> c_int {
    sticky(current_device()).load(Ordering::Relaxed) as c_int
}

impl ErrorText {
    /// Text for the program.
    pub(crate) fn told(&self) -> &'static CStr {
        let refused = || sass_only::text().filter(|_| self.error == Some(Error::NoKernelImageForDevice));
        refused().unwrap_or(self.text)
    }
}

/// Names and text of a code.
pub(crate) fn texts(code: c_int) -> Option<&'static ErrorText> {
    let code = u32::try_from(code).ok()?;
    let index = ERROR_TEXTS.binary_search_by_key(&code, |texts| texts.code).ok()?;
    ERROR_TEXTS.get(index)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runtime_error_maps_to_a_driver_error() {
        assert_eq!(Error::InvalidSymbol.driver_code(), 500);
        assert_eq!(Error::InvalidPitchValue.driver_code(), 1);
        assert_eq!(Error::IllegalAddress.driver_code(), 700);
    }

    #[test]
    fn not_ready_is_no_last_error() {
        Error::InvalidValue.remember();
        Error::NotReady.remember();
        assert_eq!(take_last_code(), Error::InvalidValue.code());
        assert_eq!(take_last_code(), 0);
    }
}
