//! Stream capture.

use crate::abi::error::{Error, Result};
use crate::abi::{DefaultStream, In, Out, StreamHandle};
use crate::api::entry::shared;
use crate::api::graph::node_structures::dependencies as with_edges;
use crate::graph::capturing::CaptureInfo;
use crate::graph::handle::{GraphHandle, NodeHandle};
use crate::graph::{Edge, Mode};
use crate::root::simulator;
use crate::session::simulator::Simulator;
use std::ffi::{c_int, c_uint};

const PLAIN: In<Edge> = In::new(std::ptr::null());

fn mode_of(number: c_int) -> Result<Mode> {
    Mode::new(number).ok_or(Error::InvalidValue)
}

/// Destinations of the answers about a capture.
struct Answers {
    status: Out<c_int>,
    id: Out<u64>,
    graph: Out<GraphHandle>,
    dependencies: Out<*const NodeHandle>,
    edges: Option<Out<*const Edge>>,
    count: Out<usize>,
}

impl Answers {
    /// Destinations of the call's first version.
    fn short(status: Out<c_int>, id: Out<u64>) -> Self {
        let (graph, dependencies) = (Out::new(std::ptr::null_mut()), Out::new(std::ptr::null_mut()));
        Self { status, id, graph, dependencies, edges: None, count: Out::new(std::ptr::null_mut()) }
    }

    fn fill(self, simulator: &Simulator, (stream, default): (StreamHandle, DefaultStream)) -> Result<()> {
        self.status.check()?;
        let Some(info) = simulator.capture_info(stream, default)? else {
            self.id.set_if_wanted(0);
            self.graph.set_if_wanted(GraphHandle(0));
            self.dependencies.set_if_wanted(std::ptr::null());
            if let Some(edges) = self.edges {
                edges.set_if_wanted(std::ptr::null());
            }
            self.count.set_if_wanted(0);
            return self.status.set(0);
        };
        let CaptureInfo { id, status, graph, dependencies, edges, count, is_plain } = info;
        let edges_wanted = self.edges.is_some_and(|edges| !edges.pointer().is_null());
        if status == 1 && !is_plain && !edges_wanted && !self.dependencies.pointer().is_null() {
            return Err(Error::LossyQuery);
        }
        self.status.set(status)?;
        if status != 1 {
            return Ok(());
        }
        self.id.set_if_wanted(id);
        self.graph.set_if_wanted(graph);
        self.dependencies.set_if_wanted(dependencies);
        if let Some(place) = self.edges {
            place.set_if_wanted(edges);
        }
        self.count.set_if_wanted(count);
        Ok(())
    }
}

fn update(
    simulator: &Simulator,
    (stream, default): (StreamHandle, DefaultStream),
    nodes: In<NodeHandle>,
    edges: In<Edge>,
    (count, flags): (usize, c_uint),
) -> Result<()> {
    let replaces = match flags {
        0 => false,
        1 => true,
        _ => return Err(Error::InvalidValue),
    };
    simulator.update_capture_dependencies(stream, default, with_edges(nodes, edges, count)?, replaces)
}

