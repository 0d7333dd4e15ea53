//! Conditions.

use crate::abi::{ContextHandle, Out};
use crate::graph::handle::GraphHandle;
use crate::root::{session, simulator};
use crate::session::context as contexts;
use std::ffi::c_uint;

pub(crate) mod runtime_only {
    use super::*;
    use crate::api::entry::api;

    api! { Runtime;
        /// A condition: a value that kernels set and a conditional node reads.
        fn cudaGraphConditionalHandleCreate(
            handle: Out<u64>, graph: GraphHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            handle.check()?;
            handle.set(simulator()?.create_condition(graph, defaultLaunchValue, flags)?)
        }

        /// A condition of a context: a value that kernels set and a conditional node reads.
        fn cudaGraphConditionalHandleCreate_v2(
            handle: Out<u64>, graph: GraphHandle, _ctx: ContextHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            handle.check()?;
            handle.set(simulator()?.create_condition(graph, defaultLaunchValue, flags)?)
        }
    }
}

pub(crate) mod driver_only {
    use super::*;
    use crate::api::entry::api;

    api! { Driver;
        /// A condition: a value that kernels set and a conditional node reads.
        fn cuGraphConditionalHandleCreate(
            handle: Out<u64>, graph: GraphHandle, ctx: ContextHandle, defaultLaunchValue: c_uint, flags: c_uint,
        ) {
            let simulator = simulator()?;
            handle.check()?;
            contexts::check_if_given(session(), ctx)?;
            handle.set(simulator.create_condition(graph, defaultLaunchValue, flags)?)
        }
    }
}
