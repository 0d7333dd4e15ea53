//! Launching kernels.

use crate::abi::error::{Error, Result};
use crate::abi::launch_attribute::{LaunchAttribute, LaunchAttributes};
use crate::abi::launch_sizes::{Sizes, shape};
use crate::abi::{Address, DefaultStream, Dim3, FunctionHandle, In, Out, StreamHandle};
use crate::api::entry::api;
use crate::objects::sass_only;
use crate::root::simulator;
use crate::work::kernel_launch::Arguments;
use std::cell::{Cell, RefCell};
use std::ffi::{c_uint, c_void};
use warp_stream::LaunchShape;

/// Launch configuration of `<<<…>>>`, kept between the two halves of a launch.
#[derive(Clone, Copy, Debug)]
struct CallConfiguration {
    shape: LaunchShape,
    shared: usize,
    stream: StreamHandle,
}

thread_local! {
    /// The launch in progress. Without a destructor, since exit handlers may launch after the main
    /// thread's destructors.
    static CONFIGURATION: Cell<Option<CallConfiguration>> = const { Cell::new(None) };
    /// Outer launches, whose arguments contain the one in progress.
    static OUTER: RefCell<Vec<CallConfiguration>> = const { RefCell::new(Vec::new()) };
}

/// `cudaLaunchConfig_t`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct LaunchConfiguration {
    grid: Dim3,
    block: Dim3,
    shared: usize,
    stream: StreamHandle,
    attributes: In<LaunchAttribute>,
    attribute_count: c_uint,
}

impl LaunchConfiguration {
    /// Launch sizes, with the attributes that affect them.
    pub(crate) fn sizes(&self) -> Result<Sizes> {
        let attributes = LaunchAttributes::of(&self.attributes.list(self.attribute_count as usize)?);
        Ok(Sizes { attributes, ..sizes(self.grid, self.block, self.shared) })
    }
}

/// `cudaLaunchParams`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DeviceLaunch {
    function: Address,
    grid: Dim3,
    block: Dim3,
    arguments: ArgumentPointers,
    shared: usize,
    stream: StreamHandle,
}

/// A pointer to the array of pointers to a kernel's arguments.
type ArgumentPointers = *const *const c_void;

fn launch(
    function: usize,
    sizes: Sizes,
    arguments: ArgumentPointers,
    stream: StreamHandle,
    default: DefaultStream,
) -> Result<()> {
    let simulator = simulator()?;
    let stream = simulator.stream(stream, default)?;
    let kernel = simulator.kernel_to_launch(function)?;
    simulator.launch(function, kernel, sizes, Arguments::Pointers(arguments), stream)
}

fn sizes(grid: Dim3, block: Dim3, shared: usize) -> Sizes {
    Sizes::plain(shape(grid, block), shared)
}

api! { Runtime;
    /// First half of `<<<…>>>`: keeps the sizes for the kernel's stub. Returns 0 for success.
    fn __cudaPushCallConfiguration(gridDim: Dim3, blockDim: Dim3, sharedMem: usize, stream: StreamHandle) -> c_uint = 1; {
        let configuration = CallConfiguration { shape: shape(gridDim, blockDim), shared: sharedMem, stream };
        if let Some(outer) = CONFIGURATION.replace(Some(configuration)) {
            return OUTER.try_with(|stack| stack.borrow_mut().push(outer)).is_err().into();
        }
        0
    }

    /// Second half, in the kernel's stub: returns the sizes.
    fn __cudaPopCallConfiguration(
        gridDim: Out<Dim3>, blockDim: Out<Dim3>, sharedMem: Out<usize>, stream: Out<StreamHandle>,
    ) {
        let outer = OUTER.try_with(|stack| stack.borrow_mut().pop()).ok().flatten();
        let configuration = CONFIGURATION.replace(outer).ok_or(Error::MissingConfiguration)?;
        gridDim.set(configuration.shape.grid.into())?;
        blockDim.set(configuration.shape.block.into())?;
        sharedMem.set(configuration.shared)?;
        stream.set(configuration.stream)?;
        sass_only::enter_stub();
        Ok(())
    }

    /// Launches the kernel of a stub or handle.
    fn cudaLaunchKernel, cudaLaunchKernel_ptsz [default] (
        func: Address, gridDim: Dim3, blockDim: Dim3, args: ArgumentPointers, sharedMem: usize, stream: StreamHandle,
    ) {
        launch(func.0, sizes(gridDim, blockDim, sharedMem), args, stream, default)
    }

    /// Launches a kernel by its handle, as CUDA 12.9's stubs do.
    fn __cudaLaunchKernel, __cudaLaunchKernel_ptsz [default] (
        kernel: FunctionHandle, gridDim: Dim3, blockDim: Dim3, args: ArgumentPointers, sharedMem: usize,
        stream: StreamHandle,
    ) {
        let launched = launch(kernel.0, sizes(gridDim, blockDim, sharedMem), args, stream, default);
        launched.inspect_err(|_| sass_only::enter_stub())
    }

    /// Launches a cooperative kernel, whose CTAs are all resident at once.
    fn cudaLaunchCooperativeKernel, cudaLaunchCooperativeKernel_ptsz [default] (
        func: Address, gridDim: Dim3, blockDim: Dim3, args: ArgumentPointers, sharedMem: usize, stream: StreamHandle,
    ) {
        let attributes = LaunchAttributes { cooperative: true, cluster: None };
        let sizes = Sizes { attributes, ..sizes(gridDim, blockDim, sharedMem) };
        launch(func.0, sizes, args, stream, default)
    }

    /// Launches kernels on several devices. The devices report no support (attribute 96), so only
    /// one is accepted.
    fn cudaLaunchCooperativeKernelMultiDevice(
        launchParamsList: In<DeviceLaunch>, numDevices: c_uint, flags: c_uint,
    ) {
        if flags > 3 || numDevices == 0 {
            return Err(Error::InvalidValue);
        }
        let [one] = launchParamsList.list(numDevices as usize)?[..] else { return Err(Error::NotSupported) };
        let attributes = LaunchAttributes { cooperative: true, cluster: None };
        let sizes = Sizes { attributes, ..sizes(one.grid, one.block, one.shared) };
        launch(one.function.0, sizes, one.arguments, one.stream, DefaultStream::Legacy)
    }

    /// Launches a kernel with attributes.
    fn cudaLaunchKernelExC, cudaLaunchKernelExC_ptsz [default] (
        config: In<LaunchConfiguration>, func: Address, args: ArgumentPointers,
    ) {
        let config = config.get()?;
        launch(func.0, config.sizes()?, args, config.stream, default)
    }

    /// The handle of a stub's kernel.
    fn __cudaGetKernel(kernelPtr: Out<FunctionHandle>, hostFun: Address) {
        kernelPtr.check()?;
        kernelPtr.set(simulator()?.handle_of_stub(hostFun.0)?)
    }

    /// The handle of a stub's kernel.
    fn cudaGetKernel(kernelPtr: Out<FunctionHandle>, entryFuncAddr: Address) {
        kernelPtr.check()?;
        kernelPtr.set(simulator()?.handle_of_stub(entryFuncAddr.0)?)
    }

    /// The handle of a stub's kernel, for the driver API.
    fn cudaGetFuncBySymbol(functionPtr: Out<FunctionHandle>, symbolPtr: Address) {
        functionPtr.check()?;
        functionPtr.set(simulator()?.handle_of_stub(symbolPtr.0)?)
    }
}
