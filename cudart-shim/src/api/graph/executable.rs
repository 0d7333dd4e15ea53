//! Executable graphs.

use crate::abi::error::{Error, Result};
use crate::abi::{Out, StreamHandle};
use crate::api::entry::shared;
use crate::graph::executable::{InstantiateFailure, InstantiateResult};
use crate::graph::handle::{ExecutableHandle, GraphHandle, NodeHandle};
use crate::graph::update::UpdateResultInfo;
use crate::root::simulator;
use crate::session::simulator::Simulator;
use std::ffi::{c_char, c_int, c_uint};

/// `cudaGraphInstantiateParams`, `CUDA_GRAPH_INSTANTIATE_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct InstantiateParameters {
    flags: u64,
    upload_stream: StreamHandle,
    error_node: NodeHandle,
    result: c_int,
}

fn instantiate(
    simulator: &Simulator,
    result: Out<ExecutableHandle>,
    graph: GraphHandle,
    flags: u64,
) -> std::result::Result<(), InstantiateFailure> {
    result.check()?;
    simulator.check_unsafe_call()?;
    Ok(result.set(simulator.instantiate(graph, flags)?)?)
}

/// First version of the call, which reports a failure in words.
pub(super) fn instantiate_with_log(
    simulator: &Simulator,
    result: Out<ExecutableHandle>,
    graph: GraphHandle,
    error_node: Out<NodeHandle>,
    (log, room): (Out<c_char>, usize),
) -> Result<()> {
    let outcome = instantiate(simulator, result, graph, 0);
    let (node, text) = match &outcome {
        Ok(()) => (NodeHandle(0), ""),
        Err(failure) => (failure.node, failure.text()),
    };
    error_node.set_if_wanted(node);
    if !log.pointer().is_null() && room > 0 {
        let text = text.bytes().take(room - 1).chain([0]);
        for (index, byte) in text.enumerate() {
            Out::new(log.pointer().wrapping_add(index)).set_if_wanted(byte as c_char);
        }
    }
    outcome.map_err(|failure| failure.error)
}

fn update(
    simulator: &Simulator,
    executable: ExecutableHandle,
    graph: GraphHandle,
    tell: impl FnOnce(UpdateResultInfo),
) -> Result<()> {
    match simulator.update_executable(executable, graph)? {
        Ok(()) => {
            tell(UpdateResultInfo::SUCCESS);
            Ok(())
        }
        Err(info) => {
            tell(info);
            Err(Error::GraphExecUpdateFailure)
        }
    }
}

