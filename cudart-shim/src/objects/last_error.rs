//! The last error of each thread, and the fault of each device.
//!
//! The runtime keeps the last failure of each host thread (`cudaGetLastError`). A device fault is
//! *sticky*: it belongs to the context, and every later call returns it; see
//! [`crate::objects::fault`].

use crate::abi::error::{Error, Result, texts};
use crate::abi::handle::MAX_DEVICES;
use crate::objects::context::current_device;
use std::cell::Cell;
use std::ffi::c_int;
use std::sync::atomic::{AtomicU32, Ordering};

/// Fault code of each device once a call has returned it; 0 before. Errors of the stream engine note it
/// where they become API errors.
static STICKY: [AtomicU32; MAX_DEVICES] = [const { AtomicU32::new(0) }; MAX_DEVICES];

thread_local! {
    static LAST: Cell<Option<Error>> = const { Cell::new(None) };
}

/// Makes an error the calling thread's last one, except "not ready", which is an answer.
pub(crate) fn remember(error: Error) {
    if error != Error::NotReady {
        // A terminating thread has no last error.
        let _ = LAST.try_with(|last| last.set(Some(error)));
    }
}

fn sticky(device: usize) -> &'static AtomicU32 {
    // Callers have checked the ordinal.
    let [first, ..] = &STICKY;
    STICKY.get(device).unwrap_or(first)
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn not_ready_is_no_last_error() {
        remember(Error::InvalidValue);
        remember(Error::NotReady);
        assert_eq!(take_last_code(), Error::InvalidValue.code());
        assert_eq!(take_last_code(), 0);
    }
}
