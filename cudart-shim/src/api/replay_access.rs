//! Interface for `voltsim` to run captured launches: access to device memory and cache history. The
//! interface takes no simulated time and is no part of the CUDA API.

use crate::root::{owner_of, simulator_of};
use functional::device::USUAL_HEAP;
use launch_capture::Heap;
use std::collections::HashMap;
use std::ffi::c_int;
use timing::gpu::Transfer;
use voltsim_checkpoint::codec;
use warp_stream::Past;

/// Memory limit for decoded messages in bytes.
const LIMIT: usize = 1 << 30;

/// Writes live device memory. Returns 0, or 1 for invalid memory.
///
/// # Safety
/// `bytes` must be readable for `length` bytes, and no device work may use the memory meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_write(address: u64, bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let written = owner_of(address).map(|(simulator, _)| simulator.device.memory.write(address, bytes));
    c_int::from(!matches!(written, Some(Ok(()))))
}

/// Reads live device memory. Returns 0, or 1 for invalid memory.
///
/// # Safety
/// `bytes` must be writable for `length` bytes, and no device work may write the memory meanwhile.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_read(address: u64, bytes: *mut u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts_mut(bytes, length) };
    let read = owner_of(address).map(|(simulator, _)| simulator.device.memory.read(address, bytes));
    c_int::from(!matches!(read, Some(Ok(()))))
}

/// Restores the first device's kernel heap from an encoded [`Heap`]. Returns 0, or 1 if the
/// addresses of its blocks are in use.
///
/// # Safety
/// `bytes` must be readable for `length` bytes, and the device must be idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_heap(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(heap) = codec::decode::<LIMIT, Heap>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.set_heap_limit(heap.limit.unwrap_or(USUAL_HEAP));
    c_int::from(!simulator.device.set_heap(&heap.blocks))
}

/// Reserves whole blocks of the first device's addresses for captured memory. Returns 0, or 1 if
/// they are in use.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_claim(address: u64, size: u64) -> c_int {
    c_int::from(!simulator_of(0).is_ok_and(|simulator| simulator.device.memory.claim(address, size)))
}

/// Restricts kernels to ranges of the reserved memory, or lifts the restriction: an encoded
/// `Option<Vec<(u64, u64)>>` of addresses and sizes. Returns 0, or 1 if decoding fails.
///
/// # Safety
/// `bytes` must be readable for `length` bytes, and the device must be idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_narrow(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(ranges) = codec::decode::<LIMIT, Option<Vec<(u64, u64)>>>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.memory.narrow(ranges.as_deref());
    0
}

/// Sets the addresses on the first device for variables of modules loaded from now on: an encoded
/// `HashMap<String, u64>`. Returns 0, or 1 if decoding fails.
///
/// # Safety
/// `bytes` must be readable for `length` bytes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_place_variables(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(addresses) = codec::decode::<LIMIT, HashMap<String, u64>>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.places.set_variables(addresses);
    0
}

/// Sets the address on the first device of the next array. Returns 0, or 1 if there is no device.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_place_array(address: u64) -> c_int {
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.places.add_array(address);
    0
}

/// Sets the history before the next launch in the first device's timing model, if any: an encoded
/// [`Past`]. Returns 0, or 1 if decoding fails.
///
/// # Safety
/// `bytes` must be readable for `length` bytes, and the device must be idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_recall(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(past) = codec::decode::<LIMIT, Past>(bytes) else { return 1 };
    if let Some(model) = simulator_of(0).ok().and_then(|simulator| simulator.model.as_ref()) {
        model.recall(past);
    }
    0
}

/// Reports a copy within the device, or a fill, to the first device's timing model, if any: an
/// encoded [`Transfer`]. Memory is not changed. Returns 0, or 1 if decoding fails.
///
/// # Safety
/// `bytes` must be readable for `length` bytes, and the device must be idle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_transfer(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: the caller upholds the contract.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(transfer) = codec::decode::<LIMIT, Transfer>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 0 };
    let transferred = simulator.model.as_ref().map(|model| model.transferred(simulator, transfer, 0));
    c_int::from(matches!(transferred, Some(Err(_))))
}

/// Tells the first device's timing model, if any, that no later launch depends on the next one.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_last() {
    if let Some(model) = simulator_of(0).ok().and_then(|simulator| simulator.model.as_ref()) {
        model.next_is_last();
    }
}
