//! Streams and host functions.

use crate::abi::error::{Error, Result};
use crate::abi::handle::is_default;
use crate::abi::{Address, ContextHandle, DefaultStream, EventHandle, Out, StreamHandle};
use crate::api::entry::api;
use crate::objects::ownership::{self, Object};
use crate::root::{session, shared, simulator};
use crate::session::context;
use crate::session::streams::{StreamCallback, of_stream};
use crate::work::host_call::HostFunction;
use std::ffi::{c_int, c_uint, c_void};

/// Context of a stream: the current one at its creation, or the present one for a default stream.
fn context_of(stream: StreamHandle) -> Result<ContextHandle> {
    if is_default(stream) {
        return context::current().ok_or(Error::DeviceUninitialized);
    }
    let device = of_stream(session(), stream)?.ordinal;
    Ok(ownership::context_of(shared(), Object::Stream(stream)).unwrap_or(context::primary(device)))
}

api! { Driver;
    /// A stream; flag 1 makes it independent of the legacy default stream.
    fn cuStreamCreate(stream: Out<StreamHandle>, flags: c_uint) { simulator()?.create_stream(stream, flags, 0) }

    /// A stream with a priority.
    fn cuStreamCreateWithPriority(stream: Out<StreamHandle>, flags: c_uint, priority: c_int) {
        simulator()?.create_stream(stream, flags, priority)
    }

    /// Destroys a stream; its pending work completes.
    fn cuStreamDestroy(stream: StreamHandle) { simulator()?.destroy_stream(stream) }

    /// Waits for a stream's work.
    fn cuStreamSynchronize, cuStreamSynchronize_ptsz [default] (stream: StreamHandle) {
        simulator()?.synchronize_stream(stream, default)
    }

    /// Tells if a stream's work is done.
    fn cuStreamQuery, cuStreamQuery_ptsz [default] (stream: StreamHandle) {
        simulator()?.query_stream(stream, default)
    }

    /// Makes later work of the stream wait for an event.
    fn cuStreamWaitEvent, cuStreamWaitEvent_ptsz [default] (stream: StreamHandle, event: EventHandle, flags: c_uint) {
        simulator()?.wait_event(stream, default, event, flags)
    }

    /// Creation flags of a stream.
    fn cuStreamGetFlags, cuStreamGetFlags_ptsz [default] (stream: StreamHandle, flags: Out<c_uint>) {
        flags.set(simulator()?.stream_flags(stream, default)?)
    }

    /// Priority of a stream.
    fn cuStreamGetPriority, cuStreamGetPriority_ptsz [default] (stream: StreamHandle, priority: Out<c_int>) {
        priority.set(simulator()?.stream_priority(stream, default)?)
    }

    /// A process-wide unique number of a stream.
    fn cuStreamGetId, cuStreamGetId_ptsz [default] (stream: StreamHandle, id: Out<u64>) {
        id.set(simulator()?.stream_number(stream, default)?)
    }

    /// Context of a stream.
    fn cuStreamGetCtx, cuStreamGetCtx_ptsz [default] (stream: StreamHandle, result: Out<ContextHandle>) {
        simulator()?.check_stream(stream, default)?;
        result.set(context_of(stream)?)
    }

    /// Device of a stream.
    fn cuStreamGetDevice, cuStreamGetDevice_ptsz [default] (stream: StreamHandle, device: Out<c_int>) {
        simulator()?.check_stream(stream, default)?;
        device.set(of_stream(session(), stream)?.ordinal as c_int)
    }

    /// Ties managed memory to a stream.
    fn cuStreamAttachMemAsync, cuStreamAttachMemAsync_ptsz [default] (
        stream: StreamHandle, address: Address, _length: usize, _flags: c_uint,
    ) {
        simulator()?.attach_memory(stream, default, address.0 as u64)
    }

    /// Calls a function of the program in stream order.
    fn cuLaunchHostFunc, cuLaunchHostFunc_ptsz [default] (
        stream: StreamHandle, function: HostFunction, userData: *mut c_void,
    ) {
        simulator()?.launch_host_function(stream, default, function, userData)
    }

    /// Calls a function of the program with the stream's status, also after a failure.
    fn cuStreamAddCallback, cuStreamAddCallback_ptsz [default] (
        stream: StreamHandle, callback: StreamCallback, userData: *mut c_void, flags: c_uint,
    ) {
        simulator()?.add_callback(stream, default, callback, userData, flags)
    }

    /// Context of a stream; no stream belongs to a green context.
    fn cuStreamGetCtx_v2, cuStreamGetCtx_v2_ptsz [default] (
        stream: StreamHandle, result: Out<ContextHandle>, green: Out<usize>,
    ) {
        result.check()?;
        simulator()?.check_stream(stream, default)?;
        green.set_if_wanted(0);
        result.set(context_of(stream)?)
    }

    /// Green context of a stream: none.
    fn cuStreamGetGreenCtx(stream: StreamHandle, green: Out<usize>) {
        if !is_default(stream) {
            simulator()?.check_stream(stream, DefaultStream::Legacy)?;
        }
        green.set(0)
    }
}
