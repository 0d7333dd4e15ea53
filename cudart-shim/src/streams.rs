//! Handles of streams and events, and where the default stream is.

use crate::abi::{DefaultStream, EventHandle, StreamHandle};
use crate::error::{Error, Result};
use crate::simulator::Simulator;
use stream_engine::{EventId, StreamId};

/// `cudaStreamLegacy`.
const LEGACY: usize = 1;
/// `cudaStreamPerThread`.
const PER_THREAD: usize = 2;

/// Handles look like addresses but lie where no process has memory; the parts below tell streams from events.
const STREAMS: usize = 0x5100_0000_0000_0000;
const EVENTS: usize = 0x5200_0000_0000_0000;
const KIND: usize = 0xffff_0000_0000_0000;
const STEP: u32 = 4;

fn encode(kind: usize, raw: u64) -> usize {
    kind | ((raw as usize) << STEP)
}

fn decode(kind: usize, handle: usize) -> Result<u64> {
    let number = handle & !KIND;
    if handle & KIND == kind && number.trailing_zeros() >= STEP {
        Ok((number >> STEP) as u64)
    } else {
        Err(Error::InvalidResourceHandle)
    }
}

impl StreamHandle {
    /// The handle of a created stream.
    pub(crate) fn of(stream: StreamId) -> Self {
        Self(encode(STREAMS, stream.to_raw()))
    }

    /// Whether it names a default stream, which cannot be destroyed.
    pub(crate) fn is_default(self) -> bool {
        matches!(self.0, 0 | LEGACY | PER_THREAD)
    }
}

impl EventHandle {
    /// The handle of an event.
    pub(crate) fn of(event: EventId) -> Self {
        Self(encode(EVENTS, event.to_raw()))
    }

    /// The event; whether it exists the engine says.
    pub(crate) fn id(self) -> Result<EventId> {
        decode(EVENTS, self.0).map(EventId::from_raw)
    }
}

impl Simulator {
    /// The stream a handle means.
    pub(crate) fn stream(&self, handle: StreamHandle, default: DefaultStream) -> Result<StreamId> {
        match (handle.0, default) {
            (LEGACY, _) | (0, DefaultStream::Legacy) => Ok(StreamId::LEGACY),
            (PER_THREAD, _) | (0, DefaultStream::PerThread) => Ok(self.engine.per_thread_stream()?),
            (handle, _) => decode(STREAMS, handle).map(StreamId::from_raw),
        }
    }

    /// The default stream.
    pub(crate) fn default_stream(&self, default: DefaultStream) -> Result<StreamId> {
        self.stream(StreamHandle(0), default)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_event_is_no_stream() {
        let event = EventHandle::of(EventId::from_raw(7));
        assert_eq!(decode(EVENTS, event.0), Ok(7));
        assert_eq!(decode(STREAMS, event.0), Err(Error::InvalidResourceHandle));
    }

    #[test]
    fn an_arbitrary_number_is_no_handle() {
        for number in [3, 0xdead_beef, usize::MAX, STREAMS | 1] {
            assert_eq!(decode(STREAMS, number), Err(Error::InvalidResourceHandle));
        }
    }
}
