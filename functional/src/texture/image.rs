//! Images: levels of texels in device memory, in rows and slices.
//!
//! Arrays have a plain layout. Texels of a row are adjacent, and rows start at multiples of
//! [`ROW_ALIGNMENT`] bytes. Slices (depth, layers, cube faces) follow each other, as do levels, the finest
//! first. The hardware's block-linear layout is undocumented, and programs cannot see it.

use super::format::Format;

/// Alignment of an array's rows in bytes.
pub const ROW_ALIGNMENT: u64 = 32;

/// Alignment of an array's levels in bytes.
const LEVEL_ALIGNMENT: u64 = 256;

/// Kind of memory that holds an image.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// An array (`cudaArray_t`).
    Array,
    /// Linear memory: read by index, unfiltered; 0 outside.
    Linear,
    /// Pitched rows in linear memory.
    Pitched,
}

/// A level of a mipmap.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Address of the first texel.
    pub address: u64,
    /// Texels per row.
    pub width: u32,
    /// Rows per slice; 1 for one-dimensional images.
    pub height: u32,
    /// Slices per layer; 1 for images with fewer than three dimensions.
    pub depth: u32,
    /// Bytes between rows.
    pub pitch: u64,
    /// Bytes between slices, or between layers.
    pub slice: u64,
}

/// Texels in device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// Kind of memory.
    pub kind: ImageKind,
    /// Texel format.
    pub format: Format,
    /// Number of coordinates within a layer: 1, 2, 3.
    pub dimensions: u32,
    /// Number of layers; cube faces are layers.
    pub layers: u32,
    /// True for cubes, with six layers each.
    pub cube: bool,
    /// Levels, the finest first; at least one.
    pub levels: Vec<Level>,
}

/// Extent of an array in texels; 0 along absent axes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Texels per row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Number of slices.
    pub depth: u32,
}

impl Level {
    /// Address of a texel of `bytes` bytes.
    pub fn texel(&self, [x, y, z]: [u32; 3], bytes: u32) -> u64 {
        let row = u64::from(x) * u64::from(bytes);
        let rows = self.pitch.wrapping_mul(y.into());
        self.address.wrapping_add(self.slice.wrapping_mul(z.into())).wrapping_add(rows).wrapping_add(row)
    }
}

impl Image {
    /// An array at address 0 and its size in bytes; `None` if the size exceeds 64 bits.
    pub fn array(
        format: Format,
        extent: Extent,
        layers: u32,
        cube: bool,
        levels: u32,
    ) -> Option<(Image, u64)> {
        let dimensions = match extent {
            Extent { depth: 1.., .. } => 3,
            Extent { height: 1.., .. } => 2,
            _ => 1,
        };
        let mut end = 0u64;
        let mut placed = Vec::new();
        for number in 0..levels.max(1) {
            let size = |size: u32| size.checked_shr(number).unwrap_or(0).max(1);
            let [width, height, depth] = [extent.width, extent.height, extent.depth].map(size);
            let row = u64::from(width).checked_mul(format.bytes().into())?;
            let pitch = row.checked_next_multiple_of(ROW_ALIGNMENT)?;
            let slice = pitch.checked_mul(height.into())?;
            placed.push(Level { address: end, width, height, depth, pitch, slice });
            let bytes = slice.checked_mul(depth.into())?.checked_mul(layers.max(1).into())?;
            end = end.checked_add(bytes)?.checked_next_multiple_of(LEVEL_ALIGNMENT)?;
        }
        let kind = ImageKind::Array;
        Some((Image { kind, format, dimensions, layers: layers.max(1), cube, levels: placed }, end))
    }

    /// The image moved up by `by` bytes.
    pub fn moved(mut self, by: u64) -> Image {
        for level in &mut self.levels {
            level.address = level.address.wrapping_add(by);
        }
        self
    }

    /// Level `number`, or the coarsest.
    pub fn level(&self, number: usize) -> Option<&Level> {
        self.levels.get(number).or(self.levels.last())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::texture::format::Numeric;

    #[test]
    fn levels_halve_and_do_not_overlap() {
        let format = Format::new(Numeric::Float, 32, 1).unwrap();
        let extent = Extent { width: 10, height: 6, depth: 0 };
        let (image, bytes) = Image::array(format, extent, 3, false, 4).unwrap();
        let sizes: Vec<_> =
            image.levels.iter().map(|level| (level.width, level.height, level.depth)).collect();
        assert_eq!(sizes, [(10, 6, 1), (5, 3, 1), (2, 1, 1), (1, 1, 1)]);
        for pair in image.levels.windows(2) {
            assert!(pair[0].address + 3 * pair[0].slice <= pair[1].address);
        }
        let last = image.levels[3];
        assert!(last.texel([0, 0, 2], 4) + 4 <= bytes);
    }

    #[test]
    fn arrays_beyond_64_bit_sizes_are_rejected() {
        let format = Format::new(Numeric::Float, 32, 4).unwrap();
        let extent = Extent { width: u32::MAX, height: u32::MAX, depth: u32::MAX };
        assert_eq!(Image::array(format, extent, 1, false, 1), None);
    }
}
