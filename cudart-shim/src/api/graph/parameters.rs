//! Node parameters: read, changed in a graph, changed in an executable graph.

use super::nodes::copy_kind;
use crate::abi::call::Api;
use crate::abi::error::{Error, Result};
use crate::abi::{Address, ContextHandle, EventHandle, In, Out};
use crate::api::driver::DriverCopy3d;
use crate::api::entry::shared;
use crate::api::graph::kernel_structures::{KernelParameters, KernelParameters1};
use crate::api::graph::node_structures::{
    AllocationParameters, FillParameters, HostParameters, MemoryOperationParameters, NodeParameters,
};
use crate::api::runtime::{Copy3d, linear_copy, symbol_copy};
use crate::graph::attributes::Value;
use crate::graph::handle::{ExecutableHandle, GraphHandle, NodeHandle};
use crate::graph::node::Kind;
use crate::root::{session, simulator};
use crate::session::context;
use crate::session::simulator::Simulator;
use crate::work::copy::Copy;
use crate::work::operation::Operation;
use std::ffi::{c_int, c_uint};

/// A kernel node with new parameters and its present attributes.
fn kernel(simulator: &Simulator, api: Api, before: &Kind, parameters: KernelParameters) -> Result<Kind> {
    let Kind::Operation(Operation::Kernel(launch)) = before else { return Err(Error::InvalidValue) };
    parameters.kind(simulator, api, Some(launch))
}

fn copy_of(simulator: &Simulator, node: NodeHandle) -> Result<Copy> {
    match simulator.node_kind(node)? {
        Kind::Operation(Operation::Copy(copy)) => Ok(copy),
        _ => Err(Error::InvalidValue),
    }
}

/// Event of a node of the kind `which`.
fn event(kind: &Kind, which: impl Fn(EventHandle) -> Kind) -> Result<EventHandle> {
    let (Kind::EventWait(event) | Kind::EventRecord(event)) = kind else { return Err(Error::InvalidValue) };
    if which(*event).number() == kind.number() { Ok(*event) } else { Err(Error::InvalidValue) }
}

/// Reads the caller's generic node structure.
fn given(parameters: Out<NodeParameters>) -> Result<NodeParameters> {
    parameters.check()?;
    // SAFETY: not null, so by the API's contract it points to the structure.
    Ok(unsafe { parameters.pointer().read_unaligned() })
}

/// Node kind that a generic structure makes of an existing node.
fn described(simulator: &Simulator, api: Api, before: &Kind, mut parameters: NodeParameters) -> Result<Kind> {
    let is_fixed = before.is_memory() || matches!(before, Kind::Child(_) | Kind::Conditional(_));
    if is_fixed || parameters.number() != before.number() {
        return Err(Error::InvalidValue);
    }
    match parameters.kernel() {
        Some(parameters) => kernel(simulator, api, before, parameters),
        // Only structures of child graphs and conditions refer to a graph, and these cannot change
        // so.
        None => simulator.kind_of_parameters(api, GraphHandle(0), &mut parameters),
    }
}

