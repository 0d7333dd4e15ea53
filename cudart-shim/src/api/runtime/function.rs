//! Kernels: attributes, occupancy.

use crate::abi::error::{Error, Result};
use crate::abi::function_attributes::{FunctionAttributes11, FunctionAttributes12};
use crate::abi::{Address, FunctionHandle, In, Out};
use crate::api::entry::api;
use crate::api::runtime::LaunchConfiguration;
use crate::objects::function::{KernelAttributes, parameter};
use crate::root::{kernel_on, simulator};
use std::ffi::{c_char, c_int, c_uint};

fn attributes(function: Address) -> Result<KernelAttributes> {
    let simulator = simulator()?;
    simulator.kernel_attributes(&*simulator.kernel_of(function.0)?)
}

/// Cache and bank configurations are mere preferences; only their range is checked.
fn check_preference(function: Address, value: c_int, largest: c_int) -> Result<()> {
    simulator()?.kernel_of(function.0)?;
    if (0..=largest).contains(&value) { Ok(()) } else { Err(Error::InvalidValue) }
}

fn occupancy(
    ctas: Out<c_int>,
    function: Address,
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
    let kernel = simulator.kernel_of(function.0)?;
    let resources = kernel.resources()?;
    ctas.set(simulator.active_ctas(&kernel, &resources, threads, shared) as c_int)
}

api! { Runtime;
    /// All attributes of a kernel, in CUDA 11's structure.
    fn cudaFuncGetAttributes_v11(attr: Out<FunctionAttributes11>, func: Address) {
        attr.check()?;
        attr.set(attributes(func)?.into())
    }

    /// All attributes of a kernel.
    fn cudaFuncGetAttributes(attr: Out<FunctionAttributes12>, func: Address) {
        attr.check()?;
        attr.set(attributes(func)?.into())
    }

    /// Sets the dynamic shared memory limit of launches (8), or the preferred shared memory (9).
    fn cudaFuncSetAttribute(func: Address, attribute: c_int, value: c_int) {
        let simulator = simulator()?;
        simulator.set_kernel_attribute(&*simulator.kernel_of(func.0)?, attribute, value)
    }

    /// As `cudaFuncSetAttribute`, for a kernel handle.
    fn cudaKernelSetAttributeForDevice(kernel: FunctionHandle, attribute: c_int, value: c_int, device: c_int) {
        let (simulator, kernel) = kernel_on(kernel, device)?;
        simulator.set_kernel_attribute(&kernel, attribute, value)
    }

    /// Preferred split of L1 and shared memory.
    fn cudaFuncSetCacheConfig(func: Address, config: c_int) { check_preference(func, config, 3) }

    /// Preferred width of shared memory banks.
    fn cudaFuncSetSharedMemConfig(func: Address, config: c_int) { check_preference(func, config, 2) }

    /// Mangled name of the kernel.
    fn cudaFuncGetName(name: Out<*const c_char>, func: Address) {
        name.check()?;
        // The module keeps the kernel while its fat binary is registered.
        name.set(simulator()?.kernel_of(func.0)?.name.as_ptr())
    }

    /// Offset and size of a parameter.
    fn cudaFuncGetParamInfo(func: Address, index: usize, offset: Out<usize>, size: Out<usize>) {
        parameter(&*simulator()?.kernel_of(func.0)?, index, offset, size)
    }

    /// Number of parameters of the kernel.
    fn cudaFuncGetParamCount(func: Address, count: Out<usize>) {
        count.set(simulator()?.kernel_of(func.0)?.resources()?.source.parameters.len())
    }

    /// CTAs resident on a multiprocessor at once.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessor(
        numBlocks: Out<c_int>, func: Address, blockSize: c_int, dynamicSMemSize: usize,
    ) {
        occupancy(numBlocks, func, blockSize, dynamicSMemSize, 0)
    }

    /// CTAs resident on a multiprocessor at once; flag 1 disables global caching.
    fn cudaOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
        numBlocks: Out<c_int>, func: Address, blockSize: c_int, dynamicSMemSize: usize, flags: c_uint,
    ) {
        occupancy(numBlocks, func, blockSize, dynamicSMemSize, flags)
    }

    /// Clusters of a launch that are resident at once.
    fn cudaOccupancyMaxActiveClusters(
        numClusters: Out<c_int>, func: Address, launchConfig: In<LaunchConfiguration>,
    ) {
        numClusters.check()?;
        let simulator = simulator()?;
        let kernel = simulator.kernel_of(func.0)?;
        let sizes = launchConfig.get()?.sizes()?;
        numClusters.set(simulator.active_clusters(&kernel, &*kernel.resources()?, &sizes)? as c_int)
    }

    /// CTAs of the largest cluster that a launch can have.
    fn cudaOccupancyMaxPotentialClusterSize(
        clusterSize: Out<c_int>, func: Address, launchConfig: In<LaunchConfiguration>,
    ) {
        clusterSize.check()?;
        let simulator = simulator()?;
        let kernel = simulator.kernel_of(func.0)?;
        let sizes = launchConfig.get()?.sizes()?;
        clusterSize.set(simulator.largest_cluster(&kernel, &*kernel.resources()?, &sizes) as c_int)
    }

    /// Dynamic shared memory available per CTA for a number of CTAs on a multiprocessor.
    fn cudaOccupancyAvailableDynamicSMemPerBlock(
        dynamicSmemSize: Out<usize>, func: Address, numBlocks: c_int, blockSize: c_int,
    ) {
        let simulator = simulator()?;
        let ctas = u32::try_from(numBlocks).ok().filter(|ctas| *ctas > 0).ok_or(Error::InvalidValue)?;
        if blockSize <= 0 {
            return Err(Error::InvalidValue);
        }
        let kernel = simulator.kernel_of(func.0)?;
        dynamicSmemSize.set(simulator.available_dynamic_shared(&kernel, &*kernel.resources()?, ctas) as usize)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn structures_have_the_original_sizes() {
        assert_eq!((size_of::<FunctionAttributes11>(), size_of::<FunctionAttributes12>()), (56, 144));
    }
}
