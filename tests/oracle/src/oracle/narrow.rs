//! Conversion to pairs of halves, `.tf32`, numbers of at most eight bits, and packed integers (PTX manual
//! 9.7.9.20, 9.7.9.21). In narrow formats, exhaustive search finds the nearest number.

use ptx_frontend::isa::{Modifier, ScalarType, TypeClass};

use super::{Answer, Judge, Unjudged, integer, one, range, wrapped};
use crate::format::{Format, Round, rounding};
use crate::operands::mask;
use crate::variant::Variant;

pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    if variant.has(Modifier::Pack) {
        return pack(variant);
    }
    let (to, from) = match variant.types().as_slice() {
        [to, from] => (*to, *from),
        _ => return Err(Unjudged::Unknown),
    };
    let how = ConversionOptions {
        round: rounding(variant.modifiers()),
        relu: variant.has(Modifier::Relu),
        finite: variant.has(Modifier::Satfinite),
    };
    if to == ScalarType::Tf32 {
        return Ok(Box::new(move |x| vec![tensor_float(x[0], how)]));
    }
    if variant.has(Modifier::Rs) {
        return stochastic(variant, to, how);
    }
    if to == ScalarType::S2f6x2 || from == ScalarType::S2f6x2 {
        return fixed(variant, to, from, how);
    }
    let convert = element(to, from, how).ok_or(Unjudged::Unknown)?;
    let d_bits = match to.class() {
        TypeClass::Packed => to.bits() / 2,
        _ => return Ok(one(move |x| convert(x[0]))),
    };
    if from == ScalarType::F32 {
        return Ok(one(move |x| convert(x[0]) << d_bits | convert(x[1])));
    }
    let bits = from.bits() / 2;
    Ok(one(move |x| convert(x[0] >> bits & mask(bits)) << d_bits | convert(x[0] & mask(bits))))
}

#[derive(Debug, Clone, Copy)]
struct ConversionOptions {
    round: Round,
    relu: bool,
    finite: bool,
}

type Element = Box<dyn Fn(u64) -> u64 + Send + Sync>;

/// Returns the conversion of one number.
fn element(to: ScalarType, from: ScalarType, how: ConversionOptions) -> Option<Element> {
    if to == ScalarType::Ue8m0x2 {
        let format = Format::of(from)?;
        return Some(Box::new(move |x| power_of(x & mask(format.bits()), format, how)));
    }
    if from == ScalarType::Ue8m0x2 {
        return Some(Box::new(|x| match x & 0xff {
            0xff => Format::Bf16.canonical_nan(),
            exponent => nearest_half((exponent as f64 - 127.0).exp2(), Format::Bf16),
        }));
    }
    if let Some(narrow) = Narrow::of(to) {
        let format = Format::of(from)?;
        return Some(Box::new(move |x| {
            let x = x & mask(format.bits());
            narrow.nearest(format.to_f64(x), how.relu)
        }));
    }
    let to = Format::of(to)?;
    if let Some(narrow) = Narrow::of(from) {
        return Some(Box::new(move |x| {
            let bits = nearest_half(narrow.value(x & mask(narrow.bits)), to);
            let infinite = bits & !to.sign() == to.infinity();
            let bits = if how.finite && infinite { bits - 1 } else { bits };
            if how.relu { to.rectify(bits) } else { bits }
        }));
    }
    let from = Format::of(from)?;
    Some(Box::new(move |x| {
        let x = x & mask(from.bits());
        if from.is_nan(x) {
            return to.canonical_nan();
        }
        let bits = to.round(from.quad(x), how.round);
        let infinite = bits & !to.sign() == to.infinity();
        let bits = if how.finite && infinite { bits - 1 } else { bits };
        if how.relu { to.rectify(bits) } else { bits }
    }))
}

fn nearest_half(value: f64, to: Format) -> u64 {
    match value.is_nan() {
        true => to.canonical_nan(),
        false => to.round(Format::F64.quad(value.to_bits()), Round::NearestTiesToEven),
    }
}

/// Format with few enough numbers for exhaustive search.
#[derive(Debug, Clone, Copy)]
struct Narrow {
    /// Bits of a number. Six-bit numbers have two zero bits above.
    bits: u32,
    exponent: u32,
    fraction: u32,
    /// Bits of the largest number.
    largest: u64,
    /// Bits of infinity.
    infinity: Option<u64>,
    /// Bits of the NaN from conversions.
    nan: Option<u64>,
}

