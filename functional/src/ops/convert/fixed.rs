//! Pairs of signed 8-bit fixed-point numbers with 6 fraction bits (`.s2f6x2`), from and to singles and
//! bfloats, with power-of-2 scales (PTX manual 9.7.9.20). Doubles represent all intermediate numbers, so
//! results are rounded once.

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Op;
use crate::number::NAN_16;
use crate::number::half::{Bf16, HalfFormat};
use crate::ops::{Bound, forms};

/// Fixed-point units per 1.
const ONE: f64 = 64.0;

/// Two scales of 1.
const NO_SCALES: u32 = 0x7f7f;

/// Flags in the op's immediate.
const TO_FIXED: u64 = 1;
const FROM_SINGLES: u64 = 2;
const RELU: u64 = 4;
const FINITE: u64 = 8;

/// Scale 2^(bits - 127); all ones is NaN.
fn scale(bits: u32) -> f64 {
    match bits & 0xff {
        0xff => f64::NAN,
        power => f64::from_bits((1023 + u64::from(power) - 127) << 52),
    }
}

fn to_fixed(value: f64, how: u64) -> u32 {
    let value = if value.is_nan() { f64::INFINITY } else { value };
    let least = if how & RELU != 0 { 0.0 } else { f64::from(i8::MIN) };
    let fixed = (value * ONE).round_ties_even().clamp(least, f64::from(i8::MAX));
    u32::from(fixed as i8 as u8)
}

fn to_bfloat(fixed: u32, scale: f64, how: u64) -> u32 {
    let value = f64::from(fixed as u8 as i8) / ONE * scale;
    if value.is_nan() {
        return NAN_16.into();
    }
    let least = if how & RELU != 0 { 0.0 } else { f64::NEG_INFINITY };
    let bits = Bf16::narrow(value.max(least) as f32);
    let infinite = bits & 0x7fff == Bf16::FORMAT.infinity() as u16;
    u32::from(bits - u16::from(infinite && how & FINITE != 0))
}

/// Conversion of a pair; the upper number of each operand makes the upper result.
struct Fixed;

impl Arithmetic for Fixed {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn common([a, b, c]: [u32; 3], how: u64) -> u32 {
        let (upper, lower) = (scale(c >> 8), scale(c));
        if how & TO_FIXED == 0 {
            return to_bfloat(a >> 8, upper, how) << 16 | to_bfloat(a, lower, how);
        }
        let (high, low) = if how & FROM_SINGLES != 0 { (a, b) } else { (a & 0xffff_0000, a << 16) };
        let number = |bits: u32| f64::from(f32::from_bits(bits));
        to_fixed(number(high) / upper, how) << 8 | to_fixed(number(low) / lower, how)
    }
}

/// Binds a conversion; the last operand holds the scales, if any.
fn bind_fixed(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (Some(to), Some(from)) = (i.ty(0), i.ty(1)) else {
        return Err(b.error("cvt requires two types"));
    };
    let singles = from == ScalarType::F32;
    let first = b.source(&i.operands[1], from)?;
    let second = if singles { b.source(&i.operands[2], from)? } else { first };
    let scales = match i.has(Modifier::ScaledByPowers) {
        true => b.source(&i.operands[if singles { 3 } else { 2 }], ScalarType::B16)?,
        false => b.constant(NO_SCALES.into(), false),
    };
    let d = b.result(&i.operands[0], to)?;
    let flag = |is_set: bool, flag: u64| if is_set { flag } else { 0 };
    let immediate = flag(to == ScalarType::S2f6x2, TO_FIXED)
        | flag(singles, FROM_SINGLES)
        | flag(i.has(Modifier::Relu), RELU)
        | flag(i.has(Modifier::Satfinite), FINITE);
    let op = Op { d, a: first, b: second, c: scales, immediate, ..b.op(arithmetic::<Fixed>()) };
    b.push(op);
    Ok(())
}

forms! {
    bind_fixed: singles_to_fixed singles_to_fixed_scaled bfloats_to_fixed bfloats_to_fixed_scaled
        fixed_to_bfloats fixed_to_bfloats_scaled;
}
