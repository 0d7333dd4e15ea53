//! Events.

use crate::abi::{EventHandle, Out, StreamHandle};
use crate::context::driver_context;
use crate::entry::api;
use std::ffi::c_uint;

api! { Driver;
    /// An event.
    fn cuEventCreate(event: Out<EventHandle>, flags: c_uint) { driver_context()?.create_event(event, flags) }

    /// Destroys an event; waits on it keep their effect.
    fn cuEventDestroy(event: EventHandle) { driver_context()?.destroy_event(event) }

    /// Makes the stream's present position the event's.
    fn cuEventRecord, cuEventRecord_ptsz [default] (event: EventHandle, stream: StreamHandle) {
        driver_context()?.record_event(event, stream, default, 0)
    }

    /// Makes the stream's present position the event's.
    fn cuEventRecordWithFlags, cuEventRecordWithFlags_ptsz [default] (
        event: EventHandle, stream: StreamHandle, flags: c_uint,
    ) {
        driver_context()?.record_event(event, stream, default, flags)
    }

    /// Whether the device has reached the event.
    fn cuEventQuery(event: EventHandle) { driver_context()?.query_event(event) }

    /// Waits until the device has reached the event.
    fn cuEventSynchronize(event: EventHandle) { driver_context()?.synchronize_event(event) }

    /// Milliseconds between two events.
    fn cuEventElapsedTime(milliseconds: Out<f32>, start: EventHandle, end: EventHandle) {
        driver_context()?.elapsed(milliseconds, start, end)
    }
}
