//! Contexts: which one a thread has current, and who holds the device's primary context.
//!
//! All contexts of the process share the one device, its memory and its streams; a context is a name and flags.

use crate::abi::ContextHandle;
use crate::error::{self, Error, Result};
use crate::external_memory;
use crate::interprocess;
use crate::pool;
use crate::simulator::{Simulator, simulator};
use crate::virtual_memory;
use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::ffi::c_int;
use std::sync::atomic::{AtomicBool, Ordering};

/// What a context was created with.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// `CU_CTX_…`.
    pub(crate) flags: u32,
    /// A number no other context of the process has.
    pub(crate) id: u64,
}

#[derive(Default)]
struct Contexts {
    live: FxHashMap<ContextHandle, Info>,
    created: u64,
    primary_users: u32,
    primary_flags: u32,
}

/// Handles lie where no process has memory; the primary context is the first.
const CONTEXTS: usize = 0x5300_0000_0000_0000;
const PRIMARY: ContextHandle = ContextHandle(CONTEXTS | 16);
const PRIMARY_ID: u64 = 1;

static CONTEXTS_OF_PROCESS: Mutex<Option<Contexts>> = Mutex::new(None);
static DRIVER_INITIALIZED: AtomicBool = AtomicBool::new(false);

thread_local! {
    /// The current context. Without a destructor, as exit handlers that call CUDA run after those of the main thread.
    static CURRENT: Cell<Option<ContextHandle>> = const { Cell::new(None) };
    /// Contexts that pushing has put below the current one.
    static BELOW: RefCell<Vec<ContextHandle>> = const { RefCell::new(Vec::new()) };
}

fn with_contexts<T>(use_them: impl FnOnce(&mut Contexts) -> T) -> T {
    use_them(CONTEXTS_OF_PROCESS.lock().get_or_insert_default())
}

/// The contexts below the current one; nothing on a thread that is being torn down.
fn with_below<T>(use_them: impl FnOnce(&mut Vec<ContextHandle>) -> T) -> Option<T> {
    BELOW.try_with(|below| use_them(&mut below.borrow_mut())).ok()
}

/// `cuInit`.
pub(crate) fn initialize_driver() -> Result<()> {
    simulator()?;
    DRIVER_INITIALIZED.store(true, Ordering::Relaxed);
    Ok(())
}

/// For a call of the driver API that needs `cuInit` and nothing more.
pub(crate) fn driver() -> Result<&'static Simulator> {
    let simulator = simulator()?;
    if DRIVER_INITIALIZED.load(Ordering::Relaxed) { Ok(simulator) } else { Err(Error::InitializationError) }
}

/// For a call of the driver API that needs a current context.
pub(crate) fn driver_context() -> Result<&'static Simulator> {
    let simulator = driver()?;
    current().ok_or(Error::DeviceUninitialized)?;
    error::check_sticky()?;
    Ok(simulator)
}

/// For a call of the runtime API: makes the primary context current if the thread has none.
pub(crate) fn runtime_context() -> Result<&'static Simulator> {
    let simulator = simulator()?;
    DRIVER_INITIALIZED.store(true, Ordering::Relaxed);
    if current().is_none() {
        with_contexts(|contexts| contexts.primary_users = contexts.primary_users.max(1));
        CURRENT.set(Some(PRIMARY));
    }
    error::check_sticky()?;
    Ok(simulator)
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
pub(crate) fn create(flags: u32) -> Result<ContextHandle> {
    let context = with_contexts(|contexts| {
        contexts.created += 1;
        let id = PRIMARY_ID + contexts.created;
        let context = ContextHandle(CONTEXTS | ((id as usize) << 4));
        contexts.live.insert(context, Info { flags, id });
        context
    });
    push(context)?;
    Ok(context)
}

/// Destroys a created context; it is popped if the thread has it current.
pub(crate) fn destroy(context: ContextHandle) -> Result<()> {
    with_contexts(|contexts| contexts.live.remove(&context)).ok_or(Error::DeviceUninitialized)?;
    if current() == Some(context) {
        set_current(None);
    }
    Ok(())
}

/// What a context was created with.
pub(crate) fn info(context: ContextHandle) -> Result<Info> {
    with_contexts(|contexts| {
        if context == PRIMARY {
            return Some(Info { flags: contexts.primary_flags, id: PRIMARY_ID });
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

/// Takes hold of the primary context.
pub(crate) fn retain_primary() -> ContextHandle {
    with_contexts(|contexts| contexts.primary_users += 1);
    PRIMARY
}

/// The primary context, without taking hold of it.
pub(crate) fn primary() -> ContextHandle {
    PRIMARY
}

/// Lets go of the primary context.
pub(crate) fn release_primary() -> Result<()> {
    with_contexts(|contexts| {
        contexts.primary_users = contexts.primary_users.checked_sub(1).ok_or(Error::DeviceUninitialized)?;
        Ok(())
    })
}

/// Flags of the primary context and whether anyone holds it.
pub(crate) fn primary_state() -> (u32, bool) {
    with_contexts(|contexts| (contexts.primary_flags, contexts.primary_users > 0))
}

/// Sets the flags of the primary context.
pub(crate) fn set_primary_flags(flags: u32) {
    with_contexts(|contexts| contexts.primary_flags = flags);
}

/// Sets the flags of a context.
pub(crate) fn set_flags(context: ContextHandle, flags: u32) -> Result<()> {
    with_contexts(|contexts| {
        if context == PRIMARY {
            contexts.primary_flags = flags;
            return Ok(());
        }
        contexts.live.get_mut(&context).ok_or(Error::DeviceUninitialized)?.flags = flags;
        Ok(())
    })
}

/// Flags of the thread's current context, else of the primary one.
pub(crate) fn current_flags() -> Result<u32> {
    Ok(info(current().unwrap_or(PRIMARY))?.flags)
}

/// `cudaDeviceReset`: waits for the device's work, forgets streams, events, modules, memory and the fault.
pub(crate) fn reset() -> Result<()> {
    let simulator = simulator()?;
    // A fault is no reason not to reset.
    let _ = simulator.synchronize(stream_engine::Scope::Context);
    simulator.engine.reset()?;
    simulator.unload_everything();
    simulator.forget_textures();
    simulator.forget_graphs();
    for allocation in simulator.device.memory.allocations() {
        let memory = &simulator.device.memory;
        let _ = match allocation.kind {
            functional::memory::AllocationKind::Registered => memory.unregister_host(allocation.address),
            _ => memory.free(allocation.address).map(|_| ()),
        };
    }
    // An address that cannot be unmapped is lost, and the reset goes on.
    let _ = simulator.device.memory.give_back_everything();
    virtual_memory::forget_everything();
    interprocess::forget_everything();
    external_memory::forget_everything();
    pool::forget_everything();
    error::forget_sticky();
    with_contexts(|contexts| contexts.primary_users = 0);
    with_below(|below| below.retain(|context| *context != PRIMARY));
    if current() == Some(PRIMARY) {
        set_current(None);
    }
    Ok(())
}

/// Refuses an ordinal that is no device.
pub(crate) fn check_device(device: c_int) -> Result<()> {
    if device == 0 { Ok(()) } else { Err(Error::InvalidDevice) }
}
