//! Checks of tensor maps (`cuTensorMapEncodeTiled`, `cuTensorMapEncodeIm2col`) against the limits
//! in the driver API's documentation.

use crate::abi::error::{Error, Result};
use functional::tensor::{Element, Interleave, MAXIMUM_RANK, Mode, Swizzle, TensorMap};
use std::ffi::c_int;

/// Alignment of a tensor's address and strides in bytes.
const ALIGNMENT: u64 = 16;
/// Alignment of a map in bytes.
const MAP_ALIGNMENT: usize = 16;

/// Parameters common to both kinds of maps.
#[derive(Clone, Debug)]
pub(crate) struct Description {
    pub(crate) element: c_int,
    pub(crate) address: u64,
    pub(crate) sizes: Vec<u64>,
    /// Strides of all dimensions except the first.
    pub(crate) strides: Vec<u64>,
    pub(crate) steps: Vec<u32>,
    pub(crate) interleave: c_int,
    pub(crate) swizzle: c_int,
    pub(crate) promotion: c_int,
    pub(crate) fill: c_int,
}

/// Image-to-column parameters: pixel boxes along W, H and D.
#[derive(Clone, Debug)]
pub(crate) struct Column {
    pub(crate) lower: Vec<c_int>,
    pub(crate) upper: Vec<c_int>,
    pub(crate) channels: u32,
    pub(crate) pixels: u32,
}

/// Rejects an unaligned address for a map. The manual requires 64 bytes, but clients keep maps in
/// Python objects, which are aligned to 16 bytes.
pub(crate) fn check_place(address: usize) -> Result<()> {
    require(address != 0 && address.is_multiple_of(MAP_ALIGNMENT))
}

/// Rejects a tensor's address that is not aligned for the map's other fields.
pub(crate) fn check_address(map: &TensorMap) -> Result<()> {
    require(map.address.is_multiple_of(alignment(map)))
}

fn require(holds: bool) -> Result<()> {
    if holds { Ok(()) } else { Err(Error::InvalidValue) }
}

/// `CUtensorMapDataType`.
const ELEMENTS: [Element; 16] = {
    use Element::{
        B4x16, B4x16P64, B6x16P32, Bf16, F16, F32, F32Ftz, F64, S32, S64, Tf32, Tf32Ftz, U8, U16, U32, U64,
    };
    [U8, U16, U32, S32, U64, S64, F16, F32, F64, Bf16, F32Ftz, Tf32, Tf32Ftz, B4x16, B4x16P64, B6x16P32]
};

/// `CUtensorMapSwizzle`.
const SWIZZLES: [Swizzle; 7] = {
    use Swizzle::{None, Span32, Span64, Span128, Span128Atom32, Span128Atom32Flip8, Span128Atom64};
    [None, Span32, Span64, Span128, Span128Atom32, Span128Atom32Flip8, Span128Atom64]
};

/// `CUtensorMapInterleave`.
const INTERLEAVES: [Interleave; 3] = [Interleave::None, Interleave::Bytes16, Interleave::Bytes32];

/// `CU_TENSOR_MAP_L2_PROMOTION_L2_256B`, the largest promotion.
const LAST_PROMOTION: c_int = 3;

fn choose<T: Copy>(from: &[T], number: c_int) -> Result<T> {
    let index = usize::try_from(number).map_err(|_| Error::InvalidValue)?;
    from.get(index).copied().ok_or(Error::InvalidValue)
}

fn alignment(map: &TensorMap) -> u64 {
    let wide = map.interleave == Interleave::Bytes32 || is_spread(map.element);
    if wide { 2 * ALIGNMENT } else { ALIGNMENT }
}

/// Tells whether elements are padded in shared memory.
fn is_spread(element: Element) -> bool {
    element.bytes() != element.shared_bytes()
}

impl Description {
    /// A tiled map. `extents` is the box size in elements along each dimension.
    pub(crate) fn tiled(&self, extents: &[u32]) -> Result<TensorMap> {
        let map = self.common(Mode::Tiled, extents)?;
        require(extents.iter().all(|extent| (1..=256).contains(extent)))?;
        check_inner(&map)?;
        Ok(map)
    }

    /// An image-to-column map.
    pub(crate) fn image(&self, column: &Column) -> Result<TensorMap> {
        let spatial = self.sizes.len().saturating_sub(2);
        let most = match spatial {
            1 => 1 << 15,
            2 => 1 << 7,
            3 => 1 << 4,
            _ => return Err(Error::InvalidValue),
        };
        let corner = |offsets: &[c_int]| -> Result<[i16; 3]> {
            require(offsets.iter().all(|offset| (-most..most).contains(offset)))?;
            Ok(std::array::from_fn(|n| offsets.get(n).map_or(0, |offset| *offset as i16)))
        };
        let (lower, upper) = (corner(&column.lower)?, corner(&column.upper)?);
        let map = self.common(Mode::ImageToColumn { lower, upper }, &[column.channels, column.pixels])?;
        require((1..=256).contains(&column.channels) && (1..=1024).contains(&column.pixels))?;
        for n in 0..spatial {
            require(i64::from(map.sizes[n + 1]) + i64::from(upper[n]) > i64::from(lower[n]))?;
        }
        check_inner(&map)?;
        Ok(map)
    }

