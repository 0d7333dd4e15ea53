//! Contexts.

use crate::abi::error::{Error, Result};
use crate::abi::{ContextHandle, EventHandle, In, Out};
use crate::api::entry::api;
use crate::objects::peer;
use crate::root::{session, shared, simulator, simulator_of};
use crate::session::context::{self, ordinal};
use crate::session::simulator::Simulator;
use crate::session::streams::GREATEST_PRIORITY;
use std::ffi::{c_int, c_uint, c_void};
use stream_engine::Scope;

/// Flags of a context: scheduling, mapped host memory, local memory, core dumps, synchronous memory
/// operations.
const CONTEXT_FLAGS: u32 = 0xff;
/// Version returned by `cuCtxGetApiVersion`, the newest of the context API.
const API_VERSION: u32 = 3020;

/// `CUctxCreateParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct CreateParameters {
    affinity: *const c_void,
    affinity_count: c_int,
    graphics: *const c_void,
}

fn create(result: Out<ContextHandle>, flags: u32, device: c_int) -> Result<()> {
    result.check()?;
    let device = ordinal(device)?;
    if flags & !CONTEXT_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    simulator_of(device)?;
    result.set(context::create(session(), device, flags)?)
}

fn current() -> Result<ContextHandle> {
    context::current().ok_or(Error::DeviceUninitialized)
}

/// The given context, or the current one for null.
fn given_or_current(given: ContextHandle) -> Result<ContextHandle> {
    if given.0 != 0 {
        return Ok(given);
    }
    context::check_current(session())?;
    current()
}

/// Device of the given context, or of the current one for null.
fn of_context(given: ContextHandle) -> Result<&'static Simulator> {
    let context = given_or_current(given)?;
    context::check(session(), context)?;
    simulator_of(context::device_of(context))
}

fn destroy(given: ContextHandle) -> Result<()> {
    context::check(session(), given)?;
    // A failed context can still be destroyed.
    let _ = simulator_of(context::device_of(given))?.synchronize(Scope::Context);
    context::destroy(session(), given)
}

fn set_primary_flags(device: c_int, flags: u32) -> Result<()> {
    let device = ordinal(device)?;
    if flags & !CONTEXT_FLAGS != 0 {
        return Err(Error::InvalidValue);
    }
    context::set_primary_flags(session(), device, flags)
}

