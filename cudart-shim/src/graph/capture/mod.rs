//! The rules of stream capture (CUDA C++ programming guide, "Creating a Graph Using Stream Capture"; runtime API,
//! `cudaStreamBeginCapture`, `cudaThreadExchangeStreamCaptureMode`), free of any simulator type.
//!
//! A stream that is captured has a set of nodes that its next one will depend on. An event recorded in it is that set; a
//! stream that waits for the event joins the capture. An operation that must not be is refused, and the captures that
//! forbid it are invalid from then on.

use super::handle::GraphHandle;
use super::topology::Edge;
use rustc_hash::FxHashMap;
use std::collections::BTreeMap;
use std::ffi::c_int;
use std::hash::Hash;
use thiserror::Error;

/// Why something is refused while streams are captured.
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

/// Which calls a capture forbids to whom, `cudaStreamCaptureMode`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Mode {
    /// Potentially unsafe calls, to every thread.
    Global,
    /// Potentially unsafe calls, to the thread that began the capture.
    ThreadLocal,
    /// Nothing.
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

/// A number no other capture has.
pub(crate) type CaptureId = u64;

/// Nodes that the next one depends on.
pub(crate) type Tail<N> = Vec<(N, Edge)>;

#[derive(Debug)]
struct Capture<S, N> {
    origin: S,
    mode: Mode,
    thread: u64,
    graph: GraphHandle,
    /// Whether the graph was there before.
    is_given: bool,
    is_valid: bool,
    /// The captured streams, the origin among them.
    tails: FxHashMap<S, Tail<N>>,
    /// Which of them the legacy default stream waits for.
    has_blocking: bool,
}

/// What a capture leaves behind when it ends.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Ended<N> {
    pub(crate) graph: GraphHandle,
    /// Whether the graph was there before, and stays if it is not whole.
    pub(crate) is_given: bool,
    /// Whether the graph is whole; else why not.
    pub(crate) outcome: Result<(), CaptureError>,
    /// What the streams end with: the origin, and the others.
    pub(crate) origin: Tail<N>,
    pub(crate) others: Vec<Tail<N>>,
}

/// What a query says.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Status<'a, N> {
    pub(crate) id: CaptureId,
    pub(crate) graph: GraphHandle,
    /// Whether the graph was there before.
    pub(crate) is_given: bool,
    pub(crate) is_valid: bool,
    pub(crate) tail: &'a Tail<N>,
}

/// All captures under way.
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

/// An answer, or the rule that is against it.
type Ruling<T> = Result<T, CaptureError>;

impl<S: Copy + Eq + Hash, E: Copy + Eq + Hash, N: Copy + Eq> Captures<S, E, N> {
    /// Whether nothing is captured, nor any event of a capture remembered.
    pub(crate) fn is_empty(&self) -> bool {
        self.captures.is_empty() && self.events.is_empty()
    }

    /// Begins a capture in a stream, whose first nodes will depend on `tail`.
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

    /// Ends the capture that began in a stream. Whether other streams have been joined the caller judges by the tails.
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

    /// A stream is destroyed: the capture that began in it is over. Of another its work stays, and has to be joined.
    pub(crate) fn forget_stream(&mut self, stream: S) -> Option<Ended<N>> {
        let id = self.streams.remove(&stream)?;
        if self.captures.get(&id)?.origin == stream { self.remove(id) } else { None }
    }

    /// An event is destroyed or recorded outside of captures.
    pub(crate) fn forget_event(&mut self, event: E) {
        self.events.remove(&event);
    }

    /// The capture that a stream is part of.
    pub(crate) fn status(&self, stream: S) -> Option<Status<'_, N>> {
        let id = *self.streams.get(&stream)?;
        let capture = self.captures.get(&id)?;
        let tail = capture.tails.get(&stream)?;
        let Capture { graph, is_given, is_valid, .. } = *capture;
        Some(Status { id, graph, is_given, is_valid, tail })
    }

    /// The graph and the tail that new work of a stream goes behind; `None` when the stream is not captured.
    pub(crate) fn place(&self, stream: S) -> Ruling<Option<(GraphHandle, Tail<N>)>> {
        match self.status(stream) {
            None => Ok(None),
            Some(Status { is_valid: false, .. }) => Err(CaptureError::Invalidated),
            Some(Status { graph, tail, .. }) => Ok(Some((graph, tail.clone()))),
        }
    }

    /// Replaces what a captured stream's next node depends on.
    pub(crate) fn set_tail(&mut self, stream: S, tail: Tail<N>) {
        let capture = self.streams.get(&stream).and_then(|id| self.captures.get_mut(id));
        if let Some(place) = capture.and_then(|capture| capture.tails.get_mut(&stream)) {
            *place = tail;
        }
    }

    /// Records an event in a stream; false when the stream is not captured, and the event is an ordinary one then.
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

    /// Lets a stream wait for an event; false when neither has to do with a capture.
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

    /// A call that asks for an event's state, which captured work has not got.
    pub(crate) fn check_event(&mut self, event: E) -> Ruling<()> {
        let Some((id, _)) = self.events.get(&event) else { return Ok(()) };
        self.invalidate(*id);
        Err(CaptureError::CapturedEvent)
    }

    /// A call that cannot be captured and is made on a stream: `is_legacy` that it is the legacy default stream, which
    /// waits for every blocking one.
    pub(crate) fn forbid(&mut self, stream: S, is_legacy: bool) -> Ruling<()> {
        self.check_legacy(is_legacy)?;
        self.place(stream)?;
        let Some(id) = self.streams.get(&stream).copied() else { return Ok(()) };
        self.invalidate(id);
        Err(CaptureError::Unsupported)
    }

    /// Refuses work in the legacy default stream while a blocking stream is captured.
    pub(crate) fn check_legacy(&mut self, is_legacy: bool) -> Ruling<()> {
        let mut blocking =
            self.captures.values_mut().filter(|capture| is_legacy && capture.has_blocking).peekable();
        if blocking.peek().is_none() {
            return Ok(());
        }
        blocking.for_each(|capture| capture.is_valid = false);
        Err(CaptureError::Implicit)
    }

    /// Whether a query of the legacy default stream has no answer, as a blocking stream is captured. Nothing is invalid by it.
    pub(crate) fn has_blocking(&self) -> bool {
        self.captures.values().any(|capture| capture.has_blocking)
    }

    /// A call that would wait for every stream.
    pub(crate) fn check_all_streams(&mut self) -> Ruling<()> {
        if self.captures.is_empty() {
            return Ok(());
        }
        self.captures.values_mut().for_each(|capture| capture.is_valid = false);
        Err(CaptureError::Unsupported)
    }

    /// A potentially unsafe call by a thread of the mode `allowed`.
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
