//! `sin` and `cos` (PTX manual 9.7.3.18, 9.7.3.19).
//!
//! The manual allows an absolute error of 2^-20.5 in [-2π, 2π] and 2^-14.7 in [-100π, 100π], and promises
//! nothing beyond. Results here are within 1 ulp everywhere. Reduction and polynomial use double precision;
//! angles from 2^24 up are reduced one by one with as many bits of 1/π as needed.

use ptx_frontend::ir::Instruction;

use super::Bound;
use super::approximate::{Function, bind_function};
use crate::bind::Binder;

/// Bound of the angles that [`reduce`] handles.
const LIMIT: f32 = 16_777_216.0;

/// Adding and subtracting 1.5 × 2^52 rounds to an integer, whose lowest bit is the sum's lowest bit.
const ROUNDER: f64 = 6_755_399_441_055_744.0;

/// π in three parts. The first two have 29 bits, so that products with integers and halves below 2^23 are
/// exact.
const PI: [f64; 3] = [
    f64::from_bits(0x4009_21fb_5400_0000),
    f64::from_bits(0x3e21_0b46_1100_0000),
    f64::from_bits(0x3c54_c4c6_628b_80dc),
];

/// 1/π × 2^256, upper and lower half.
const RECIPROCAL: [u128; 2] =
    [0x517c_c1b7_2722_0a94_fe13_abe8_fa9a_6ee0, 0x6db1_4acc_9e21_c820_ff28_b1d5_ef5d_e2b0];

/// sin(x) for |x| up to slightly above π/2, with relative error 2^-35.
#[inline(always)]
fn sine_polynomial(x: f64) -> f64 {
    let u = x * x;
    let p = -2.3889779136393632e-08;
    let p = p * u + 2.752530444878544e-06;
    let p = p * u - 0.00019840861927315924;
    let p = p * u + 0.008333330980801218;
    let p = p * u - 0.1666666661701903;
    let p = p * u + 0.9999999999830197;
    x * p
}

/// x - kπ for the k that brings it closest to 0, and the parity of the integer k - offset.
#[inline(always)]
fn reduce(x: f64, offset: f64) -> (f64, u64) {
    let sum = x * std::f64::consts::FRAC_1_PI - offset + ROUNDER;
    let k = sum - ROUNDER + offset;
    (x - k * PI[0] - k * PI[1] - k * PI[2], sum.to_bits() & 1)
}

/// `value`, negated if `odd` is 1.
#[inline(always)]
fn negate_if(odd: u64, value: f64) -> f64 {
    f64::from_bits(value.to_bits() ^ odd << 63)
}

#[inline(always)]
fn sine(x: f64) -> f64 {
    let (r, odd) = reduce(x, 0.0);
    negate_if(odd, sine_polynomial(r))
}

/// cos(r + (m + 1/2)π) = -(-1)^m sin(r).
#[inline(always)]
fn cosine(x: f64) -> f64 {
    let (r, odd) = reduce(x, 0.5);
    negate_if(odd ^ 1, sine_polynomial(r))
}

/// Angle in [-π, π) that differs from `x` by a multiple of 2π, for |x| of at least [`LIMIT`]; NaN for
/// infinities.
fn reduce_large(x: f32) -> f64 {
    let bits = x.to_bits();
    let field = bits >> 23 & 0xff;
    if field == 0xff {
        return f64::NAN;
    }
    // |x| = significand × 2^exponent with an exponent from 1 to 104, so |x| / 2π = significand ×
    // 2^(exponent - 1) / π. Whole turns cancel: bits of 2^(exponent - 1) / π above the point are
    // omitted, and the product wraps.
    let significand = u128::from(bits & 0x7f_ffff | 0x80_0000);
    let shift = field.saturating_sub(127 + 23 + 1);
    let fraction = match shift {
        0 => RECIPROCAL[0],
        shift => RECIPROCAL[0] << shift | RECIPROCAL[1] >> (128 - shift),
    };
    let turns = significand.wrapping_mul(fraction) as i128;
    const UNIT: f64 = f64::from_bits((1023 - 127) << 52);
    let angle = turns as f64 * UNIT * std::f64::consts::PI;
    if x < 0.0 { -angle } else { angle }
}

/// sin(a).
struct Sin;
impl Function for Sin {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        sine(f64::from(a)) as f32
    }
    #[inline(always)]
    fn is_rare([a, _, _]: [f32; 3]) -> bool {
        a.abs() >= LIMIT
    }
    fn rare([a, _, _]: [f32; 3]) -> f32 {
        sine(reduce_large(a)) as f32
    }
}

/// cos(a).
struct Cos;
impl Function for Cos {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        cosine(f64::from(a)) as f32
    }
    #[inline(always)]
    fn is_rare([a, _, _]: [f32; 3]) -> bool {
        a.abs() >= LIMIT
    }
    fn rare([a, _, _]: [f32; 3]) -> f32 {
        cosine(reduce_large(a)) as f32
    }
}

/// `sin.approx.f32`.
pub fn sin_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Sin>(b, i)
}

/// `cos.approx.f32`.
pub fn cos_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Cos>(b, i)
}
