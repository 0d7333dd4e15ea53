//! Stochastic rounding (`.rs`, PTX manual 9.7.9.20). Random bits, read as a fraction, are added to the part
//! of the magnitude that is cut off. A carry rounds away from zero.
//!
//! The manual defines the random bits of each operand, but not their position if fewer bits are given than
//! are cut off. Here they are the highest bits.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::definition::Value;
use super::narrow::Narrow;
use crate::bind::Binder;
use crate::engine::address_translation::lanes_of;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::number::{Finite, Format, Round};
use crate::ops::Bound;

/// Conversion of singles to adjacent narrower numbers.
#[derive(Debug, Clone, Copy)]
struct Stochastic {
    to: ScalarType,
    relu: bool,
    satfinite: bool,
}

impl Stochastic {
    /// Encodes the conversion in the low half of an op's immediate.
    fn encode(self) -> u64 {
        self.to as u64 | u64::from(self.relu) << 8 | u64::from(self.satfinite) << 9
    }

    fn decode(immediate: u64) -> Stochastic {
        Stochastic {
            to: ScalarType::ALL.get(immediate as usize & 0xff).copied().unwrap_or(ScalarType::F16x2),
            relu: immediate >> 8 & 1 != 0,
            satfinite: immediate >> 9 & 1 != 0,
        }
    }

    /// Random bits of an operand, and their number.
    fn random(self, high: bool, word: u32) -> (u32, u32) {
        match self.to {
            ScalarType::F16x2 => (if high { word >> 16 } else { word } & 0x1fff, 13),
            ScalarType::E2m1x4 => {
                let byte = |lowest: u32| word >> lowest & 0xff;
                (if high { byte(24) << 8 | byte(8) } else { byte(16) << 8 | byte(0) }, 16)
            }
            _ => (if high { word >> 16 } else { word & 0xffff }, 16),
        }
    }

    /// Number of elements, and bits per element.
    fn places(self) -> (usize, u32) {
        let count = if matches!(self.to, ScalarType::F16x2 | ScalarType::Bf16x2) { 2 } else { 4 };
        (count, self.to.bits() / count as u32)
    }

    /// Converts; the first single becomes the highest element.
    fn convert(self, singles: [u32; 4], word: u32) -> u32 {
        let (count, width) = self.places();
        let mut result = 0;
        for (place, single) in singles.into_iter().take(count).enumerate() {
            let random = self.random(place < count / 2, word);
            result = result << width | self.one(single, random) as u32;
        }
        result
    }

    fn one(self, single: u32, (random, bits): (u32, u32)) -> u64 {
        let value = Value::decode(single.into(), Format::F32);
        let narrow = match self.to {
            ScalarType::Bf16x2 => Narrow::ieee(Format::BF16),
            to => Narrow::of(to).unwrap_or(Narrow::ieee(Format::F16)),
        };
        if self.relu && value.is_below_zero() {
            return 0;
        }
        let most = narrow.infinity().filter(|_| !self.satfinite).unwrap_or(narrow.largest());
        narrow.encode_rounded(value, most, |number: Finite, unit| {
            (number.round_to(unit - bits as i32, Round::Zero) + u128::from(random)) >> bits
        })
    }
}

/// d = a, b, c, e rounded by the random bits in the row of the immediate's upper half.
fn convert_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let stochastic = Stochastic::decode(op.immediate);
    for lane in lanes_of(w.mask) {
        // SAFETY: 32-bit rows.
        unsafe {
            let singles = [op.a, op.b, op.c, op.e].map(|row| w.read_lane::<u32>(row, lane));
            let word = w.read_lane::<u32>((op.immediate >> 32) as u32, lane);
            w.write_lane::<u32>(op.d, lane, stochastic.convert(singles, word));
        }
    }
    Flow::Next
}

fn bind(b: &mut Binder<'_, '_>, i: &Instruction, singles: &[Operand], random: &Operand) -> Bound {
    let to = i.ty(0).unwrap_or(ScalarType::F16x2);
    let mut rows = [b.constant(0, false); 4];
    for (row, operand) in rows.iter_mut().zip(singles) {
        *row = b.source(operand, ScalarType::F32)?;
    }
    let random = b.source(random, ScalarType::B32)?;
    let d = b.result(&i.operands[0], to)?;
    let how = Stochastic { to, relu: i.has(Modifier::Relu), satfinite: i.has(Modifier::Satfinite) };
    let [a, second, c, e] = rows;
    let immediate = how.encode() | u64::from(random) << 32;
    let op = Op { d, a, b: second, c, e, immediate, ..b.op(convert_lanes) };
    b.push(op);
    Ok(())
}

/// `cvt.rs` of two singles to `.f16x2` or `.bf16x2`.
pub fn stochastic_halves(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, &i.operands[1..3], &i.operands[3])
}

/// `cvt.rs` of four singles to floats of 8, 6 or 4 bits.
pub fn stochastic_narrow(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    match &i.operands[1] {
        Operand::Vector(singles) => bind(b, i, singles, &i.operands[2]),
        other => Err(b.error(format!("{other:?} is no vector of four singles"))),
    }
}
