//! Stream capture in API calls: applies the rules of [`super::capture`].

use super::capture::{CaptureError, Mode, Status, Tail};
use super::handle::{GraphHandle, NodeHandle};
use super::node::Kind;
use super::store::{Graphs, Purpose, Remains};
use super::topology::Edge;
use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, EventHandle, StreamHandle};
use crate::graph::device::GraphDevice;
use crate::objects::pool::Home;
use crate::work::operation::Operation;
use std::cell::{Cell, RefCell};
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use stream_engine::{EventId, StreamId, StreamKind};

/// False without captures and captured events, so that calls can skip the check.
static CONCERNED: AtomicBool = AtomicBool::new(false);

/// Numbers of threads.
static THREADS: AtomicU64 = AtomicU64::new(1);

/// Nodes and the edge data from them.
type Answer = (Box<[NodeHandle]>, Box<[Edge]>);

thread_local! {
    static THREAD: u64 = THREADS.fetch_add(1, Ordering::Relaxed);
    /// Capture mode of the thread.
    static MODE: Cell<Mode> = const { Cell::new(Mode::Global) };
    /// Dependencies of the thread's last capture query; the API returns a pointer to them.
    static ANSWER: RefCell<Answer> = RefCell::default();
}

/// Number of this thread; 0 during its teardown.
fn thread() -> u64 {
    THREAD.try_with(|number| *number).unwrap_or(0)
}

/// Replaces the calling thread's capture mode and returns the previous one.
pub(crate) fn exchange_mode(mode: Mode) -> Mode {
    MODE.replace(mode)
}

impl From<CaptureError> for Error {
    fn from(error: CaptureError) -> Self {
        match error {
            CaptureError::Unsupported => Error::StreamCaptureUnsupported,
            CaptureError::Invalidated => Error::StreamCaptureInvalidated,
            CaptureError::Merge => Error::StreamCaptureMerge,
            CaptureError::Unmatched => Error::StreamCaptureUnmatched,
            CaptureError::Unjoined => Error::StreamCaptureUnjoined,
            CaptureError::Isolation => Error::StreamCaptureIsolation,
            CaptureError::Implicit => Error::StreamCaptureImplicit,
            CaptureError::CapturedEvent => Error::CapturedEvent,
            CaptureError::WrongThread => Error::StreamCaptureWrongThread,
            CaptureError::IllegalState => Error::IllegalState,
        }
    }
}

/// Answer to a capture query.
#[derive(Clone, Copy, Debug)]
pub(crate) struct CaptureInfo {
    pub(crate) id: u64,
    /// 1 for active, 2 for invalid.
    pub(crate) status: i32,
    pub(crate) graph: GraphHandle,
    /// Dependencies of the next node with edge data, valid until the thread's next query.
    pub(crate) dependencies: *const NodeHandle,
    pub(crate) edges: *const Edge,
    pub(crate) count: usize,
    /// True if all edges are plain.
    pub(crate) is_plain: bool,
}

/// Captures.
impl GraphDevice {
    fn is_legacy(stream: StreamId) -> bool {
        stream == StreamId::LEGACY
    }

    fn is_blocking(&self, stream: StreamId) -> Result<bool> {
        Ok(self.engine.stream_info(stream)?.kind != StreamKind::NonBlocking)
    }

    /// Begins a capture into a given graph, or a new one.
    pub(crate) fn begin_capture(
        &self,
        (handle, default): (StreamHandle, DefaultStream),
        mode: Mode,
        into: Option<(GraphHandle, Tail<NodeHandle>)>,
    ) -> Result<()> {
        let stream = self.stream(handle, default)?;
        let is_blocking = self.is_blocking(stream)?;
        if Self::is_legacy(stream) {
            return Err(Error::StreamCaptureUnsupported);
        }
        let mut graphs = self.graphs.lock();
        if graphs.captures.status(stream).is_some() {
            return Err(Error::IllegalState);
        }
        let is_given = into.is_some();
        let (graph, tail) = match into {
            Some((graph, tail)) => {
                let topology = &graphs.graph(graph)?.topology;
                if !tail.iter().all(|(node, _)| topology.contains(*node)) {
                    return Err(Error::InvalidValue);
                }
                (graph, tail)
            }
            None => (graphs.create(Purpose::Program), Vec::new()),
        };
        graphs.captures.begin(stream, is_blocking, (mode, thread()), (graph, is_given), tail)?;
        CONCERNED.store(true, Ordering::Relaxed);
        Ok(())
    }

    /// True if a stream is captured into an existing graph.
    pub(crate) fn captures_into_given(&self, handle: StreamHandle, default: DefaultStream) -> Result<bool> {
        let stream = self.stream(handle, default)?;
        Ok(self.graphs.lock().captures.status(stream).is_some_and(|status| status.is_given))
    }

