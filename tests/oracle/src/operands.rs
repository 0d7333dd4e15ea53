//! Rows of operands: combinations of edge values, and random values with special relations.

use ptx_frontend::isa::{ScalarType, TypeClass};

use crate::format::Format;
use crate::kernel::Carry;
use crate::random::Random;
use crate::variant::Variant;

/// Returns `count` concatenated rows for a variant, or all values of a single narrow operand.
pub fn rows(variant: &Variant, count: usize, random: &mut Random) -> Vec<u64> {
    let places: Vec<_> = variant.inputs().collect();
    let carry = Carry::of(variant).read;
    if let [only] = places.as_slice()
        && !carry
        && only.register.bits() <= 16
        && count >= 1 << only.register.bits()
    {
        return (0..1 << only.register.bits()).collect();
    }
    let mut rows = Vec::with_capacity(count * (places.len() + 1));
    for _ in 0..count {
        let low = OperandRelation::new(random);
        let high = OperandRelation::new(random);
        for (number, place) in places.iter().enumerate() {
            if let Some(immediate) = place.immediate {
                rows.push(immediate);
                continue;
            }
            let value = match place.ty {
                ScalarType::F16x2 | ScalarType::Bf16x2 => {
                    low.value(place.ty, number, random) | high.value(place.ty, number, random) << 16
                }
                ScalarType::F32x2 => {
                    low.value(place.ty, number, random) | high.value(place.ty, number, random) << 32
                }
                _ => low.value(place.ty, number, random),
            };
            // Bits above the operand's width must not affect the result.
            let above = if place.ty.bits() < 64 { random.next() << place.ty.bits() } else { 0 };
            rows.push((value & mask(place.ty.bits()) | above) & mask(place.register.bits()));
        }
        if carry {
            rows.push(random.below(2));
        }
    }
    rows
}

/// Returns a mask of `bits` ones.
pub fn mask(bits: u32) -> u64 {
    if bits >= 64 { u64::MAX } else { (1 << bits) - 1 }
}

/// Relation of the operands of a row.
#[derive(Debug, Clone, Copy)]
enum OperandRelation {
    /// Edge values of each type.
    Edges,
    /// Random bits.
    Any,
    /// Floats near a power of 2, optionally some bits apart.
    Near { exponent: i64, step: i64, few: bool },
    /// Floats with a product or quotient near a power of 2.
    Products { exponent: i64, target: i64, quotient: bool },
}

impl OperandRelation {
    fn new(random: &mut Random) -> OperandRelation {
        let exponent = random.below(300) as i64 - 150;
        match random.below(8) {
            0 | 1 => OperandRelation::Edges,
            2 => OperandRelation::Any,
            3 => OperandRelation::Near { exponent: exponent / 10, step: 0, few: true },
            4 => OperandRelation::Near { exponent, step: 0, few: random.one_in(2) },
            // Distance of an exact or near tie.
            5 => {
                let step = *random.pick(&[8, 9, 11, 12, 24, 25, 53, 54]).unwrap_or(&24);
                OperandRelation::Near { exponent: exponent / 2, step, few: true }
            }
            _ => {
                // Values around the smallest and largest numbers of each format.
                let ends =
                    [-25, -24, -15, -14, 15, 16, -150, -149, -133, -127, -126, 127, 128, -1074, -1022, 1023];
                let target = random.pick(&ends).copied().unwrap_or(0) + random.below(5) as i64 - 2;
                let quotient = random.one_in(2);
                OperandRelation::Products { exponent: exponent % 60, target, quotient }
            }
        }
    }

