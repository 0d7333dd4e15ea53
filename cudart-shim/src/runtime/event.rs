//! Events.

use crate::abi::{EventHandle, Out, StreamHandle};
use crate::context::runtime_context;
use crate::entry::api;
use crate::error::{Error, Result};
use std::ffi::c_uint;
use stream_engine::EventFlags;

/// `cudaEventBlockingSync`.
const BLOCKING_SYNC: u32 = 1;
/// `cudaEventDisableTiming`.
const DISABLE_TIMING: u32 = 2;
/// `cudaEventInterprocess`, which needs `DISABLE_TIMING`.
const INTERPROCESS: u32 = 4;

/// The engine's form of an event's flags.
pub(crate) fn event_flags(flags: u32) -> Result<EventFlags> {
    let unknown = flags & !(BLOCKING_SYNC | DISABLE_TIMING | INTERPROCESS) != 0;
    if unknown || flags & (INTERPROCESS | DISABLE_TIMING) == INTERPROCESS {
        return Err(Error::InvalidValue);
    }
    if flags & INTERPROCESS != 0 {
        return Err(Error::NotSupported);
    }
    Ok(EventFlags { disable_timing: flags & DISABLE_TIMING != 0, blocking_sync: flags & BLOCKING_SYNC != 0 })
}

fn create(event: Out<EventHandle>, flags: c_uint) -> Result<()> {
    event.check()?;
    let flags = event_flags(flags)?;
    event.set(EventHandle::of(runtime_context()?.engine.create_event(flags)?))
}

fn elapsed(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) -> Result<()> {
    milliseconds.check()?;
    milliseconds.set(runtime_context()?.engine.elapsed_milliseconds(start.id()?, end.id()?)?)
}

api! { Runtime;
    /// An event with timestamps.
    fn cudaEventCreate(event: Out<EventHandle>) { create(event, 0) }

    /// An event.
    fn cudaEventCreateWithFlags(event: Out<EventHandle>, flags: c_uint) { create(event, flags) }

    /// Destroys an event; waits on it keep their effect.
    fn cudaEventDestroy(event: EventHandle) {
        runtime_context()?.engine.destroy_event(event.id()?)?;
        Ok(())
    }

    /// Makes the stream's present position the event's.
    fn cudaEventRecord, cudaEventRecord_ptsz [default] (event: EventHandle, stream: StreamHandle) {
        let simulator = runtime_context()?;
        simulator.engine.record_event(event.id()?, simulator.stream(stream, default)?)?;
        Ok(())
    }

    /// Makes the stream's present position the event's; flag 1 only matters in graphs.
    fn cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz [default] (
        event: EventHandle, stream: StreamHandle, flags: c_uint,
    ) {
        let simulator = runtime_context()?;
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        simulator.engine.record_event(event.id()?, simulator.stream(stream, default)?)?;
        Ok(())
    }

    /// Whether the device has reached the event.
    fn cudaEventQuery(event: EventHandle) {
        if runtime_context()?.engine.is_event_complete(event.id()?)? { Ok(()) } else { Err(Error::NotReady) }
    }

    /// Waits until the device has reached the event.
    fn cudaEventSynchronize(event: EventHandle) {
        let simulator = runtime_context()?;
        let result = simulator.engine.synchronize_event(event.id()?);
        simulator.pass_on_printed_text();
        Ok(result?)
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        elapsed(milliseconds, start, end)
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        elapsed(milliseconds, start, end)
    }
}
