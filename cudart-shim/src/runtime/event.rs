//! Events.

use crate::abi::{EventHandle, Out, StreamHandle};
use crate::context::runtime_context;
use crate::entry::api;
use std::ffi::c_uint;

api! { Runtime;
    /// An event with timestamps.
    fn cudaEventCreate(event: Out<EventHandle>) { runtime_context()?.create_event(event, 0) }

    /// An event.
    fn cudaEventCreateWithFlags(event: Out<EventHandle>, flags: c_uint) {
        runtime_context()?.create_event(event, flags)
    }

    /// Destroys an event; waits on it keep their effect.
    fn cudaEventDestroy(event: EventHandle) { runtime_context()?.destroy_event(event) }

    /// Makes the stream's present position the event's.
    fn cudaEventRecord, cudaEventRecord_ptsz [default] (event: EventHandle, stream: StreamHandle) {
        runtime_context()?.record_event(event, stream, default, 0)
    }

    /// Makes the stream's present position the event's.
    fn cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz [default] (
        event: EventHandle, stream: StreamHandle, flags: c_uint,
    ) {
        runtime_context()?.record_event(event, stream, default, flags)
    }

    /// Whether the device has reached the event.
    fn cudaEventQuery(event: EventHandle) { runtime_context()?.query_event(event) }

    /// Waits until the device has reached the event.
    fn cudaEventSynchronize(event: EventHandle) { runtime_context()?.synchronize_event(event) }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        runtime_context()?.elapsed(milliseconds, start, end)
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        runtime_context()?.elapsed(milliseconds, start, end)
    }
}
