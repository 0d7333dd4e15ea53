//! Filtering within a level (CUDA programming guide, texture fetching).
//!
//! Linear filtering weights the nearest texels with 8-bit fractions, as the guide describes the hardware.
//! Open points are decided here. Coordinates round to the nearest 1/256 (halves up). The weighted sum uses
//! double precision and is rounded once, and texels of weight 0 are ignored.

/// Combination of texels into a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// Weighted mean of the nearest two texels along each axis.
    Linear,
}

/// Number of weight units per texel.
pub const PARTS: u32 = 256;

/// 1 / [`PARTS`]^3, a power of 2.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Bound of indices, far from 64-bit limits and beyond any image.
const FARTHEST: f64 = (1i64 << 40) as f64;

/// Position on one axis: texel `index + 1` has weight `fraction` out of [`PARTS`], texel `index` the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    /// Index of the first texel, possibly outside of the image.
    pub index: i64,
    /// Weight of the next texel.
    pub fraction: u32,
}

/// Largest integer not above a number; 0 for NaN.
fn floor(x: f64) -> i64 {
    let x = x.clamp(-FARTHEST, FARTHEST);
    let whole = x as i64;
    whole - i64::from(whole as f64 > x)
}

/// Texel that contains a coordinate in texels.
pub fn nearest(x: f64) -> Between {
    Between { index: floor(x), fraction: 0 }
}

/// Texels whose centres enclose a coordinate in texels.
pub fn between(x: f64) -> Between {
    let parts = floor(x * f64::from(PARTS) + 0.5) - i64::from(PARTS / 2);
    let whole = i64::from(PARTS);
    Between { index: parts.div_euclid(whole), fraction: parts.rem_euclid(whole) as u32 }
}

/// Weight of a cell's corner, the product of its axis weights; `None` for zero. Bit n of `corner` selects
/// the second texel along axis n.
#[inline]
pub fn weight(cell: [Between; 3], corner: u32) -> Option<f64> {
    let mut parts = 1;
    for (axis, between) in cell.iter().enumerate() {
        parts *= if corner >> axis & 1 == 1 { between.fraction } else { PARTS - between.fraction };
    }
    (parts > 0).then(|| f64::from(parts) * UNIT)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The guide's formulas: xB = x - 0.5, i = floor(xB), alpha = frac(xB) in 9 bits with 8 fraction bits.
    fn by_the_guide(x: f64) -> (i64, f64) {
        let shifted = x - 0.5;
        let (index, fraction) = (shifted.floor(), shifted - shifted.floor());
        let fixed = (fraction * 256.0 + 0.5).floor() / 256.0;
        (index as i64, fixed)
    }

    #[test]
    fn filter_weights_match_the_guide_to_8_bits() {
        for step in -4096..4096 {
            let x = f64::from(step) / 97.0;
            let (index, fraction) = by_the_guide(x);
            let found = between(x);
            // A fraction that rounds up to 1 selects the next texel with fraction 0.
            let place = found.index as f64 + f64::from(found.fraction) / 256.0;
            assert_eq!(place, index as f64 + fraction, "{x}");
            assert!(found.fraction < PARTS);
        }
    }

    #[test]
    fn texel_centre_selects_that_texel_alone() {
        assert_eq!(between(3.5), Between { index: 3, fraction: 0 });
        assert_eq!(nearest(3.999), Between { index: 3, fraction: 0 });
        assert_eq!(nearest(-0.25).index, -1);
    }

    #[test]
    fn corner_weights_are_products_and_sum_to_one() {
        let cell = [between(1.75), between(2.0), nearest(0.0)];
        let weights = [0, 1, 2, 3, 4, 5, 6, 7].map(|corner| weight(cell, corner));
        assert_eq!(weights[0], Some(0.75 * 0.5));
        assert_eq!(weights[3], Some(0.25 * 0.5));
        assert_eq!(weights[4..], [None; 4]);
        assert_eq!(weights.iter().flatten().sum::<f64>(), 1.0);
    }

    #[test]
    fn far_and_nan_coordinates_are_valid() {
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300] {
            let (_, _) = (between(x), nearest(x));
        }
    }
}
