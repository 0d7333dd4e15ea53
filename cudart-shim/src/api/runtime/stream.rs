//! Streams and host functions.

use crate::abi::{Address, EventHandle, Out, StreamHandle};
use crate::api::entry::api;
use crate::root::{session, simulator};
use crate::session::streams::{StreamCallback, of_stream};
use crate::work::host_call::HostFunction;
use std::ffi::{c_int, c_uint, c_void};

api! { Runtime;
    /// A stream ordered against the legacy default stream.
    fn cudaStreamCreate(stream: Out<StreamHandle>) { simulator()?.create_stream(stream, 0, 0) }

    /// A stream; flag 1 makes it independent of the legacy default stream.
    fn cudaStreamCreateWithFlags(stream: Out<StreamHandle>, flags: c_uint) {
        simulator()?.create_stream(stream, flags, 0)
    }

    /// A stream with a priority.
    fn cudaStreamCreateWithPriority(stream: Out<StreamHandle>, flags: c_uint, priority: c_int) {
        simulator()?.create_stream(stream, flags, priority)
    }

    /// Destroys a stream; its pending work completes.
    fn cudaStreamDestroy(stream: StreamHandle) { simulator()?.destroy_stream(stream) }

    /// Waits for a stream's work.
    fn cudaStreamSynchronize, cudaStreamSynchronize_ptsz [default] (stream: StreamHandle) {
        simulator()?.synchronize_stream(stream, default)
    }

    /// Tells if a stream's work is done.
    fn cudaStreamQuery, cudaStreamQuery_ptsz [default] (stream: StreamHandle) {
        simulator()?.query_stream(stream, default)
    }

    /// Makes later work of the stream wait for an event.
    fn cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz [default] (
        stream: StreamHandle, event: EventHandle, flags: c_uint,
    ) {
        simulator()?.wait_event(stream, default, event, flags)
    }

    /// Creation flags of a stream.
    fn cudaStreamGetFlags, cudaStreamGetFlags_ptsz [default] (stream: StreamHandle, flags: Out<c_uint>) {
        flags.set(simulator()?.stream_flags(stream, default)?)
    }

    /// Priority of a stream.
    fn cudaStreamGetPriority, cudaStreamGetPriority_ptsz [default] (stream: StreamHandle, priority: Out<c_int>) {
        priority.set(simulator()?.stream_priority(stream, default)?)
    }

    /// A process-wide unique number of a stream.
    fn cudaStreamGetId, cudaStreamGetId_ptsz [default] (stream: StreamHandle, id: Out<u64>) {
        id.set(simulator()?.stream_number(stream, default)?)
    }

    /// Device of a stream.
    fn cudaStreamGetDevice, cudaStreamGetDevice_ptsz [default] (stream: StreamHandle, device: Out<c_int>) {
        simulator()?.check_stream(stream, default)?;
        device.set(of_stream(session(), stream)?.ordinal as c_int)
    }

    /// Ties managed memory to a stream.
    fn cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz [default] (
        stream: StreamHandle, devPtr: Address, _length: usize, _flags: c_uint,
    ) {
        simulator()?.attach_memory(stream, default, devPtr.0 as u64)
    }

    /// Calls a function of the program in stream order.
    fn cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz [default] (
        stream: StreamHandle, function: HostFunction, userData: *mut c_void,
    ) {
        simulator()?.launch_host_function(stream, default, function, userData)
    }

    /// Calls a function of the program with the stream's status, also after a failure.
    fn cudaStreamAddCallback, cudaStreamAddCallback_ptsz [default] (
        stream: StreamHandle, callback: StreamCallback, userData: *mut c_void, flags: c_uint,
    ) {
        simulator()?.add_callback(stream, default, callback, userData, flags)
    }
}
