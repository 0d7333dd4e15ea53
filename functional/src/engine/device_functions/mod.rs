//! Native device functions, which PTX calls but does not define: `vprintf`, `malloc`, `free`,
//! `__assertfail`, `cudaGraphSetConditional`, and the device runtime. The CUDA programming guide describes
//! them under formatted output, dynamic global memory allocation, assertion, and conditional graph nodes.

mod device_runtime;

use std::sync::atomic::Ordering;

use super::address_translation::{Generic, Space, lanes_of};
use super::op::{Flow, Op, Run};
use super::passing::{read_value, write_value};
use super::printf;
use super::program::CallSite;
use super::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::memory::{AllocationKind, WINDOW_SIZE};

/// Native function called `name`.
pub fn function(name: &str) -> Option<Run> {
    Some(match name {
        "vprintf" => vprintf,
        "malloc" => malloc,
        "__nv_aligned_device_malloc" => aligned_malloc,
        "free" => free,
        "__assertfail" => assertion_failed,
        "cudaGraphSetConditional" => set_conditional,
        _ => return device_runtime::function(name),
    })
}

/// Native function that replaces even a definition in a module. NVIDIA's device runtime has PTX that calls
/// functions of the driver.
pub fn replacement(name: &str) -> Option<Run> {
    if name.starts_with(device_runtime::PREFIX) { device_runtime::function(name) } else { None }
}

/// True if the native function accesses state shared between SMs. A failed assertion only ends the launch.
pub fn reaches_others(name: &str) -> bool {
    name != "__assertfail"
}

/// Maximum bytes of a string read from kernel memory.
const LONGEST_STRING: usize = 1 << 20;
/// Bytes of a string between two looks at the watchdog's clock.
const BYTES_PER_LOOK: usize = 1 << 14;
/// Bytes of one warp's text buffered before the print buffer.
const MOST_TEXT: usize = 1 << 16;

fn site<'g>(w: &WarpContext<'g>, op: &Op) -> &'g CallSite {
    let grid = w.grid;
    &grid.program.call_sites[op.immediate as usize]
}

/// First `N` bytes of argument `n` of a lane, zero-padded; zeros for a missing argument.
fn argument_bytes<const N: usize>(w: &WarpContext<'_>, op: &Op, n: usize, lane: usize) -> [u8; N] {
    let mut bytes = [0; N];
    let Some(place) = site(w, op).arguments.get(n) else { return bytes };
    read_value(w, w.own_frame(), place, lane, &mut bytes);
    bytes
}

/// Argument `n` of a lane, zero-extended; 0 if missing.
fn argument(w: &WarpContext<'_>, op: &Op, n: usize, lane: usize) -> u64 {
    u64::from_le_bytes(argument_bytes(w, op, n, lane))
}

/// Sets the call's result for a lane.
fn answer(w: &mut WarpContext<'_>, op: &Op, lane: usize, value: u64) {
    let Some(place) = site(w, op).results.first() else { return };
    let frame = w.own_frame();
    write_value(w, frame, place, lane, &value.to_le_bytes());
}

/// Reads `N` bytes at a generic address.
fn read<const N: usize>(w: &mut WarpContext<'_>, lane: usize, address: u64) -> Result<[u8; N], FaultKind> {
    let (lane, width) = (lane as u32, N as u32);
    let place = Generic::resolve(w, 0, lane, address, width).ok_or(FaultKind::IllegalAddress {
        address,
        width,
        lane,
    })?;
    w.grid.note_parameter_read(address, Some(width.into()));
    // SAFETY: `N` bytes were checked to be accessible.
    Ok(unsafe { place.cast::<[u8; N]>().read_unaligned() })
}

/// Writes bytes at a generic address.
fn write(w: &mut WarpContext<'_>, lane: usize, address: u64, bytes: &[u8]) -> Result<(), FaultKind> {
    let width = bytes.len() as u32;
    let illegal = FaultKind::IllegalAddress { address, width, lane: lane as u32 };
    let place = Generic::resolve(w, 0, lane as u32, address, width).ok_or(illegal)?;
    // SAFETY: the bytes were checked to be accessible.
    unsafe { std::ptr::copy_nonoverlapping(bytes.as_ptr(), place, bytes.len()) };
    let local = address.wrapping_sub(w.grid.owner.memory.local_window());
    match (&mut w.cta.checks, w.grid.owner.checker()) {
        (Some(checks), _) if local < WINDOW_SIZE => checks.local_written(w.warp, lane, local as u32, width),
        (_, Some(checker)) => checker.written(address, width.into()),
        _ => {}
    }
    Ok(())
}

/// Bytes at a generic address up to a zero byte.
fn read_string(w: &mut WarpContext<'_>, lane: usize, address: u64) -> Result<Vec<u8>, FaultKind> {
    let mut string = Vec::new();
    while string.len() < LONGEST_STRING {
        if string.len().is_multiple_of(BYTES_PER_LOOK)
            && let Some(overdue) = w.grid.overdue()
        {
            return Err(overdue);
        }
        match read::<1>(w, lane, address.wrapping_add(string.len() as u64))? {
            [0] => break,
            [byte] => string.push(byte),
        }
    }
    Ok(string)
}

/// Argument buffer of one lane's `vprintf`, with naturally aligned arguments.
struct Buffer<'r, 'a> {
    w: &'r mut WarpContext<'a>,
    lane: usize,
    at: u64,
}

