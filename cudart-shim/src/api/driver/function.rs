//! Functions: launches, attributes, occupancy.

use crate::abi::error::{Error, Result};
use crate::abi::handle::is_default;
use crate::abi::launch_attribute::{LaunchAttribute, LaunchAttributes};
use crate::abi::launch_sizes::{Sizes, shape};
use crate::abi::{DefaultStream, Dim3, FunctionHandle, In, Out, StreamHandle};
use crate::api::entry::api;
use crate::objects::function::parameter;
use crate::root::{session, simulator};
use crate::session::context;
use crate::work::kernel_launch::{Arguments, Pointers};
use std::ffi::{c_int, c_uint};
use warp_stream::LaunchShape;

/// `CUlaunchConfig`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DriverLaunchConfiguration {
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    stream: StreamHandle,
    attributes: In<LaunchAttribute>,
    attribute_count: c_uint,
}

impl DriverLaunchConfiguration {
    /// Launch sizes, with the attributes that affect them.
    fn sizes(&self) -> Result<Sizes> {
        let attributes = LaunchAttributes::of(&self.attributes.list(self.attribute_count as usize)?);
        Ok(Sizes { shape: shape(self.grid, self.block), shared: self.shared as usize, attributes })
    }
}

#[cfg(test)]
impl DriverLaunchConfiguration {
    /// Offset of the stream in bytes.
    pub(crate) const STREAM: usize = std::mem::offset_of!(DriverLaunchConfiguration, stream);
}

/// `CUDA_LAUNCH_PARAMS`.
#[derive(Clone, Copy, Debug)]
#[repr(C)]
pub(crate) struct DeviceLaunch {
    function: FunctionHandle,
    grid: Dim3,
    block: Dim3,
    shared: c_uint,
    stream: StreamHandle,
    arguments: Pointers,
}

/// `CUoccupancyB2DSize`: dynamic shared memory for a CTA of this many threads.
type DynamicShared = Option<unsafe extern "C" fn(c_int) -> usize>;

fn launch(
    function: FunctionHandle,
    sizes: Sizes,
    stream: StreamHandle,
    default: DefaultStream,
    arguments: Arguments,
) -> Result<()> {
    // A launch configuration hides the stream from the table's context check.
    if is_default(stream) {
        context::check_current(session())?;
    }
    let simulator = simulator()?;
    let stream = simulator.stream(stream, default)?;
    let kernel = simulator.kernel_to_launch(function.0).map_err(Error::of_handle)?;
    simulator.launch(function.0, kernel, sizes, arguments, stream)
}

fn sizes(grid: [c_uint; 3], block: [c_uint; 3], shared: c_uint, cooperative: bool) -> Sizes {
    let attributes = LaunchAttributes { cooperative, cluster: None };
    Sizes { shape: LaunchShape::new(grid, block), shared: shared as usize, attributes }
}

