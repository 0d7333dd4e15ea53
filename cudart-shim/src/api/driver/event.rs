//! Events.

use crate::abi::{EventHandle, Out, StreamHandle};
use crate::api::entry::api;
use crate::root::simulator;
use std::ffi::c_uint;

api! { Driver;
    /// An event.
    fn cuEventCreate(event: Out<EventHandle>, flags: c_uint) { simulator()?.create_event(event, flags) }

    /// Destroys an event; submitted waits on it keep their effect.
    fn cuEventDestroy(event: EventHandle) { simulator()?.destroy_event(event) }

    /// Records the event at the stream's present position.
    fn cuEventRecord, cuEventRecord_ptsz [default] (event: EventHandle, stream: StreamHandle) {
        simulator()?.record_event(event, stream, default, 0)
    }

    /// Records the event at the stream's present position.
    fn cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz [default] (
        event: EventHandle, stream: StreamHandle, flags: c_uint,
    ) {
        simulator()?.record_event(event, stream, default, flags)
    }

    /// Tells if the device has reached the event.
    fn cuEventQuery(event: EventHandle) { simulator()?.query_event(event) }

    /// Waits until the device has reached the event.
    fn cuEventSynchronize(event: EventHandle) { simulator()?.synchronize_event(event) }

    /// Milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        simulator()?.elapsed(milliseconds, start, end)
    }
}
