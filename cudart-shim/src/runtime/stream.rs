//! Streams and host functions.

use crate::abi::{Address, DefaultStream, EventHandle, Out, StreamHandle};
use crate::context::runtime_context;
use crate::entry::api;
use crate::error::{Error, Result};
use crate::simulator::DeviceFault;
use std::ffi::{c_int, c_uint, c_void};
use stream_engine::{Scope, StreamKind, Submission};

/// The most urgent priority of compute capability 7.0 (0 is the least).
pub(crate) const GREATEST_PRIORITY: c_int = -5;

/// `cudaStreamNonBlocking`.
pub(crate) const NON_BLOCKING: u32 = 1;

/// `cudaHostFn_t`.
pub(crate) type HostFunction = Option<unsafe extern "C" fn(*mut c_void)>;
/// `cudaStreamCallback_t`.
pub(crate) type StreamCallback = Option<unsafe extern "C" fn(StreamHandle, c_int, *mut c_void)>;

/// A function of the program with its argument.
pub(crate) struct HostCall {
    pub(crate) function: unsafe extern "C" fn(*mut c_void),
    pub(crate) argument: *mut c_void,
}

// SAFETY: the program hands the argument over to be used on the thread that calls the function.
unsafe impl Send for HostCall {}

impl HostCall {
    /// Calls it.
    pub(crate) fn call(self) {
        // SAFETY: the program promises a function that takes this argument.
        unsafe { (self.function)(self.argument) };
    }
}

struct CallbackCall {
    function: unsafe extern "C" fn(StreamHandle, c_int, *mut c_void),
    stream: StreamHandle,
    argument: *mut c_void,
}

// SAFETY: as for `HostCall`.
unsafe impl Send for CallbackCall {}

impl CallbackCall {
    fn call(self, fault: Option<&DeviceFault>) {
        let status = fault.map_or(0, |fault| fault.error.code());
        // SAFETY: the program promises a function that takes these arguments.
        unsafe { (self.function)(self.stream, status, self.argument) };
    }
}

fn create(result: Out<StreamHandle>, flags: c_uint, priority: c_int) -> Result<()> {
    result.check()?;
    let kind = match flags {
        0 => StreamKind::Blocking,
        NON_BLOCKING => StreamKind::NonBlocking,
        _ => return Err(Error::InvalidValue),
    };
    let stream = runtime_context()?.engine.create_stream(kind, priority.clamp(GREATEST_PRIORITY, 0))?;
    result.set(StreamHandle::of(stream))
}

api! { Runtime;
    /// A stream ordered against the legacy default stream.
    fn cudaStreamCreate(stream: Out<StreamHandle>) { create(stream, 0, 0) }

    /// A stream; flag 1 makes it independent of the legacy default stream.
    fn cudaStreamCreateWithFlags(stream: Out<StreamHandle>, flags: c_uint) { create(stream, flags, 0) }

    /// A stream with a priority, which is clamped to the device's range.
    fn cudaStreamCreateWithPriority(stream: Out<StreamHandle>, flags: c_uint, priority: c_int) {
        create(stream, flags, priority)
    }

    /// Destroys a stream; its pending work completes.
    fn cudaStreamDestroy(stream: StreamHandle) {
        let simulator = runtime_context()?;
        if stream.is_default() {
            return Err(Error::InvalidResourceHandle);
        }
        simulator.engine.destroy_stream(simulator.stream(stream, DefaultStream::Legacy)?)?;
        Ok(())
    }

    /// Waits for a stream's work.
    fn cudaStreamSynchronize, cudaStreamSynchronize_ptsz [default] (stream: StreamHandle) {
        let simulator = runtime_context()?;
        simulator.synchronize(Scope::Stream(simulator.stream(stream, default)?))
    }

    /// Whether a stream's work is done.
    fn cudaStreamQuery, cudaStreamQuery_ptsz [default] (stream: StreamHandle) {
        let simulator = runtime_context()?;
        let stream = simulator.stream(stream, default)?;
        if simulator.engine.is_complete(Scope::Stream(stream))? { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Lets later work of the stream wait for an event.
    fn cudaStreamWaitEvent, cudaStreamWaitEvent_ptsz [default] (stream: StreamHandle, event: EventHandle, flags: c_uint) {
        let simulator = runtime_context()?;
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        simulator.engine.wait_event(simulator.stream(stream, default)?, event.id()?)?;
        Ok(())
    }

    /// Flags a stream was created with.
    fn cudaStreamGetFlags, cudaStreamGetFlags_ptsz [default] (stream: StreamHandle, flags: Out<c_uint>) {
        let simulator = runtime_context()?;
        let kind = simulator.engine.stream_info(simulator.stream(stream, default)?)?.kind;
        flags.set(if kind == StreamKind::NonBlocking { NON_BLOCKING } else { 0 })
    }

    /// Priority of a stream.
    fn cudaStreamGetPriority, cudaStreamGetPriority_ptsz [default] (stream: StreamHandle, priority: Out<c_int>) {
        let simulator = runtime_context()?;
        priority.set(simulator.engine.stream_info(simulator.stream(stream, default)?)?.priority)
    }

    /// A number no other stream of the process has.
    fn cudaStreamGetId, cudaStreamGetId_ptsz [default] (stream: StreamHandle, id: Out<u64>) {
        let simulator = runtime_context()?;
        let stream = simulator.stream(stream, default)?;
        simulator.engine.stream_info(stream)?;
        id.set(stream.to_raw() + 1)
    }

    /// Device of a stream.
    fn cudaStreamGetDevice, cudaStreamGetDevice_ptsz [default] (stream: StreamHandle, device: Out<c_int>) {
        let simulator = runtime_context()?;
        simulator.engine.stream_info(simulator.stream(stream, default)?)?;
        device.set(0)
    }

    /// Whether a stream records a graph.
    fn cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz [default] (stream: StreamHandle, status: Out<c_int>) {
        let simulator = runtime_context()?;
        simulator.engine.stream_info(simulator.stream(stream, default)?)?;
        status.set(0)
    }

    /// Ties managed memory to a stream; host and device share memory, so nothing moves.
    fn cudaStreamAttachMemAsync, cudaStreamAttachMemAsync_ptsz [default] (
        stream: StreamHandle, devPtr: Address, _length: usize, _flags: c_uint,
    ) {
        let simulator = runtime_context()?;
        simulator.engine.stream_info(simulator.stream(stream, default)?)?;
        simulator.device.memory.allocation_of(devPtr.0 as u64).ok_or(Error::InvalidValue)?;
        Ok(())
    }

    /// Calls a function of the program in stream order.
    fn cudaLaunchHostFunc, cudaLaunchHostFunc_ptsz [default] (
        stream: StreamHandle, function: HostFunction, userData: *mut c_void,
    ) {
        let simulator = runtime_context()?;
        let call = HostCall { function: function.ok_or(Error::InvalidValue)?, argument: userData };
        simulator.engine.submit(simulator.stream(stream, default)?, Submission::host_function(move || call.call()))?;
        Ok(())
    }

    /// Calls a function of the program with the stream's status, also after a failure.
    fn cudaStreamAddCallback, cudaStreamAddCallback_ptsz [default] (
        stream: StreamHandle, callback: StreamCallback, userData: *mut c_void, flags: c_uint,
    ) {
        let simulator = runtime_context()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let call = CallbackCall { function: callback.ok_or(Error::InvalidValue)?, stream, argument: userData };
        let stream = simulator.stream(stream, default)?;
        simulator.engine.submit(stream, Submission::callback(move |fault| call.call(fault)))?;
        Ok(())
    }
}