impl Buffer<'_, '_> {
    fn take<const N: usize>(&mut self) -> Result<[u8; N], FaultKind> {
        let aligned = self.at.wrapping_add(N as u64 - 1) & !(N as u64 - 1);
        self.at = aligned.wrapping_add(N as u64);
        read(self.w, self.lane, aligned)
    }
}

impl printf::Arguments for Buffer<'_, '_> {
    fn word(&mut self) -> Result<u32, FaultKind> {
        self.take().map(u32::from_le_bytes)
    }

    fn double_word(&mut self) -> Result<u64, FaultKind> {
        self.take().map(u64::from_le_bytes)
    }

    fn string(&mut self, address: u64) -> Result<Vec<u8>, FaultKind> {
        read_string(self.w, self.lane, address)
    }

    fn flow(&mut self, out: &mut Vec<u8>) -> Result<(), FaultKind> {
        if out.len() >= MOST_TEXT {
            self.w.grid.owner.printed.add(out);
            out.clear();
        }
        self.w.grid.overdue().map_or(Ok(()), Err)
    }
}

/// `int vprintf(const char *format, const void *arguments)`: returns the number of arguments, or -1 without
/// a format.
fn vprintf(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let mut text = Vec::new();
    for lane in lanes_of(w.mask) {
        let (format, at) = (argument(w, op, 0, lane), argument(w, op, 1, lane));
        let printed = if format == 0 {
            Ok(-1)
        } else {
            read_string(w, lane, format)
                .and_then(|format| printf::print(&format, &mut Buffer { w, lane, at }, &mut text))
        };
        match printed {
            Ok(count) => answer(w, op, lane, count as u64),
            Err(fault) => {
                w.grid.owner.printed.add(&text);
                return w.fault(fault);
            }
        }
    }
    w.grid.owner.printed.add(&text);
    Flow::Next
}

/// Allocates a block of the device's heap; 0 if the heap is exhausted.
fn allocate(w: &WarpContext<'_>, size: u64, align: u64) -> u64 {
    let device = w.grid.owner;
    let limit = device.heap_limit.load(Ordering::Relaxed);
    let fits = |used: u64| used.checked_add(size).filter(|&used| used <= limit);
    if device.heap_used.fetch_update(Ordering::Relaxed, Ordering::Relaxed, fits).is_err() {
        return 0;
    }
    match device.memory.allocate_on(w.cta.sm(), size, align, AllocationKind::Heap) {
        Ok(address) => {
            if let Some(checks) = &w.grid.checks {
                checks.lock().forget(address, size);
            }
            address
        }
        Err(_) => {
            device.heap_used.fetch_sub(size, Ordering::Relaxed);
            0
        }
    }
}

/// Alignment of `malloc` in bytes.
const HEAP_ALIGNMENT: u64 = 16;

/// `void *malloc(size_t size)`.
fn malloc(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        let address = allocate(w, argument(w, op, 0, lane), HEAP_ALIGNMENT);
        answer(w, op, lane, address);
    }
    Flow::Next
}

/// `void *__nv_aligned_device_malloc(size_t size, size_t align)`.
fn aligned_malloc(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        let (size, align) = (argument(w, op, 0, lane), argument(w, op, 1, lane));
        let address = if align.is_power_of_two() { allocate(w, size, align) } else { 0 };
        answer(w, op, lane, address);
    }
    Flow::Next
}

/// Frees a block of the device's heap; returns whether `address` was one.
fn release(w: &mut WarpContext<'_>, address: u64) -> bool {
    let device = w.grid.owner;
    let block = device.memory.allocation_of(address);
    let freed = match block {
        Some(block) if block.kind == AllocationKind::Heap => device.memory.free(address).ok(),
        _ => None,
    };
    if let Some(freed) = freed {
        device.heap_used.fetch_sub(freed.size, Ordering::Relaxed);
        w.view.clear();
    }
    freed.is_some()
}

/// `void free(void *pointer)`.
fn free(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        let address = argument(w, op, 0, lane);
        if address != 0 && !release(w, address) {
            return w.fault(FaultKind::IllegalAddress { address, width: 1, lane: lane as u32 });
        }
    }
    Flow::Next
}

/// `void cudaGraphSetConditional(cudaGraphConditionalHandle handle, unsigned value)`. The handle is the
/// value's address.
fn set_conditional(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        let (handle, value) = (argument(w, op, 0, lane), argument(w, op, 1, lane) as u32);
        let Some(place) = Generic::resolve(w, 0, lane as u32, handle, 4) else {
            return w.fault(FaultKind::IllegalAddress { address: handle, width: 4, lane: lane as u32 });
        };
        // SAFETY: four bytes were checked to be accessible.
        unsafe { place.cast::<u32>().write_unaligned(value) };
    }
    Flow::Next
}

/// `void __assertfail(const char *message, const char *file, unsigned line, const char *function,
/// size_t charsize)`.
fn assertion_failed(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let lane = w.mask.trailing_zeros() as usize;
    let mut string = |n: usize| match argument(w, op, n, lane) {
        0 => String::new(),
        address => match read_string(w, lane, address) {
            Ok(bytes) => String::from_utf8_lossy(&bytes).into_owned(),
            Err(_) => format!("(unreadable, at {address:#x})"),
        },
    };
    let (message, file, function) = (string(0), string(1), string(3));
    let line = argument(w, op, 2, lane) as u32;
    w.fault(FaultKind::Assert { message, file, line, function, lane: lane as u32 })
}