fn check_preference(value: c_int, largest: c_int) -> Result<()> {
    if (0..=largest).contains(&value) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn preference(result: Out<c_int>) -> Result<()> {
    result.set(0)
}

api! { Driver;
    /// A new context, made current.
    fn cuCtxCreate_v2(result: Out<ContextHandle>, flags: c_uint, dev: c_int) { create(result, flags, dev) }

    /// A new context, made current. Restriction to some multiprocessors is not supported.
    fn cuCtxCreate_v3(
        result: Out<ContextHandle>, _affinity: *mut c_void, count: c_int, flags: c_uint, dev: c_int,
    ) {
        if count != 0 {
            return Err(Error::UnsupportedExecAffinity);
        }
        create(result, flags, dev)
    }

    /// A new context, made current. Restriction to some multiprocessors and sharing with graphics
    /// are not supported.
    fn cuCtxCreate_v4(
        result: Out<ContextHandle>, parameters: In<CreateParameters>, flags: c_uint, dev: c_int,
    ) {
        let wanted = parameters.get_if_given();
        if wanted.is_some_and(|wanted| wanted.affinity_count != 0) {
            return Err(Error::UnsupportedExecAffinity);
        }
        if wanted.is_some_and(|wanted| !wanted.graphics.is_null()) {
            return Err(Error::NotSupported);
        }
        create(result, flags, dev)
    }

    /// Destroys a context.
    fn cuCtxDestroy(ctx: ContextHandle) { destroy(ctx) }

    /// Retains the current context.
    fn cuCtxAttach(result: Out<ContextHandle>, flags: c_uint) {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        result.set(current()?)
    }

    /// Releases a context.
    fn cuCtxDetach(ctx: ContextHandle) { destroy(ctx) }

    /// Pushes a context as the current one.
    fn cuCtxPushCurrent(ctx: ContextHandle) {
        context::push(session(), ctx)
    }

    /// Pops the current context and returns it.
    fn cuCtxPopCurrent(result: Out<ContextHandle>) {
        let popped = context::pop()?;
        result.set_if_wanted(popped);
        Ok(())
    }

    /// Replaces the current context; null leaves none.
    fn cuCtxSetCurrent(ctx: ContextHandle) {
        if ctx.0 == 0 {
            context::set_current(None);
            return Ok(());
        }
        context::make_current(session(), ctx)
    }

    /// The current context, or null.
    fn cuCtxGetCurrent(result: Out<ContextHandle>) {
        result.set(context::current().unwrap_or(ContextHandle(0)))
    }

    /// Device of the current context.
    fn cuCtxGetDevice(device: Out<c_int>) {
        device.set(context::device_of(current()?) as c_int)
    }

    /// Device of a context.
    fn cuCtxGetDevice_v2(device: Out<c_int>, ctx: ContextHandle) {
        let ctx = given_or_current(ctx)?;
        context::check(session(), ctx)?;
        device.set(context::device_of(ctx) as c_int)
    }

    /// Flags of the current context.
    fn cuCtxGetFlags(flags: Out<c_uint>) {
        let info = context::info(session(), current()?)?;
        flags.set(info.flags)
    }

    /// A process-wide unique number of a context.
    fn cuCtxGetId(ctx: ContextHandle, id: Out<u64>) {
        let info = context::info(session(), given_or_current(ctx)?)?;
        id.set(info.id)
    }

    /// Version of the context API.
    fn cuCtxGetApiVersion(ctx: ContextHandle, version: Out<c_uint>) {
        context::check(session(), given_or_current(ctx)?)?;
        version.set(API_VERSION)
    }

    /// Waits for all work.
    fn cuCtxSynchronize() { simulator()?.synchronize_device() }

    /// Waits for all work of a context.
    fn cuCtxSynchronize_v2(ctx: ContextHandle) {
        of_context(ctx)?.synchronize_device()
    }

    /// Value of a limit.
    fn cuCtxGetLimit(value: Out<usize>, limit: c_int) { value.set(simulator()?.limit(limit)? as usize) }

    /// Sets a limit.
    fn cuCtxSetLimit(limit: c_int, value: usize) { simulator()?.set_limit(limit, value as u64) }

    /// Preferred split of L1 and shared memory.
    fn cuCtxGetCacheConfig(config: Out<c_int>) { preference(config) }

    /// Preferred split of L1 and shared memory.
    fn cuCtxSetCacheConfig(config: c_int) { check_preference(config, 3) }

    /// Preferred width of shared memory banks.
    fn cuCtxGetSharedMemConfig(config: Out<c_int>) { preference(config) }

    /// Preferred width of shared memory banks.
    fn cuCtxSetSharedMemConfig(config: c_int) { check_preference(config, 2) }

    /// Resets persisting cache lines, of which the model has none.
    fn cuCtxResetPersistingL2Cache() { Ok(()) }

    /// Least and greatest stream priority.
    fn cuCtxGetStreamPriorityRange(least: Out<c_int>, greatest: Out<c_int>) {
        least.set_if_wanted(0);
        greatest.set_if_wanted(GREATEST_PRIORITY);
        Ok(())
    }

    /// Gives the current context access to another device's memory.
    fn cuCtxEnablePeerAccess(peer: ContextHandle, flags: c_uint) {
        let device = simulator()?.ordinal;
        context::check(session(), peer)?;
        peer::enable(shared(), device, context::device_of(peer), flags)
    }

    /// Undoes `cuCtxEnablePeerAccess`.
    fn cuCtxDisablePeerAccess(peer: ContextHandle) {
        let device = simulator()?.ordinal;
        context::check(session(), peer)?;
        peer::disable(shared(), device, context::device_of(peer))
    }

    /// Retains a device's primary context.
    fn cuDevicePrimaryCtxRetain(result: Out<ContextHandle>, dev: c_int) {
        result.check()?;
        let device = ordinal(dev)?;
        simulator_of(device)?;
        result.set(context::retain_primary(session(), device)?)
    }

    /// Releases a device's primary context.
    fn cuDevicePrimaryCtxRelease(dev: c_int) {
        context::release_primary(session(), ordinal(dev)?)
    }

    /// Resets a device's primary context.
    fn cuDevicePrimaryCtxReset(dev: c_int) {
        context::reset(session(), ordinal(dev)?)
    }

    /// Flags of a device's primary context, and whether it is retained.
    fn cuDevicePrimaryCtxGetState(dev: c_int, flags: Out<c_uint>, active: Out<c_int>) {
        let (primary_flags, is_active) = context::primary_state(session(), ordinal(dev)?)?;
        flags.set(primary_flags)?;
        active.set(is_active.into())
    }

    /// Sets the flags of a device's primary context.
    fn cuDevicePrimaryCtxSetFlags(dev: c_int, flags: c_uint) { set_primary_flags(dev, flags) }

    /// Sets the flags of the current context.
    fn cuCtxSetFlags(flags: c_uint) {
        if flags & !CONTEXT_FLAGS != 0 {
            return Err(Error::InvalidValue);
        }
        context::set_flags(session(), current()?, flags)
    }

    /// Records an event behind all work of a context.
    fn cuCtxRecordEvent(hCtx: ContextHandle, hEvent: EventHandle) {
        let simulator = of_context(hCtx)?;
        Ok(simulator.engine.record_event_behind_all(simulator.event(hEvent)?)?)
    }

    /// Makes all later work of a context wait for an event.
    fn cuCtxWaitEvent(hCtx: ContextHandle, hEvent: EventHandle) {
        let simulator = of_context(hCtx)?;
        Ok(simulator.engine.wait_event_everywhere(simulator.event(hEvent)?)?)
    }
}
