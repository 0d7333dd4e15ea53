//! Error codes and each thread's last error.
//!
//! The runtime keeps the last failure per host thread (`cudaGetLastError`). A fault of the device is *sticky*: it belongs
//! to the context and every later call returns it; see [`crate::session::simulator`].

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

/// Shorthand for what the bodies of the API return.
pub(crate) type Result<T> = std::result::Result<T, Error>;

impl Error {
    /// Value of `cudaError_t`.
    pub fn code(self) -> c_int {
        self as c_int
    }

    /// Value of `CUresult`: the same where the driver has the code, else the nearest one it has.
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

    /// The error of a call that names a kernel by its handle.
    pub(crate) fn of_handle(self) -> Error {
        if self == Error::InvalidDeviceFunction { Error::InvalidResourceHandle } else { self }
    }

    /// The text that goes with it.
    pub(crate) fn text(self) -> &'static CStr {
        texts(self.code()).map_or(c"", |texts| texts.text)
    }

    /// Makes it the calling thread's last error. "Not ready" is an answer, not an error.
    pub(crate) fn remember(self) {
        if self != Error::NotReady {
            // A thread that is being torn down has no last error any more.
            let _ = LAST.try_with(|last| last.set(Some(self)));
        }
    }
}

fn sticky(device: usize) -> &'static AtomicU32 {
    // Ordinals are checked before they come here.
    let [first, ..] = &process().sticky;
    process().sticky.get(device).unwrap_or(first)
}

/// A call is about to return the device's fault: from now on it is every thread's last error.
pub(crate) fn observe_sticky(device: usize, error: Error) {
    let _ = sticky(device).compare_exchange(0, error as u32, Ordering::Relaxed, Ordering::Relaxed);
}

/// Fails with the device's fault once some call has returned it.
pub(crate) fn check_sticky() -> Result<()> {
    match texts(sticky_code()) {
        Some(texts) if texts.code != 0 => Err(texts.error.unwrap_or(Error::Unknown)),
        _ => Ok(()),
    }
}

/// The device has been reset and its fault is gone.
pub(crate) fn forget_sticky(device: usize) {
    sticky(device).store(0, Ordering::Relaxed);
}

thread_local! {
    static LAST: Cell<Option<Error>> = const { Cell::new(None) };
}

/// Code of the calling thread's last error; 0 when there is none.
pub(crate) fn last_code() -> c_int {
    LAST.try_with(Cell::get).ok().flatten().map_or(sticky_code(), Error::code)
}

/// As [`last_code`], and the error is forgotten unless it is the device's fault.
pub(crate) fn take_last_code() -> c_int {
    LAST.try_with(Cell::take).ok().flatten().map_or(sticky_code(), Error::code)
}

fn sticky_code() -> c_int {
    sticky(current_device()).load(Ordering::Relaxed) as c_int
}

impl ErrorText {
    /// The text that a program is given.
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
    fn an_error_only_the_runtime_has_becomes_one_the_driver_has() {
        assert_eq!(Error::InvalidSymbol.driver_code(), 500);
        assert_eq!(Error::InvalidPitchValue.driver_code(), 1);
        assert_eq!(Error::IllegalAddress.driver_code(), 700);
    }

    #[test]
    fn not_ready_is_not_remembered() {
        Error::InvalidValue.remember();
        Error::NotReady.remember();
        assert_eq!(take_last_code(), Error::InvalidValue.code());
        assert_eq!(take_last_code(), 0);
    }
}