shared! {
    /// Makes an executable graph.
    fn cudaGraphInstantiateWithFlags = cuGraphInstantiateWithFlags(
        graphExec: Out<ExecutableHandle>, graph: GraphHandle, flags: u64,
    ) {
        instantiate(context()?, graphExec, graph, flags).map_err(|failure| failure.error)
    }

    /// Makes an executable graph or reports the reason of a failure.
    fn cudaGraphInstantiateWithParams, cudaGraphInstantiateWithParams_ptsz
        = cuGraphInstantiateWithParams, cuGraphInstantiateWithParams_ptsz [default]
    (
        graphExec: Out<ExecutableHandle>, graph: GraphHandle, instantiateParams: Out<InstantiateParameters>,
    ) {
        let simulator = context()?;
        instantiateParams.check()?;
        // SAFETY: not null, so by the API's contract it points to the structure.
        let mut parameters = unsafe { instantiateParams.pointer().read_unaligned() };
        if parameters.flags & 2 != 0 {
            simulator.check_stream(parameters.upload_stream, default)?;
        }
        let outcome = instantiate(simulator, graphExec, graph, parameters.flags);
        (parameters.result, parameters.error_node) = match &outcome {
            Ok(()) => (InstantiateResult::Success as c_int, NodeHandle(0)),
            Err(failure) => (failure.result as c_int, failure.node),
        };
        instantiateParams.set(parameters)?;
        outcome.map_err(|failure| failure.error)
    }

    /// Uploads an executable graph, which needs no preparation here.
    fn cudaGraphUpload, cudaGraphUpload_ptsz = cuGraphUpload, cuGraphUpload_ptsz [default] (
        graphExec: ExecutableHandle, stream: StreamHandle,
    ) {
        let simulator = context()?;
        simulator.executable_number(graphExec)?;
        simulator.check_stream(stream, default)
    }

    /// Launches an executable graph.
    fn cudaGraphLaunch, cudaGraphLaunch_ptsz = cuGraphLaunch, cuGraphLaunch_ptsz [default] (
        graphExec: ExecutableHandle, stream: StreamHandle,
    ) {
        let simulator = context()?;
        simulator.launch_graph(graphExec, simulator.stream(stream, default)?)
    }

    /// Destroys an executable graph; launches in flight continue.
    fn cudaGraphExecDestroy = cuGraphExecDestroy(graphExec: ExecutableHandle) {
        context()?.destroy_executable(graphExec)
    }

    /// Creation flags of an executable graph.
    fn cudaGraphExecGetFlags = cuGraphExecGetFlags(graphExec: ExecutableHandle, flags: Out<u64>) {
        flags.check()?;
        flags.set(context()?.executable_flags(graphExec)?)
    }

    /// Number of an executable graph.
    fn cudaGraphExecGetId = cuGraphExecGetId(graphExec: ExecutableHandle, graphID: Out<c_uint>) {
        graphID.check()?;
        graphID.set(context()?.executable_number(graphExec)?)
    }

    /// Enables or disables a kernel, copy or fill in later launches.
    fn cudaGraphNodeSetEnabled = cuGraphNodeSetEnabled(
        graphExec: ExecutableHandle, node: NodeHandle, isEnabled: c_uint,
    ) {
        context()?.enable_node(graphExec, node, isEnabled != 0)
    }

    /// Tells if a kernel, copy or fill is enabled.
    fn cudaGraphNodeGetEnabled = cuGraphNodeGetEnabled(
        graphExec: ExecutableHandle, node: NodeHandle, isEnabled: Out<c_uint>,
    ) {
        isEnabled.check()?;
        isEnabled.set(context()?.is_node_enabled(graphExec, node)?.into())
    }

    /// Updates an executable graph's parameters from a graph of the same topology; first version of
    /// the call.
    fn cudaGraphExecUpdate_v11 = cuGraphExecUpdate(
        graphExec: ExecutableHandle, graph: GraphHandle, errorNode: Out<NodeHandle>, updateResult: Out<c_int>,
    ) {
        update(context()?, graphExec, graph, |info| {
            errorNode.set_if_wanted(info.error_node);
            updateResult.set_if_wanted(info.result);
        })
    }

    /// Updates an executable graph's parameters from a graph of the same topology.
    fn cudaGraphExecUpdate = cuGraphExecUpdate_v2(
        graphExec: ExecutableHandle, graph: GraphHandle, resultInfo: Out<UpdateResultInfo>,
    ) {
        update(context()?, graphExec, graph, |info| {
            resultInfo.set_if_wanted(info);
        })
    }

    /// Makes an executable graph; version of CUDA 11.
    fn cudaGraphInstantiate_v11 = cuGraphInstantiate_v2(
        graphExec: Out<ExecutableHandle>, graph: GraphHandle, errorNode: Out<NodeHandle>, logBuffer: Out<c_char>,
        bufferSize: usize,
    ) {
        instantiate_with_log(context()?, graphExec, graph, errorNode, (logBuffer, bufferSize))
    }
}

pub(crate) mod runtime_only {
    use super::*;
    use crate::api::entry::api;

    api! { Runtime;
        /// Makes an executable graph.
        fn cudaGraphInstantiate(graphExec: Out<ExecutableHandle>, graph: GraphHandle, flags: u64) {
            instantiate(simulator()?, graphExec, graph, flags).map_err(|failure| failure.error)
        }
    }
}