    /// Ends a capture and returns its graph. An invalid capture ends too, and its graph is
    /// destroyed unless it existed before.
    pub(crate) fn end_capture(&self, handle: StreamHandle, default: DefaultStream) -> Result<GraphHandle> {
        let stream = self.stream(handle, default)?;
        self.engine.stream_info(stream)?;
        let mut graphs = self.graphs.lock();
        let ended = graphs.captures.end(stream, thread())?;
        let graph = ended.graph;
        let outcome = ended.outcome.and_then(|()| {
            let topology = graphs.graph(graph).map(|graph| &graph.topology);
            let joined =
                topology.map_err(|_| CaptureError::Invalidated)?.with_ancestors(nodes_of(&ended.origin));
            let mut others = ended.others.iter().flat_map(nodes_of);
            if others.all(|node| joined.contains(&node)) { Ok(()) } else { Err(CaptureError::Unjoined) }
        });
        let mut remains = Remains::default();
        if outcome.is_err() && !ended.is_given {
            graphs.forget_graph(graph, &mut remains);
        }
        CONCERNED.store(!graphs.captures.is_empty(), Ordering::Relaxed);
        drop(graphs);
        remains.bury();
        outcome?;
        Ok(graph)
    }

    /// Capture information of a stream; `None` if it is not captured.
    pub(crate) fn capture_info(
        &self,
        handle: StreamHandle,
        default: DefaultStream,
    ) -> Result<Option<CaptureInfo>> {
        let stream = self.stream(handle, default)?;
        self.engine.stream_info(stream)?;
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let graphs = self.graphs.lock();
        if Self::is_legacy(stream) && graphs.captures.has_blocking() {
            return Err(Error::StreamCaptureImplicit);
        }
        let Some(Status { id, graph, is_valid, tail, .. }) = graphs.captures.status(stream) else {
            return Ok(None);
        };
        let is_plain = tail.iter().all(|(_, edge)| *edge == Edge::default());
        let (nodes, edges): (Vec<_>, Vec<_>) = tail.iter().copied().unzip();
        let status = if is_valid { 1 } else { 2 };
        let answer = (nodes.into_boxed_slice(), edges.into_boxed_slice());
        let (dependencies, edges, count) = (answer.0.as_ptr(), answer.1.as_ptr(), answer.0.len());
        // During thread teardown the pointers have no target.
        let kept = ANSWER.try_with(|place| *place.borrow_mut() = answer).is_ok();
        let count = if kept { count } else { 0 };
        Ok(Some(CaptureInfo { id, status, graph, dependencies, edges, count, is_plain }))
    }

    /// Adds to or replaces the dependencies of a captured stream's next node.
    pub(crate) fn update_capture_dependencies(
        &self,
        handle: StreamHandle,
        default: DefaultStream,
        dependencies: Tail<NodeHandle>,
        replaces: bool,
    ) -> Result<()> {
        let stream = self.stream(handle, default)?;
        let mut graphs = self.graphs.lock();
        let (graph, mut tail) = graphs.captures.place(stream)?.ok_or(Error::IllegalState)?;
        let topology = &graphs.graph(graph)?.topology;
        if !dependencies.iter().all(|(node, _)| topology.contains(*node)) {
            return Err(Error::InvalidValue);
        }
        if replaces {
            tail.clear();
        }
        for (node, edge) in dependencies {
            if !tail.iter().any(|(other, _)| *other == node) {
                tail.push((node, edge));
            }
        }
        graphs.captures.set_tail(stream, tail);
        Ok(())
    }
}

fn nodes_of(tail: &Tail<NodeHandle>) -> impl Iterator<Item = NodeHandle> + '_ {
    tail.iter().map(|(node, _)| *node)
}

