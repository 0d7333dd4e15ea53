//! Rules of stream capture (CUDA C++ programming guide, "Creating a Graph Using Stream Capture";
//! runtime API, `cudaStreamBeginCapture`, `cudaThreadExchangeStreamCaptureMode`), independent of
//! the simulator.
//!
//! A captured stream has a set of nodes on which its next node depends. An event recorded in the
//! stream holds that set; a stream that waits for the event joins the capture. A forbidden
//! operation is rejected and invalidates the captures that forbid it.

use super::handle::GraphHandle;
use super::topology::Edge;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::hash::Hash;
use thiserror::Error;

/// Reason of a rejection during capture.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Error)]
pub(crate) enum CaptureError {
    #[error("the operation is not permitted while the stream is captured")]
    Unsupported,
    #[error("an earlier error has invalidated the capture")]
    Invalidated,
    #[error("the operation would merge two captures")]
    Merge,
    #[error("the capture began in another stream")]
    Unmatched,
    #[error("captured work of another stream was not joined")]
    Unjoined,
    #[error("captured work would depend on uncaptured work")]
    Isolation,
    #[error("the legacy default stream would depend on captured work")]
    Implicit,
    #[error("the event was last recorded in a capture")]
    CapturedEvent,
    #[error("the capture belongs to another thread")]
    WrongThread,
    #[error("the stream is already being captured, or not at all")]
    IllegalState,
}

/// Calls that a capture forbids, by thread, `cudaStreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Potentially unsafe calls of every thread.
    Global,
    /// Potentially unsafe calls of the thread that began the capture.
    ThreadLocal,
    /// None.
    Relaxed,
}

impl Mode {
    /// From the API's number.
    pub(crate) fn new(number: c_int) -> Option<Self> {
        [Self::Global, Self::ThreadLocal, Self::Relaxed].get(usize::try_from(number).ok()?).copied()
    }

    /// The API's number.
    pub(crate) fn number(self) -> c_int {
        self as c_int
    }
}

/// Unique number of a capture.
pub(crate) type CaptureId = u64;

/// Dependencies of the next node.
pub(crate) type Tail<N> = Vec<(N, Edge)>;

#[derive(Debug)]
struct Capture<S, N> {
    origin: S,
    mode: Mode,
    thread: u64,
    graph: GraphHandle,
    /// True for a capture into an existing graph.
    is_given: bool,
    is_valid: bool,
    /// Captured streams, the origin included.
    tails: FxHashMap<S, Tail<N>>,
    /// True if the legacy default stream waits for one of them.
    has_blocking: bool,
}

/// Result of a capture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended<N> {
    pub(crate) graph: GraphHandle,
    /// True for an existing graph, which stays even if incomplete.
    pub(crate) is_given: bool,
    /// Success, or the reason why the graph is incomplete.
    pub(crate) outcome: Result<(), CaptureError>,
    /// Tails of the origin and of the other streams.
    pub(crate) origin: Tail<N>,
    pub(crate) others: Vec<Tail<N>>,
}

/// Status of a capture.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Status<'a, N> {
    pub(crate) id: CaptureId,
    pub(crate) graph: GraphHandle,
    /// True for a capture into an existing graph.
    pub(crate) is_given: bool,
    pub(crate) is_valid: bool,
    pub(crate) tail: &'a Tail<N>,
}

/// Captures in progress.
#[derive(Debug)]
pub(crate) struct Captures<S, E, N> {
    captures: BTreeMap<CaptureId, Capture<S, N>>,
    streams: FxHashMap<S, CaptureId>,
    /// Events last recorded in a capture, which may have ended.
    events: FxHashMap<E, (CaptureId, Tail<N>)>,
    begun: CaptureId,
}

impl<S, E, N> Default for Captures<S, E, N> {
    fn default() -> Self {
        Self {
            captures: BTreeMap::new(),
            streams: FxHashMap::default(),
            events: FxHashMap::default(),
            begun: 0,
        }
    }
}

/// A result, or the rule that forbids it.
type Ruling<T> = Result<T, CaptureError>;

