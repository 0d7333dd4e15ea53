//! Structures of kernel nodes.

use crate::abi::call::Api;
use crate::abi::error::{Error, Result};
use crate::abi::launch_attribute::LaunchAttributes;
use crate::abi::launch_sizes::{Sizes, shape};
use crate::abi::{ContextHandle, Dim3, FunctionHandle};
use crate::graph::node::Kind;
use crate::session::context;
use crate::session::simulator::Simulator;
use crate::work::kernel_launch::{Arguments, KernelLaunch, Pointers};
use crate::work::operation::Operation;
use std::ffi::c_uint;
use std::sync::Arc;
use warp_stream::LaunchShape;

/// `cudaKernelNodeParams`, `CUDA_KERNEL_NODE_PARAMS_v1`, and the start of all later versions.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelParameters1 {
    function: usize,
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    arguments: Pointers,
    extra: Pointers,
}

/// `CUDA_KERNEL_NODE_PARAMS` of CUDA 12 and 13; the runtime's structure has two other last words,
/// unused here.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct KernelParameters {
    first: KernelParameters1,
    kernel: FunctionHandle,
    context: ContextHandle,
}

impl From<KernelParameters1> for KernelParameters {
    fn from(first: KernelParameters1) -> Self {
        Self { first, kernel: FunctionHandle(0), context: ContextHandle(0) }
    }
}

impl From<KernelParameters> for KernelParameters1 {
    fn from(parameters: KernelParameters) -> Self {
        parameters.first
    }
}

impl KernelParameters {
    /// Kernel node; `before` is the launch whose attributes it keeps.
    pub(crate) fn kind(
        &self,
        simulator: &Simulator,
        api: Api,
        before: Option<&KernelLaunch>,
    ) -> Result<Kind> {
        let KernelParameters1 { function, grid, block, shared, arguments, extra } = self.first;
        let (function, kernel) = match api {
            Api::Runtime => (function, simulator.kernel_to_launch(function)?),
            Api::Driver => {
                let function = if function == 0 { self.kernel.0 } else { function };
                (function, simulator.kernel(FunctionHandle(function))?)
            }
        };
        let attributes = before.map_or(LaunchAttributes::default(), |launch| launch.sizes.attributes);
        let sizes = Sizes { shape: shape(grid, block), shared: shared as usize, attributes };
        let launch = simulator.kernel_launch(function, kernel, sizes, Arguments::new(arguments, extra)?)?;
        Ok(Kind::Operation(Operation::Kernel(Arc::new(launch))))
    }

    /// Describes a kernel node. The node owns the arguments.
    pub(crate) fn of(api: Api, kind: &Kind) -> Result<Self> {
        let Kind::Operation(Operation::Kernel(launch)) = kind else { return Err(Error::InvalidValue) };
        let (function, context) = match api {
            Api::Runtime => (launch.function, ContextHandle(0)),
            Api::Driver => (launch.kernel.handle().0, context::current().unwrap_or(ContextHandle(0))),
        };
        let Sizes { shape: LaunchShape { grid, block }, shared, .. } = launch.sizes;
        let first = KernelParameters1 {
            function,
            grid: grid.into(),
            block: block.into(),
            shared: shared as c_uint,
            arguments: launch.parameters.pointers(),
            extra: std::ptr::null(),
        };
        Ok(Self { first, kernel: FunctionHandle(0), context })
    }
}
