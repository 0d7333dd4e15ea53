//! Sizes of a launch, as a program passes them.

use super::Dim3;
use super::launch_attribute::LaunchAttributes;

/// Launch configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// Number of CTAs.
    pub(crate) grid: Dim3,
    /// Threads per CTA.
    pub(crate) block: Dim3,
    /// Dynamic shared memory in bytes.
    pub(crate) shared: usize,
    /// Launch attributes.
    pub(crate) attributes: LaunchAttributes,
}

impl Dim3 {
    pub(crate) fn array(self) -> [u32; 3] {
        [self.x, self.y, self.z]
    }
}

/// Product of the extents, with 0 counted as 1.
pub(crate) fn product(size: [u32; 3]) -> u64 {
    size.into_iter().fold(1, |product, extent| product.saturating_mul(extent.max(1).into()))
}