/// Capture checks of other calls.
impl GraphDevice {
    /// Adds a node to a stream's captured graph; `None` if the stream is not captured.
    pub(crate) fn add_captured(
        &self,
        stream: StreamId,
        kind: impl FnOnce(&mut Graphs) -> Result<Kind>,
    ) -> Result<Option<NodeHandle>> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(None);
        }
        let mut remains = Remains::default();
        let mut graphs = self.graphs.lock();
        graphs.captures.check_legacy(Self::is_legacy(stream))?;
        let Some((graph, tail)) = graphs.captures.place(stream)? else { return Ok(None) };
        let kind = kind(&mut graphs)?;
        let added = graphs.add_checked(graph, &tail, kind, &mut remains);
        if let Ok(node) = added {
            let place = graphs.node_mut(node)?;
            if matches!(place.kind, Kind::Operation(Operation::Kernel(_))) {
                place.set_priority(self.engine.stream_info(stream)?.priority);
            }
            graphs.captures.set_tail(stream, vec![(node, Edge::default())]);
        }
        drop(graphs);
        remains.bury();
        added.map(Some)
    }

    /// Adds an operation to a stream's captured graph; false if the stream is not captured.
    pub(crate) fn add_if_capturing(
        &self,
        stream: StreamId,
        operation: impl FnOnce() -> Operation,
    ) -> Result<bool> {
        Ok(self.add_captured(stream, |_| Ok(operation().into()))?.is_some())
    }

    /// Adds an allocation to a stream's captured graph and returns the address.
    pub(crate) fn allocate_captured(
        &self,
        stream: StreamId,
        bytes: usize,
        home: Home,
    ) -> Result<Option<u64>> {
        let mut address = 0;
        let kind = |_: &mut Graphs| {
            let kind = self.allocation_kind(bytes, home)?;
            if let Kind::Allocate(reservation) = &kind {
                address = reservation.address;
            }
            Ok(kind)
        };
        Ok(self.add_captured(stream, kind)?.map(|_| address))
    }

    /// Rejects an uncapturable call on a captured stream: a wait, a query, a callback.
    pub(crate) fn forbid_capture(&self, stream: StreamId) -> Result<()> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(());
        }
        Ok(self.graphs.lock().captures.forbid(stream, Self::is_legacy(stream))?)
    }

    /// Rejects a call that waits for the whole device during captures.
    pub(crate) fn forbid_any_capture(&self) -> Result<()> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(());
        }
        Ok(self.graphs.lock().captures.check_all_streams()?)
    }

    /// Rejects a call that may wait for the device during captures: immediate allocation and
    /// release, event queries.
    pub(crate) fn check_unsafe_call(&self) -> Result<()> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(());
        }
        let mode = MODE.try_with(Cell::get).unwrap_or(Mode::Relaxed);
        Ok(self.graphs.lock().captures.check_unsafe(thread(), mode)?)
    }

    /// Rejects a query of a captured event.
    pub(crate) fn check_event_call(&self, event: EventId) -> Result<()> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(());
        }
        self.graphs.lock().captures.check_event(event)?;
        self.check_unsafe_call()
    }

    /// Records an event in a captured stream; false if the stream is not captured. An external
    /// record is a node.
    pub(crate) fn record_captured(
        &self,
        event: EventHandle,
        stream: StreamId,
        external: bool,
    ) -> Result<bool> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(false);
        }
        // Captures hold events of their own device only.
        let Ok(id) = self.event(event) else { return Ok(false) };
        self.engine.event_flags(id)?;
        if external && self.add_captured(stream, |_| Ok(Kind::EventRecord(event)))?.is_some() {
            return Ok(true);
        }
        let mut graphs = self.graphs.lock();
        graphs.captures.check_legacy(Self::is_legacy(stream))?;
        Ok(graphs.captures.record(id, stream)?)
    }

    /// Makes a stream wait for an event; false if no capture is concerned. An external wait is a
    /// node.
    pub(crate) fn wait_captured(&self, stream: StreamId, event: EventHandle, external: bool) -> Result<bool> {
        if !CONCERNED.load(Ordering::Relaxed) {
            return Ok(false);
        }
        let Ok(id) = self.event(event) else { return Ok(false) };
        self.engine.event_flags(id)?;
        if external && self.add_captured(stream, |_| Ok(Kind::EventWait(event)))?.is_some() {
            return Ok(true);
        }
        let is_blocking = self.is_blocking(stream)?;
        let mut graphs = self.graphs.lock();
        Ok(graphs.captures.wait(stream, Self::is_legacy(stream), is_blocking, id)?)
    }

    /// Ends the capture of a stream about to be destroyed.
    pub(crate) fn end_capture_of_destroyed(&self, stream: StreamId) {
        if !CONCERNED.load(Ordering::Relaxed) {
            return;
        }
        let mut remains = Remains::default();
        let mut graphs = self.graphs.lock();
        if let Some(ended) = graphs.captures.forget_stream(stream)
            && !ended.is_given
        {
            graphs.forget_graph(ended.graph, &mut remains);
        }
        drop(graphs);
        remains.bury();
    }

    /// Forgets an event about to be destroyed.
    pub(crate) fn forget_captured_event(&self, event: EventId) {
        if CONCERNED.load(Ordering::Relaxed) {
            let mut graphs = self.graphs.lock();
            graphs.captures.forget_event(event);
            CONCERNED.store(!graphs.captures.is_empty(), Ordering::Relaxed);
        }
    }
}
