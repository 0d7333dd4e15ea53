//! Memory use of graphs.

use crate::abi::Out;
use crate::abi::error::Result;
use crate::api::entry::shared;
use crate::objects::graph_memory::Account;
use crate::root::simulator_of;
use crate::session::context::ordinal;
use parking_lot::MutexGuard;
use std::ffi::{c_int, c_void};

fn account(device: c_int) -> Result<MutexGuard<'static, Account>> {
    Ok(simulator_of(ordinal(device)?)?.graph_memory.lock())
}

shared! {
    /// Releases unused graph memory if the device is idle.
    fn cudaDeviceGraphMemTrim = cuDeviceGraphMemTrim(device: c_int) {
        context()?;
        simulator_of(ordinal(device)?)?.trim_graph_memory()
    }

    /// Memory use of graphs.
    fn cudaDeviceGetGraphMemAttribute = cuDeviceGetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        let account = account(device)?;
        value.check()?;
        Out::new(value.pointer().cast()).set(account.attribute(attr)?)
    }

    /// Resets a high-water mark.
    fn cudaDeviceSetGraphMemAttribute = cuDeviceSetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        let mut account = account(device)?;
        value.check()?;
        // SAFETY: not null, so by the API's contract it points to a 64-bit number.
        account.set_attribute(attr, unsafe { value.pointer().cast::<u64>().read_unaligned() })
    }
}
