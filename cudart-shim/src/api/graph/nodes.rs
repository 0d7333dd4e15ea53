//! Adding nodes.

use crate::abi::call::Api;
use crate::abi::error::{Error, Result};
use crate::abi::{Address, ContextHandle, EventHandle, In, Out};
use crate::api::driver::DriverCopy3d;
use crate::api::entry::shared;
use crate::api::graph::kernel_structures::{KernelParameters, KernelParameters1};
use crate::api::graph::node_structures::{
    AllocationParameters, FillParameters, HostParameters, MemoryOperationParameters, NodeParameters,
    dependencies,
};
use crate::api::runtime::{Copy3d, linear_copy, symbol_copy};
use crate::graph::Edge;
use crate::graph::handle::{GraphHandle, NodeHandle};
use crate::graph::node::Kind;
use crate::root::{session, simulator};
use crate::session::context;
use crate::session::simulator::Simulator;
use crate::work::copy::Copy;
use crate::work::operation::Operation;
use std::ffi::c_int;

/// Nodes and their number.
type List = (In<NodeHandle>, usize);

/// Adds a node made by `kind`, after all other arguments are validated.
fn add(
    simulator: &Simulator,
    result: Out<NodeHandle>,
    graph: GraphHandle,
    (after, count): List,
    kind: impl FnOnce() -> Result<Kind>,
) -> Result<()> {
    result.check()?;
    let after = dependencies(after, In::new(std::ptr::null()), count)?;
    simulator.nodes_of(graph, true)?;
    result.set(simulator.add_node(graph, &after, kind()?)?)
}

/// Node kind of a non-empty copy.
pub(super) fn copy_kind(copy: Option<Copy>) -> Result<Kind> {
    Ok(Kind::Operation(Operation::Copy(copy.ok_or(Error::InvalidValue)?)))
}

fn add_described(
    simulator: &Simulator,
    api: Api,
    (result, graph): (Out<NodeHandle>, GraphHandle),
    (after, edges, count): (In<NodeHandle>, In<Edge>, usize),
    parameters: Out<NodeParameters>,
) -> Result<()> {
    result.check()?;
    parameters.check()?;
    let after = dependencies(after, edges, count)?;
    simulator.nodes_of(graph, true)?;
    // SAFETY: not null, so by the API's contract it points to the structure.
    let mut described = unsafe { parameters.pointer().read_unaligned() };
    let kind = simulator.kind_of_parameters(api, graph, &mut described)?;
    let node = simulator.add_node(graph, &after, kind)?;
    parameters.set(described)?;
    result.set(node)
}

shared! {
    /// An empty node, which joins dependencies.
    fn cudaGraphAddEmptyNode = cuGraphAddEmptyNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
    ) {
        add(context()?, node, graph, (dependencies, numDependencies), || Ok(Kind::Empty))
    }

    /// A kernel.
    fn cudaGraphAddKernelNode = cuGraphAddKernelNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        nodeParams: In<KernelParameters1>,
    ) {
        let simulator = context()?;
        let parameters = KernelParameters::from(nodeParams.get()?);
        add(simulator, node, graph, (dependencies, numDependencies), || parameters.kind(simulator, API, None))
    }

    /// A host function call.
    fn cudaGraphAddHostNode = cuGraphAddHostNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        nodeParams: In<HostParameters>,
    ) {
        add(context()?, node, graph, (dependencies, numDependencies), || nodeParams.get()?.kind())
    }

    /// A child graph, cloned into the node.
    fn cudaGraphAddChildGraphNode = cuGraphAddChildGraphNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        childGraph: GraphHandle,
    ) {
        let simulator = context()?;
        add(simulator, node, graph, (dependencies, numDependencies), || simulator.child_kind(childGraph, 0))
    }

    /// Records an event.
    fn cudaGraphAddEventRecordNode = cuGraphAddEventRecordNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        event: EventHandle,
    ) {
        let simulator = context()?;
        add(simulator, node, graph, (dependencies, numDependencies), || simulator.event_kind(event, Kind::EventRecord))
    }

    /// Waits for an event.
    fn cudaGraphAddEventWaitNode = cuGraphAddEventWaitNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        event: EventHandle,
    ) {
        let simulator = context()?;
        add(simulator, node, graph, (dependencies, numDependencies), || simulator.event_kind(event, Kind::EventWait))
    }

    /// Allocates memory; the address is known at once.
    fn cudaGraphAddMemAllocNode = cuGraphAddMemAllocNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        nodeParams: Out<AllocationParameters>,
    ) {
        let simulator = context()?;
        nodeParams.check()?;
        // SAFETY: not null, so by the API's contract it points to the structure.
        let mut parameters = unsafe { nodeParams.pointer().read_unaligned() };
        add(simulator, node, graph, (dependencies, numDependencies), || parameters.kind(simulator))?;
        nodeParams.set(parameters)
    }

    /// Frees the memory of an allocation node.
    fn cudaGraphAddMemFreeNode = cuGraphAddMemFreeNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize, dptr: Address,
    ) {
        add(context()?, node, graph, (dependencies, numDependencies), || Ok(Kind::Free(dptr.0 as u64)))
    }

    /// A node of any type.
    fn cudaGraphAddNode = cuGraphAddNode(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
        nodeParams: Out<NodeParameters>,
    ) {
        let after = (dependencies, In::new(std::ptr::null()), numDependencies);
        add_described(context()?, API, (node, graph), after, nodeParams)
    }

    /// A node of any type, with edge data.
    fn cudaGraphAddNode_v2 = cuGraphAddNode_v2(
        node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, dependencyData: In<Edge>,
        numDependencies: usize, nodeParams: Out<NodeParameters>,
    ) {
        let after = (dependencies, dependencyData, numDependencies);
        add_described(context()?, API, (node, graph), after, nodeParams)
    }
}