    fn common(&self, mode: Mode, extents: &[u32]) -> Result<TensorMap> {
        let rank = self.sizes.len();
        require((1..=MAXIMUM_RANK).contains(&rank))?;
        let mut map = TensorMap {
            mode,
            rank,
            element: choose(&ELEMENTS, self.element)?,
            interleave: choose(&INTERLEAVES, self.interleave)?,
            swizzle: choose(&SWIZZLES, self.swizzle)?,
            fills_with_nan: choose(&[false, true], self.fill)?,
            address: self.address,
            sizes: [1; MAXIMUM_RANK],
            strides: [0; MAXIMUM_RANK - 1],
            extents: [1; MAXIMUM_RANK],
            steps: [1; MAXIMUM_RANK],
        };
        let interleaved = map.interleave != Interleave::None;
        require(!interleaved || rank >= 3)?;
        require((0..=LAST_PROMOTION).contains(&self.promotion))?;
        require(!map.fills_with_nan || map.element.is_float())?;
        check_address(&map)?;
        for (to, size) in map.sizes.iter_mut().zip(&self.sizes) {
            *to = u32::try_from(*size)
                .ok()
                .filter(|size| (1..=1 << 31).contains(size))
                .ok_or(Error::InvalidValue)?;
        }
        let unit = match map.element {
            Element::B4x16 => 2,
            element if is_spread(element) => 128,
            _ => 1,
        };
        require(map.sizes[0].is_multiple_of(unit))?;
        let alignment = alignment(&map);
        for (to, stride) in map.strides.iter_mut().zip(&self.strides) {
            require(stride.is_multiple_of(alignment) && *stride < 1 << 40)?;
            *to = *stride;
        }
        for (to, extent) in map.extents.iter_mut().zip(extents) {
            *to = *extent;
        }
        // Contiguous channels need no step.
        let stepped = usize::from(!interleaved);
        for (to, step) in map.steps.iter_mut().zip(&self.steps).skip(stepped) {
            require((1..=8).contains(step))?;
            *to = *step;
        }
        Ok(map)
    }
}

/// Rejects inner box sizes that the element type, interleave or swizzle does not support.
fn check_inner(map: &TensorMap) -> Result<()> {
    let bytes = u64::from(map.extents[0]) * map.element.bytes() / map.element.packed();
    let plain = map.interleave == Interleave::None;
    require(!plain || bytes.is_multiple_of(ALIGNMENT))?;
    require(!plain || map.swizzle == Swizzle::None || map.row_bytes() <= map.swizzle.span())?;
    require(map.interleave != Interleave::Bytes32 || map.swizzle == Swizzle::Span32)?;
    let swizzles: &[Swizzle] = match map.element {
        Element::B6x16P32 => {
            &[Swizzle::None, Swizzle::Span128, Swizzle::Span128Atom32, Swizzle::Span128Atom64]
        }
        Element::B4x16P64 => &[Swizzle::None, Swizzle::Span128, Swizzle::Span128Atom32],
        _ => &SWIZZLES,
    };
    require(swizzles.contains(&map.swizzle))?;
    require(!is_spread(map.element) || map.extents[0] == 128)?;
    require(map.element != Element::B6x16P32 || plain)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn description() -> Description {
        Description {
            element: 7,
            address: 0x1000,
            sizes: vec![64, 32],
            strides: vec![256],
            steps: vec![1, 1],
            interleave: 0,
            swizzle: 0,
            promotion: 0,
            fill: 0,
        }
    }

    #[test]
    fn description_within_the_limits_gives_a_map() {
        let map = description().tiled(&[32, 8]).unwrap();
        assert_eq!((map.rank, map.sizes[..2].to_vec(), map.strides[0]), (2, vec![64, 32], 256));
        assert_eq!((map.element, map.row_bytes()), (Element::F32, 128));
    }

    #[test]
    fn documented_limits_are_enforced() {
        let wrong: [fn(&mut Description); 14] = [
            |it| it.element = 16,
            |it| it.element = -1,
            |it| it.address = 0x1008,
            |it| it.sizes = vec![],
            |it| it.sizes = vec![1; 6],
            |it| it.sizes[1] = 0,
            |it| it.sizes[1] = (1 << 31) + 1,
            |it| it.strides[0] = 264,
            |it| it.strides[0] = 1 << 40,
            |it| it.steps[1] = 9,
            |it| it.interleave = 1,
            |it| it.swizzle = 2,
            |it| it.promotion = 4,
            |it| (it.element, it.fill) = (2, 1),
        ];
        for (number, change) in wrong.into_iter().enumerate() {
            let mut description = description();
            change(&mut description);
            assert_eq!(description.tiled(&[32, 8]), Err(Error::InvalidValue), "{number}");
        }
        for extents in [[0, 8], [257, 8], [32, 257], [3, 8]] {
            assert_eq!(description().tiled(&extents), Err(Error::InvalidValue), "{extents:?}");
        }
    }

    #[test]
    fn column_corner_range_shrinks_with_dimensions() {
        let image = Description {
            sizes: vec![8, 16, 16, 2],
            strides: vec![32, 512, 8192],
            steps: vec![1; 4],
            ..description()
        };
        let column =
            |lower: c_int| Column { lower: vec![lower, 0], upper: vec![0, 0], channels: 8, pixels: 32 };
        assert!(image.image(&column(-128)).is_ok());
        assert_eq!(image.image(&column(-129)), Err(Error::InvalidValue));
        assert_eq!(image.image(&column(16)), Err(Error::InvalidValue));
        assert_eq!(description().image(&column(0)), Err(Error::InvalidValue));
    }
}
