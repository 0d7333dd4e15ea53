//! Thread block clusters: the clusters of a launch, the device's support, and the number of
//! resident clusters (CUDA programming guide, "Thread Block Clusters").

use crate::abi::error::{Error, Result};
use crate::abi::launch_sizes::{Sizes, product};
use crate::objects::device::DeviceObjects;
use crate::objects::module::Kernel;
use crate::profile::Attribute;
use functional::bind::KernelResources;
use functional::engine::cluster::MAXIMUM_CTAS;
use ptx_frontend::ir::LaunchBounds;

/// Portable cluster size: CTAs of the largest cluster that every device with clusters supports.
const PORTABLE_CTAS: u32 = 8;

/// Cluster attributes that a program set on a kernel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterSettings {
    /// Required cluster size along x, y, z; zeros if not set.
    pub(crate) required: [u32; 3],
    /// Allows cluster sizes above the portable one.
    pub(crate) non_portable: bool,
    /// `cudaClusterSchedulingPolicy`: a hint.
    pub(crate) policy: i32,
}

impl ClusterSettings {
    fn most_ctas(self) -> u32 {
        if self.non_portable { MAXIMUM_CTAS } else { PORTABLE_CTAS }
    }
}

impl DeviceObjects {
    /// The clusters of a launch: the launch's own size, else the kernel's required size. An error
    /// if the kernel or the device does not allow it.
    pub(crate) fn clusters(
        &self,
        kernel: &Kernel,
        bounds: &LaunchBounds,
        sizes: &Sizes,
    ) -> Result<Option<[u32; 3]>> {
        let settings = kernel.settings.lock().clusters;
        let required = bounds.required_cluster.or((settings.required != [0; 3]).then_some(settings.required));
        let Some(cluster) = sizes.attributes.cluster.or(required) else {
            return if bounds.needs_clusters { Err(Error::InvalidClusterSize) } else { Ok(None) };
        };
        let ctas = cluster.iter().fold(1_u64, |all, &extent| all.saturating_mul(extent.into()));
        let has_clusters = self.profile.attribute(Attribute::ClusterLaunch) != 0;
        let most = bounds.maximum_cluster_ctas.unwrap_or(u32::MAX).min(settings.most_ctas());
        let most = if has_clusters { most } else { 1 };
        let whole =
            |axis: usize| bounds.blocks_are_clusters || sizes.shape.grid[axis].is_multiple_of(cluster[axis]);
        if ctas == 0
            || ctas > most.into()
            || required.is_some_and(|required| required != cluster)
            || !(0..3).all(whole)
        {
            return Err(Error::InvalidClusterSize);
        }
        Ok(Some(cluster))
    }

    /// Resident clusters of a launch. The device counts as one group of multiprocessors, and a
    /// cluster may span all of them.
    pub(crate) fn active_clusters(
        &self,
        kernel: &Kernel,
        resources: &KernelResources,
        sizes: &Sizes,
    ) -> Result<u32> {
        let cluster = self.clusters(kernel, resources.bounds(), sizes)?.unwrap_or([1; 3]);
        let resident = u64::from(self.resident_ctas(kernel, resources, sizes));
        Ok(u32::try_from(resident / product(cluster)).unwrap_or(u32::MAX))
    }

    /// CTAs of the largest cluster for a launch, ignoring the launch's own cluster size; 0 if one
    /// CTA does not fit.
    pub(crate) fn largest_cluster(&self, kernel: &Kernel, resources: &KernelResources, sizes: &Sizes) -> u32 {
        if self.profile.attribute(Attribute::ClusterLaunch) == 0 {
            return 0;
        }
        let most = kernel.settings.lock().clusters.most_ctas();
        most.min(resources.bounds().maximum_cluster_ctas.unwrap_or(most))
            .min(self.resident_ctas(kernel, resources, sizes))
    }

    fn resident_ctas(&self, kernel: &Kernel, resources: &KernelResources, sizes: &Sizes) -> u32 {
        let threads = u32::try_from(product(sizes.shape.block)).unwrap_or(u32::MAX);
        self.active_ctas(kernel, resources, threads, sizes.shared).saturating_mul(self.device.spec.sms)
    }
}
