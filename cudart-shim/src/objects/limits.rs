//! Device limits (`cudaLimit`, `CUlimit`, with equal numbers): stack, heap, print buffer.

use crate::abi::error::{Error, Result};
use crate::objects::device::DeviceObjects;
use std::ffi::c_int;

const STACK_SIZE: usize = 0;
const PRINTF_FIFO_SIZE: usize = 1;
const MALLOC_HEAP_SIZE: usize = 2;
/// Number of limits supported here. Persisting L2 (6) needs compute capability 8.0.
const COUNT: usize = 6;

/// Limits by number: stack of a thread, print buffer, device heap (bytes), depth of device-side
/// synchronisation, pending device-side launches, L2 fetch granularity (bytes).
#[derive(Clone, Copy, Debug)]
pub(crate) struct Limits([u64; COUNT]);

impl Default for Limits {
    /// The defaults of the CUDA programming guide.
    fn default() -> Self {
        Self([1024, 1 << 20, 8 << 20, 2, 2048, 64])
    }
}

/// Largest stack of a thread for compute capability 7.0, in bytes.
const MAX_STACK: u64 = 512 << 10;

fn index(limit: c_int) -> Result<usize> {
    match usize::try_from(limit) {
        Ok(index) if index < COUNT => Ok(index),
        Ok(6) => Err(Error::UnsupportedLimit),
        _ => Err(Error::InvalidValue),
    }
}

impl DeviceObjects {
    /// Value of a limit.
    pub(crate) fn limit(&self, limit: c_int) -> Result<u64> {
        let index = index(limit)?;
        self.limits.lock().0.get(index).copied().ok_or(Error::InvalidValue)
    }

    /// Sets a limit.
    pub(crate) fn set_limit(&self, limit: c_int, value: u64) -> Result<()> {
        let index = index(limit)?;
        match index {
            STACK_SIZE if value > MAX_STACK => return Err(Error::InvalidValue),
            STACK_SIZE => self.device.set_stack_bytes(u32::try_from(value).unwrap_or(u32::MAX)),
            MALLOC_HEAP_SIZE if value > self.profile.total_memory => return Err(Error::MemoryAllocation),
            MALLOC_HEAP_SIZE => self.device.set_heap_limit(value),
            PRINTF_FIFO_SIZE => self.device.set_print_limit(value),
            _ => {}
        }
        if let Some(entry) = self.limits.lock().0.get_mut(index) {
            *entry = value;
        }
        Ok(())
    }
}