    /// Returns operand `number` of a row, or one half of a packed operand.
    fn value(self, ty: ScalarType, number: usize, random: &mut Random) -> u64 {
        if let Some(format) = Format::of(ty) {
            return self.float(format, number as i64, random);
        }
        match (ty.class(), self) {
            (TypeClass::Predicate, _) => random.below(2),
            (_, OperandRelation::Edges) => edge(ty, random),
            (_, OperandRelation::Any) => random.next(),
            _ if random.one_in(3) => random.below(80),
            _ if random.one_in(2) => ((random.next() as i64) >> random.below(64)) as u64,
            _ => random.next() & random.next() & random.next(),
        }
    }

    fn float(self, format: Format, number: i64, random: &mut Random) -> u64 {
        let exponent = match self {
            OperandRelation::Edges => return random.pick(&float_edges(format)).copied().unwrap_or(0),
            OperandRelation::Any => return random.next() & mask(format.bits()),
            OperandRelation::Near { exponent, step, .. } => {
                exponent - number * step + random.below(4) as i64 - 1
            }
            OperandRelation::Products { exponent, target, quotient } => match number {
                0 => exponent,
                1 if quotient => exponent - target,
                1 => target - exponent,
                _ => target + random.below(4) as i64 - 2,
            },
        };
        let few = matches!(self, OperandRelation::Near { few: true, .. });
        let fraction = if few { few_bits(format, random) } else { random.next() };
        let biased = (exponent + format.bias()).clamp(0, (1 << format.exponent()) - 2) as u64;
        let sign = if random.one_in(2) { format.sign() } else { 0 };
        sign | biased << format.fraction() | fraction & mask(format.fraction())
    }
}

/// Returns a fraction that is an exact or near tie when some of its bits are dropped.
fn few_bits(format: Format, random: &mut Random) -> u64 {
    let dropped = random.below(u64::from(format.fraction()) + 1) as u32;
    let high = random.next() & !mask(dropped);
    let half = 1u64 << dropped >> 1;
    let low = [0, 1, half, half.wrapping_sub(1), half + 1, mask(dropped)];
    high | random.pick(&low).copied().unwrap_or(0) & mask(dropped)
}

/// Returns zeros, subnormals, normals at both ends and around 1, infinities, and NaNs with payloads, in
/// both signs.
fn float_edges(format: Format) -> Vec<u64> {
    let unit = 1u64 << format.fraction();
    let (one, infinity) = (format.one(), format.infinity());
    let magnitudes = [
        0,
        1,
        2,
        unit / 2,
        unit - 1,
        unit,
        unit + 1,
        2 * unit - 1,
        one - unit,
        one - 1,
        one,
        one + 1,
        one + unit / 2,
        one + unit / 2 + 1,
        one + unit,
        one + 2 * unit - 1,
        infinity - unit,
        infinity - 2,
        infinity - 1,
        infinity,
        infinity + 1,
        infinity + unit / 2,
        infinity + unit / 2 + 3,
        infinity + unit - 1,
    ];
    magnitudes.into_iter().flat_map(|bits| [bits, bits | format.sign()]).collect()
}

/// Returns 0, 1, all ones, extremes of both signs, powers of 2 and their neighbours, or words of extreme
/// bytes and halves.
pub(crate) fn edge(ty: ScalarType, random: &mut Random) -> u64 {
    if let Some(format) = Format::of(ty) {
        return random.pick(&float_edges(format)).copied().unwrap_or(0);
    }
    let bits = ty.bits();
    let top = 1u64 << (bits - 1);
    let power = 1u64 << random.below(u64::from(bits));
    let bytes = [0x80, 0x7f, 0xff, 0x00, 0x01];
    let mixed = (0..8).fold(0, |word, _| word << 8 | random.pick(&bytes).copied().unwrap_or(0));
    let values = [
        0,
        1,
        2,
        u64::MAX,
        u64::MAX - 1,
        top,
        top - 1,
        top + 1,
        power,
        power - 1,
        power.wrapping_neg(),
        mixed,
        u64::from(bits),
        u64::from(bits) - 1,
        u64::from(bits) + 1,
    ];
    random.pick(&values).copied().unwrap_or(0)
}
