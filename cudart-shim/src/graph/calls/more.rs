//! User objects, conditions, memory of graphs, numbers and pictures.

use super::super::handle::{GraphHandle, NodeHandle};
use super::super::memory;
use super::both;
use crate::abi::{ContextHandle, Out, Text, UserObjectHandle};
use crate::context::{self as contexts, check_device};
use crate::error::{Error, Result};
use crate::streams::{HostCall, HostFunction};
use std::ffi::{OsStr, c_int, c_uint, c_void};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// `cudaUserObjectNoDestructorSync`, which has to be given.
const NO_DESTRUCTOR_SYNC: c_uint = 1;
/// `cudaGraphUserObjectMove`.
const MOVE: c_uint = 1;

/// Numbers of references that the API allows.
fn count_of(count: c_uint) -> Result<u32> {
    if count == 0 || count > i32::MAX as u32 { Err(Error::InvalidValue) } else { Ok(count) }
}

both! {
    /// An object that graphs keep alive.
    fn cudaUserObjectCreate = cuUserObjectCreate(
        object: Out<UserObjectHandle>, ptr: *mut c_void, destroy: HostFunction, initialRefcount: c_uint, flags: c_uint,
    ) {
        let simulator = context()?;
        object.check()?;
        if flags != NO_DESTRUCTOR_SYNC {
            return Err(Error::InvalidValue);
        }
        object.set(simulator.create_user_object(HostCall::new(destroy, ptr)?, count_of(initialRefcount)?))
    }

    /// Adds references to an object.
    fn cudaUserObjectRetain = cuUserObjectRetain(object: UserObjectHandle, count: c_uint) {
        context()?.retain_user_object(object, count_of(count)?)
    }

    /// Removes references to an object.
    fn cudaUserObjectRelease = cuUserObjectRelease(object: UserObjectHandle, count: c_uint) {
        context()?.release_user_object(object, count_of(count)?)
    }

    /// Gives a graph references to an object.
    fn cudaGraphRetainUserObject = cuGraphRetainUserObject(
        graph: GraphHandle, object: UserObjectHandle, count: c_uint, flags: c_uint,
    ) {
        if flags & !MOVE != 0 {
            return Err(Error::InvalidValue);
        }
        context()?.give_user_object(graph, object, count_of(count)?, flags & MOVE != 0)
    }

    /// Takes references to an object from a graph.
    fn cudaGraphReleaseUserObject = cuGraphReleaseUserObject(
        graph: GraphHandle, object: UserObjectHandle, count: c_uint,
    ) {
        context()?.take_user_object(graph, object, count_of(count)?)
    }

    /// Gives memory of graphs that nothing uses back.
    fn cudaDeviceGraphMemTrim = cuDeviceGraphMemTrim(device: c_int) {
        context()?;
        check_device(device)?;
        memory::trim();
        Ok(())
    }

    /// How much memory graphs use.
    fn cudaDeviceGetGraphMemAttribute = cuDeviceGetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        check_device(device)?;
        value.check()?;
        Out::new(value.pointer().cast()).set(memory::attribute(attr)?)
    }

    /// Starts a high-water mark again.
    fn cudaDeviceSetGraphMemAttribute = cuDeviceSetGraphMemAttribute(
        device: c_int, attr: c_int, value: Out<c_void>,
    ) {
        context()?;
        check_device(device)?;
        value.check()?;
        // SAFETY: not null, so by the API's contract it points to a 64-bit number.
        memory::set_attribute(attr, unsafe { value.pointer().cast::<u64>().read_unaligned() })
    }

    /// Writes a picture of a graph.
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

    /// A number that no other node has.
    fn cudaGraphNodeGetToolsId = cuGraphNodeGetToolsId(node: NodeHandle, toolsNodeId: Out<u64>) {
        toolsNodeId.check()?;
        let (_, graph, local) = context()?.place_of_node(node)?;
        toolsNodeId.set((u64::from(graph) << 32) | u64::from(local))
    }
}

pub(crate) mod runtime_only {
    use super::*;
    use crate::context::runtime_context;
    use crate::entry::api;

    api! { Runtime;
        /// A value that kernels set and a conditional node looks at.
        fn cudaGraphConditionalHandleCreate(
            handle: Out<u64>, graph: GraphHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            handle.check()?;
            handle.set(runtime_context()?.create_condition(graph, defaultLaunchValue, flags)?)
        }

        /// A value that kernels set and a conditional node looks at; for a context.
        fn cudaGraphConditionalHandleCreate_v2(
            handle: Out<u64>, graph: GraphHandle, _ctx: ContextHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            handle.check()?;
            handle.set(runtime_context()?.create_condition(graph, defaultLaunchValue, flags)?)
        }
    }
}

pub(crate) mod driver_only {
    use super::*;
    use crate::context::driver_context;
    use crate::entry::api;

    api! { Driver;
        /// A value that kernels set and a conditional node looks at.
        fn cuGraphConditionalHandleCreate(
            handle: Out<u64>, graph: GraphHandle, ctx: ContextHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            let simulator = driver_context()?;
            handle.check()?;
            contexts::check_if_given(ctx)?;
            handle.set(simulator.create_condition(graph, defaultLaunchValue, flags)?)
        }
    }
}
