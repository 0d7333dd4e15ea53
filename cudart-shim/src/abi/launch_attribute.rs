//! Launch attributes (`cudaLaunchAttribute`, `CUlaunchAttribute`; the numbers agree).

/// A number, and a 64-byte value whose meaning depends on it.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

#[cfg(test)]
impl LaunchAttribute {
    /// Offset of the value in bytes.
    pub(crate) const VALUE: usize = std::mem::offset_of!(LaunchAttribute, value);
}

/// `cudaLaunchAttributeID`, `CUlaunchAttributeID`.
pub(crate) mod number {
    pub(crate) const COOPERATIVE: u32 = 2;
    pub(crate) const CLUSTER_DIMENSION: u32 = 4;
    /// Priority of a kernel node, as of a stream.
    pub(crate) const PRIORITY: u32 = 8;
    /// Kernels may update the node.
    pub(crate) const DEVICE_UPDATABLE: u32 = 13;
    /// Attributes without effect on results: access policy window, preferred cluster scheduling,
    /// priority, memory synchronisation domain and map, preferred cluster, device-updatable,
    /// preferred shared memory.
    pub(crate) const HINTS: [u32; 8] = [1, 5, PRIORITY, 9, 10, 11, DEVICE_UPDATABLE, 14];
}
use number::{CLUSTER_DIMENSION, COOPERATIVE};

/// Attributes with an effect on a launch; the others are hints on caches, priorities and ordering.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct LaunchAttributes {
    /// All CTAs must be resident at once.
    pub(crate) cooperative: bool,
    /// CTAs of a cluster along x, y, z.
    pub(crate) cluster: Option<[u32; 3]>,
}

impl LaunchAttributes {
    /// Attributes of a list; the last of a kind counts.
    pub(crate) fn of(attributes: &[LaunchAttribute]) -> Self {
        let mut all = Self::default();
        for attribute in attributes {
            match (attribute.id, attribute.value) {
                (COOPERATIVE, [flag, ..]) => all.cooperative = flag != 0,
                (CLUSTER_DIMENSION, [x, y, z, ..]) => all.cluster = Some([x, y, z]),
                _ => {}
            }
        }
        all
    }
}
