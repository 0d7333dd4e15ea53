//! Default streams of host threads.

use std::cell::RefCell;
use std::sync::{Arc, Weak};

use crate::engine::Shared;
use crate::error::Error;
use crate::handles::{StreamId, StreamKind};
use crate::work::Fault;

thread_local! {
    /// Streams of this thread, one per engine used.
    static STREAMS: RefCell<Vec<PerThreadStream>> = const { RefCell::new(Vec::new()) };
}

/// A stream that is destroyed with the thread.
struct PerThreadStream {
    engine: Weak<dyn Owner>,
    stream: StreamId,
}

trait Owner: Send + Sync {
    fn destroy(&self, stream: StreamId);
}

impl<F: Fault> Owner for Shared<F> {
    fn destroy(&self, stream: StreamId) {
        if let Ok(mut inner) = self.lock() {
            // After a reset the stream no longer exists.
            let _ = inner.state.destroy_stream(stream);
        }
    }
}

impl Drop for PerThreadStream {
    fn drop(&mut self) {
        if let Some(engine) = self.engine.upgrade() {
            engine.destroy(self.stream);
        }
    }
}

/// Default stream of the calling thread in `engine`. A thread past its thread-local destructors
/// gets the legacy default stream, which only adds order.
pub(crate) fn stream<F: Fault>(engine: &Arc<Shared<F>>) -> Result<StreamId, Error<F>> {
    STREAMS
        .try_with(|streams| find_or_create(engine, &mut streams.borrow_mut()))
        .unwrap_or(Ok(StreamId::LEGACY))
}

fn find_or_create<F: Fault>(
    engine: &Arc<Shared<F>>,
    streams: &mut Vec<PerThreadStream>,
) -> Result<StreamId, Error<F>> {
    let mut inner = engine.lock()?;
    let address = Arc::as_ptr(engine).cast::<()>();
    let own = streams.iter_mut().find(|entry| entry.engine.as_ptr().cast::<()>() == address);
    if let Some(entry) = &own
        && inner.state.stream_info(entry.stream).is_ok()
    {
        return Ok(entry.stream);
    }
    let stream = inner.state.create_stream(StreamKind::PerThread, 0);
    match own {
        Some(entry) => entry.stream = stream,
        None => {
            let engine: Weak<Shared<F>> = Arc::downgrade(engine);
            streams.push(PerThreadStream { engine, stream });
        }
    }
    Ok(stream)
}
