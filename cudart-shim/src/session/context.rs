//! Contexts: the current context of each thread, the users of each device's primary context, and
//! the check of a call's required context.
//!
//! All contexts of a device share its memory and engine. A context is only a handle with flags, a
//! device, and the objects created while it was current ([`crate::objects::ownership`]).

use crate::abi::ContextHandle;
use crate::abi::call::{Api, Need, Subject};
use crate::abi::error::{Error, Result};
use crate::abi::handle::MAX_DEVICES;
use crate::host::present_call;
pub(crate) use crate::objects::context::{
    check_device, current, current_device, device_of, ordinal, primary,
};
use crate::objects::context::{handle, primary_of, replace_current, replace_object};
use crate::objects::ownership::{self, Object};
use crate::objects::{external_memory, interprocess, last_error, peer, pool, virtual_memory};
use crate::session::sanitizer_report;
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use rustc_hash::FxHashMap;
use std::cell::{Cell, RefCell};
use std::sync::atomic::Ordering;

/// Creation parameters of a context.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Info {
    /// `CU_CTX_…`.
    pub(crate) flags: u32,
    /// Unique number within the process.
    pub(crate) id: u64,
}

/// State of a device's primary context.
#[derive(Clone, Copy, Default)]
struct Primary {
    /// Number of driver API users.
    users: u32,
    /// Set if the runtime also holds it.
    is_of_runtime: bool,
    /// Set from the first retain until the last release or a reset.
    is_active: bool,
    /// Set once a vendor's runtime has asked for it: CUDA 10's makes it current without a retain.
    is_of_vendor_runtime: bool,
    flags: u32,
}

impl Primary {
    fn activate(&mut self, session: &'static Session) {
        if !std::mem::replace(&mut self.is_active, true) {
            session.process().contexts_ended.fetch_add(1, Ordering::Release);
        }
    }
}

/// All contexts of the process.
#[derive(Default)]
pub(crate) struct Contexts {
    live: FxHashMap<ContextHandle, Info>,
    created: u64,
    primary: [Primary; MAX_DEVICES],
}

thread_local! {
    /// Value of [`crate::session::process::Process::contexts_ended`] when the current context was
    /// last found alive.
    static ALIVE: Cell<Option<u64>> = const { Cell::new(None) };
    /// Device whose primary context the runtime held at a given value of that counter.
    static HELD: Cell<Option<(usize, u64)>> = const { Cell::new(None) };
    /// Contexts pushed below the current one.
    static BELOW: RefCell<Vec<ContextHandle>> = const { RefCell::new(Vec::new()) };
}

fn with_contexts<T>(session: &'static Session, use_them: impl FnOnce(&mut Contexts) -> T) -> T {
    use_them(&mut session.process().contexts.lock())
}

/// Accesses the contexts below the current one; `None` on a thread that is shutting down.
fn with_below<T>(use_them: impl FnOnce(&mut Vec<ContextHandle>) -> T) -> Option<T> {
    BELOW.try_with(|below| use_them(&mut below.borrow_mut())).ok()
}

/// `cuInit`.
pub(crate) fn initialize_driver(session: &'static Session) -> Result<()> {
    runtime(session).map(drop)
}

