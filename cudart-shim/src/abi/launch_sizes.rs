//! Sizes of a launch, as a program passes them.

use super::Dim3;
use super::launch_attribute::LaunchAttributes;
use warp_stream::LaunchShape;

/// Launch configuration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Sizes {
    /// CTAs of the grid and threads of a CTA.
    pub(crate) shape: LaunchShape,
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

impl From<[u32; 3]> for Dim3 {
    fn from([x, y, z]: [u32; 3]) -> Self {
        Self { x, y, z }
    }
}

impl Sizes {
    /// Sizes without attributes.
    pub(crate) fn plain(shape: LaunchShape, shared: usize) -> Self {
        Self { shape, shared, attributes: LaunchAttributes::default() }
    }

    /// The grid as the log shows it.
    pub(crate) fn grid(&self) -> Dim3 {
        self.shape.grid.into()
    }

    /// The block as the log shows it.
    pub(crate) fn block(&self) -> Dim3 {
        self.shape.block.into()
    }
}

/// The shape that a program passes as two structures.
pub(crate) fn shape(grid: Dim3, block: Dim3) -> LaunchShape {
    LaunchShape::new(grid.array(), block.array())
}

/// Product of the extents, with 0 counted as 1.
pub(crate) fn product(size: [u32; 3]) -> u64 {
    size.into_iter().fold(1, |product, extent| product.saturating_mul(extent.max(1).into()))
}
