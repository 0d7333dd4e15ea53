//! Streams and events by handle, for both APIs.

use crate::abi::error::{Error, Result};
use crate::abi::handle::is_default;
use crate::abi::{DefaultStream, EventHandle, Out, StreamHandle};
use crate::objects::fault::DeviceFault;
use crate::objects::ownership::{self, Object};
use crate::objects::stream_handles::{EVENTS, STREAMS, decode, event_handle, stream_handle};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::work::host_call::{HostCall, HostFunction};
use crate::work::operation::Operation;
use std::ffi::{c_int, c_void};
use stream_engine::{EventFlags, EventId, Scope, StreamId, StreamInfo, StreamKind, Submission};

/// The device in a handle, if it exists.
fn device_of_handle(session: &'static Session, device: usize) -> Result<&'static Simulator> {
    session.simulator_of(device).map_err(|error| match error {
        Error::InvalidDevice => Error::InvalidResourceHandle,
        other => other,
    })
}

/// The device of a stream. Default streams belong to the thread's device.
pub(crate) fn of_stream(session: &'static Session, handle: StreamHandle) -> Result<&'static Simulator> {
    match handle.0 {
        _ if is_default(handle) => session.simulator(),
        handle => device_of_handle(session, decode(STREAMS, handle)?.0),
    }
}

/// The device and number of an event. The engine checks that the event exists.
pub(crate) fn of_event(
    session: &'static Session,
    handle: EventHandle,
) -> Result<(&'static Simulator, EventId)> {
    let (device, raw) = decode(EVENTS, handle.0)?;
    Ok((device_of_handle(session, device)?, EventId::from_raw(raw)))
}

/// Highest priority of compute capability 7.0; the lowest is 0.
pub(crate) const GREATEST_PRIORITY: c_int = -5;

/// `cudaStreamNonBlocking`, `CU_STREAM_NON_BLOCKING`.
const NON_BLOCKING: u32 = 1;

/// `cudaStreamCallback_t`, `CUstreamCallback`.
pub(crate) type StreamCallback = Option<unsafe extern "C" fn(StreamHandle, c_int, *mut c_void)>;

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
        // SAFETY: by the API's contract the function takes these arguments.
        unsafe { (self.function)(self.stream, status, self.argument) };
    }
}

impl Simulator {
    /// The stream with a handle, and its creation parameters.
    fn stream_with_info(
        &self,
        handle: StreamHandle,
        default: DefaultStream,
    ) -> Result<(StreamId, StreamInfo)> {
        let owner = of_stream(self.session, handle)?;
        let stream = owner.stream(handle, default)?;
        Ok((stream, owner.engine.stream_info(stream)?))
    }

    /// Rejects a handle that names no stream.
    pub(crate) fn check_stream(&self, handle: StreamHandle, default: DefaultStream) -> Result<()> {
        self.stream_with_info(handle, default).map(|_| ())
    }

    /// Creates a stream. The priority is clamped to the device's range.
    pub(crate) fn create_stream(&self, result: Out<StreamHandle>, flags: u32, priority: c_int) -> Result<()> {
        result.check()?;
        let kind = match flags {
            0 => StreamKind::Blocking,
            NON_BLOCKING => StreamKind::NonBlocking,
            _ => return Err(Error::InvalidValue),
        };
        let stream = self.engine.create_stream(kind, priority.clamp(GREATEST_PRIORITY, 0))?;
        let handle = stream_handle(self.ordinal, stream);
        ownership::adopt(self.shared, Object::Stream(handle));
        result.set(handle)
    }

    /// Destroys a created stream. Pending work completes.
    pub(crate) fn destroy_stream(&self, handle: StreamHandle) -> Result<()> {
        if is_default(handle) {
            return Err(Error::InvalidResourceHandle);
        }
        let owner = of_stream(self.session, handle)?;
        let stream = owner.stream(handle, DefaultStream::Legacy)?;
        owner.engine.destroy_stream(stream)?;
        ownership::disown(self.shared, Object::Stream(handle));
        owner.forget_stream_attributes(stream);
        owner.end_capture_of_destroyed(stream);
        Ok(())
    }

