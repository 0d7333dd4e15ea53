//! Device memory read and written by `voltsim` itself, which runs captured launches, and what it puts into caches: that takes no
//! simulated time and is no call of the program's.

use crate::session::simulator::{owner_of, simulator_of};
use functional::device::USUAL_HEAP;
use launch_capture::Heap;
use std::collections::HashMap;
use std::ffi::c_int;
use timing::gpu::Transfer;
use voltsim_checkpoint::codec;
use warp_stream::Past;

/// Bytes that what is told may take in memory.
const LIMIT: usize = 1 << 30;

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

/// Makes the first device's heap of kernels what it was at a launch: an encoded [`Heap`]. 0, or 1 if something else lies where its
/// blocks lay.
///
/// # Safety
/// `length` bytes can be read at `bytes`; nothing runs on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_heap(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(heap) = codec::decode::<LIMIT, Heap>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.set_heap_limit(heap.limit.unwrap_or(USUAL_HEAP));
    c_int::from(!simulator.device.set_heap(&heap.blocks))
}

/// Takes whole blocks of the first device's addresses for memory that lay there when launches were captured. 0, or 1 if something else
/// lies there.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_claim(address: u64, size: u64) -> c_int {
    c_int::from(!simulator_of(0).is_ok_and(|simulator| simulator.device.memory.claim(address, size)))
}

/// Leaves kernels only some ranges of what was claimed, or all of it again: an encoded `Option<Vec<(u64, u64)>>`, address and bytes of
/// each. 0, or 1 if it is none.
///
/// # Safety
/// `length` bytes can be read at `bytes`; nothing runs on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_narrow(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(ranges) = codec::decode::<LIMIT, Option<Vec<(u64, u64)>>>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.memory.narrow(ranges.as_deref());
    0
}

/// Tells where on the first device variables of modules lie that are loaded from now on: an encoded `HashMap<String, u64>`, address by
/// name. 0, or 1 if it is none.
///
/// # Safety
/// `length` bytes can be read at `bytes`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_place_variables(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(addresses) = codec::decode::<LIMIT, HashMap<String, u64>>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.places.set_variables(addresses);
    0
}

/// Tells where on the first device the next array lies that is made. 0, or 1 if there is no device.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_place_array(address: u64) -> c_int {
    let Ok(simulator) = simulator_of(0) else { return 1 };
    simulator.device.places.add_array(address);
    0
}

/// Tells the first device's timing model, if it has one, what came before the next launch: an encoded [`Past`]. 0, or 1 if it is
/// none.
///
/// # Safety
/// `length` bytes can be read at `bytes`; nothing runs on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_recall(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(past) = codec::decode::<LIMIT, Past>(bytes) else { return 1 };
    if let Some(model) = simulator_of(0).ok().and_then(|simulator| simulator.model.as_ref()) {
        model.recall(past);
    }
    0
}

/// Tells the first device's timing model, if it has one, of a copy within the device or a fill: an encoded [`Transfer`]. Memory stays
/// as it is. 0, or 1 if it is none.
///
/// # Safety
/// `length` bytes can be read at `bytes`; nothing runs on the device.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn voltsim_core_transfer(bytes: *const u8, length: usize) -> c_int {
    // SAFETY: as the caller promises.
    let bytes = unsafe { std::slice::from_raw_parts(bytes, length) };
    let Ok(transfer) = codec::decode::<LIMIT, Transfer>(bytes) else { return 1 };
    let Ok(simulator) = simulator_of(0) else { return 0 };
    let transferred = simulator.model.as_ref().map(|model| model.transferred(simulator, transfer, 0));
    c_int::from(matches!(transferred, Some(Err(_))))
}

/// Tells the first device's timing model, if it has one, that nobody needs what the next launch leaves.
#[unsafe(no_mangle)]
pub extern "C" fn voltsim_core_last() {
    if let Some(model) = simulator_of(0).ok().and_then(|simulator| simulator.model.as_ref()) {
        model.next_is_last();
    }
}