/// Initialises the driver, like every runtime call that needs a device.
pub(crate) fn runtime(session: &'static Session) -> Result<&'static Simulator> {
    let simulator = session.simulator()?;
    session.process().driver_initialized.store(true, Ordering::Relaxed);
    Ok(simulator)
}

/// Rejects calls before `cuInit`.
fn check_initialized(session: &'static Session) -> Result<()> {
    if !session.process().driver_initialized.load(Ordering::Relaxed) {
        return Err(Error::InitializationError);
    }
    session.simulator().map(drop)
}

/// Rejects a thread whose current context is missing or destroyed.
pub(crate) fn check_current(session: &'static Session) -> Result<()> {
    let context = current().ok_or(Error::DeviceUninitialized)?;
    let now = contexts_ended(session);
    if ALIVE.get() == Some(now) {
        return Ok(());
    }
    if !is_alive(session, context) {
        return Err(Error::ContextIsDestroyed);
    }
    ALIVE.set(Some(now));
    Ok(())
}

fn contexts_ended(session: &'static Session) -> u64 {
    session.process().contexts_ended.load(Ordering::Acquire)
}

fn is_alive(session: &'static Session, context: ContextHandle) -> bool {
    with_contexts(session, |contexts| match primary_of(context) {
        Some(device) => contexts.primary.get(device).is_some_and(|primary| primary.is_active),
        None => contexts.live.contains_key(&context),
    })
}

/// A call with its required context. Dropping it clears the call's object.
pub(crate) struct Entered {
    before: Option<usize>,
}

impl Drop for Entered {
    fn drop(&mut self) {
        replace_object(self.before);
    }
}

/// Checks that the thread has the context a call requires.
pub(crate) fn enter(session: &'static Session, api: Api, need: Need, subject: Subject) -> Result<Entered> {
    let entered = Entered { before: replace_object(None) };
    match (api, need) {
        (_, Need::Nothing) => return Ok(entered),
        (Api::Runtime, Need::Driver) => return runtime(session).map(|_| entered),
        (Api::Runtime, _) => return runtime_context(session).map(|()| entered),
        (Api::Driver, _) => check_initialized(session)?,
    }
    // The object takes precedence if required, or if no context is current.
    if need == Need::Object || current().is_none() {
        replace_object(subject.device.filter(|device| *device < session.device_count()));
    }
    match need {
        Need::Nothing | Need::Driver | Need::Context => return Ok(entered),
        Need::Stack => return current().map(|_| entered).ok_or(Error::DeviceUninitialized),
        Need::Current | Need::Initialises => check_current(session)?,
        Need::Stream if subject.is_default_stream => check_current(session)?,
        Need::Stream | Need::Object => {}
    }
    last_error::check_sticky()?;
    Ok(entered)
}

/// For a runtime call: makes the primary context current if the thread has no context.
fn runtime_context(session: &'static Session) -> Result<()> {
    runtime(session)?;
    match current().map(primary_of) {
        None => choose_device(session, 0)?,
        Some(Some(device)) if HELD.get() != Some((device, contexts_ended(session))) => {
            choose_device(session, device)?
        }
        Some(Some(_)) => {}
        Some(None) => check_current(session)?,
    }
    last_error::check_sticky()
}

/// `cudaSetDevice`: makes a device's primary context current.
pub(crate) fn choose_device(session: &'static Session, device: usize) -> Result<()> {
    hold_for_runtime(session, device)?;
    replace_current(Some(primary(device)));
    ALIVE.set(None);
    HELD.set(Some((device, contexts_ended(session))));
    Ok(())
}

/// `cudaInitDevice`: activates a device's primary context without making it current.
pub(crate) fn hold_for_runtime(session: &'static Session, device: usize) -> Result<()> {
    session.simulator_of(device)?;
    with_primary(session, device, |primary| {
        primary.is_of_runtime = true;
        primary.activate(session);
        Ok(())
    })
}

/// Gives a device's primary context to a vendor's runtime, which retains it by making it current.
pub(crate) fn primary_for_vendor_runtime(session: &'static Session, device: usize) -> Result<ContextHandle> {
    with_primary(session, device, |held| {
        held.is_of_vendor_runtime = true;
        Ok(primary(device))
    })
}

/// `cuCtxSetCurrent` with a context.
pub(crate) fn make_current(session: &'static Session, context: ContextHandle) -> Result<()> {
    check(session, context)?;
    if let Some(device) = primary_of(context)
        && with_primary(session, device, |primary| Ok(primary.is_of_vendor_runtime))?
    {
        hold_for_runtime(session, device)?;
    }
    set_current(Some(context));
    Ok(())
}

/// Replaces the thread's current context. `None` pops to the context below.
pub(crate) fn set_current(context: Option<ContextHandle>) {
    replace_current(context.or_else(|| with_below(Vec::pop).flatten()));
    ALIVE.set(None);
}

/// Pushes a context.
pub(crate) fn push(session: &'static Session, context: ContextHandle) -> Result<()> {
    check(session, context)?;
    let before = replace_current(Some(context));
    ALIVE.set(None);
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
pub(crate) fn create(session: &'static Session, device: usize, flags: u32) -> Result<ContextHandle> {
    let context = with_contexts(session, |contexts| {
        contexts.created += 1;
        let id = MAX_DEVICES as u64 + contexts.created;
        let context = handle(device, id);
        contexts.live.insert(context, Info { flags, id });
        context
    });
    push(session, context)?;
    Ok(context)
}

/// Destroys a created context and its objects. Pops it if it is current on this thread; on other
/// threads it stays current.
pub(crate) fn destroy(session: &'static Session, context: ContextHandle) -> Result<()> {
    with_contexts(session, |contexts| contexts.live.remove(&context)).ok_or(Error::DeviceUninitialized)?;
    session.process().contexts_ended.fetch_add(1, Ordering::Release);
    destroy_objects_of(session, context)?;
    forget_storage(session, context);
    if current() == Some(context) {
        set_current(None);
    }
    Ok(())
}

/// Destroys a context's objects.
fn destroy_objects_of(session: &'static Session, context: ContextHandle) -> Result<()> {
    let simulator = session.simulator_of(device_of(context))?;
    let objects = ownership::take_of(session.shared(), context);
    sanitizer_report::context_ends(session, |memory| objects.contains(&Object::Memory(memory.address)));
    for object in objects {
        // A missing or failed object does not stop the destruction of the others.
        let _ = destroy_object(session, simulator, object);
    }
    Ok(())
}

fn destroy_object(session: &'static Session, simulator: &'static Simulator, object: Object) -> Result<()> {
    match object {
        Object::Texture(texture) => simulator.destroy_texture(texture),
        Object::Surface(surface) => simulator.destroy_surface(surface),
        Object::Reference(reference) => simulator.destroy_reference(reference),
        Object::Array(array) => simulator.free_array(array),
        Object::MipmappedArray(array) => simulator.free_mipmapped_array(array),
        Object::Link(link) => {
            ownership::disown(session.shared(), Object::Link(link));
            session.process().links.lock().end(link)
        }
        Object::Module(module) => simulator.unload_module(module),
        Object::Event(event) => simulator.destroy_event(event),
        Object::Stream(stream) => simulator.destroy_stream(stream),
        Object::Memory(address) => simulator.owner(address).release(address, present_call::origin()),
        Object::Registration(address) => simulator.unregister_host(address),
    }
}

/// Drops the values that libraries stored in a destroyed context.
fn forget_storage(session: &'static Session, context: ContextHandle) {
    // Destructors may call CUDA, so they run without the lock.
    let gone = session.process().context_storage.lock().take_all(context);
    for (key, stored) in gone {
        stored.destroy(context, key);
    }
}

/// Creation parameters of a context.
pub(crate) fn info(session: &'static Session, context: ContextHandle) -> Result<Info> {
    with_contexts(session, |contexts| {
        if let Some(device) = primary_of(context) {
            let flags = contexts.primary.get(device)?.flags;
            return Some(Info { flags, id: device as u64 + 1 });
        }
        contexts.live.get(&context).copied()
    })
    .ok_or(Error::DeviceUninitialized)
}

/// Rejects a handle that names no context.
pub(crate) fn check(session: &'static Session, context: ContextHandle) -> Result<()> {
    info(session, context).map(|_| ())
}

/// Rejects an invalid handle but accepts null.
pub(crate) fn check_if_given(session: &'static Session, context: ContextHandle) -> Result<()> {
    if context.0 == 0 { Ok(()) } else { check(session, context) }
}

fn with_primary<T>(
    session: &'static Session,
    device: usize,
    use_it: impl FnOnce(&mut Primary) -> Result<T>,
) -> Result<T> {
    with_contexts(session, |contexts| use_it(contexts.primary.get_mut(device).ok_or(Error::InvalidDevice)?))
}

/// Retains a device's primary context.
pub(crate) fn retain_primary(session: &'static Session, device: usize) -> Result<ContextHandle> {
    with_primary(session, device, |held| {
        held.users += 1;
        held.activate(session);
        Ok(primary(device))
    })
}

/// Releases a device's primary context. The last release resets it.
///
/// The reset is skipped while the device has other contexts, because it would destroy their objects
/// too.
pub(crate) fn release_primary(session: &'static Session, device: usize) -> Result<()> {
    let is_last = with_primary(session, device, |primary| {
        primary.users = primary.users.checked_sub(1).ok_or(Error::DeviceUninitialized)?;
        Ok(primary.users == 0 && !primary.is_of_runtime && primary.is_active)
    })?;
    let has_others =
        with_contexts(session, |contexts| contexts.live.keys().any(|other| device_of(*other) == device));
    if is_last && !has_others { reset(session, device) } else { Ok(()) }
}

/// Flags of a device's primary context, and its active state.
pub(crate) fn primary_state(session: &'static Session, device: usize) -> Result<(u32, bool)> {
    with_primary(session, device, |primary| Ok((primary.flags, primary.is_active)))
}

/// Sets the flags of a device's primary context.
pub(crate) fn set_primary_flags(session: &'static Session, device: usize, flags: u32) -> Result<()> {
    with_primary(session, device, |primary| {
        primary.flags = flags;
        Ok(())
    })
}

/// Sets the flags of a context.
pub(crate) fn set_flags(session: &'static Session, context: ContextHandle, flags: u32) -> Result<()> {
    if let Some(device) = primary_of(context) {
        return set_primary_flags(session, device, flags);
    }
    with_contexts(session, |contexts| {
        contexts.live.get_mut(&context).ok_or(Error::DeviceUninitialized)?.flags = flags;
        Ok(())
    })
}

/// Flags of the thread's current context, else of the primary context.
pub(crate) fn current_flags(session: &'static Session) -> Result<u32> {
    Ok(info(session, current().unwrap_or(primary(0)))?.flags)
}

/// Resets a device's primary context: waits for the device's work, then removes streams, events,
/// modules, memory and the fault. Users keep their references, and the next use reactivates the
/// context.
pub(crate) fn reset(session: &'static Session, device: usize) -> Result<()> {
    let simulator = session.simulator_of(device)?;
    // A fault does not prevent a reset.
    let _ = simulator.synchronize(stream_engine::Scope::Context);
    simulator.engine.reset()?;
    simulator.unload_everything();
    simulator.forget_textures();
    simulator.forget_graphs();
    let kept = simulator.managed_for_others();
    let memory = &simulator.device.memory;
    sanitizer_report::context_ends(session, |lost| {
        memory.owns(lost.address) && !kept.contains(&lost.address)
    });
    for allocation in memory.allocations() {
        if kept.contains(&allocation.address) {
            continue;
        }
        let _ = match allocation.kind {
            functional::memory::AllocationKind::Registered => memory.unregister_host(allocation.address),
            _ => memory.free(allocation.address).map(|_| ()),
        };
        sanitizer_report::note_freed(session, allocation.address);
    }
    virtual_memory::forget(simulator);
    interprocess::forget(simulator);
    session.process().shared_events.lock().retain(|event, _| simulator.event(*event).is_err());
    external_memory::forget(session.shared(), device);
    pool::forget_everything(session.shared(), device);
    peer::forget(session.shared(), device);
    forget_storage(session, primary(device));
    last_error::forget_sticky(device);
    ownership::forget_of_device(session.shared(), device);
    with_primary(session, device, |primary| {
        primary.is_of_runtime = false;
        primary.is_active = false;
        Ok(())
    })?;
    session.process().contexts_ended.fetch_add(1, Ordering::Release);
    Ok(())
}

/// `cudaDeviceReset`: resets the primary context of the thread's device and makes it no longer
/// current.
pub(crate) fn reset_current_device(session: &'static Session) -> Result<()> {
    let device = current_device();
    reset(session, device)?;
    with_below(|below| below.retain(|context| *context != primary(device)));
    if current() == Some(primary(device)) {
        set_current(None);
    }
    Ok(())
}
