//! Contexts: which one a thread has current, and who holds the device's primary context.
//!
//! The contexts of a device share its memory and its streams; a context is a name, flags and the device.

use crate::abi::{ContextHandle, StreamHandle};
use crate::error::{self, Error, Result};
use crate::export_table;
use crate::external_memory;
use crate::interprocess;
use crate::peer;
use crate::pool;
use crate::process::process;
use crate::simulator::{self, DEVICE_SHIFT, MAX_DEVICES, Simulator, device_count, simulator, simulator_of};
use crate::streams;
use crate::virtual_memory;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::atomic::Ordering;

/// What a context was created with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// `CU_CTX_…`.
    pub(crate) flags: u32,
    /// A number no other context of the process has.
    pub(crate) id: u64,
}

/// What is kept of a device's primary context.
#[derive(Clone, Copy, Default)]
struct Primary {
    users: u32,
    flags: u32,
}

/// The contexts there are.
#[derive(Default)]
pub(crate) struct Contexts {
    live: FxHashMap<ContextHandle, Info>,
    created: u64,
    primary: [Primary; MAX_DEVICES],
}

/// Handles lie where no process has memory, and have the device's number in them.
const CONTEXTS: usize = 0x5300_0000_0000_0000;

fn handle(device: usize, id: u64) -> ContextHandle {
    ContextHandle(CONTEXTS | ((device << DEVICE_SHIFT | id as usize) << 4))
}

/// The primary context of a device; they are numbered from 1.
pub(crate) fn primary(device: usize) -> ContextHandle {
    handle(device, device as u64 + 1)
}

/// The device of a context.
pub(crate) fn device_of(context: ContextHandle) -> usize {
    simulator::device_of(context.0)
}

/// The device whose primary context this is.
fn primary_of(context: ContextHandle) -> Option<usize> {
    let device = device_of(context);
    (context == primary(device) && device < device_count()).then_some(device)
}

/// The thread's device: that of its current context, else the first.
pub(crate) fn current_device() -> usize {
    current().map_or(0, device_of)
}

thread_local! {
    /// The current context. Without a destructor, as exit handlers that call CUDA run after those of the main thread.
    static CURRENT: Cell<Option<ContextHandle>> = const { Cell::new(None) };
    /// Contexts that pushing has put below the current one.
    static BELOW: RefCell<Vec<ContextHandle>> = const { RefCell::new(Vec::new()) };
}

fn with_contexts<T>(use_them: impl FnOnce(&mut Contexts) -> T) -> T {
    use_them(&mut process().contexts.lock())
}

/// The contexts below the current one; nothing on a thread that is being torn down.
fn with_below<T>(use_them: impl FnOnce(&mut Vec<ContextHandle>) -> T) -> Option<T> {
    BELOW.try_with(|below| use_them(&mut below.borrow_mut())).ok()
}

/// `cuInit`.
pub(crate) fn initialize_driver() -> Result<()> {
    runtime().map(drop)
}

/// For a call of the runtime API that needs no context: the thread's device. Like every call that asks for a device it initialises
/// the driver, so that the driver API can be used behind it.
pub(crate) fn runtime() -> Result<&'static Simulator> {
    runtime_of(current_device())
}

/// For a call of the runtime API on a device given by its number.
pub(crate) fn runtime_of(device: usize) -> Result<&'static Simulator> {
    let simulator = simulator_of(device)?;
    process().driver_initialized.store(true, Ordering::Relaxed);
    Ok(simulator)
}

/// For a call of the driver API that needs `cuInit` and nothing more.
pub(crate) fn driver() -> Result<&'static Simulator> {
    let simulator = simulator()?;
    if process().driver_initialized.load(Ordering::Relaxed) {
        Ok(simulator)
    } else {
        Err(Error::InitializationError)
    }
}

/// For a call of the driver API that needs a current context.
pub(crate) fn driver_context() -> Result<&'static Simulator> {
    let simulator = driver()?;
    current().ok_or(Error::DeviceUninitialized)?;
    error::check_sticky()?;
    Ok(simulator)
}

/// For a call of the driver API on a stream: only the default streams are those of the current context.
pub(crate) fn stream_context(stream: StreamHandle) -> Result<&'static Simulator> {
    if streams::is_default(stream) {
        return driver_context();
    }
    let simulator = driver()?;
    error::check_sticky()?;
    Ok(simulator)
}

/// For a call of the runtime API: makes the primary context current if the thread has none.
pub(crate) fn runtime_context() -> Result<&'static Simulator> {
    let simulator = runtime()?;
    if current().is_none() {
        choose_device(0)?;
    }
    error::check_sticky()?;
    Ok(simulator)
}

/// `cudaSetDevice`: makes a device's primary context current.
pub(crate) fn choose_device(device: usize) -> Result<()> {
    runtime_of(device)?;
    with_contexts(|contexts| {
        if let Some(primary) = contexts.primary.get_mut(device) {
            primary.users = primary.users.max(1);
        }
    });
    CURRENT.set(Some(primary(device)));
    Ok(())
}

/// The thread's current context.
pub(crate) fn current() -> Option<ContextHandle> {
    CURRENT.get()
}

/// Replaces the thread's current context; `None` uncovers the one below it.
pub(crate) fn set_current(context: Option<ContextHandle>) {
    CURRENT.set(context.or_else(|| with_below(Vec::pop).flatten()));
}

