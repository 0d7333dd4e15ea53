//! Clusters: which CTAs a launch puts together, whether the device can, and how many of them fit (CUDA programming
//! guide, "Thread Block Clusters").

use crate::abi::error::{Error, Result};
use crate::objects::module::Kernel;
use crate::profile::Attribute;
use crate::session::launch::{Sizes, product};
use crate::session::simulator::Simulator;
use functional::bind::KernelResources;
use functional::engine::cluster::MAXIMUM_CTAS;
use ptx_frontend::ir::LaunchBounds;

/// CTAs of the largest cluster that every device with clusters has.
const PORTABLE_CTAS: u32 = 8;

/// What a program has said of a kernel's clusters.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterSettings {
    /// CTAs of a cluster along x, y, z; zeros where the program has not said.
    pub(crate) required: [u32; 3],
    /// Clusters larger than portable ones are allowed.
    pub(crate) non_portable: bool,
    /// `cudaClusterSchedulingPolicy`: a preference.
    pub(crate) policy: i32,
}

impl ClusterSettings {
    fn most_ctas(self) -> u32 {
        if self.non_portable { MAXIMUM_CTAS } else { PORTABLE_CTAS }
    }
}

impl Simulator {
    /// The clusters of a launch: those that it names, or that the kernel requires. An error for those that the kernel or
    /// the device does not allow.
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
        let whole = |axis: usize| {
            bounds.blocks_are_clusters || sizes.grid.array()[axis].is_multiple_of(cluster[axis])
        };
        if ctas == 0
            || ctas > most.into()
            || required.is_some_and(|required| required != cluster)
            || !(0..3).all(whole)
        {
            return Err(Error::InvalidClusterSize);
        }
        Ok(Some(cluster))
    }

    /// Clusters of a launch that are resident at once. A device is taken for one group of multiprocessors, on all of which
    /// a cluster may lie.
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

    /// CTAs of the largest cluster that a launch can have, whatever clusters it names; 0 if its CTAs do not fit.
    pub(crate) fn largest_cluster(&self, kernel: &Kernel, resources: &KernelResources, sizes: &Sizes) -> u32 {
        if self.profile.attribute(Attribute::ClusterLaunch) == 0 {
            return 0;
        }
        let most = kernel.settings.lock().clusters.most_ctas();
        most.min(resources.bounds().maximum_cluster_ctas.unwrap_or(most))
            .min(self.resident_ctas(kernel, resources, sizes))
    }

    fn resident_ctas(&self, kernel: &Kernel, resources: &KernelResources, sizes: &Sizes) -> u32 {
        let threads = u32::try_from(product(sizes.block.array())).unwrap_or(u32::MAX);
        self.active_ctas(kernel, resources, threads, sizes.shared).saturating_mul(self.device.spec.sms)
    }
}