pub(crate) mod runtime_only {
    use super::*;
    use crate::api::entry::api;

    api! { Runtime;
        /// A copy of slices of rows.
        fn cudaGraphAddMemcpyNode(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            copyParams: In<Copy3d>,
        ) {
            let simulator = simulator()?;
            add(simulator, node, graph, (dependencies, numDependencies), || copy_kind(copyParams.get()?.check(simulator)?))
        }

        /// A fill.
        fn cudaGraphAddMemsetNode(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            pMemsetParams: In<FillParameters>,
        ) {
            let simulator = simulator()?;
            add(simulator, node, graph, (dependencies, numDependencies), || pMemsetParams.get()?.kind(simulator))
        }

        /// A copy of one row.
        fn cudaGraphAddMemcpyNode1D(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            dst: Address, src: Address, count: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            let copy = || copy_kind(linear_copy(simulator, dst, src, count, kind)?);
            add(simulator, node, graph, (dependencies, numDependencies), copy)
        }

        /// A copy from a variable.
        fn cudaGraphAddMemcpyNodeFromSymbol(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            dst: Address, symbol: Address, count: usize, offset: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            let copy = || copy_kind(symbol_copy(simulator, symbol, dst, (offset, count), kind, false)?);
            add(simulator, node, graph, (dependencies, numDependencies), copy)
        }

        /// A copy to a variable.
        fn cudaGraphAddMemcpyNodeToSymbol(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            symbol: Address, src: Address, count: usize, offset: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            let copy = || copy_kind(symbol_copy(simulator, symbol, src, (offset, count), kind, true)?);
            add(simulator, node, graph, (dependencies, numDependencies), copy)
        }
    }
}

pub(crate) mod driver_only {
    use super::*;
    use crate::api::entry::api;

    api! { Driver;
        /// A kernel, by function or kernel handle.
        fn cuGraphAddKernelNode_v2(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            nodeParams: In<KernelParameters>,
        ) {
            let simulator = simulator()?;
            let parameters = nodeParams.get()?;
            let kind = || parameters.kind(simulator, Api::Driver, None);
            add(simulator, node, graph, (dependencies, numDependencies), kind)
        }

        /// A copy of slices of rows.
        fn cuGraphAddMemcpyNode(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            copyParams: In<DriverCopy3d>, ctx: ContextHandle,
        ) {
            let simulator = simulator()?;
            context::check_if_given(session(), ctx)?;
            add(simulator, node, graph, (dependencies, numDependencies), || copy_kind(copyParams.get()?.check(simulator)?))
        }

        /// A fill.
        fn cuGraphAddMemsetNode(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            memsetParams: In<FillParameters>, ctx: ContextHandle,
        ) {
            let simulator = simulator()?;
            context::check_if_given(session(), ctx)?;
            add(simulator, node, graph, (dependencies, numDependencies), || memsetParams.get()?.kind(simulator))
        }

        /// Writes words and waits for them.
        fn cuGraphAddBatchMemOpNode(
            node: Out<NodeHandle>, graph: GraphHandle, dependencies: In<NodeHandle>, numDependencies: usize,
            nodeParams: In<MemoryOperationParameters>,
        ) {
            let simulator = simulator()?;
            add(simulator, node, graph, (dependencies, numDependencies), || nodeParams.get()?.kind(simulator))
        }
    }
}
