//! How much memory graphs use.

use super::super::memory;
use crate::abi::Out;
use crate::context::check_device;
use crate::entry::both;
use std::ffi::{c_int, c_void};

both! {
    /// Gives memory of graphs that nothing uses back.
    fn cudaDeviceGraphMemTrim = cuDeviceGraphMemTrim(device: c_int) {
        context()?;
        check_device(device)?;
        memory::trim();
        Ok(())
    }

    /// How much memory graphs use.
    fn cudaDeviceGetGraphMemAttribute = cuDeviceGetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        check_device(device)?;
        value.check()?;
        Out::new(value.pointer().cast()).set(memory::attribute(attr)?)
    }

    /// Starts a high-water mark again.
    fn cudaDeviceSetGraphMemAttribute = cuDeviceSetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        check_device(device)?;
        value.check()?;
        // SAFETY: not null, so by the API's contract it points to a 64-bit number.
        memory::set_attribute(attr, unsafe { value.pointer().cast::<u64>().read_unaligned() })
    }
}
