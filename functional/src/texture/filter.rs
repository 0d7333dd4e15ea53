//! Filtering within a level (CUDA programming guide, texture fetching).
//!
//! Linear filtering weighs the nearest texels by fractions of 8 bits, as the guide says of the hardware. What it leaves
//! open is chosen here: a coordinate is rounded to the nearest 1/256 (halves up), the weighted sum is computed in double
//! precision and rounded once, and a texel of weight 0 has no part in it.

/// How texels become a value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Filter {
    /// The nearest texel.
    Point,
    /// The nearest two along each axis, weighted.
    Linear,
}

/// Parts of a texel that a weight counts in.
pub const PARTS: u32 = 256;

/// 1 divided by the cube of [`PARTS`], a power of 2.
const UNIT: f64 = 1.0 / (1u64 << 24) as f64;

/// Indices stay far from the limits of 64 bits; no image is that large.
const FARTHEST: f64 = (1i64 << 40) as f64;

/// A place on one axis: the weight of texel `index + 1` is `fraction` of [`PARTS`], that of `index` the rest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Between {
    /// Index of the first texel, perhaps outside of the image.
    pub index: i64,
    /// Weight of the next one.
    pub fraction: u32,
}

/// The next integer that is not above a number; 0 for NaN.
fn floor(x: f64) -> i64 {
    let x = x.clamp(-FARTHEST, FARTHEST);
    let whole = x as i64;
    whole - i64::from(whole as f64 > x)
}

/// The texel that holds a coordinate in texels.
pub fn nearest(x: f64) -> Between {
    Between { index: floor(x), fraction: 0 }
}

/// The texels whose middles are on both sides of a coordinate in texels.
pub fn between(x: f64) -> Between {
    let parts = floor(x * f64::from(PARTS) + 0.5) - i64::from(PARTS / 2);
    let whole = i64::from(PARTS);
    Between { index: parts.div_euclid(whole), fraction: parts.rem_euclid(whole) as u32 }
}

/// The weight of a corner of the cell between texels, the product of its weights along the axes; `None` for none. Bit n
/// of `corner` says whether it is the second texel along axis n.
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

    /// The guide's formulas: xB = x - 0.5, i = floor(xB), alpha = frac(xB) in 9 bits of which 8 are a fraction.
    fn by_the_guide(x: f64) -> (i64, f64) {
        let shifted = x - 0.5;
        let (index, fraction) = (shifted.floor(), shifted - shifted.floor());
        let fixed = (fraction * 256.0 + 0.5).floor() / 256.0;
        (index as i64, fixed)
    }

    #[test]
    fn weights_are_those_of_the_guide_to_8_bits() {
        for step in -4096..4096 {
            let x = f64::from(step) / 97.0;
            let (index, fraction) = by_the_guide(x);
            let found = between(x);
            // A fraction that rounds up to 1 is the next texel with the fraction 0.
            let place = found.index as f64 + f64::from(found.fraction) / 256.0;
            assert_eq!(place, index as f64 + fraction, "{x}");
            assert!(found.fraction < PARTS);
        }
    }

    #[test]
    fn a_texels_middle_is_the_texel() {
        assert_eq!(between(3.5), Between { index: 3, fraction: 0 });
        assert_eq!(nearest(3.999), Between { index: 3, fraction: 0 });
        assert_eq!(nearest(-0.25).index, -1);
    }

    #[test]
    fn corners_have_the_products_of_the_weights_and_add_up_to_one() {
        let cell = [between(1.75), between(2.0), nearest(0.0)];
        let weights = [0, 1, 2, 3, 4, 5, 6, 7].map(|corner| weight(cell, corner));
        assert_eq!(weights[0], Some(0.75 * 0.5));
        assert_eq!(weights[3], Some(0.25 * 0.5));
        assert_eq!(weights[4..], [None; 4]);
        assert_eq!(weights.iter().flatten().sum::<f64>(), 1.0);
    }

    #[test]
    fn no_coordinate_is_too_far_or_no_number() {
        for x in [f64::INFINITY, f64::NEG_INFINITY, f64::NAN, 1e300] {
            let (_, _) = (between(x), nearest(x));
        }
    }
}
