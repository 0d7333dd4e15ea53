//! Processes that use a device. A simulated device belongs to one process, so only the caller can
//! be listed.

use super::device::{DeviceHandle, in_use, index_of, used_memory};
use super::{Answer, Failure, UNKNOWN, initialized, store};
use crate::abi::{Address, Out};
use crate::api::entry::api;
use std::ffi::{c_int, c_uint};

/// `nvmlProcessInfo_v1_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct ProcessV1 {
    pid: c_uint,
    used_memory: u64,
}

/// `nvmlProcessInfo_t`, as of version 2.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct Process {
    pid: c_uint,
    used_memory: u64,
    gpu_instance: c_uint,
    compute_instance: c_uint,
}

/// Instance number of an undivided device.
const NO_INSTANCE: c_uint = 0xffff_ffff;

/// Stores the process if it uses the device, or the required room.
fn list<T>(
    device: DeviceHandle,
    count: Out<c_uint>,
    infos: Out<T>,
    entry: impl FnOnce(c_uint, u64) -> T,
) -> Answer {
    let device = index_of(device)? as usize;
    count.check()?;
    // SAFETY: not null, so by the API's contract the room of the caller's array.
    let room = unsafe { count.pointer().read_unaligned() };
    let present = c_uint::from(in_use(device).is_some());
    store(count, present)?;
    if present == 0 {
        return Ok(());
    }
    if room == 0 {
        return Err(Failure::InsufficientSize);
    }
    store(infos, entry(std::process::id(), used_memory(device)))
}

api! { Driver;
    /// Processes with a CUDA context.
    fn nvmlDeviceGetComputeRunningProcesses(device: DeviceHandle, infoCount: Out<c_uint>, infos: Out<ProcessV1>) -> c_int = UNKNOWN; {
        initialized(|_| list(device, infoCount, infos, |pid, used_memory| ProcessV1 { pid, used_memory }))
    }

    /// As version 1, with instances of a divided device.
    fn nvmlDeviceGetComputeRunningProcesses_v3(device: DeviceHandle, infoCount: Out<c_uint>, infos: Out<Process>) -> c_int = UNKNOWN; {
        initialized(|_| {
            list(device, infoCount, infos, |pid, used_memory| Process {
                pid,
                used_memory,
                gpu_instance: NO_INSTANCE,
                compute_instance: NO_INSTANCE,
            })
        })
    }

    /// Processes with a graphics context or under the multi-process service: always none.
    fn nvmlDeviceGetOtherRunningProcesses(device: DeviceHandle, infoCount: Out<c_uint>, _infos: Address) -> c_int = UNKNOWN; {
        initialized(|_| {
            index_of(device)?;
            store(infoCount, 0)
        })
    }
}
