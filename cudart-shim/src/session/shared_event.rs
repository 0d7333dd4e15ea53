//! Events that are shared between processes. A shared event also has an engine event, but only for
//! its handle.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, EventHandle, Out, StreamHandle};
use crate::objects::fault::DeviceFault;
use crate::objects::interprocess::{EVENT_BYTES, Handle, Kind, SharedEvent};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use crate::session::streams::of_stream;
use functional::memory::Pages;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;
use stream_engine::{Context, Scope, Submission};

/// Polling interval of a host thread that waits for an event of another process.
const PAUSE: Duration = Duration::from_micros(50);

fn shared_event(session: &'static Session, event: EventHandle) -> Option<Arc<SharedEvent>> {
    session.process().shared_events.lock().get(&event).cloned()
}

impl Simulator {
    /// Turns a new event into an interprocess event.
    pub(crate) fn share_event(&self, event: EventHandle) -> Result<()> {
        let pages = Pages::anonymous(EVENT_BYTES).map_err(|_| Error::OperatingSystem)?;
        self.session.process().shared_events.lock().insert(event, Arc::new(SharedEvent::new(pages)?));
        Ok(())
    }

    /// Removes a destroyed event.
    pub(crate) fn forget_shared_event(&self, event: EventHandle) {
        self.session.process().shared_events.lock().remove(&event);
    }

    /// A handle for an interprocess event.
    pub(crate) fn event_handle(&self, event: EventHandle) -> Result<Handle> {
        self.engine.event_flags(self.event(event)?)?;
        let shared = shared_event(self.session, event).ok_or(Error::InvalidResourceHandle)?;
        Handle::new(Kind::Event, &shared.pages, 0, EVENT_BYTES, 0)
    }

    /// Opens an event of another process.
    pub(crate) fn open_event_handle(&self, result: Out<EventHandle>, handle: &Handle) -> Result<()> {
        result.check()?;
        handle.check(Kind::Event)?;
        let shared = Arc::new(SharedEvent::new(handle.open()?)?);
        let event = self.new_event(true, false)?;
        self.session.process().shared_events.lock().insert(event, shared);
        result.set(event)
    }

    /// Records a shared event. Returns false if the event is not shared.
    pub(crate) fn record_shared_event(
        &self,
        event: EventHandle,
        stream: StreamHandle,
        default: DefaultStream,
    ) -> Result<bool> {
        let Some(shared) = shared_event(self.session, event) else { return Ok(false) };
        let owner = of_stream(self.session, stream)?;
        let stream = owner.stream(stream, default)?;
        owner.engine.stream_info(stream)?;
        let record = shared.words()[0].fetch_add(1, Ordering::SeqCst) + 1;
        let work = move |_: &Context<DeviceFault>| {
            shared.reach(record);
            Ok(())
        };
        owner.engine.submit(stream, Submission::transfer(work))?;
        Ok(true)
    }

    /// Makes a stream wait for a shared event. Returns false if the event is not shared.
    pub(crate) fn wait_shared_event(
        &self,
        stream: StreamHandle,
        default: DefaultStream,
        event: EventHandle,
    ) -> Result<bool> {
        let Some(shared) = shared_event(self.session, event) else { return Ok(false) };
        let owner = of_stream(self.session, stream)?;
        let stream = owner.stream(stream, default)?;
        let record = shared.recorded();
        if !shared.has_reached(record) {
            owner.engine.submit_condition(stream, move || shared.has_reached(record))?;
        }
        Ok(true)
    }

    /// Tells whether a shared event has completed; `None` if the event is not shared.
    pub(crate) fn query_shared_event(&self, event: EventHandle) -> Option<bool> {
        shared_event(self.session, event).map(|shared| shared.has_reached(shared.recorded()))
    }

    /// Waits for a shared event. Returns false if the event is not shared.
    pub(crate) fn synchronize_shared_event(&self, event: EventHandle) -> Result<bool> {
        let Some(shared) = shared_event(self.session, event) else { return Ok(false) };
        let record = shared.recorded();
        while !shared.has_reached(record) {
            // A fault of this device ends the wait.
            self.engine.is_complete(Scope::Context)?;
            self.engine.step()?;
            std::thread::sleep(PAUSE);
        }
        Ok(true)
    }
}