    /// Waits for a stream's work.
    pub(crate) fn synchronize_stream(&self, handle: StreamHandle, default: DefaultStream) -> Result<()> {
        let owner = of_stream(self.session, handle)?;
        let stream = owner.stream(handle, default)?;
        owner.forbid_capture(stream)?;
        owner.synchronize(Scope::Stream(stream))
    }

    /// Returns "not ready" while the stream has work.
    pub(crate) fn query_stream(&self, handle: StreamHandle, default: DefaultStream) -> Result<()> {
        let owner = of_stream(self.session, handle)?;
        let stream = owner.stream(handle, default)?;
        owner.forbid_capture(stream)?;
        if !owner.engine.is_complete(Scope::Stream(stream))? {
            owner.engine.step()?;
        }
        if owner.engine.is_complete(Scope::Stream(stream))? { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Creation flags of a stream.
    pub(crate) fn stream_flags(&self, handle: StreamHandle, default: DefaultStream) -> Result<u32> {
        let (_, info) = self.stream_with_info(handle, default)?;
        Ok(if info.kind == StreamKind::NonBlocking { NON_BLOCKING } else { 0 })
    }

    pub(crate) fn stream_priority(&self, handle: StreamHandle, default: DefaultStream) -> Result<c_int> {
        Ok(self.stream_with_info(handle, default)?.1.priority)
    }

    /// Unique number of a stream in the process.
    pub(crate) fn stream_number(&self, handle: StreamHandle, default: DefaultStream) -> Result<u64> {
        Ok(self.stream_with_info(handle, default)?.0.to_raw() + 1)
    }

    /// Makes later work of the stream wait for an event. Flag 1 adds the wait as a graph node
    /// during capture.
    pub(crate) fn wait_event(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        event: EventHandle,
        flags: u32,
    ) -> Result<()> {
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        let waiting = of_stream(self.session, stream)?;
        let id = waiting.stream(stream, default)?;
        if waiting.wait_captured(id, event, flags == 1)? || self.wait_shared_event(stream, default, event)? {
            return Ok(());
        }
        let (owner, event) = of_event(self.session, event)?;
        if owner.ordinal == waiting.ordinal {
            return Ok(waiting.engine.wait_event(id, event)?);
        }
        waiting.engine.stream_info(id)?;
        if let Some(record) = owner.engine.pending_record(event)? {
            // A shut-down device has no pending work.
            let is_over = move || !owner.engine.is_pending(record).unwrap_or(false);
            waiting.engine.submit_condition(id, is_over)?;
        }
        Ok(())
    }

    /// Calls a host function in stream order.
    pub(crate) fn launch_host_function(
        &'static self,
        stream: StreamHandle,
        default: DefaultStream,
        function: HostFunction,
        argument: *mut c_void,
    ) -> Result<()> {
        let call = HostCall::new(function, argument)?;
        let owner = of_stream(self.session, stream)?;
        owner.enqueue(owner.stream(stream, default)?, Operation::Host(call))
    }

    /// Calls a host function with the stream's status, even after a failure.
    pub(crate) fn add_callback(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        callback: StreamCallback,
        argument: *mut c_void,
        flags: u32,
    ) -> Result<()> {
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        let call = CallbackCall { function: callback.ok_or(Error::InvalidValue)?, stream, argument };
        let owner = of_stream(self.session, stream)?;
        let stream = owner.stream(stream, default)?;
        owner.forbid_capture(stream)?;
        owner.engine.submit(stream, Submission::callback(move |fault| call.call(fault)))?;
        Ok(())
    }

    /// Attaches managed memory to a stream. No data moves, because host and device share memory.
    pub(crate) fn attach_memory(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        address: u64,
    ) -> Result<()> {
        let (id, _) = self.stream_with_info(stream, default)?;
        of_stream(self.session, stream)?.forbid_capture(id)?;
        self.session.owner_of(address).ok_or(Error::InvalidValue)?;
        Ok(())
    }
}

/// `cudaEventBlockingSync`.
const BLOCKING_SYNC: u32 = 1;
/// `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;
/// `cudaEventInterprocess`, which needs `DISABLE_TIMING`.
const INTERPROCESS: u32 = 4;

impl Simulator {
    /// Creates an event.
    pub(crate) fn create_event(&self, result: Out<EventHandle>, flags: u32) -> Result<()> {
        result.check()?;
        let unknown = flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0;
        if unknown || flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS {
            return Err(Error::InvalidValue);
        }
        let event = self.new_event(flags & DISABLE_TIMING != 0, flags & BLOCKING_SYNC != 0)?;
        if flags & INTERPROCESS != 0 {
            self.share_event(event)?;
        }
        ownership::adopt(self.shared, Object::Event(event));
        result.set(event)
    }

    /// Creates an event in the engine.
    pub(crate) fn new_event(&self, disable_timing: bool, blocking_sync: bool) -> Result<EventHandle> {
        let event = self.engine.create_event(EventFlags { disable_timing, blocking_sync })?;
        Ok(event_handle(self.ordinal, event))
    }

    /// Destroys an event. Pending waits for it still complete.
    pub(crate) fn destroy_event(&self, event: EventHandle) -> Result<()> {
        let (owner, id) = of_event(self.session, event)?;
        owner.engine.destroy_event(id)?;
        ownership::disown(self.shared, Object::Event(event));
        self.forget_shared_event(event);
        owner.forget_captured_event(id);
        Ok(())
    }

    /// Records an event in a stream. Flag 1 adds the record as a graph node during capture.
    pub(crate) fn record_event(
        &self,
        event: EventHandle,
        stream: StreamHandle,
        default: DefaultStream,
        flags: u32,
    ) -> Result<()> {
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        let owner = of_stream(self.session, stream)?;
        let id = owner.stream(stream, default)?;
        if owner.record_captured(event, id, flags == 1)?
            || self.record_shared_event(event, stream, default)?
        {
            return Ok(());
        }
        Ok(owner.engine.record_event(owner.event(event)?, id)?)
    }

    /// Returns "not ready" until the event completes.
    pub(crate) fn query_event(&self, event: EventHandle) -> Result<()> {
        let (owner, id) = of_event(self.session, event)?;
        owner.check_event_call(id)?;
        let is_complete = match self.query_shared_event(event) {
            Some(is_complete) => is_complete,
            None => {
                if !owner.engine.is_event_complete(id)? {
                    owner.engine.step()?;
                }
                owner.engine.is_event_complete(id)?
            }
        };
        if is_complete { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Waits until the event completes.
    pub(crate) fn synchronize_event(&self, event: EventHandle) -> Result<()> {
        let (owner, id) = of_event(self.session, event)?;
        owner.check_event_call(id)?;
        let is_shared = self.synchronize_shared_event(event)?;
        let result = if is_shared { Ok(()) } else { owner.engine.synchronize_event(id) };
        self.pass_on_printed_text();
        Ok(result?)
    }

    /// Milliseconds between two events.
    pub(crate) fn elapsed(&self, milliseconds: Out<f32>, start: EventHandle, end: EventHandle) -> Result<()> {
        milliseconds.check()?;
        let ((owner, first), (of_end, second)) =
            (of_event(self.session, start)?, of_event(self.session, end)?);
        owner.check_event_call(first)?;
        of_end.check_event_call(second)?;
        milliseconds.set(owner.engine.elapsed_milliseconds(first, owner.event(end)?)?)
    }
}
