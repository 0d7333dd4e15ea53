//! Pairs of numbers of eight or fewer bits, and the 19-bit format of tensor cores (PTX manual 9.7.9.20).
//!
//! Only `.e5m2` has infinities, and NaNs exist only where noted. Conversions give the largest number on
//! overflow.

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use super::definition::Value;
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Op;
use crate::number::half::{F16, HalfFormat};
use crate::number::{Finite, Format, NAN_16, NAN_32, Round};
use crate::ops::float::modifiers::Modifiers;
use crate::ops::{Bound, forms};

/// Special values of a format.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Specials {
    /// Infinities and NaN as in IEEE 754.
    Ieee,
    /// A NaN of all ones.
    Nan,
    /// None.
    None,
}

/// A format with a sign and at most eight bits.
#[derive(Debug, Clone, Copy)]
pub(super) struct Narrow {
    format: Format,
    specials: Specials,
}

impl Narrow {
    /// An IEEE 754 format.
    pub(super) fn ieee(format: Format) -> Narrow {
        Narrow { format, specials: Specials::Ieee }
    }

    /// Format of each element of a pair or quadruple type.
    pub(super) fn of(several: ScalarType) -> Option<Narrow> {
        let (exponent, fraction, specials) = match several {
            ScalarType::E4m3x2 | ScalarType::E4m3x4 => (4, 3, Specials::Nan),
            ScalarType::E5m2x2 | ScalarType::E5m2x4 => (5, 2, Specials::Ieee),
            ScalarType::E2m3x2 | ScalarType::E2m3x4 => (2, 3, Specials::None),
            ScalarType::E3m2x2 | ScalarType::E3m2x4 => (3, 2, Specials::None),
            ScalarType::E2m1x2 | ScalarType::E2m1x4 => (2, 1, Specials::None),
            _ => return None,
        };
        Some(Narrow { format: Format { exponent, fraction }, specials })
    }

    /// Infinity, if the format has one.
    pub(super) fn infinity(self) -> Option<u64> {
        (self.specials == Specials::Ieee).then(|| self.format.infinity())
    }

    /// Largest number.
    pub(super) fn largest(self) -> u64 {
        match self.specials {
            Specials::Ieee => self.format.infinity() - 1,
            Specials::Nan => self.format.sign() - 2,
            Specials::None => self.format.sign() - 1,
        }
    }

    fn decode(self, bits: u64) -> Value {
        let Format { fraction, .. } = self.format;
        let (negative, magnitude) = (bits & self.format.sign() != 0, bits & (self.format.sign() - 1));
        if magnitude > self.largest() {
            return match self.specials {
                Specials::Ieee if magnitude == self.format.infinity() => Value::Infinite { negative },
                _ => Value::Nan { negative, payload: 0 },
            };
        }
        let field = (magnitude >> fraction) as i32;
        let hidden = if field > 0 { 1 << fraction } else { 0 };
        let significand = u128::from(magnitude & ((1 << fraction) - 1) | hidden);
        Value::Number(Finite { negative, exponent: self.format.quantum() + (field - 1).max(0), significand })
    }

    /// Nearest number, ties to even.
    fn encode(self, value: Value) -> u64 {
        self.encode_rounded(value, self.largest(), |number, unit| number.round_to(unit, Round::Nearest))
    }

    /// Encodes a number rounded by `round`, with magnitude `most` on overflow.
    pub(super) fn encode_rounded(
        self,
        value: Value,
        most: u64,
        round: impl FnOnce(Finite, i32) -> u128,
    ) -> u64 {
        let with_sign = |negative, magnitude| magnitude | if negative { self.format.sign() } else { 0 };
        match value {
            Value::Nan { .. } => match self.specials {
                Specials::None => self.largest(),
                _ => self.format.sign() - 1,
            },
            Value::Infinite { negative } => with_sign(negative, most),
            Value::Number(number) => {
                let length = 128 - number.significand.leading_zeros() as i32;
                let quantum = self.format.quantum();
                let unit = (number.exponent + length - 1 - self.format.fraction as i32).max(quantum);
                let kept = round(number, unit) as u64;
                // The hidden bit of a normal number adds the missing 1 to the exponent field.
                let magnitude = (((unit - quantum) as u64) << self.format.fraction) + kept;
                let magnitude = if kept == 0 { 0 } else { magnitude.min(most) };
                with_sign(number.negative, magnitude)
            }
        }
    }
}