impl<S: Copy + Eq + Hash, E: Copy + Eq + Hash, N: Copy + Eq> Captures<S, E, N> {
    /// True without captures and captured events.
    pub(crate) fn is_empty(&self) -> bool {
        self.captures.is_empty() && self.events.is_empty()
    }

    /// Begins a capture in a stream; its first nodes depend on `tail`.
    pub(crate) fn begin(
        &mut self,
        stream: S,
        is_blocking: bool,
        (mode, thread): (Mode, u64),
        (graph, is_given): (GraphHandle, bool),
        tail: Tail<N>,
    ) -> Ruling<CaptureId> {
        if self.streams.contains_key(&stream) {
            return Err(CaptureError::IllegalState);
        }
        self.begun += 1;
        let tails = FxHashMap::from_iter([(stream, tail)]);
        let (is_valid, has_blocking) = (true, is_blocking);
        let capture =
            Capture { origin: stream, mode, thread, graph, is_given, is_valid, tails, has_blocking };
        self.captures.insert(self.begun, capture);
        self.streams.insert(stream, self.begun);
        Ok(self.begun)
    }

    /// Ends the capture that began in a stream. The caller judges by the tails if other streams
    /// were joined.
    pub(crate) fn end(&mut self, stream: S, thread: u64) -> Ruling<Ended<N>> {
        let id = *self.streams.get(&stream).ok_or(CaptureError::IllegalState)?;
        let capture = self.captures.get_mut(&id).ok_or(CaptureError::IllegalState)?;
        if capture.mode != Mode::Relaxed && capture.thread != thread {
            return Err(CaptureError::WrongThread);
        }
        if capture.origin != stream {
            capture.is_valid = false;
            return Err(CaptureError::Unmatched);
        }
        self.remove(id).ok_or(CaptureError::IllegalState)
    }

    fn remove(&mut self, id: CaptureId) -> Option<Ended<N>> {
        let mut capture = self.captures.remove(&id)?;
        self.streams.retain(|_, of| *of != id);
        let origin = capture.tails.remove(&capture.origin).unwrap_or_default();
        let outcome = if capture.is_valid { Ok(()) } else { Err(CaptureError::Invalidated) };
        let others = capture.tails.into_values().collect();
        let Capture { graph, is_given, .. } = capture;
        Some(Ended { graph, is_given, outcome, origin, others })
    }

    /// Handles a stream's destruction: ends the capture that began in it. In another capture its
    /// work stays and must be joined.
    pub(crate) fn forget_stream(&mut self, stream: S) -> Option<Ended<N>> {
        let id = self.streams.remove(&stream)?;
        if self.captures.get(&id)?.origin == stream { self.remove(id) } else { None }
    }

    /// Forgets an event that is destroyed or recorded outside captures.
    pub(crate) fn forget_event(&mut self, event: E) {
        self.events.remove(&event);
    }

