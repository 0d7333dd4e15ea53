//! Device memory read and written by `voltsim` itself, which runs captured launches: that takes no simulated time and is no
//! call of the program's.

use crate::simulator::owner_of;
use std::ffi::c_int;

/// Writes to live device memory; 0, or 1 if it is none.
///
/// # Safety
/// `length` bytes can be read at `bytes`; nothing on the device uses the memory meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_write(address: u64, bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let written = owner_of(address).map(|(simulator, _)| simulator.device.memory.write(address, bytes));
    c_int::from(!matches!(written, Some(Ok(()))))
}

/// Reads live device memory; 0, or 1 if it is none.
///
/// # Safety
/// `length` bytes can be written at `bytes`; nothing on the device writes to the memory meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_read(address: u64, bytes: *mut u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, length) };
    let read = owner_of(address).map(|(simulator, _)| simulator.device.memory.read(address, bytes));
    c_int::from(!matches!(read, Some(Ok(()))))
}