/// An 8-bit format whose numbers are exact in half precision.
pub(in crate::ops) trait Eights: 'static {
    /// Type of a pair of such numbers.
    const PAIR: ScalarType;
}

/// 4 exponent and 3 fraction bits.
pub(in crate::ops) struct E4m3;
/// 5 exponent and 2 fraction bits.
pub(in crate::ops) struct E5m2;

impl Eights for E4m3 {
    const PAIR: ScalarType = ScalarType::E4m3x2;
}

impl Eights for E5m2 {
    const PAIR: ScalarType = ScalarType::E5m2x2;
}

/// Exact conversion to single precision.
pub(in crate::ops) fn widen_eights<F: Eights>(bits: u8) -> f32 {
    let half = convert_element(bits.into(), F::PAIR, ScalarType::F16x2, Modifiers::NONE);
    F16::widen(half as u16)
}

/// Nearest 8-bit number, ties to even, saturating.
pub(in crate::ops) fn narrow_to_eights<F: Eights>(x: f32) -> u8 {
    convert_element(x.to_bits().into(), ScalarType::F32, F::PAIR, Modifiers::NONE) as u8
}

/// Bits per element of a pair.
fn element_bits(pair: ScalarType) -> u32 {
    match pair {
        ScalarType::F32 => 32,
        pair => pair.bits() / 2,
    }
}

/// Format of each element of a pair, or of a single.
fn wide_format(pair: ScalarType) -> Format {
    match pair {
        ScalarType::F16x2 => Format::F16,
        ScalarType::Bf16x2 => Format::BF16,
        _ => Format::F32,
    }
}

/// Converts one element of a pair.
fn convert_element(bits: u64, from: ScalarType, to: ScalarType, how: Modifiers) -> u64 {
    if to == ScalarType::Ue8m0x2 {
        return encode_power(bits, wide_format(from), how);
    }
    if from == ScalarType::Ue8m0x2 {
        return decode_power(bits);
    }
    let value = match Narrow::of(from) {
        Some(narrow) => narrow.decode(bits),
        None => Value::decode(bits, wide_format(from)),
    };
    if how.has(Modifiers::RELU) && value.is_below_zero() {
        return 0;
    }
    match Narrow::of(to) {
        Some(narrow) => narrow.encode(value),
        None => encode_half(value, wide_format(to), how),
    }
}

fn encode_half(value: Value, to: Format, how: Modifiers) -> u64 {
    let infinity = to.infinity() - u64::from(how.has(Modifiers::SATFINITE));
    match value {
        Value::Nan { .. } => u64::from(NAN_16),
        Value::Infinite { negative } => infinity | if negative { to.sign() } else { 0 },
        Value::Number(number) => number.encode(to, Round::Nearest),
    }
}

/// Encodes `.ue8m0`: 2^(bits - 127), all ones NaN. The sign is dropped, and numbers below 2^-127 become
/// 2^-127.
fn encode_power(bits: u64, from: Format, how: Modifiers) -> u64 {
    const NAN: u64 = 0xff;
    let magnitude = bits & !from.sign();
    if from.is_nan(bits) {
        return NAN;
    }
    let fraction = magnitude & ((1 << from.fraction) - 1);
    let is_smallest = magnitude <= 1 << (from.fraction - 1);
    let up = how.round() == Round::Up && fraction != 0 && !is_smallest;
    let power = (magnitude >> from.fraction) + u64::from(up);
    if how.has(Modifiers::SATFINITE) { power.min(NAN - 1) } else { power }
}

/// The power of 2 as a bfloat.
fn decode_power(bits: u64) -> u64 {
    match bits {
        0 => 0x40,
        0xff => u64::from(NAN_16),
        power => power << Format::BF16.fraction,
    }
}

/// Pair to pair; the immediate encodes types and modifiers.
struct Pair;

impl Arithmetic for Pair {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 2;

    #[inline(always)]
    fn common([a, b, _]: [u32; 3], how: u64) -> u32 {
        convert_pair(a, b, how)
    }
}