shared! {
    /// Parameters of a kernel node.
    fn cudaGraphKernelNodeGetParams = cuGraphKernelNodeGetParams(node: NodeHandle, nodeParams: Out<KernelParameters1>) {
        nodeParams.check()?;
        nodeParams.set(KernelParameters::of(API, &context()?.node_kind(node)?)?.into())
    }

    /// Changes a kernel node.
    fn cudaGraphKernelNodeSetParams = cuGraphKernelNodeSetParams(node: NodeHandle, nodeParams: In<KernelParameters1>) {
        let simulator = context()?;
        let before = simulator.node_kind(node)?;
        simulator.set_node(node, kernel(simulator, API, &before, nodeParams.get()?.into())?)
    }

    /// Changes a kernel node of an executable graph.
    fn cudaGraphExecKernelNodeSetParams = cuGraphExecKernelNodeSetParams(
        graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<KernelParameters1>,
    ) {
        let simulator = context()?;
        let before = simulator.executable_kind(graphExec, node)?;
        let kind = kernel(simulator, API, &before, nodeParams.get()?.into())?;
        simulator.set_executable_node(graphExec, node, kind)
    }

    /// An attribute of a kernel node.
    fn cudaGraphKernelNodeGetAttribute = cuGraphKernelNodeGetAttribute(
        node: NodeHandle, attr: c_uint, value: Out<Value>,
    ) {
        value.check()?;
        value.set(context()?.kernel_node_attribute(node, attr)?)
    }

    /// Sets an attribute of a kernel node.
    fn cudaGraphKernelNodeSetAttribute = cuGraphKernelNodeSetAttribute(
        node: NodeHandle, attr: c_uint, value: In<Value>,
    ) {
        context()?.set_kernel_node_attribute(node, attr, value.get()?)
    }

    /// Copies all attributes of a kernel node to another.
    fn cudaGraphKernelNodeCopyAttributes = cuGraphKernelNodeCopyAttributes(dst: NodeHandle, src: NodeHandle) {
        context()?.copy_kernel_node_attributes(dst, src)
    }

    /// Parameters of a fill.
    fn cudaGraphMemsetNodeGetParams = cuGraphMemsetNodeGetParams(node: NodeHandle, nodeParams: Out<FillParameters>) {
        nodeParams.check()?;
        nodeParams.set(FillParameters::of(&context()?.node_kind(node)?)?)
    }

    /// Changes a fill.
    fn cudaGraphMemsetNodeSetParams = cuGraphMemsetNodeSetParams(node: NodeHandle, nodeParams: In<FillParameters>) {
        let simulator = context()?;
        simulator.set_node(node, nodeParams.get()?.kind(simulator)?)
    }

    /// Function and argument of a host node.
    fn cudaGraphHostNodeGetParams = cuGraphHostNodeGetParams(node: NodeHandle, nodeParams: Out<HostParameters>) {
        nodeParams.check()?;
        nodeParams.set(HostParameters::of(&context()?.node_kind(node)?)?)
    }

    /// Changes a host node.
    fn cudaGraphHostNodeSetParams = cuGraphHostNodeSetParams(node: NodeHandle, nodeParams: In<HostParameters>) {
        context()?.set_node(node, nodeParams.get()?.kind()?)
    }

    /// Changes a host node of an executable graph.
    fn cudaGraphExecHostNodeSetParams = cuGraphExecHostNodeSetParams(
        graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<HostParameters>,
    ) {
        context()?.set_executable_node(graphExec, node, nodeParams.get()?.kind()?)
    }

    /// The graph that a child node owns.
    fn cudaGraphChildGraphNodeGetGraph = cuGraphChildGraphNodeGetGraph(node: NodeHandle, pGraph: Out<GraphHandle>) {
        pGraph.check()?;
        pGraph.set(context()?.child_graph(node)?)
    }

    /// Gives a child of an executable graph the parameters of a graph of the same shape.
    fn cudaGraphExecChildGraphNodeSetParams = cuGraphExecChildGraphNodeSetParams(
        graphExec: ExecutableHandle, node: NodeHandle, childGraph: GraphHandle,
    ) {
        context()?.set_executable_child(graphExec, node, childGraph)
    }

    /// The event that a node records.
    fn cudaGraphEventRecordNodeGetEvent = cuGraphEventRecordNodeGetEvent(
        node: NodeHandle, event_out: Out<EventHandle>,
    ) {
        event_out.check()?;
        event_out.set(event(&context()?.node_kind(node)?, Kind::EventRecord)?)
    }

    /// Changes the event that a node records.
    fn cudaGraphEventRecordNodeSetEvent = cuGraphEventRecordNodeSetEvent(node: NodeHandle, event: EventHandle) {
        let simulator = context()?;
        simulator.set_node(node, simulator.event_kind(event, Kind::EventRecord)?)
    }

    /// Changes the event that a node of an executable graph records.
    fn cudaGraphExecEventRecordNodeSetEvent = cuGraphExecEventRecordNodeSetEvent(
        graphExec: ExecutableHandle, node: NodeHandle, event: EventHandle,
    ) {
        let simulator = context()?;
        simulator.set_executable_node(graphExec, node, simulator.event_kind(event, Kind::EventRecord)?)
    }

    /// The awaited event of a node.
    fn cudaGraphEventWaitNodeGetEvent = cuGraphEventWaitNodeGetEvent(node: NodeHandle, event_out: Out<EventHandle>) {
        event_out.check()?;
        event_out.set(event(&context()?.node_kind(node)?, Kind::EventWait)?)
    }

    /// Changes the awaited event of a node.
    fn cudaGraphEventWaitNodeSetEvent = cuGraphEventWaitNodeSetEvent(node: NodeHandle, event: EventHandle) {
        let simulator = context()?;
        simulator.set_node(node, simulator.event_kind(event, Kind::EventWait)?)
    }

    /// Changes the awaited event of an executable graph's node.
    fn cudaGraphExecEventWaitNodeSetEvent = cuGraphExecEventWaitNodeSetEvent(
        graphExec: ExecutableHandle, node: NodeHandle, event: EventHandle,
    ) {
        let simulator = context()?;
        simulator.set_executable_node(graphExec, node, simulator.event_kind(event, Kind::EventWait)?)
    }

    /// Parameters and address of an allocation node.
    fn cudaGraphMemAllocNodeGetParams = cuGraphMemAllocNodeGetParams(
        node: NodeHandle, params_out: Out<AllocationParameters>,
    ) {
        params_out.check()?;
        params_out.set(AllocationParameters::of(&context()?.node_kind(node)?)?)
    }

    /// Address that a node frees.
    fn cudaGraphMemFreeNodeGetParams = cuGraphMemFreeNodeGetParams(node: NodeHandle, dptr_out: Out<u64>) {
        dptr_out.check()?;
        match context()?.node_kind(node)? {
            Kind::Free(address) => dptr_out.set(address),
            _ => Err(Error::InvalidValue),
        }
    }

    /// Parameters of any node.
    fn cudaGraphNodeGetParams = cuGraphNodeGetParams(node: NodeHandle, nodeParams: Out<NodeParameters>) {
        nodeParams.check()?;
        nodeParams.set(context()?.describe_node(API, node)?)
    }

    /// Changes any node.
    fn cudaGraphNodeSetParams = cuGraphNodeSetParams(node: NodeHandle, nodeParams: Out<NodeParameters>) {
        let simulator = context()?;
        let before = simulator.node_kind(node)?;
        simulator.set_node(node, described(simulator, API, &before, given(nodeParams)?)?)
    }

    /// Changes any node of an executable graph.
    fn cudaGraphExecNodeSetParams = cuGraphExecNodeSetParams(
        graphExec: ExecutableHandle, node: NodeHandle, nodeParams: Out<NodeParameters>,
    ) {
        let simulator = context()?;
        let parameters = given(nodeParams)?;
        if let Some(graph) = parameters.child() {
            return simulator.set_executable_child(graphExec, node, graph);
        }
        let before = simulator.executable_kind(graphExec, node)?;
        simulator.set_executable_node(graphExec, node, described(simulator, API, &before, parameters)?)
    }
}

