//! NVML, `libnvidia-ml.so.1`, for monitoring programs. Works without a running simulator.

#![allow(non_snake_case)]

mod device;
mod process;
mod system;

pub(crate) use device::*;
pub(crate) use process::*;
pub(crate) use system::*;

use crate::abi::Out;
use crate::abi::error::Error;
use crate::profile::{Profile, ProfileError};
use std::ffi::{c_char, c_int};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

/// Error values of `nvmlReturn_t`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(i32)]
pub(crate) enum Failure {
    Uninitialized = 1,
    InvalidArgument = 2,
    NotSupported = 3,
    NotFound = 6,
    InsufficientSize = 7,
    DriverNotLoaded = 9,
    VersionMismatch = 25,
    Unknown = 999,
}

pub(super) type Answer<T = ()> = Result<T, Failure>;

/// Result after an internal error.
pub(super) const UNKNOWN: c_int = Failure::Unknown as c_int;

impl From<Error> for Failure {
    fn from(error: Error) -> Self {
        match error {
            Error::InvalidValue => Failure::InvalidArgument,
            _ => Failure::Unknown,
        }
    }
}

/// Initialisations not yet shut down.
static USERS: AtomicU32 = AtomicU32::new(0);

fn profile() -> Answer<&'static Profile> {
    static PROFILE: OnceLock<Result<Profile, ProfileError>> = OnceLock::new();
    PROFILE.get_or_init(Profile::from_environment).as_ref().map_err(|_| Failure::DriverNotLoaded)
}

/// Status code of a body's result.
fn status(body: impl FnOnce() -> Answer) -> c_int {
    body().map_or_else(|failure| failure as c_int, |()| 0)
}

/// As [`status`], for functions valid only between initialisation and shutdown.
fn initialized(body: impl FnOnce(&'static Profile) -> Answer) -> c_int {
    status(|| {
        if USERS.load(Ordering::Relaxed) == 0 {
            return Err(Failure::Uninitialized);
        }
        body(profile()?)
    })
}

/// Stores a C string into the caller's buffer, which must hold it completely.
fn store_text(target: *mut c_char, room: u32, text: &str) -> Answer {
    if target.is_null() {
        return Err(Failure::InvalidArgument);
    }
    if room as usize <= text.len() {
        return Err(Failure::InsufficientSize);
    }
    // SAFETY: not null, so by the API's contract `room` bytes, more than the text and its NUL have.
    unsafe {
        std::ptr::copy_nonoverlapping(text.as_ptr().cast(), target, text.len());
        target.add(text.len()).write(0);
    }
    Ok(())
}

/// Rejects a structure of another version, given by its first field.
fn check_version<T>(structure: Out<T>, wanted: u32) -> Answer {
    structure.check()?;
    // SAFETY: not null, and the version is the structure's first field in every version.
    let version = unsafe { structure.pointer().cast::<u32>().read_unaligned() };
    if version == wanted { Ok(()) } else { Err(Failure::VersionMismatch) }
}

/// Stores a value for the caller.
fn store<T>(target: Out<T>, value: T) -> Answer {
    Ok(target.set(value)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Initialisations are process-wide, so one test makes all claims.
    #[test]
    fn device_responds_between_initialisation_and_shutdown() {
        let mut count = 0_u32;
        let mut handle = DeviceHandle(0);
        let mut name: [c_char; 96] = [0; 96];
        // SAFETY: the pointers are to values of this test, with the lengths they have.
        unsafe {
            let ask = |count: &mut u32| nvmlDeviceGetCount_v2(Out::new(count));
            assert_eq!(ask(&mut count), Failure::Uninitialized as c_int);
            assert_eq!(nvmlShutdown(), Failure::Uninitialized as c_int);
            assert_eq!((nvmlInit_v2(), nvmlInit_v2(), nvmlShutdown()), (0, 0, 0));
            assert_eq!((ask(&mut count), count), (0, 1));
            assert_eq!(nvmlDeviceGetCount_v2(Out::new(std::ptr::null_mut())), 2);
            assert_eq!(nvmlDeviceGetHandleByIndex_v2(1, Out::new(&mut handle)), 2);
            assert_eq!(nvmlDeviceGetHandleByIndex_v2(0, Out::new(&mut handle)), 0);
            assert_eq!(nvmlDeviceGetName(handle, name.as_mut_ptr(), 3), Failure::InsufficientSize as c_int);
            assert_eq!(nvmlDeviceGetName(handle, name.as_mut_ptr(), 96), 0);
            let mut branch = [0_u32; 21];
            let ask =
                |branch: &mut [u32; 21]| nvmlSystemGetDriverBranch(Out::new(branch.as_mut_ptr().cast()), 80);
            assert_eq!(ask(&mut branch), Failure::VersionMismatch as c_int);
            branch[0] = 0x0100_0054;
            assert_eq!(ask(&mut branch), 0);
            assert_eq!(branch[1].to_le_bytes()[0], b'r');
            let stale = DeviceHandle(handle.0 + 7);
            assert_eq!(nvmlDeviceGetName(stale, name.as_mut_ptr(), 96), Failure::InvalidArgument as c_int);
            assert_eq!(nvmlShutdown(), 0);
        }
        assert!(name.iter().any(|byte| *byte != 0));
    }
}
