//! Callbacks for asynchronous notifications. The only notification reports an exceeded memory
//! budget. Here an allocation beyond the device's memory fails instead, so no callback is ever
//! called.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, Out};
use crate::objects::shared::Shared;
use std::collections::BTreeSet;

/// Handle values lie outside the address space of any process.
const HANDLES: u64 = 0x6200_0000_0000_0000;

/// Registered callbacks.
#[derive(Default)]
pub(crate) struct Registered {
    handles: BTreeSet<u64>,
    created: u64,
}

/// Registers a callback.
pub(crate) fn register(shared: &'static Shared, function: Address, handle: Out<u64>) -> Result<()> {
    handle.check()?;
    if function.0 == 0 {
        return Err(Error::InvalidValue);
    }
    let mut registered = shared.notifications.lock();
    registered.created += 1;
    let new = HANDLES | (registered.created << 4);
    registered.handles.insert(new);
    handle.set(new)
}

/// Unregisters a callback.
pub(crate) fn unregister(shared: &'static Shared, handle: u64) -> Result<()> {
    if shared.notifications.lock().handles.remove(&handle) { Ok(()) } else { Err(Error::InvalidValue) }
}
