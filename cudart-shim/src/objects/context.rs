//! Context handles, and the current context of each thread.

use crate::abi::error::{Error, Result};
use crate::abi::handle::DEVICE_SHIFT;
use crate::abi::{self, ContextHandle};
use crate::profile::visible_devices;
use std::cell::Cell;
use std::ffi::c_int;

/// Handle values lie outside the address space of any process and contain the device number.
const CONTEXTS: usize = 0x5300_0000_0000_0000;

pub(crate) fn handle(device: usize, id: u64) -> ContextHandle {
    ContextHandle(CONTEXTS | ((device << DEVICE_SHIFT | id as usize) << 4))
}

/// The primary context of a device. Handles are numbered from 1.
pub(crate) fn primary(device: usize) -> ContextHandle {
    handle(device, device as u64 + 1)
}

/// Tells whether the context is a device's primary context.
pub(crate) fn is_primary(context: ContextHandle) -> bool {
    primary_of(context).is_some()
}

/// The device of a context.
pub(crate) fn device_of(context: ContextHandle) -> usize {
    abi::handle::device_of(context.0)
}

/// The device of a primary context.
pub(crate) fn primary_of(context: ContextHandle) -> Option<usize> {
    let device = device_of(context);
    (context == primary(device) && device < visible_devices::count()).then_some(device)
}

/// The thread's current device: from the call's object, else the current context, else the first
/// device.
pub(crate) fn current_device() -> usize {
    OBJECT.get().or_else(|| current().map(device_of)).unwrap_or(0)
}

thread_local! {
    /// Current context. The value has no destructor, because exit handlers may call CUDA after the
    /// main thread's destructors.
    static CURRENT: Cell<Option<ContextHandle>> = const { Cell::new(None) };
    /// Device of the current call's object, if it takes precedence.
    static OBJECT: Cell<Option<usize>> = const { Cell::new(None) };
}

/// The thread's current context.
pub(crate) fn current() -> Option<ContextHandle> {
    CURRENT.get()
}

/// Replaces the current context, without a check, and returns the one before.
pub(crate) fn replace_current(context: Option<ContextHandle>) -> Option<ContextHandle> {
    CURRENT.replace(context)
}

/// Replaces the device of the current call's object and returns the one before.
pub(crate) fn replace_object(device: Option<usize>) -> Option<usize> {
    OBJECT.replace(device)
}

/// Rejects an ordinal outside the visible devices.
pub(crate) fn check_device(device: c_int) -> Result<()> {
    ordinal(device).map(|_| ())
}

/// The index of a device ordinal.
pub(crate) fn ordinal(device: c_int) -> Result<usize> {
    usize::try_from(device)
        .ok()
        .filter(|device| *device < visible_devices::count())
        .ok_or(Error::InvalidDevice)
}
