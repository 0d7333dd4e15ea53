//! Initialisation, versions, error texts.

use super::{
    Answer, Failure, UNKNOWN, USERS, check_version, initialized, profile, status, store, store_text,
};
use crate::abi::Out;
use crate::api::entry::api;
use std::ffi::{c_char, c_int, c_uint};
use std::sync::atomic::Ordering;

/// Driver release of a CUDA version ([`crate::profile::Profile::driver_version`]). Profiles do not
/// state it: NVML 13.x and driver 580 are the first of CUDA 13.
fn driver_release(cuda: i32) -> String {
    let release = match cuda / 1000 {
        ..=11 => 520,
        12 => 575,
        _ => 580,
    };
    format!("{release}.00")
}

/// `nvmlSystemDriverBranchInfo_v1_t`. The caller stores the version.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DriverBranch {
    version: c_uint,
    branch: [c_char; 80],
}

impl DriverBranch {
    const VERSION: c_uint = size_of::<Self>() as c_uint | 1 << 24;
}

fn leave() -> Answer {
    let less = |users: u32| users.checked_sub(1);
    USERS
        .fetch_update(Ordering::Relaxed, Ordering::Relaxed, less)
        .map(drop)
        .map_err(|_| Failure::Uninitialized)
}

fn enter() -> Answer {
    profile()?;
    USERS.fetch_add(1, Ordering::Relaxed);
    Ok(())
}

api! { Driver;
    /// Initialises NVML, counting calls; must precede every other call.
    fn nvmlInit_v2() -> c_int = UNKNOWN; { status(enter) }

    /// As `nvmlInit_v2`; the flags concern machines without a device.
    fn nvmlInitWithFlags(_flags: c_uint) -> c_int = UNKNOWN; { status(enter) }

    /// Undoes an initialisation.
    fn nvmlShutdown() -> c_int = UNKNOWN; { status(leave) }

    /// Text of a code.
    fn nvmlErrorString(result: c_int) -> *const c_char = c"unknown".as_ptr(); {
        let text = match result {
            0 => c"Success",
            1 => c"Uninitialized",
            2 => c"Invalid Argument",
            3 => c"Not Supported",
            4 => c"Insufficient Permissions",
            5 => c"Already Initialized",
            6 => c"Not Found",
            7 => c"Insufficient Size",
            9 => c"Driver Not Loaded",
            10 => c"Timeout",
            13 => c"Function Not Found",
            17 => c"Operating System Error",
            19 => c"In Use",
            20 => c"Insufficient Memory",
            25 => c"Argument Version Mismatch",
            _ => c"Unknown Error",
        };
        text.as_ptr()
    }

    /// Version of the driver.
    fn nvmlSystemGetDriverVersion(version: *mut c_char, length: c_uint) -> c_int = UNKNOWN; {
        initialized(|profile| store_text(version, length, &driver_release(profile.driver_version)))
    }

    /// Branch of the driver's version, such as r580_00.
    fn nvmlSystemGetDriverBranch(branchInfo: Out<DriverBranch>, length: c_uint) -> c_int = UNKNOWN; {
        initialized(|profile| {
            check_version(branchInfo, DriverBranch::VERSION)?;
            let branch = format!("r{}", driver_release(profile.driver_version).replace('.', "_"));
            let room = branchInfo.pointer().wrapping_byte_add(std::mem::offset_of!(DriverBranch, branch));
            store_text(room.cast(), length.min(80), &branch)
        })
    }

    /// Executable of a process.
    fn nvmlSystemGetProcessName(pid: c_uint, name: *mut c_char, length: c_uint) -> c_int = UNKNOWN; {
        initialized(|_| {
            let file = std::fs::read_link(format!("/proc/{pid}/exe")).map_err(|_| Failure::NotFound)?;
            // Truncates to the caller's buffer.
            let text = file.to_string_lossy();
            let end = text.floor_char_boundary((length as usize).saturating_sub(1));
            store_text(name, length, text.get(..end).unwrap_or_default())
        })
    }

    /// NVML version: CUDA version, then driver version.
    fn nvmlSystemGetNVMLVersion(version: *mut c_char, length: c_uint) -> c_int = UNKNOWN; {
        initialized(|profile| {
            let cuda = profile.driver_version;
            store_text(version, length, &format!("{}.{}", cuda / 1000, driver_release(cuda)))
        })
    }

    /// CUDA version of the driver: 1000 × major + 10 × minor.
    fn nvmlSystemGetCudaDriverVersion(version: Out<c_int>) -> c_int = UNKNOWN; {
        initialized(|profile| store(version, profile.driver_version))
    }
}
