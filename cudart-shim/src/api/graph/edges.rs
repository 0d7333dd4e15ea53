//! Graphs as nodes and edges.

use super::{check_lossless, fill, neighbours, room};
use crate::abi::error::{Error, Result};
use crate::abi::{In, Out};
use crate::api::entry::shared;
use crate::api::graph::node_structures::edges_of;
use crate::graph::Edge;
use crate::graph::handle::{GraphHandle, NodeHandle};
use crate::session::simulator::Simulator;
use std::ffi::{c_int, c_uint};

const PLAIN: In<Edge> = In::new(std::ptr::null());

fn change(
    simulator: &Simulator,
    graph: GraphHandle,
    (from, to): (In<NodeHandle>, In<NodeHandle>),
    edges: In<Edge>,
    count: usize,
    adds: bool,
) -> Result<()> {
    let edges = edges_of(edges, count)?;
    let pairs = from.list(count)?.into_iter().zip(to.list(count)?);
    let edges = pairs.zip(edges).map(|((from, to), edge)| (from, to, edge)).collect();
    simulator.change_edges(graph, &edges, adds)
}

fn list_edges(
    simulator: &Simulator,
    graph: GraphHandle,
    (from, to): (Out<NodeHandle>, Out<NodeHandle>),
    edges: Option<Out<Edge>>,
    count: Out<usize>,
) -> Result<()> {
    if from.pointer().is_null() != to.pointer().is_null() {
        return Err(Error::InvalidValue);
    }
    let found = simulator.edges_of(graph)?;
    let said: Vec<_> = found.iter().map(|(.., edge)| *edge).collect();
    check_lossless(&said, edges)?;
    let room = room(count, !from.pointer().is_null(), found.len())?;
    let (sources, targets): (Vec<_>, Vec<_>) = found.iter().map(|(from, to, _)| (*from, *to)).unzip();
    fill(from, room, &sources, NodeHandle(0));
    fill(to, room, &targets, NodeHandle(0));
    fill(edges.unwrap_or(Out::new(std::ptr::null_mut())), room, &said, Edge::default());
    Ok(())
}

fn list_nodes(
    simulator: &Simulator,
    graph: GraphHandle,
    nodes: Out<NodeHandle>,
    count: Out<usize>,
    only_roots: bool,
) -> Result<()> {
    let found = simulator.nodes_of(graph, only_roots)?;
    let room = room(count, !nodes.pointer().is_null(), found.len())?;
    fill(nodes, room, &found, NodeHandle(0));
    Ok(())
}

