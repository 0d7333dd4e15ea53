//! Extents of a launch: CTAs of the grid and threads of a CTA.

use serde::{Deserialize, Serialize};

use crate::{LaneMask, WARP_SIZE};

/// Grid and block of a launch. Every other description of a launch holds this type.
///
/// A binary codec writes the grid's three extents, then the block's.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct LaunchShape {
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
}

/// Largest extents that a GPU accepts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ShapeLimits {
    /// CTAs along x, y, z.
    pub grid: [u32; 3],
    /// Threads of a CTA along x, y, z.
    pub block: [u32; 3],
    /// Threads of a CTA.
    pub threads_per_cta: u32,
}

/// A limit that a shape violates.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum ShapeError {
    /// An extent of the grid.
    #[error("{ctas} CTAs along axis {axis}; must be 1 to {limit}")]
    Grid {
        /// Axis: 0 is x.
        axis: usize,
        /// CTAs along the axis.
        ctas: u32,
        /// Largest extent.
        limit: u32,
    },
    /// An extent of the block.
    #[error("{threads} threads along axis {axis}; must be 1 to {limit}")]
    Block {
        /// Axis: 0 is x.
        axis: usize,
        /// Threads along the axis.
        threads: u32,
        /// Largest extent.
        limit: u32,
    },
    /// The threads of a CTA.
    #[error("{threads} threads per CTA; the limit is {limit}")]
    Threads {
        /// Threads of a CTA.
        threads: u64,
        /// Largest number.
        limit: u32,
    },
}

impl LaunchShape {
    /// A shape of these extents along x, y, z.
    pub const fn new(grid: [u32; 3], block: [u32; 3]) -> LaunchShape {
        LaunchShape { grid, block }
    }

    /// CTAs of the grid.
    #[inline]
    pub fn cta_count(&self) -> u64 {
        volume(self.grid)
    }

    /// CTAs of the grid; `None` beyond 64 bits.
    pub fn checked_cta_count(&self) -> Option<u64> {
        self.grid.iter().try_fold(1_u64, |count, &extent| count.checked_mul(extent.into()))
    }

    /// Threads of a CTA.
    #[inline]
    pub fn threads_per_cta(&self) -> u32 {
        self.block.iter().fold(1, |count, extent| count.saturating_mul(*extent))
    }

    /// Threads of the grid.
    pub fn thread_count(&self) -> u64 {
        self.cta_count().saturating_mul(volume(self.block))
    }

    /// Warps of a CTA.
    #[inline]
    pub fn warps_per_cta(&self) -> u32 {
        self.threads_per_cta().div_ceil(WARP_SIZE as u32)
    }

    /// Lanes of a CTA's warp `number`; the last warp may be partial.
    #[inline]
    pub fn lanes_of_warp(&self, number: u32) -> LaneMask {
        match self.threads_per_cta().saturating_sub(number.saturating_mul(WARP_SIZE as u32)) {
            lanes @ 0..32 => (1 << lanes) - 1,
            _ => LaneMask::MAX,
        }
    }

    /// Coordinates of CTA number `index`, x fastest.
    #[inline]
    pub fn cta_at(&self, index: u64) -> [u32; 3] {
        coordinates(index, self.grid)
    }

    /// Number of the CTA at these coordinates, x fastest.
    #[inline]
    pub fn cta_index(&self, [x, y, z]: [u32; 3]) -> u64 {
        let [columns, rows, _] = self.grid.map(u64::from);
        u64::from(x) + columns * (u64::from(y) + rows * u64::from(z))
    }

    /// Coordinates of a CTA's thread number `thread`, x fastest.
    #[inline]
    pub fn thread_at(&self, thread: u32) -> [u32; 3] {
        coordinates(thread.into(), self.block)
    }

    /// True without a CTA.
    pub fn is_empty(&self) -> bool {
        self.grid.contains(&0)
    }

    /// Checks the extents.
    ///
    /// # Errors
    /// An extent is 0 or above its limit, or a CTA has too many threads.
    pub fn check(&self, limits: &ShapeLimits) -> Result<(), ShapeError> {
        for axis in 0..3 {
            let (ctas, limit) = (self.grid[axis], limits.grid[axis]);
            if !(1..=limit).contains(&ctas) {
                return Err(ShapeError::Grid { axis, ctas, limit });
            }
            let (threads, limit) = (self.block[axis], limits.block[axis]);
            if !(1..=limit).contains(&threads) {
                return Err(ShapeError::Block { axis, threads, limit });
            }
        }
        let (threads, limit) = (volume(self.block), limits.threads_per_cta);
        if threads > limit.into() { Err(ShapeError::Threads { threads, limit }) } else { Ok(()) }
    }
}

/// Elements of a box.
#[inline]
pub fn volume(extents: [u32; 3]) -> u64 {
    extents.iter().fold(1, |count: u64, &extent| count.saturating_mul(extent.into()))
}

/// Coordinates of element number `index` in a box, x fastest. An extent of 0 counts as 1.
#[inline]
pub fn coordinates(index: u64, [x, y, _]: [u32; 3]) -> [u32; 3] {
    let (x, y) = (u64::from(x.max(1)), u64::from(y.max(1)));
    [(index % x) as u32, (index / x % y) as u32, (index / x / y) as u32]
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: LaunchShape = LaunchShape::new([3, 4, 5], [33, 2, 1]);
    const LIMITS: ShapeLimits = ShapeLimits { grid: [8; 3], block: [64; 3], threads_per_cta: 128 };

    #[test]
    fn counts_follow_from_the_extents() {
        assert_eq!((SHAPE.cta_count(), SHAPE.threads_per_cta(), SHAPE.warps_per_cta()), (60, 66, 3));
        assert_eq!((SHAPE.thread_count(), SHAPE.checked_cta_count()), (3960, Some(60)));
        assert_eq!([0, 2, 3].map(|warp| SHAPE.lanes_of_warp(warp)), [u32::MAX, 3, 0]);
        let huge = LaunchShape::new([u32::MAX; 3], [u32::MAX; 3]);
        assert_eq!((huge.checked_cta_count(), huge.thread_count()), (None, u64::MAX));
    }

    #[test]
    fn numbers_and_coordinates_agree() {
        assert_eq!(SHAPE.cta_at(1 + 3 * (2 + 4 * 3)), [1, 2, 3]);
        assert!((0..SHAPE.cta_count()).all(|cta| SHAPE.cta_index(SHAPE.cta_at(cta)) == cta));
        assert_eq!(SHAPE.thread_at(34), [1, 1, 0]);
        assert_eq!(LaunchShape::default().cta_at(7), [0, 0, 7]);
    }

    #[test]
    fn a_violated_limit_is_named() {
        let error = |shape: LaunchShape| shape.check(&LIMITS).expect_err("a limit is violated").to_string();
        assert_eq!(SHAPE.check(&LIMITS), Ok(()));
        let grid = LaunchShape { grid: [1, 9, 1], ..SHAPE };
        assert_eq!(error(grid), "9 CTAs along axis 1; must be 1 to 8");
        let block = LaunchShape { block: [1, 1, 0], ..SHAPE };
        assert_eq!(error(block), "0 threads along axis 2; must be 1 to 64");
        let threads = LaunchShape { block: [64, 3, 1], ..SHAPE };
        assert_eq!(error(threads), "192 threads per CTA; the limit is 128");
    }
}
