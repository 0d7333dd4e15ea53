//! Attributes of kernels, for both APIs (`cudaFuncAttributes`, `CUfunction_attribute`).

use crate::abi::Out;
use crate::abi::error::{Error, Result};
use crate::abi::function_attributes::FunctionAttributes;
use crate::objects::cluster::ClusterSettings;
use crate::objects::device::DeviceObjects;
use crate::objects::module::{Kernel, KernelSettings};
use crate::profile::Attribute;
use ptx_frontend::ir::LaunchBounds;
use std::ffi::c_int;

/// `CUfunction_attribute`, `cudaFuncAttribute`.
mod attribute {
    pub(crate) const MAX_THREADS_PER_BLOCK: i32 = 0;
    pub(crate) const SHARED_SIZE: i32 = 1;
    pub(crate) const CONST_SIZE: i32 = 2;
    pub(crate) const LOCAL_SIZE: i32 = 3;
    pub(crate) const REGISTERS: i32 = 4;
    pub(crate) const PTX_VERSION: i32 = 5;
    pub(crate) const BINARY_VERSION: i32 = 6;
    pub(crate) const CACHE_MODE_CA: i32 = 7;
    pub(crate) const MAX_DYNAMIC_SHARED_SIZE: i32 = 8;
    pub(crate) const CARVEOUT: i32 = 9;
    pub(crate) const CLUSTER_SIZE_MUST_BE_SET: i32 = 10;
    pub(crate) const REQUIRED_CLUSTER_WIDTH: i32 = 11;
    pub(crate) const REQUIRED_CLUSTER_DEPTH: i32 = 13;
    pub(crate) const NON_PORTABLE_CLUSTER_SIZE_ALLOWED: i32 = 14;
    pub(crate) const CLUSTER_SCHEDULING_POLICY: i32 = 15;
    /// `cudaClusterSchedulingPolicyLoadBalancing`, the largest policy.
    pub(crate) const LAST_POLICY: i32 = 2;
}

/// Attributes of a kernel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct KernelAttributes {
    /// Static shared memory in bytes.
    pub(crate) shared: usize,
    /// Constant memory of its module in bytes.
    pub(crate) constant: usize,
    /// Local memory per thread in bytes.
    pub(crate) local: usize,
    /// Most threads of a CTA.
    pub(crate) max_threads: c_int,
    /// Registers per thread.
    pub(crate) registers: c_int,
    /// Ten times the target compute capability of the PTX.
    pub(crate) ptx_version: c_int,
    /// Ten times the device's compute capability.
    pub(crate) binary_version: c_int,
    /// Most dynamic shared memory of a launch in bytes.
    pub(crate) max_dynamic_shared: c_int,
    /// Preferred shared memory carveout in percent; -1 for no preference.
    pub(crate) carveout: c_int,
    /// Attributes 10 to 15: cluster size required at launch; required width, height and depth;
    /// non-portable sizes allowed; scheduling policy.
    pub(crate) clusters: [c_int; 6],
}

impl<const MORE: usize> From<KernelAttributes> for FunctionAttributes<MORE> {
    fn from(attributes: KernelAttributes) -> Self {
        let [must_be_set, x, y, z, non_portable, policy] = attributes.clusters;
        let mut more = [0; MORE];
        for (place, value) in more.iter_mut().zip([must_be_set, x, y, z, policy, non_portable]) {
            *place = value;
        }
        Self {
            shared_size: attributes.shared,
            const_size: attributes.constant,
            local_size: attributes.local,
            max_threads_per_block: attributes.max_threads,
            registers: attributes.registers,
            ptx_version: attributes.ptx_version,
            binary_version: attributes.binary_version,
            cache_mode_ca: 0,
            max_dynamic_shared_size: attributes.max_dynamic_shared,
            preferred_carveout: attributes.carveout,
            more,
        }
    }
}

fn int(value: impl TryInto<c_int>) -> c_int {
    value.try_into().unwrap_or(c_int::MAX)
}

impl DeviceObjects {
    /// All attributes of a kernel.
    pub(crate) fn kernel_attributes(&self, kernel: &Kernel) -> Result<KernelAttributes> {
        let resources = kernel.resources()?;
        let assembled = kernel.assembled();
        let local = assembled.and_then(|of| of.local_bytes).unwrap_or(resources.local_bytes);
        let shared = assembled.and_then(|of| of.static_shared).unwrap_or(resources.static_shared);
        let target = kernel.module.target;
        let KernelSettings { carveout, clusters, .. } = *kernel.settings.lock();
        Ok(KernelAttributes {
            shared: shared as usize,
            constant: kernel.module.constant_bytes as usize,
            local: local as usize,
            max_threads: int(self.max_threads(resources.bounds())),
            registers: int(self.registers(kernel, &resources)),
            ptx_version: int(if target == 0 { self.capability() } else { target }),
            binary_version: int(self.capability()),
            max_dynamic_shared: int(self.max_dynamic_shared(kernel, resources.static_shared)),
            carveout,
            clusters: cluster_attributes(resources.bounds(), clusters),
        })
    }