/// Cache and bank configurations are mere preferences; only their range is checked.
fn check_preference(function: FunctionHandle, value: c_int, largest: c_int) -> Result<()> {
    simulator()?.kernel(function)?;
    if (0..=largest).contains(&value) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn occupancy(
    ctas: Out<c_int>,
    function: FunctionHandle,
    threads: c_int,
    shared: usize,
    flags: c_uint,
) -> Result<()> {
    ctas.check()?;
    let simulator = simulator()?;
    let threads = u32::try_from(threads).ok().filter(|threads| *threads > 0).ok_or(Error::InvalidValue)?;
    if flags > 1 {
        return Err(Error::InvalidValue);
    }
    let kernel = simulator.kernel(function)?;
    let resources = kernel.resources()?;
    ctas.set(simulator.active_ctas(&kernel, &resources, threads, shared) as c_int)
}

fn best_cta_size(
    grid: Out<c_int>,
    block: Out<c_int>,
    function: FunctionHandle,
    dynamic: DynamicShared,
    shared: usize,
    limit: c_int,
) -> Result<()> {
    grid.check()?;
    block.check()?;
    let simulator = simulator()?;
    let limit = u32::try_from(limit).map_err(|_| Error::InvalidValue)?;
    let kernel = simulator.kernel(function)?;
    let resources = kernel.resources()?;
    let (ctas, threads) = simulator.best_cta_size(&kernel, &resources, limit, |threads| match dynamic {
        // SAFETY: by the API's contract a function that takes a CTA size.
        Some(function) => unsafe { function(threads as c_int) },
        None => shared,
    });
    grid.set(ctas as c_int)?;
    block.set(threads as c_int)
}

api! { Driver;
    /// Launches a function.
    fn cuLaunchKernel, cuLaunchKernel_ptsz [default] (
        f: FunctionHandle, gridX: c_uint, gridY: c_uint, gridZ: c_uint, blockX: c_uint, blockY: c_uint, blockZ: c_uint,
        sharedMemBytes: c_uint, stream: StreamHandle, kernelParams: Pointers, extra: Pointers,
    ) {
        let sizes = sizes([gridX, gridY, gridZ], [blockX, blockY, blockZ], sharedMemBytes, false);
        launch(f, sizes, stream, default, Arguments::new(kernelParams, extra)?)
    }

    /// Launches a function with attributes.
    fn cuLaunchKernelEx, cuLaunchKernelEx_ptsz [default] (
        config: In<DriverLaunchConfiguration>, f: FunctionHandle, kernelParams: Pointers, extra: Pointers,
    ) {
        let config = config.get()?;
        launch(f, config.sizes()?, config.stream, default, Arguments::new(kernelParams, extra)?)
    }

    /// Launches a cooperative kernel, whose CTAs are all resident at once.
    fn cuLaunchCooperativeKernel, cuLaunchCooperativeKernel_ptsz [default] (
        f: FunctionHandle, gridX: c_uint, gridY: c_uint, gridZ: c_uint, blockX: c_uint, blockY: c_uint, blockZ: c_uint,
        sharedMemBytes: c_uint, stream: StreamHandle, kernelParams: Pointers,
    ) {
        let sizes = sizes([gridX, gridY, gridZ], [blockX, blockY, blockZ], sharedMemBytes, true);
        launch(f, sizes, stream, default, Arguments::Pointers(kernelParams))
    }

    /// Launches functions on several devices. The devices report no support (attribute 96), so only
    /// one is accepted.
    fn cuLaunchCooperativeKernelMultiDevice(
        launchParamsList: In<DeviceLaunch>, numDevices: c_uint, flags: c_uint,
    ) {
        if flags > 3 || numDevices == 0 {
            return Err(Error::InvalidValue);
        }
        let [one] = launchParamsList.list(numDevices as usize)?[..] else { return Err(Error::NotSupported) };
        let sizes = sizes(one.grid.array(), one.block.array(), one.shared, true);
        launch(one.function, sizes, one.stream, DefaultStream::Legacy, Arguments::Pointers(one.arguments))
    }

    /// An attribute.
    fn cuFuncGetAttribute(value: Out<c_int>, attribute: c_int, function: FunctionHandle) {
        value.check()?;
        let simulator = simulator()?;
        value.set(simulator.kernel_attribute(&*simulator.kernel(function)?, attribute)?)
    }

    /// Sets one attribute.
    fn cuFuncSetAttribute(function: FunctionHandle, attribute: c_int, value: c_int) {
        let simulator = simulator()?;
        simulator.set_kernel_attribute(&*simulator.kernel(function)?, attribute, value)
    }

    /// Preferred split of L1 and shared memory.
    fn cuFuncSetCacheConfig(function: FunctionHandle, config: c_int) { check_preference(function, config, 3) }

    /// Preferred width of shared memory banks.
    fn cuFuncSetSharedMemConfig(function: FunctionHandle, config: c_int) { check_preference(function, config, 2) }

    /// Offset and size of a parameter.
    fn cuFuncGetParamInfo(function: FunctionHandle, index: usize, offset: Out<usize>, size: Out<usize>) {
        parameter(&*simulator()?.kernel(function)?, index, offset, size)
    }

    /// Number of parameters of the function.
    fn cuFuncGetParamCount(function: FunctionHandle, count: Out<usize>) {
        count.set(simulator()?.kernel(function)?.resources()?.source.parameters.len())
    }

    /// Loading state of a function, which its first use loads.
    fn cuFuncIsLoaded(state: Out<c_int>, function: FunctionHandle) {
        simulator()?.kernel(function)?;
        state.set(1)
    }

    /// Loads a function before its first use.
    fn cuFuncLoad(function: FunctionHandle) { simulator()?.kernel(function)?.program().map(|_| ()) }

    /// CTAs resident on a multiprocessor at once.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks: Out<c_int>, function: FunctionHandle, blockSize: c_int, dynamicSMemSize: usize,
    ) {
        occupancy(numBlocks, function, blockSize, dynamicSMemSize, 0)
    }

    /// CTAs resident on a multiprocessor at once; flag 1 disables global caching.
    fn cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks: Out<c_int>, function: FunctionHandle, blockSize: c_int, dynamicSMemSize: usize, flags: c_uint,
    ) {
        occupancy(numBlocks, function, blockSize, dynamicSMemSize, flags)
    }

    /// The CTA size with the most resident threads, and the grid that fills the device.
    fn cuOccupancyMaxPotentialBlockSize(
        minGridSize: Out<c_int>, blockSize: Out<c_int>, function: FunctionHandle, dynamicSMem: DynamicShared,
        dynamicSMemSize: usize, blockSizeLimit: c_int,
    ) {
        best_cta_size(minGridSize, blockSize, function, dynamicSMem, dynamicSMemSize, blockSizeLimit)
    }

    /// The CTA size with the most resident threads; flag 1 disables global caching.
    fn cuOccupancyMaxPotentialBlockSizeWithFlags(
        minGridSize: Out<c_int>, blockSize: Out<c_int>, function: FunctionHandle, dynamicSMem: DynamicShared,
        dynamicSMemSize: usize, blockSizeLimit: c_int, flags: c_uint,
    ) {
        if flags > 1 {
            return Err(Error::InvalidValue);
        }
        best_cta_size(minGridSize, blockSize, function, dynamicSMem, dynamicSMemSize, blockSizeLimit)
    }

    /// Clusters of a launch that are resident at once.
    fn cuOccupancyMaxActiveClusters(
        numClusters: Out<c_int>, func: FunctionHandle, config: In<DriverLaunchConfiguration>,
    ) {
        numClusters.check()?;
        let simulator = simulator()?;
        let kernel = simulator.kernel(func)?;
        let clusters = simulator.active_clusters(&kernel, &*kernel.resources()?, &config.get()?.sizes()?)?;
        numClusters.set(clusters as c_int)
    }

    /// CTAs of the largest cluster that a launch can have.
    fn cuOccupancyMaxPotentialClusterSize(
        clusterSize: Out<c_int>, func: FunctionHandle, config: In<DriverLaunchConfiguration>,
    ) {
        clusterSize.check()?;
        let simulator = simulator()?;
        let kernel = simulator.kernel(func)?;
        let ctas = simulator.largest_cluster(&kernel, &*kernel.resources()?, &config.get()?.sizes()?);
        clusterSize.set(ctas as c_int)
    }

    /// Dynamic shared memory available per CTA for a number of CTAs on a multiprocessor.
    fn cuOccupancyAvailableDynamicSMemPerBlock(
        dynamicSmemSize: Out<usize>, function: FunctionHandle, numBlocks: c_int, blockSize: c_int,
    ) {
        let simulator = simulator()?;
        let ctas = u32::try_from(numBlocks).ok().filter(|ctas| *ctas > 0).ok_or(Error::InvalidValue)?;
        if blockSize <= 0 {
            return Err(Error::InvalidValue);
        }
        let kernel = simulator.kernel(function)?;
        dynamicSmemSize.set(simulator.available_dynamic_shared(&kernel, &*kernel.resources()?, ctas) as usize)
    }
}
