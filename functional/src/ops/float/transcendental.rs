//! `ex2`, `lg2`, `tanh` (PTX manual 9.7.3.20 to 9.7.3.22): polynomials in single precision, without a fused
//! multiply-add, so that every host computes the same bits.

use ptx_frontend::ir::Instruction;

use super::Bound;
use super::approximate::{Function, bind_function, bind_half_function};
use crate::bind::Binder;

/// 2^a; the manual allows 2 ulp, and the error here is at most 1.25 ulp.
#[inline(always)]
fn power_of_two(a: f32) -> f32 {
    /// Adding and subtracting 1.5 × 2^23 rounds to an integer, which the sum's low bits hold.
    const ROUNDER: f32 = 12_582_912.0;
    // Beyond these bounds the result is 0 or infinity; NaN stays.
    let a = if a < -151.0 { -151.0 } else { a };
    let a = if a > 129.0 { 129.0 } else { a };
    let sum = a + ROUNDER;
    let exponent = sum.to_bits().wrapping_sub(ROUNDER.to_bits()) as i32;
    let f = a - (sum - ROUNDER);
    // 2^f for f in [-1/2, 1/2], relative error 2^-28.
    let p = 0.000_154_759_64;
    let p = p * f + 0.001_339_961_3;
    let p = p * f + 0.009_618_005;
    let p = p * f + 0.055_503_3;
    let p = p * f + 0.240_226_5;
    let p = p * f + std::f32::consts::LN_2;
    let p = p * f + 1.0;
    // Two steps, of which only the second can leave the normal numbers.
    let power = |exponent: i32| f32::from_bits((exponent.wrapping_add(127) as u32) << 23);
    let half = exponent >> 1;
    p * power(half) * power(exponent.wrapping_sub(half))
}

/// Binary logarithm of a. The manual allows an error of 2^-22: absolute between 1/2 and 2, relative
/// elsewhere.
#[inline(always)]
fn logarithm(a: f32) -> f32 {
    /// √½: mantissas come from [√½, √2), where the logarithm of numbers near 1 is small.
    const MIDDLE: u32 = 0x3f35_04f3;
    const SCALE: f32 = 16_777_216.0;
    let is_subnormal = a < f32::MIN_POSITIVE;
    let (scaled, scale) = if is_subnormal { (a * SCALE, 24.0) } else { (a, 0.0) };
    let distance = scaled.to_bits().wrapping_sub(MIDDLE) as i32;
    let exponent = distance >> 23;
    let t = f32::from_bits(scaled.to_bits().wrapping_sub((exponent << 23) as u32)) - 1.0;
    // log2(1 + t) / t, relative error 2^-27.
    let p = -0.109_950_14;
    let p = p * t + 0.186_174_52;
    let p = p * t - 0.191_062_31;
    let p = p * t + 0.204_600_68;
    let p = p * t - 0.239_617_47;
    let p = p * t + 0.288_567_4;
    let p = p * t - 0.360_696_65;
    let p = p * t + 0.480_898_24;
    let p = p * t - 0.721_347_35;
    let p = p * t + std::f32::consts::LOG2_E;
    let log = (exponent as f32 - scale) + p * t;
    let log = if a == f32::INFINITY { a } else { log };
    let log = if a == 0.0 { f32::NEG_INFINITY } else { log };
    if a >= 0.0 { log } else { f32::NAN }
}

/// Hyperbolic tangent of a. The manual allows a relative error of 2^-11; the error here is at most 2^-22.
#[inline(always)]
fn hyperbolic_tangent(a: f32) -> f32 {
    /// 2 / ln 2.
    const SCALE: f32 = 2.885_39;
    let magnitude = a.abs();
    let large = 1.0 - 2.0 / (power_of_two(magnitude * SCALE) + 1.0);
    let u = a * a;
    let p = 0.016_560_726;
    let p = p * u - 0.052_746_963;
    let p = p * u + 0.133_221_42;
    let p = p * u - 0.333_330_26;
    let small = magnitude + magnitude * (u * p);
    let result = if magnitude > 0.55 { large } else { small };
    result.copysign(a)
}

/// 2^a.
struct Ex2;
impl Function for Ex2 {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        power_of_two(a)
    }
}

/// log2(a).
struct Lg2;
impl Function for Lg2 {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        logarithm(a)
    }
}

/// tanh(a).
struct Tanh;
impl Function for Tanh {
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3]) -> f32 {
        hyperbolic_tangent(a)
    }
}

/// `ex2.approx.f32`.
pub fn ex2_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Ex2>(b, i)
}

/// `lg2.approx.f32`.
pub fn lg2_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Lg2>(b, i)
}

/// `tanh.approx.f32`.
pub fn tanh_approx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_function::<Tanh>(b, i)
}

/// `ex2.approx` of halves.
pub fn ex2_approx_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half_function::<Ex2>(b, i)
}

/// `ex2.approx.ftz` of bfloats.
pub fn ex2_approx_bfloat(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half_function::<Ex2>(b, i)
}

/// `tanh.approx` of halves and bfloats.
pub fn tanh_approx_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half_function::<Tanh>(b, i)
}