    /// Capture of a stream.
    pub(crate) fn status(&self, stream: S) -> Option<Status<'_, N>> {
        let id = *self.streams.get(&stream)?;
        let capture = self.captures.get(&id)?;
        let tail = capture.tails.get(&stream)?;
        let Capture { graph, is_given, is_valid, .. } = *capture;
        Some(Status { id, graph, is_given, is_valid, tail })
    }

    /// Graph and tail for new work of a stream; `None` if the stream is not captured.
    pub(crate) fn place(&self, stream: S) -> Ruling<Option<(GraphHandle, Tail<N>)>> {
        match self.status(stream) {
            None => Ok(None),
            Some(Status { is_valid: false, .. }) => Err(CaptureError::Invalidated),
            Some(Status { graph, tail, .. }) => Ok(Some((graph, tail.clone()))),
        }
    }

    /// Replaces the dependencies of a captured stream's next node.
    pub(crate) fn set_tail(&mut self, stream: S, tail: Tail<N>) {
        let capture = self.streams.get(&stream).and_then(|id| self.captures.get_mut(id));
        if let Some(place) = capture.and_then(|capture| capture.tails.get_mut(&stream)) {
            *place = tail;
        }
    }

    /// Records an event in a stream; false if the stream is not captured, so the record is an
    /// ordinary one.
    pub(crate) fn record(&mut self, event: E, stream: S) -> Ruling<bool> {
        let Some((_, tail)) = self.place(stream)? else {
            self.events.remove(&event);
            return Ok(false);
        };
        if let Some(id) = self.streams.get(&stream) {
            self.events.insert(event, (*id, tail));
        }
        Ok(true)
    }

    /// Makes a stream wait for an event; false if no capture is concerned.
    pub(crate) fn wait(&mut self, stream: S, is_legacy: bool, is_blocking: bool, event: E) -> Ruling<bool> {
        let of_stream = self.streams.get(&stream).copied();
        let captured = self.events.get(&event);
        let Some((of_event, tail)) = captured.cloned() else {
            let Some(id) = of_stream else { return Ok(false) };
            self.place(stream)?;
            self.invalidate(id);
            return Err(CaptureError::Isolation);
        };
        let Some(capture) = self.captures.get(&of_event) else { return Err(CaptureError::CapturedEvent) };
        if !capture.is_valid {
            return Err(CaptureError::Invalidated);
        }
        if is_legacy {
            self.invalidate(of_event);
            return Err(CaptureError::Implicit);
        }
        if let Some(id) = of_stream.filter(|id| *id != of_event) {
            self.invalidate(id);
            self.invalidate(of_event);
            return Err(CaptureError::Merge);
        }
        self.streams.insert(stream, of_event);
        if let Some(capture) = self.captures.get_mut(&of_event) {
            capture.has_blocking |= is_blocking;
            let place = capture.tails.entry(stream).or_default();
            for (node, edge) in tail {
                if !place.iter().any(|(other, _)| *other == node) {
                    place.push((node, edge));
                }
            }
        }
        Ok(true)
    }

    /// Rejects a query of a captured event, which has no state.
    pub(crate) fn check_event(&mut self, event: E) -> Ruling<()> {
        let Some((id, _)) = self.events.get(&event) else { return Ok(()) };
        self.invalidate(*id);
        Err(CaptureError::CapturedEvent)
    }

    /// Handles an uncapturable call on a stream. `is_legacy` marks the legacy default stream, which
    /// waits for every blocking one.
    pub(crate) fn forbid(&mut self, stream: S, is_legacy: bool) -> Ruling<()> {
        self.check_legacy(is_legacy)?;
        self.place(stream)?;
        let Some(id) = self.streams.get(&stream).copied() else { return Ok(()) };
        self.invalidate(id);
        Err(CaptureError::Unsupported)
    }

    /// Rejects work in the legacy default stream while a blocking stream is captured.
    pub(crate) fn check_legacy(&mut self, is_legacy: bool) -> Ruling<()> {
        let mut blocking =
            self.captures.values_mut().filter(|capture| is_legacy && capture.has_blocking).peekable();
        if blocking.peek().is_none() {
            return Ok(());
        }
        blocking.for_each(|capture| capture.is_valid = false);
        Err(CaptureError::Implicit)
    }

    /// True if a query of the legacy default stream has no answer, since a blocking stream is
    /// captured. The query invalidates nothing.
    pub(crate) fn has_blocking(&self) -> bool {
        self.captures.values().any(|capture| capture.has_blocking)
    }

    /// Handles a call that waits for every stream.
    pub(crate) fn check_all_streams(&mut self) -> Ruling<()> {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.captures.values_mut().for_each(|capture| capture.is_valid = false);
        Err(CaptureError::Unsupported)
    }

    /// Handles a potentially unsafe call by a thread in mode `allowed`.
    pub(crate) fn check_unsafe(&mut self, thread: u64, allowed: Mode) -> Ruling<()> {
        let forbids = |capture: &Capture<S, N>| match (allowed, capture.mode) {
            (Mode::Relaxed, _) | (_, Mode::Relaxed) => false,
            (Mode::Global, Mode::Global) => true,
            _ => capture.thread == thread,
        };
        let mut found = Ok(());
        for capture in self.captures.values_mut().filter(|capture| forbids(capture)) {
            capture.is_valid = false;
            found = Err(CaptureError::Unsupported);
        }
        found
    }

    fn invalidate(&mut self, id: CaptureId) {
        if let Some(capture) = self.captures.get_mut(&id) {
            capture.is_valid = false;
        }
    }
}

#[cfg(test)]
mod tests;
