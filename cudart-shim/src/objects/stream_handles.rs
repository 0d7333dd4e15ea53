//! Handles of streams and events.

use crate::abi::error::{Error, Result};
use crate::abi::handle::{DEVICE_SHIFT, LEGACY, PER_THREAD};
use crate::abi::{DefaultStream, EventHandle, StreamHandle};
use crate::objects::device::DeviceObjects;
use stream_engine::{EventId, StreamId};

/// Handle values lie outside the address space of any process. The prefix distinguishes streams and
/// events.
pub(crate) const STREAMS: usize = 0x5100_0000_0000_0000;
pub(crate) const EVENTS: usize = 0x5200_0000_0000_0000;
const KIND: usize = 0xffff_0000_0000_0000;
const STEP: u32 = 4;

fn encode(kind: usize, device: usize, raw: u64) -> usize {
    kind | ((device << DEVICE_SHIFT | raw as usize) << STEP)
}

/// The device and number in a handle.
pub(crate) fn decode(kind: usize, handle: usize) -> Result<(usize, u64)> {
    let number = handle & !KIND;
    if handle & KIND == kind && number.trailing_zeros() >= STEP {
        let number = number >> STEP;
        Ok((number >> DEVICE_SHIFT, (number & ((1 << DEVICE_SHIFT) - 1)) as u64))
    } else {
        Err(Error::InvalidResourceHandle)
    }
}

/// Handle of a device's stream.
pub(crate) fn stream_handle(device: usize, stream: StreamId) -> StreamHandle {
    StreamHandle(encode(STREAMS, device, stream.to_raw()))
}

/// Handle of a device's event.
pub(crate) fn event_handle(device: usize, event: EventId) -> EventHandle {
    EventHandle(encode(EVENTS, device, event.to_raw()))
}

impl DeviceObjects {
    /// The stream with a handle.
    pub(crate) fn stream(&self, handle: StreamHandle, default: DefaultStream) -> Result<StreamId> {
        match (handle.0, default) {
            (LEGACY, _) | (0, DefaultStream::Legacy) => Ok(StreamId::LEGACY),
            (PER_THREAD, _) | (0, DefaultStream::PerThread) => Ok(self.engine.per_thread_stream()?),
            (handle, _) => match decode(STREAMS, handle)? {
                (device, raw) if device == self.ordinal => Ok(StreamId::from_raw(raw)),
                _ => Err(Error::InvalidResourceHandle),
            },
        }
    }

    /// An event of this device.
    pub(crate) fn event(&self, handle: EventHandle) -> Result<EventId> {
        match decode(EVENTS, handle.0)? {
            (device, raw) if device == self.ordinal => Ok(EventId::from_raw(raw)),
            _ => Err(Error::InvalidResourceHandle),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn event_handle_is_rejected_as_stream() {
        let event = encode(EVENTS, 3, 7);
        assert_eq!(decode(EVENTS, event), Ok((3, 7)));
        assert_eq!(decode(STREAMS, event), Err(Error::InvalidResourceHandle));
    }

    #[test]
    fn arbitrary_number_is_rejected_as_handle() {
        for number in [3, 0xdead_beef, usize::MAX, STREAMS | 1] {
            assert_eq!(decode(STREAMS, number), Err(Error::InvalidResourceHandle));
        }
    }
}