pub(crate) mod runtime_only {
    use super::*;
    use crate::api::entry::api;

    api! { Runtime;
        /// Parameters of a copy.
        fn cudaGraphMemcpyNodeGetParams(node: NodeHandle, nodeParams: Out<Copy3d>) {
            let simulator = simulator()?;
            nodeParams.check()?;
            nodeParams.set(Copy3d::of(simulator, &copy_of(simulator, node)?)?)
        }

        /// Changes a copy.
        fn cudaGraphMemcpyNodeSetParams(node: NodeHandle, nodeParams: In<Copy3d>) {
            let simulator = simulator()?;
            simulator.set_node(node, copy_kind(nodeParams.get()?.check(simulator)?)?)
        }

        /// Changes a copy to a single row.
        fn cudaGraphMemcpyNodeSetParams1D(
            node: NodeHandle, dst: Address, src: Address, count: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            simulator.set_node(node, copy_kind(linear_copy(simulator, dst, src, count, kind)?)?)
        }

        /// Changes a copy's source to a variable.
        fn cudaGraphMemcpyNodeSetParamsFromSymbol(
            node: NodeHandle, dst: Address, symbol: Address, count: usize, offset: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            simulator.set_node(node, copy_kind(symbol_copy(simulator, symbol, dst, (offset, count), kind, false)?)?)
        }

        /// Changes a copy's destination to a variable.
        fn cudaGraphMemcpyNodeSetParamsToSymbol(
            node: NodeHandle, symbol: Address, src: Address, count: usize, offset: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            simulator.set_node(node, copy_kind(symbol_copy(simulator, symbol, src, (offset, count), kind, true)?)?)
        }

        /// Changes a copy of an executable graph.
        fn cudaGraphExecMemcpyNodeSetParams(graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<Copy3d>) {
            let simulator = simulator()?;
            simulator.set_executable_node(graphExec, node, copy_kind(nodeParams.get()?.check(simulator)?)?)
        }

        /// Changes a copy of an executable graph to a single row.
        fn cudaGraphExecMemcpyNodeSetParams1D(
            graphExec: ExecutableHandle, node: NodeHandle, dst: Address, src: Address, count: usize, kind: c_int,
        ) {
            let simulator = simulator()?;
            simulator.set_executable_node(graphExec, node, copy_kind(linear_copy(simulator, dst, src, count, kind)?)?)
        }

        /// Changes the source of an executable graph's copy to a variable.
        fn cudaGraphExecMemcpyNodeSetParamsFromSymbol(
            graphExec: ExecutableHandle, node: NodeHandle, dst: Address, symbol: Address, count: usize, offset: usize,
            kind: c_int,
        ) {
            let simulator = simulator()?;
            let copy = symbol_copy(simulator, symbol, dst, (offset, count), kind, false)?;
            simulator.set_executable_node(graphExec, node, copy_kind(copy)?)
        }

        /// Changes the destination of an executable graph's copy to a variable.
        fn cudaGraphExecMemcpyNodeSetParamsToSymbol(
            graphExec: ExecutableHandle, node: NodeHandle, symbol: Address, src: Address, count: usize, offset: usize,
            kind: c_int,
        ) {
            let simulator = simulator()?;
            let copy = symbol_copy(simulator, symbol, src, (offset, count), kind, true)?;
            simulator.set_executable_node(graphExec, node, copy_kind(copy)?)
        }

        /// Changes a fill of an executable graph.
        fn cudaGraphExecMemsetNodeSetParams(
            graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<FillParameters>,
        ) {
            let simulator = simulator()?;
            simulator.set_executable_node(graphExec, node, nodeParams.get()?.kind(simulator)?)
        }
    }
}