shared! {
    /// A new graph.
    fn cudaGraphCreate = cuGraphCreate(pGraph: Out<GraphHandle>, flags: c_uint) {
        pGraph.check()?;
        if flags != 0 {
            return Err(Error::InvalidValue);
        }
        pGraph.set(context()?.create_graph())
    }

    /// Destroys a graph.
    fn cudaGraphDestroy = cuGraphDestroy(graph: GraphHandle) { context()?.destroy_graph(graph) }

    /// Copies a graph.
    fn cudaGraphClone = cuGraphClone(pGraphClone: Out<GraphHandle>, originalGraph: GraphHandle) {
        pGraphClone.check()?;
        pGraphClone.set(context()?.clone_graph(originalGraph)?)
    }

    /// The clone's node of an original node.
    fn cudaGraphNodeFindInClone = cuGraphNodeFindInClone(
        pNode: Out<NodeHandle>, originalNode: NodeHandle, clonedGraph: GraphHandle,
    ) {
        pNode.check()?;
        pNode.set(context()?.node_in_clone(originalNode, clonedGraph)?)
    }

    /// Removes a node.
    fn cudaGraphDestroyNode = cuGraphDestroyNode(node: NodeHandle) { context()?.destroy_node(node) }

    /// Type of a node.
    fn cudaGraphNodeGetType = cuGraphNodeGetType(node: NodeHandle, pType: Out<c_int>) {
        pType.check()?;
        pType.set(context()?.node_kind(node)?.number())
    }

    /// A graph's nodes.
    fn cudaGraphGetNodes = cuGraphGetNodes(graph: GraphHandle, nodes: Out<NodeHandle>, numNodes: Out<usize>) {
        list_nodes(context()?, graph, nodes, numNodes, false)
    }

    /// Nodes without dependencies.
    fn cudaGraphGetRootNodes = cuGraphGetRootNodes(
        graph: GraphHandle, rootNodes: Out<NodeHandle>, numRootNodes: Out<usize>,
    ) {
        list_nodes(context()?, graph, rootNodes, numRootNodes, true)
    }

    /// Adds edges.
    fn cudaGraphAddDependencies = cuGraphAddDependencies(
        graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>, numDependencies: usize,
    ) {
        change(context()?, graph, (from, to), PLAIN, numDependencies, true)
    }

    /// Adds edges with edge data. A programmatic edge orders its nodes completely.
    fn cudaGraphAddDependencies_v2 = cuGraphAddDependencies_v2(
        graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>, edgeData: In<Edge>, numDependencies: usize,
    ) {
        change(context()?, graph, (from, to), edgeData, numDependencies, true)
    }

    /// Removes edges.
    fn cudaGraphRemoveDependencies = cuGraphRemoveDependencies(
        graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>, numDependencies: usize,
    ) {
        change(context()?, graph, (from, to), PLAIN, numDependencies, false)
    }

    /// Removes edges with edge data.
    fn cudaGraphRemoveDependencies_v2 = cuGraphRemoveDependencies_v2(
        graph: GraphHandle, from: In<NodeHandle>, to: In<NodeHandle>, edgeData: In<Edge>, numDependencies: usize,
    ) {
        change(context()?, graph, (from, to), edgeData, numDependencies, false)
    }

    /// A graph's edges.
    fn cudaGraphGetEdges = cuGraphGetEdges(
        graph: GraphHandle, from: Out<NodeHandle>, to: Out<NodeHandle>, numEdges: Out<usize>,
    ) {
        list_edges(context()?, graph, (from, to), None, numEdges)
    }

    /// Edges with edge data.
    fn cudaGraphGetEdges_v2 = cuGraphGetEdges_v2(
        graph: GraphHandle, from: Out<NodeHandle>, to: Out<NodeHandle>, edgeData: Out<Edge>, numEdges: Out<usize>,
    ) {
        list_edges(context()?, graph, (from, to), Some(edgeData), numEdges)
    }

    /// Dependencies of a node.
    fn cudaGraphNodeGetDependencies = cuGraphNodeGetDependencies(
        node: NodeHandle, dependencies: Out<NodeHandle>, numDependencies: Out<usize>,
    ) {
        neighbours(context()?.neighbours(node, false)?, dependencies, None, numDependencies)
    }

    /// Dependencies of a node, with edge data.
    fn cudaGraphNodeGetDependencies_v2 = cuGraphNodeGetDependencies_v2(
        node: NodeHandle, dependencies: Out<NodeHandle>, edgeData: Out<Edge>, numDependencies: Out<usize>,
    ) {
        neighbours(context()?.neighbours(node, false)?, dependencies, Some(edgeData), numDependencies)
    }

    /// Dependents of a node.
    fn cudaGraphNodeGetDependentNodes = cuGraphNodeGetDependentNodes(
        node: NodeHandle, dependentNodes: Out<NodeHandle>, numDependentNodes: Out<usize>,
    ) {
        neighbours(context()?.neighbours(node, true)?, dependentNodes, None, numDependentNodes)
    }

    /// Dependents of a node, with edge data.
    fn cudaGraphNodeGetDependentNodes_v2 = cuGraphNodeGetDependentNodes_v2(
        node: NodeHandle, dependentNodes: Out<NodeHandle>, edgeData: Out<Edge>, numDependentNodes: Out<usize>,
    ) {
        neighbours(context()?.neighbours(node, true)?, dependentNodes, Some(edgeData), numDependentNodes)
    }
}