    /// One attribute by number.
    pub(crate) fn kernel_attribute(&self, kernel: &Kernel, number: c_int) -> Result<c_int> {
        let attributes = self.kernel_attributes(kernel)?;
        Ok(match number {
            attribute::MAX_THREADS_PER_BLOCK => attributes.max_threads,
            attribute::SHARED_SIZE => int(attributes.shared),
            attribute::CONST_SIZE => int(attributes.constant),
            attribute::CACHE_MODE_CA => 0,
            attribute::LOCAL_SIZE => int(attributes.local),
            attribute::REGISTERS => attributes.registers,
            attribute::PTX_VERSION => attributes.ptx_version,
            attribute::BINARY_VERSION => attributes.binary_version,
            attribute::MAX_DYNAMIC_SHARED_SIZE => attributes.max_dynamic_shared,
            attribute::CARVEOUT => attributes.carveout,
            attribute::CLUSTER_SIZE_MUST_BE_SET..=attribute::CLUSTER_SCHEDULING_POLICY => {
                attributes.clusters[(number - attribute::CLUSTER_SIZE_MUST_BE_SET) as usize]
            }
            _ => return Err(Error::InvalidValue),
        })
    }

    /// Sets a writable attribute.
    pub(crate) fn set_kernel_attribute(&self, kernel: &Kernel, number: c_int, value: c_int) -> Result<()> {
        match number {
            attribute::MAX_DYNAMIC_SHARED_SIZE => {
                let shared = u32::try_from(value).map_err(|_| Error::InvalidValue)?;
                let most = self.profile.amount(Attribute::MaxSharedMemoryPerBlockOptin);
                // Libraries set attributes on all kernels at load, including kernels that exist
                // only as machine code.
                let own = if kernel.is_executable() { kernel.resources()?.static_shared } else { 0 };
                if shared > most.saturating_sub(own) {
                    return Err(Error::InvalidValue);
                }
                kernel.settings.lock().max_dynamic_shared = Some(shared);
                Ok(())
            }
            attribute::CARVEOUT if (-1..=100).contains(&value) => {
                kernel.settings.lock().carveout = value;
                Ok(())
            }
            attribute::REQUIRED_CLUSTER_WIDTH..=attribute::REQUIRED_CLUSTER_DEPTH => {
                if kernel.resources()?.bounds().required_cluster.is_some() {
                    return Err(Error::NotPermitted);
                }
                let extent = u32::try_from(value).map_err(|_| Error::InvalidValue)?;
                let axis = (number - attribute::REQUIRED_CLUSTER_WIDTH) as usize;
                kernel.settings.lock().clusters.required[axis] = extent;
                Ok(())
            }
            attribute::NON_PORTABLE_CLUSTER_SIZE_ALLOWED if (0..=1).contains(&value) => {
                kernel.settings.lock().clusters.non_portable = value != 0;
                Ok(())
            }
            attribute::CLUSTER_SCHEDULING_POLICY if (0..=attribute::LAST_POLICY).contains(&value) => {
                kernel.settings.lock().clusters.policy = value;
                Ok(())
            }
            _ => Err(Error::InvalidValue),
        }
    }
}

/// Attributes 10 to 15.
fn cluster_attributes(bounds: &LaunchBounds, settings: ClusterSettings) -> [c_int; 6] {
    let [x, y, z] = bounds.required_cluster.unwrap_or(settings.required).map(int);
    [bounds.needs_clusters.into(), x, y, z, settings.non_portable.into(), settings.policy]
}

/// Offset and size in bytes of a kernel parameter. An index past the last parameter is an invalid
/// value.
pub(crate) fn parameter(kernel: &Kernel, index: usize, offset: Out<usize>, size: Out<usize>) -> Result<()> {
    let resources = kernel.resources()?;
    let parameter = resources.source.parameters.get(index).ok_or(Error::InvalidValue)?;
    offset.set(parameter.offset as usize)?;
    size.set_if_wanted(parameter.size as usize);
    Ok(())
}
