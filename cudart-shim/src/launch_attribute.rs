//! Attributes of a launch (`cudaLaunchAttribute`, `CUlaunchAttribute`; the numbers agree).

use crate::error::{Error, Result};

/// A number and a value of 64 bytes, whose meaning the number gives.
#[derive(Clone, Copy, Debug)]
#[repr(C, align(8))]
pub(crate) struct LaunchAttribute {
    id: u32,
    padding: u32,
    value: [u32; 16],
}

#[cfg(test)]
impl LaunchAttribute {
    /// Bytes to the value.
    pub(crate) const VALUE: usize = std::mem::offset_of!(LaunchAttribute, value);
}

const COOPERATIVE: u32 = 2;
const CLUSTER_DIMENSION: u32 = 4;

/// Whether the launch is cooperative. Clusters of more than one CTA need compute capability 9.0; the other attributes
/// are hints about caches, priorities and ordering that change no result.
pub(crate) fn is_cooperative(attributes: &[LaunchAttribute]) -> Result<bool> {
    let mut cooperative = false;
    for attribute in attributes {
        match (attribute.id, attribute.value) {
            (COOPERATIVE, [flag, ..]) => cooperative = flag != 0,
            (CLUSTER_DIMENSION, [1, 1, 1, ..]) => {}
            (CLUSTER_DIMENSION, _) => return Err(Error::InvalidClusterSize),
            _ => {}
        }
    }
    Ok(cooperative)
}
