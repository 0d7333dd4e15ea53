//! Functions of the program to be called on asynchronous notifications. The only kind there is tells of a memory budget that
//! has been exceeded; allocations beyond the device's memory fail instead, so none is ever called.

use crate::abi::error::{Error, Result};
use crate::abi::{Address, Out};
use crate::session::process::process;
use std::collections::BTreeSet;

/// Handles lie where no process has memory.
const HANDLES: u64 = 0x6200_0000_0000_0000;

/// Functions that are registered.
#[derive(Default)]
pub(crate) struct Registered {
    handles: BTreeSet<u64>,
    created: u64,
}

/// Registers a function.
pub(crate) fn register(function: Address, handle: Out<u64>) -> Result<()> {
    handle.check()?;
    if function.0 == 0 {
        return Err(Error::InvalidValue);
    }
    let mut registered = process().notifications.lock();
    registered.created += 1;
    let new = HANDLES | (registered.created << 4);
    registered.handles.insert(new);
    handle.set(new)
}

/// Undoes [`register`].
pub(crate) fn unregister(handle: u64) -> Result<()> {
    if process().notifications.lock().handles.remove(&handle) { Ok(()) } else { Err(Error::InvalidValue) }
}