#[inline(never)]
fn convert_pair(a: u32, b: u32, how: u64) -> u32 {
    let ty = |code: u64| ScalarType::ALL.get(code as usize & 0xff).copied().unwrap_or(ScalarType::F32);
    let (to, from, how) = (ty(how), ty(how >> 8), Modifiers::decode(how >> 16));
    let width = element_bits(from);
    let (high, low) = if width == 32 { (a, b) } else { (a >> width, a) };
    let convert = |bits: u32| {
        let bits = u64::from(bits) & ((1 << width) - 1);
        convert_element(bits, from, to, how) as u32
    };
    convert(high) << element_bits(to) | convert(low)
}

/// Binds a conversion to a pair from a pair or two singles.
fn bind_pair(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (Some(to), Some(from)) = (i.ty(0), i.ty(1)) else {
        return Err(b.error("cvt requires two types"));
    };
    let first = b.source(&i.operands[1], from)?;
    let second = match i.operands.get(2) {
        Some(operand) => b.source(operand, from)?,
        None => first,
    };
    let d = b.result(&i.operands[0], to)?;
    let immediate = to as u64 | (from as u64) << 8 | Modifiers::of(i).encode() << 16;
    let op = Op { d, a: first, b: second, immediate, ..b.op(arithmetic::<Pair>()) };
    b.push(op);
    Ok(())
}

/// Single to `.tf32`: the fraction is cut to ten bits.
struct TensorFloat;

impl Arithmetic for TensorFloat {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 1;

    #[inline(always)]
    fn common([a, _, _]: [u32; 3], how: u64) -> u32 {
        const INFINITY: u32 = 0x7f80_0000;
        const CUT: u32 = (1 << 13) - 1;
        let (sign, magnitude) = (a & !(u32::MAX >> 1), a & (u32::MAX >> 1));
        let how = Modifiers::decode(how);
        if magnitude > INFINITY {
            return NAN_32;
        }
        let up = match how.round() {
            Round::Nearest => CUT / 2 + (magnitude >> 13 & 1),
            Round::NearestAway => CUT / 2 + 1,
            _ => 0,
        };
        let rounded = (magnitude + up) & !CUT;
        let finite = how.has(Modifiers::SATFINITE) && rounded == INFINITY;
        let rounded = if finite { (INFINITY - 1) & !CUT } else { rounded };
        if how.has(Modifiers::RELU) && sign != 0 { 0 } else { sign | rounded }
    }
}

fn bind_tf32(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::F32)?;
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let op = Op { d, a, immediate: Modifiers::of(i).encode(), ..b.op(arithmetic::<TensorFloat>()) };
    b.push(op);
    Ok(())
}

/// Two clamped integers above the low bits of c.
struct Pack;

impl Arithmetic for Pack {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 3;

    #[inline(always)]
    fn common([a, b, c]: [u32; 3], how: u64) -> u32 {
        let (bits, signed) = (how as u32 & 31, how & 32 != 0);
        let (least, most) =
            if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
        let pack = |x: u32| (x as i32).clamp(least, most) as u32 & ((1 << bits) - 1);
        let above = u64::from(c) << (2 * bits);
        above as u32 | pack(a) << bits | pack(b)
    }
}

fn bind_pack(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let to = i.ty(0).unwrap_or(ScalarType::U16);
    let mut rows = [0; 3];
    for (row, operand) in rows.iter_mut().zip(&i.operands[1..]) {
        *row = b.source(operand, ScalarType::B32)?;
    }
    if i.operands.len() < 4 {
        rows[2] = b.constant(0, false);
    }
    let d = b.result(&i.operands[0], ScalarType::B32)?;
    let immediate = u64::from(to.bits()) | if to.is_signed() { 32 } else { 0 };
    let op = Op { d, a: rows[0], b: rows[1], c: rows[2], immediate, ..b.op(arithmetic::<Pack>()) };
    b.push(op);
    Ok(())
}

forms! {
    bind_tf32: tf32_away tf32 tf32_finite;
    bind_pair: singles_to_fp8 halves_to_fp8 fp8_to_halves singles_to_fp6 halves_to_fp6 fp6_to_halves
        singles_to_power bfloats_to_power power_to_bfloats bfloats_to_narrow narrow_to_bfloats;
    bind_pack: pack pack_more pack_small;
}
