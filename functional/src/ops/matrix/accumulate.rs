//! Summation of matrix products: order and precision, defined only here.
//!
//! The manual promises at least single precision for single-precision sums and at least half precision for
//! half-precision sums, in an unspecified order. The order here:
//!
//! * Factors are exact, including subnormal numbers; the lowest 13 bits of a tf32 factor are ignored.
//! * K is traversed upwards in blocks of four, the width of Volta's dot product. A block adds its four
//!   products to the sum `s` as `((p0 + p1) + (p2 + p3)) + s`. Products and sums use binary64, where a
//!   product of two factors is exact, and the block's result is rounded once.
//! * If C or D is binary32, that rounding is to binary32 towards zero, and overflow gives infinity. Tensor
//!   cores round likewise (Fasi et al., "Numerical behavior of NVIDIA tensor cores", 2021). D in binary16
//!   is the last sum rounded to nearest even.
//! * If C and D are binary16, that rounding is to binary16, to nearest even.
//! * Integer sums are exact, and the final value is truncated to 32 bits or clamped (`.satfinite`).
//! * Double precision is a chain of fused multiply-adds, K upwards, in the instruction's rounding.
//!
//! Any NaN result is canonical, or, in double precision, that of [`crate::number::propagate`].

use ptx_frontend::isa::MatrixShape;

use crate::number::half::{F16, HalfFormat};
use crate::number::rounding::make_odd;
use crate::number::{Finite, Format, Round, propagate};

/// Kind and rounding of a sum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Sum {
    /// Rounded to binary16 after each block.
    Half,
    /// Rounded to binary32 after each block.
    Single,
    /// Exact.
    Integer,
    /// Double precision.
    Double(Round),
    /// Number of bits set in both factors.
    BitsOfAnd,
    /// Number of bits set in exactly one factor.
    BitsOfXor,
}

/// Products per rounding.
const BLOCK: usize = 4;

/// Rounding after a block.
trait AfterBlock {
    fn round(x: f64) -> f64;
}

struct ToHalf;
impl AfterBlock for ToHalf {
    #[inline(always)]
    fn round(x: f64) -> f64 {
        let single = x as f32;
        let odd = make_odd(single, f64::from(single) - x);
        f64::from(F16::widen(F16::narrow(odd)))
    }
}

struct ToSingle;
impl AfterBlock for ToSingle {
    #[inline(always)]
    fn round(x: f64) -> f64 {
        let nearest = x as f32;
        let outward = f64::from(nearest).abs() > x.abs() && nearest.is_finite();
        f64::from(f32::from_bits(nearest.to_bits() - u32::from(outward)))
    }
}

struct Exactly;
impl AfterBlock for Exactly {
    #[inline(always)]
    fn round(x: f64) -> f64 {
        x
    }
}

/// `sums += a * b`, for matrices in row-major order.
#[inline(always)]
pub(super) fn accumulate(how: Sum, shape: MatrixShape, a: &[f64], b: &[f64], sums: &mut [f64]) {
    let (n, k) = (shape.n as usize, shape.k as usize);
    match how {
        Sum::Half => in_blocks::<ToHalf>(n, k, a, b, sums),
        Sum::Single => in_blocks::<ToSingle>(n, k, a, b, sums),
        Sum::Integer => in_blocks::<Exactly>(n, k, a, b, sums),
        Sum::Double(round) => one_by_one(n, k, a, b, sums, |a, b, sum| fused(a, b, sum, round)),
        Sum::BitsOfAnd => one_by_one(n, k / 32, a, b, sums, |a, b, sum| sum + bits(a as u32 & b as u32)),
        Sum::BitsOfXor => one_by_one(n, k / 32, a, b, sums, |a, b, sum| sum + bits(a as u32 ^ b as u32)),
    }
}

#[inline(always)]
fn in_blocks<R: AfterBlock>(n: usize, k: usize, a: &[f64], b: &[f64], sums: &mut [f64]) {
    for (a, sums) in a.chunks_exact(k).zip(sums.chunks_exact_mut(n)) {
        for (a, b) in a.chunks_exact(BLOCK).zip(b.chunks_exact(BLOCK * n)) {
            let (b0, rest) = b.split_at(n);
            let (b1, rest) = rest.split_at(n);
            let (b2, b3) = rest.split_at(n);
            for ((((sum, b0), b1), b2), b3) in sums.iter_mut().zip(b0).zip(b1).zip(b2).zip(b3) {
                let products = (a[0] * b0 + a[1] * b1) + (a[2] * b2 + a[3] * b3);
                *sum = R::round(products + *sum);
            }
        }
    }
}

fn one_by_one(
    n: usize,
    k: usize,
    a: &[f64],
    b: &[f64],
    sums: &mut [f64],
    add: impl Fn(f64, f64, f64) -> f64,
) {
    for (a, sums) in a.chunks_exact(k).zip(sums.chunks_exact_mut(n)) {
        for (a, b) in a.iter().zip(b.chunks_exact(n)) {
            for (sum, b) in sums.iter_mut().zip(b) {
                *sum = add(*a, *b, *sum);
            }
        }
    }
}

fn bits(word: u32) -> f64 {
    f64::from(word.count_ones())
}

/// a * b + c, rounded once.
fn fused(a: f64, b: f64, c: f64, round: Round) -> f64 {
    let nearest = a.mul_add(b, c);
    if nearest.is_nan() {
        return propagate(&[a, b, c]);
    }
    let exact = |x: f64| Finite::decode(x.to_bits(), Format::F64);
    match (round, exact(a), exact(b), exact(c)) {
        (Round::Nearest, ..) => nearest,
        (_, Some(a), Some(b), Some(c)) => {
            f64::from_bits(a.multiply(b).add(c, round).encode(Format::F64, round))
        }
        _ => nearest,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SHAPE: MatrixShape = MatrixShape { m: 1, n: 1, k: 4 };

    fn dot(how: Sum, a: [f64; 4], b: [f64; 4], c: f64) -> f64 {
        let mut sums = [c];
        accumulate(how, SHAPE, &a, &b, &mut sums);
        sums[0]
    }

    #[test]
    fn single_precision_sums_round_towards_zero() {
        let tiny = f64::from(f32::EPSILON) * 0.75;
        assert_eq!(dot(Sum::Single, [tiny, 0.0, 0.0, 0.0], [1.0; 4], 1.0), 1.0);
        assert_eq!(dot(Sum::Single, [-tiny, 0.0, 0.0, 0.0], [1.0; 4], -1.0), -1.0);
    }

    #[test]
    fn four_products_are_summed_before_rounding() {
        let big = 33_554_432.0;
        assert_eq!(dot(Sum::Single, [big, 1.0, 1.0, 0.0], [1.0; 4], -big), 2.0);
    }

    #[test]
    fn half_precision_sums_are_rounded_to_nearest_even() {
        assert_eq!(dot(Sum::Half, [1.0, 0.0, 0.0, 0.0], [1.0; 4], 2048.0), 2048.0);
        assert_eq!(dot(Sum::Half, [3.0, 0.0, 0.0, 0.0], [1.0; 4], 2048.0), 2052.0);
    }

    #[test]
    fn a_sum_beyond_the_largest_number_is_infinite() {
        assert_eq!(dot(Sum::Single, [1e38, 1e38, 1e38, 1e38], [1.0; 4], 0.0), f64::INFINITY);
        assert_eq!(dot(Sum::Half, [65504.0, 0.0, 0.0, 0.0], [1.0; 4], 65504.0), f64::INFINITY);
    }
}