/// Pushes a context.
pub(crate) fn push(context: ContextHandle) -> Result<()> {
    check(context)?;
    let before = CURRENT.replace(Some(context));
    with_below(|below| below.extend(before));
    Ok(())
}

/// Pops the current context.
pub(crate) fn pop() -> Result<ContextHandle> {
    let popped = current().ok_or(Error::DeviceUninitialized)?;
    set_current(None);
    Ok(popped)
}

/// Creates a context and makes it current.
pub(crate) fn create(device: usize, flags: u32) -> Result<ContextHandle> {
    let context = with_contexts(|contexts| {
        contexts.created += 1;
        let id = MAX_DEVICES as u64 + contexts.created;
        let context = handle(device, id);
        contexts.live.insert(context, Info { flags, id });
        context
    });
    push(context)?;
    Ok(context)
}

/// Destroys a created context; it is popped if the thread has it current.
pub(crate) fn destroy(context: ContextHandle) -> Result<()> {
    with_contexts(|contexts| contexts.live.remove(&context)).ok_or(Error::DeviceUninitialized)?;
    export_table::forget_context(context);
    if current() == Some(context) {
        set_current(None);
    }
    Ok(())
}

/// What a context was created with.
pub(crate) fn info(context: ContextHandle) -> Result<Info> {
    with_contexts(|contexts| {
        if let Some(device) = primary_of(context) {
            let flags = contexts.primary.get(device)?.flags;
            return Some(Info { flags, id: device as u64 + 1 });
        }
        contexts.live.get(&context).copied()
    })
    .ok_or(Error::DeviceUninitialized)
}

/// Refuses a handle that is no context.
pub(crate) fn check(context: ContextHandle) -> Result<()> {
    info(context).map(|_| ())
}

/// Refuses a handle that is no context, and allows none.
pub(crate) fn check_if_given(context: ContextHandle) -> Result<()> {
    if context.0 == 0 { Ok(()) } else { check(context) }
}

fn with_primary<T>(device: usize, use_it: impl FnOnce(&mut Primary) -> Result<T>) -> Result<T> {
    with_contexts(|contexts| use_it(contexts.primary.get_mut(device).ok_or(Error::InvalidDevice)?))
}

/// Takes hold of a device's primary context.
pub(crate) fn retain_primary(device: usize) -> Result<ContextHandle> {
    with_primary(device, |held| {
        held.users += 1;
        Ok(primary(device))
    })
}

/// Lets go of a device's primary context.
pub(crate) fn release_primary(device: usize) -> Result<()> {
    with_primary(device, |primary| {
        primary.users = primary.users.checked_sub(1).ok_or(Error::DeviceUninitialized)?;
        Ok(())
    })
}

/// Flags of a device's primary context and whether anyone holds it.
pub(crate) fn primary_state(device: usize) -> Result<(u32, bool)> {
    with_primary(device, |primary| Ok((primary.flags, primary.users > 0)))
}

/// Sets the flags of a device's primary context.
pub(crate) fn set_primary_flags(device: usize, flags: u32) -> Result<()> {
    with_primary(device, |primary| {
        primary.flags = flags;
        Ok(())
    })
}

/// Sets the flags of a context.
pub(crate) fn set_flags(context: ContextHandle, flags: u32) -> Result<()> {
    if let Some(device) = primary_of(context) {
        return set_primary_flags(device, flags);
    }
    with_contexts(|contexts| {
        contexts.live.get_mut(&context).ok_or(Error::DeviceUninitialized)?.flags = flags;
        Ok(())
    })
}

/// Flags of the thread's current context, else of the primary one.
pub(crate) fn current_flags() -> Result<u32> {
    Ok(info(current().unwrap_or(primary(0)))?.flags)
}

/// `cudaDeviceReset`: waits for the device's work, forgets streams, events, modules, memory and the fault.
pub(crate) fn reset(device: usize) -> Result<()> {
    let simulator = simulator_of(device)?;
    // A fault is no reason not to reset.
    let _ = simulator.synchronize(stream_engine::Scope::Context);
    simulator.engine.reset()?;
    simulator.unload_everything();
    simulator.forget_textures();
    simulator.forget_graphs();
    let kept = simulator.managed_for_others();
    for allocation in simulator.device.memory.allocations() {
        if kept.contains(&allocation.address) {
            continue;
        }
        let memory = &simulator.device.memory;
        let _ = match allocation.kind {
            functional::memory::AllocationKind::Registered => memory.unregister_host(allocation.address),
            _ => memory.free(allocation.address).map(|_| ()),
        };
    }
    virtual_memory::forget(simulator);
    interprocess::forget(simulator);
    external_memory::forget(device);
    pool::forget_everything(device);
    peer::forget(device);
    export_table::forget_context(primary(device));
    error::forget_sticky(device);
    with_primary(device, |primary| {
        primary.users = 0;
        Ok(())
    })?;
    with_below(|below| below.retain(|context| *context != primary(device)));
    if current() == Some(primary(device)) {
        set_current(None);
    }
    Ok(())
}

/// Refuses an ordinal that is no device.
pub(crate) fn check_device(device: c_int) -> Result<()> {
    ordinal(device).map(|_| ())
}

/// The device of an ordinal.
pub(crate) fn ordinal(device: c_int) -> Result<usize> {
    usize::try_from(device).ok().filter(|device| *device < device_count()).ok_or(Error::InvalidDevice)
}