shared! {
    /// Begins to capture a stream.
    fn cudaStreamBeginCapture, cudaStreamBeginCapture_ptsz
        = cuStreamBeginCapture_v2, cuStreamBeginCapture_v2_ptsz [default]
    (stream: StreamHandle, mode: c_int) {
        context()?.begin_capture((stream, default), mode_of(mode)?, None)
    }

    /// Begins to capture a stream into an existing graph.
    fn cudaStreamBeginCaptureToGraph, cudaStreamBeginCaptureToGraph_ptsz
        = cuStreamBeginCaptureToGraph, cuStreamBeginCaptureToGraph_ptsz [default]
    (
        stream: StreamHandle, graph: GraphHandle, dependencies: In<NodeHandle>, dependencyData: In<Edge>,
        numDependencies: usize, mode: c_int,
    ) {
        let tail = with_edges(dependencies, dependencyData, numDependencies)?;
        context()?.begin_capture((stream, default), mode_of(mode)?, Some((graph, tail)))
    }

    /// Ends a capture and returns its graph, or null for an invalid capture. The result is optional
    /// for a graph that existed before.
    fn cudaStreamEndCapture, cudaStreamEndCapture_ptsz = cuStreamEndCapture, cuStreamEndCapture_ptsz [default] (
        stream: StreamHandle, pGraph: Out<GraphHandle>,
    ) {
        let simulator = context()?;
        let is_given = simulator.captures_into_given(stream, default)?;
        if !is_given {
            pGraph.check()?;
        }
        pGraph.set_if_wanted(GraphHandle(0));
        pGraph.set_if_wanted(simulator.end_capture(stream, default)?);
        Ok(())
    }

    /// Tells if a stream is captured.
    fn cudaStreamIsCapturing, cudaStreamIsCapturing_ptsz = cuStreamIsCapturing, cuStreamIsCapturing_ptsz [default] (
        stream: StreamHandle, captureStatus: Out<c_int>,
    ) {
        Answers::short(captureStatus, Out::new(std::ptr::null_mut())).fill(context()?, (stream, default))
    }

    /// Capture state of a stream, and the capture's unique number.
    fn cudaStreamGetCaptureInfo, cudaStreamGetCaptureInfo_ptsz
        = cuStreamGetCaptureInfo, cuStreamGetCaptureInfo_ptsz [default]
    (stream: StreamHandle, captureStatus: Out<c_int>, id: Out<u64>) {
        Answers::short(captureStatus, id).fill(context()?, (stream, default))
    }

    /// Capture state of a stream.
    fn cudaStreamGetCaptureInfo_v2, cudaStreamGetCaptureInfo_v2_ptsz
        = cuStreamGetCaptureInfo_v2, cuStreamGetCaptureInfo_v2_ptsz [default]
    (
        stream: StreamHandle, captureStatus: Out<c_int>, id: Out<u64>, graph: Out<GraphHandle>,
        dependencies: Out<*const NodeHandle>, numDependencies: Out<usize>,
    ) {
        let answers =
            Answers { status: captureStatus, id, graph, dependencies, edges: None, count: numDependencies };
        answers.fill(context()?, (stream, default))
    }

    /// Capture state of a stream, with edge data.
    fn cudaStreamGetCaptureInfo_v3, cudaStreamGetCaptureInfo_v3_ptsz
        = cuStreamGetCaptureInfo_v3, cuStreamGetCaptureInfo_v3_ptsz [default]
    (
        stream: StreamHandle, captureStatus: Out<c_int>, id: Out<u64>, graph: Out<GraphHandle>,
        dependencies: Out<*const NodeHandle>, edgeData: Out<*const Edge>, numDependencies: Out<usize>,
    ) {
        let edges = Some(edgeData);
        let answers = Answers { status: captureStatus, id, graph, dependencies, edges, count: numDependencies };
        answers.fill(context()?, (stream, default))
    }

    /// Changes the dependencies of a captured stream's next node.
    fn cudaStreamUpdateCaptureDependencies, cudaStreamUpdateCaptureDependencies_ptsz
        = cuStreamUpdateCaptureDependencies, cuStreamUpdateCaptureDependencies_ptsz [default]
    (stream: StreamHandle, dependencies: In<NodeHandle>, numDependencies: usize, flags: c_uint) {
        update(context()?, (stream, default), dependencies, PLAIN, (numDependencies, flags))
    }

    /// Changes the dependencies of a captured stream's next node, with edge data.
    fn cudaStreamUpdateCaptureDependencies_v2, cudaStreamUpdateCaptureDependencies_v2_ptsz
        = cuStreamUpdateCaptureDependencies_v2, cuStreamUpdateCaptureDependencies_v2_ptsz [default]
    (
        stream: StreamHandle, dependencies: In<NodeHandle>, dependencyData: In<Edge>, numDependencies: usize,
        flags: c_uint,
    ) {
        update(context()?, (stream, default), dependencies, dependencyData, (numDependencies, flags))
    }

    /// Replaces the calling thread's capture mode.
    fn cudaThreadExchangeStreamCaptureMode = cuThreadExchangeStreamCaptureMode(mode: Out<c_int>) {
        let simulator = context()?;
        mode.check()?;
        // SAFETY: not null, so by the API's contract it points to a mode.
        let wanted = mode_of(unsafe { mode.pointer().read_unaligned() })?;
        mode.set(simulator.exchange_capture_mode(wanted).number())
    }
}

pub(crate) mod driver_only {
    use super::*;
    use crate::api::entry::api;

    api! { Driver;
        /// Begins to capture a stream, without a mode.
        fn cuStreamBeginCapture, cuStreamBeginCapture_ptsz [default] (stream: StreamHandle) {
            simulator()?.begin_capture((stream, default), Mode::Global, None)
        }
    }
}
