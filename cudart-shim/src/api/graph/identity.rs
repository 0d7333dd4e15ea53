//! Identifiers of graphs and nodes, and DOT drawings of graphs.

use crate::abi::{Out, Text};
use crate::api::entry::shared;
use crate::graph::handle::{GraphHandle, NodeHandle};
use std::ffi::{OsStr, c_uint};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

shared! {
    /// Writes a DOT drawing of a graph.
    fn cudaGraphDebugDotPrint = cuGraphDebugDotPrint(graph: GraphHandle, path: Text, flags: c_uint) {
        let path = Path::new(OsStr::from_bytes(path.get()?.to_bytes()));
        context()?.draw_graph(graph, path, flags)
    }

    /// Number of a graph.
    fn cudaGraphGetId = cuGraphGetId(graph: GraphHandle, graphID: Out<c_uint>) {
        graphID.check()?;
        graphID.set(context()?.graph_number(graph)?)
    }

    /// The graph of a node.
    fn cudaGraphNodeGetContainingGraph = cuGraphNodeGetContainingGraph(node: NodeHandle, graph: Out<GraphHandle>) {
        graph.check()?;
        graph.set(context()?.place_of_node(node)?.0)
    }

    /// Number of a node in its graph.
    fn cudaGraphNodeGetLocalId = cuGraphNodeGetLocalId(node: NodeHandle, nodeId: Out<c_uint>) {
        nodeId.check()?;
        nodeId.set(context()?.place_of_node(node)?.2)
    }

    /// A unique number of a node.
    fn cudaGraphNodeGetToolsId = cuGraphNodeGetToolsId(node: NodeHandle, toolsNodeId: Out<u64>) {
        toolsNodeId.check()?;
        let (_, graph, local) = context()?.place_of_node(node)?;
        toolsNodeId.set((u64::from(graph) << 32) | u64::from(local))
    }
}