impl Narrow {
    fn of(pair: ScalarType) -> Option<Narrow> {
        let of = |bits, exponent, fraction, largest, infinity, nan| Narrow {
            bits,
            exponent,
            fraction,
            largest,
            infinity,
            nan,
        };
        Some(match pair {
            ScalarType::E4m3x2 => of(8, 4, 3, 0x7e, None, Some(0x7f)),
            ScalarType::E5m2x2 => of(8, 5, 2, 0x7b, Some(0x7c), Some(0x7f)),
            ScalarType::E2m3x2 => of(8, 2, 3, 0x1f, None, None),
            ScalarType::E3m2x2 => of(8, 3, 2, 0x1f, None, None),
            ScalarType::E2m1x2 => of(4, 2, 1, 0x7, None, None),
            _ => return None,
        })
    }

    fn sign(self) -> u64 {
        1 << (self.exponent + self.fraction)
    }

    /// Returns the number with these bits.
    fn value(self, bits: u64) -> f64 {
        let magnitude = bits & (self.sign() - 1);
        let value = if Some(magnitude) == self.infinity {
            f64::INFINITY
        } else if magnitude > self.largest {
            return f64::NAN;
        } else {
            let bias = (1 << (self.exponent - 1)) - 1;
            let field = (magnitude >> self.fraction) as i32;
            let hidden = if field > 0 { 1 << self.fraction } else { 0 };
            let significand = (magnitude & mask(self.fraction) | hidden) as f64;
            significand * f64::from(field.max(1) - bias - self.fraction as i32).exp2()
        };
        if bits & self.sign() != 0 { -value } else { value }
    }

    /// Returns the nearest number, preferring even ones in ties, and the largest on overflow.
    fn nearest(self, value: f64, relu: bool) -> u64 {
        if value.is_nan() {
            return self.nan.unwrap_or(self.largest);
        }
        if relu && value.is_sign_negative() {
            return 0;
        }
        let distance = |bits: u64| (self.value(bits) - value.abs()).abs();
        let closer = |a: u64, b: u64| match distance(a).total_cmp(&distance(b)) {
            std::cmp::Ordering::Less => a,
            std::cmp::Ordering::Greater => b,
            std::cmp::Ordering::Equal => {
                if a.is_multiple_of(2) {
                    a
                } else {
                    b
                }
            }
        };
        let magnitude = match value.abs() >= self.value(self.largest) {
            true => self.largest,
            false => (0..=self.largest).reduce(closer).unwrap_or(0),
        };
        if value.is_sign_negative() { magnitude | self.sign() } else { magnitude }
    }
}

/// Returns the power of 2 at or above a magnitude (`.ue8m0`), at least 2^-127. NaN and overflow give all
/// ones.
fn power_of(x: u64, format: Format, how: ConversionOptions) -> u64 {
    if format.is_nan(x) {
        return 0xff;
    }
    let magnitude = format.to_f64(x & !format.sign());
    let largest = if how.finite { 0xfe } else { 0xff };
    if magnitude.is_infinite() {
        return largest;
    }
    let power = |bits: u64| (bits as f64 - 127.0).exp2();
    match how.round {
        Round::TowardPositive => (0..=0xfe).find(|bits| power(*bits) >= magnitude).unwrap_or(largest),
        _ => (0..=0xfe).rev().find(|bits| power(*bits) <= magnitude).unwrap_or(0),
    }
}

/// Rounds two singles stochastically: away from zero if the dropped fraction and a random fraction sum to
/// at least 1. Each half of c holds the random bits of one: thirteen for binary16, all for bfloat16.
fn stochastic(variant: &Variant, to: ScalarType, how: ConversionOptions) -> Result<Judge, Unjudged> {
    let format = Format::of(to).ok_or(Unjudged::Unknown)?;
    let count = if format == Format::F16 { 13 } else { 16 };
    if variant.types().len() != 2 {
        return Err(Unjudged::Unknown);
    }
    let convert = move |x: u64, random: u64| {
        let x = x & mask(32);
        if Format::F32.is_nan(x) {
            return format.canonical_nan();
        }
        let sign = x >> 31 & 1;
        let magnitude = Format::F32.to_f64(x & mask(31));
        let below = Format::F64.quad(magnitude.to_bits());
        let below = format.round(below, Round::TowardZero);
        let unit = super::ulp(format, format.to_f64(below));
        let cut = (magnitude - format.to_f64(below)) / unit;
        let fraction = cut * f64::from(1u32 << count);
        // The value exceeds the largest number by at least a unit.
        let beyond = cut >= 1.0;
        let up = beyond || fraction as u64 + (random & mask(count)) >= 1 << count;
        let bits = if up { below + 1 } else { below };
        let bits = if how.finite { bits.min(format.infinity() - 1) } else { bits.min(format.infinity()) };
        let negative = if sign == 1 { format.sign() } else { 0 };
        if how.relu && sign == 1 { 0 } else { bits | negative }
    };
    Ok(one(move |x| convert(x[0], x[2] >> 16 & mask(16)) << 16 | convert(x[1], x[2] & mask(16))))
}