pub(crate) mod driver_only {
    use super::*;
    use crate::api::entry::api;

    api! { Driver;
        /// Parameters of a kernel node.
        fn cuGraphKernelNodeGetParams_v2(node: NodeHandle, nodeParams: Out<KernelParameters>) {
            nodeParams.check()?;
            nodeParams.set(KernelParameters::of(Api::Driver, &simulator()?.node_kind(node)?)?)
        }

        /// Changes a kernel node.
        fn cuGraphKernelNodeSetParams_v2(node: NodeHandle, nodeParams: In<KernelParameters>) {
            let simulator = simulator()?;
            let before = simulator.node_kind(node)?;
            simulator.set_node(node, kernel(simulator, Api::Driver, &before, nodeParams.get()?)?)
        }

        /// Changes a kernel node of an executable graph.
        fn cuGraphExecKernelNodeSetParams_v2(
            graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<KernelParameters>,
        ) {
            let simulator = simulator()?;
            let before = simulator.executable_kind(graphExec, node)?;
            let kind = kernel(simulator, Api::Driver, &before, nodeParams.get()?)?;
            simulator.set_executable_node(graphExec, node, kind)
        }

        /// Parameters of a copy.
        fn cuGraphMemcpyNodeGetParams(node: NodeHandle, nodeParams: Out<DriverCopy3d>) {
            let simulator = simulator()?;
            nodeParams.check()?;
            nodeParams.set(DriverCopy3d::of(&copy_of(simulator, node)?))
        }

        /// Changes a copy.
        fn cuGraphMemcpyNodeSetParams(node: NodeHandle, nodeParams: In<DriverCopy3d>) {
            let simulator = simulator()?;
            simulator.set_node(node, copy_kind(nodeParams.get()?.check(simulator)?)?)
        }

        /// Changes a copy of an executable graph.
        fn cuGraphExecMemcpyNodeSetParams(
            graphExec: ExecutableHandle, node: NodeHandle, copyParams: In<DriverCopy3d>, ctx: ContextHandle,
        ) {
            let simulator = simulator()?;
            context::check_if_given(session(), ctx)?;
            simulator.set_executable_node(graphExec, node, copy_kind(copyParams.get()?.check(simulator)?)?)
        }

        /// Changes a fill of an executable graph.
        fn cuGraphExecMemsetNodeSetParams(
            graphExec: ExecutableHandle, node: NodeHandle, memsetParams: In<FillParameters>, ctx: ContextHandle,
        ) {
            let simulator = simulator()?;
            context::check_if_given(session(), ctx)?;
            simulator.set_executable_node(graphExec, node, memsetParams.get()?.kind(simulator)?)
        }

        /// The operations of a node.
        fn cuGraphBatchMemOpNodeGetParams(node: NodeHandle, nodeParams: Out<MemoryOperationParameters>) {
            nodeParams.check()?;
            nodeParams.set(MemoryOperationParameters::of(&simulator()?.node_kind(node)?)?)
        }

        /// Changes the operations of a node.
        fn cuGraphBatchMemOpNodeSetParams(node: NodeHandle, nodeParams: In<MemoryOperationParameters>) {
            let simulator = simulator()?;
            simulator.set_node(node, nodeParams.get()?.kind(simulator)?)
        }

        /// Changes the operations of a node of an executable graph.
        fn cuGraphExecBatchMemOpNodeSetParams(
            graphExec: ExecutableHandle, node: NodeHandle, nodeParams: In<MemoryOperationParameters>,
        ) {
            let simulator = simulator()?;
            simulator.set_executable_node(graphExec, node, nodeParams.get()?.kind(simulator)?)
        }
    }
}
