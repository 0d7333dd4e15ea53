//! Events.

use crate::abi::{EventHandle, Out, StreamHandle};
use crate::api::entry::api;
use crate::root::simulator;
use std::ffi::c_uint;

api! { Runtime;
    /// An event with timestamps.
    fn cudaEventCreate(event: Out<EventHandle>) { simulator()?.create_event(event, 0) }

    /// An event.
    fn cudaEventCreateWithFlags(event: Out<EventHandle>, flags: c_uint) {
        simulator()?.create_event(event, flags)
    }

    /// Destroys an event; submitted waits on it keep their effect.
    fn cudaEventDestroy(event: EventHandle) { simulator()?.destroy_event(event) }

    /// Records the event at the stream's present position.
    fn cudaEventRecord, cudaEventRecord_ptsz [default] (event: EventHandle, stream: StreamHandle) {
        simulator()?.record_event(event, stream, default, 0)
    }

    /// Records the event at the stream's present position.
    fn cudaEventRecordWithFlags, cudaEventRecordWithFlags_ptsz [default] (
        event: EventHandle, stream: StreamHandle, flags: c_uint,
    ) {
        simulator()?.record_event(event, stream, default, flags)
    }

    /// Tells if the device has reached the event.
    fn cudaEventQuery(event: EventHandle) { simulator()?.query_event(event) }

    /// Waits until the device has reached the event.
    fn cudaEventSynchronize(event: EventHandle) { simulator()?.synchronize_event(event) }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        simulator()?.elapsed(milliseconds, start, end)
    }

    /// Milliseconds between two events.
    fn cudaEventElapsedTime_v2(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        simulator()?.elapsed(milliseconds, start, end)
    }
}