/// Converts 8-bit fixed-point numbers by exhaustive search, scaled by a power of 2.
fn fixed(
    variant: &Variant,
    to: ScalarType,
    from: ScalarType,
    how: ConversionOptions,
) -> Result<Judge, Unjudged> {
    let scaled = variant.has(Modifier::ScaledByPowers);
    let scale = move |scales: u64, shift: u32| match scales >> shift & 0xff {
        _ if !scaled => 1.0,
        0xff => f64::NAN,
        power => (power as f64 - 127.0).exp2(),
    };
    let value = |bits: i32| f64::from(bits) / 64.0;
    if to == ScalarType::S2f6x2 {
        let nearest = move |x: f64| {
            if x.is_nan() {
                return 127;
            }
            // The even number precedes others at the same distance.
            let order =
                (-128..=127).filter(|bits| bits % 2 == 0).chain((-128..=127).filter(|bits| bits % 2 != 0));
            let x = x.clamp(-4.0, 4.0);
            let distance = |bits: &i32| (value(*bits) - x).abs();
            let closest = order.min_by(|a, b| distance(a).total_cmp(&distance(b))).unwrap_or(0);
            if how.relu { closest.max(0) } else { closest }
        };
        let convert = move |x: f64, scale: f64| nearest(x / scale) as u64 & 0xff;
        return Ok(match from {
            ScalarType::F32 => one(move |x| {
                let number = |bits: u64| Format::F32.to_f64(bits & mask(32));
                let scales = x.get(2).copied().unwrap_or(0);
                convert(number(x[0]), scale(scales, 8)) << 8 | convert(number(x[1]), scale(scales, 0))
            }),
            _ => one(move |x| {
                let number = |bits: u64| Format::Bf16.to_f64(bits & mask(16));
                let scales = x.get(1).copied().unwrap_or(0);
                convert(number(x[0] >> 16), scale(scales, 8)) << 8 | convert(number(x[0]), scale(scales, 0))
            }),
        });
    }
    let convert = move |bits: u64, scale: f64| {
        let bits = nearest_half(value(integer(bits, ScalarType::S8) as i32) * scale, Format::Bf16);
        let infinite = bits & mask(15) == Format::Bf16.infinity();
        let bits = if how.finite && infinite { bits - 1 } else { bits };
        if how.relu { Format::Bf16.rectify(bits) } else { bits }
    };
    Ok(one(move |x| {
        let scales = x.get(1).copied().unwrap_or(0);
        convert(x[0] >> 8, scale(scales, 8)) << 16 | convert(x[0], scale(scales, 0))
    }))
}

/// Returns a single with ten fraction bits; the lowest thirteen are 0.
fn tensor_float(x: u64, how: ConversionOptions) -> Answer {
    const CUT: u64 = 1 << 13;
    let format = Format::F32;
    let x = x & mask(32);
    if format.is_nan(x) {
        return Answer::Bits(format.canonical_nan());
    }
    if how.relu && x & format.sign() != 0 {
        return Answer::Bits(0);
    }
    let below = x - x % CUT;
    let distance = (x % CUT).cmp(&(CUT / 2));
    let odd = below / CUT % 2 == 1;
    let up = x & !format.sign() != format.infinity()
        && match how.round {
            Round::NearestTiesToEven => distance.is_gt() || (distance.is_eq() && odd),
            Round::NearestTiesToAway => distance.is_ge(),
            _ => false,
        };
    let rounded = if up { below + CUT } else { below };
    let infinite = rounded & !format.sign() == format.infinity();
    Answer::Bits(if infinite && how.finite { rounded - CUT } else { rounded })
}

/// Packs two clamped integers above the low bits of c.
fn pack(variant: &Variant) -> Result<Judge, Unjudged> {
    let to = *variant.types().first().ok_or(Unjudged::Unknown)?;
    let bits = to.bits();
    let (least, most) = range(bits, to.is_signed());
    let clamped = move |x: u64| wrapped(integer(x, ScalarType::S32).clamp(least, most), bits);
    let with_c = variant.place("c").is_some();
    Ok(one(move |x| {
        let above = if with_c { (x[2] & mask(32)) << (2 * bits) } else { 0 };
        (above | clamped(x[0]) << bits | clamped(x[1])) & mask(32)
    }))
}
