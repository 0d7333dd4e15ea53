//! Images: levels of texels in device memory, by rows and slices.
//!
//! Our layout of an array is the plain one: texels of a row follow one another, rows start every [`ROW_ALIGNMENT`] bytes
//! or a multiple, slices (of depth, layers, faces of a cube) follow one another, and so do levels, the finest first. The
//! hardware's block-linear layout is not documented; programs cannot see it.

use super::format::Format;

/// Bytes at whose multiples the rows of an array start.
pub const ROW_ALIGNMENT: u64 = 32;

/// Bytes at whose multiples the levels of an array start.
const LEVEL_ALIGNMENT: u64 = 256;

/// What memory an image lies in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ImageKind {
    /// An array (`cudaArray_t`).
    Array,
    /// Linear memory: read by index, without filtering; outside of it is 0.
    Linear,
    /// Rows in linear memory.
    Pitched,
}

/// One level.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Level {
    /// Its first texel.
    pub address: u64,
    /// Texels of a row.
    pub width: u32,
    /// Rows of a slice; 1 in images of one dimension.
    pub height: u32,
    /// Slices of a layer; 1 in images of fewer than three dimensions.
    pub depth: u32,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice, or layer, to the next.
    pub slice: u64,
}

/// Texels in device memory.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Image {
    /// What memory they lie in.
    pub kind: ImageKind,
    /// Their format.
    pub format: Format,
    /// Coordinates of a texel within a layer: 1, 2, 3.
    pub dimensions: u32,
    /// Layers; faces of a cube are layers.
    pub layers: u32,
    /// Is it made of cubes, of six layers each?
    pub cube: bool,
    /// The finest first; at least one.
    pub levels: Vec<Level>,
}

/// Extent of an array in texels; 0 along an axis that it does not have.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Extent {
    /// Texels of a row.
    pub width: u32,
    /// Rows.
    pub height: u32,
    /// Slices.
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
    /// An array from address 0 on, and the bytes it takes; `None` if they pass 64 bits.
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

    /// The same image, further back in memory.
    pub fn moved(mut self, by: u64) -> Image {
        for level in &mut self.levels {
            level.address = level.address.wrapping_add(by);
        }
        self
    }

    /// The level, or the coarsest there is.
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
    fn more_bytes_than_64_bits_count_are_no_array() {
        let format = Format::new(Numeric::Float, 32, 4).unwrap();
        let extent = Extent { width: u32::MAX, height: u32::MAX, depth: u32::MAX };
        assert_eq!(Image::array(format, extent, 1, false, 1), None);
    }
}
