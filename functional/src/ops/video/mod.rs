//! Video instructions (PTX manual 9.7.18). Signs, parts and second operations form too many combinations
//! for a function each. One function per class therefore reads a description in the op.

mod scalar;
mod simd;

pub use scalar::*;
pub use simd::*;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType, WordPart};

use crate::bind::Binder;
use crate::engine::op::{Op, Run};
use crate::ops::Bound;

/// Operation on a and b.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
enum Operation {
    Add,
    Subtract,
    Difference,
    Average,
    Minimum,
    Maximum,
    ShiftLeftClamped,
    ShiftLeftWrapped,
    ShiftRightClamped,
    ShiftRightWrapped,
    Equal,
    NotEqual,
    Less,
    LessOrEqual,
    Greater,
    GreaterOrEqual,
}

impl Operation {
    const ALL: [Operation; 16] = {
        use Operation::*;
        [
            Add,
            Subtract,
            Difference,
            Average,
            Minimum,
            Maximum,
            ShiftLeftClamped,
            ShiftLeftWrapped,
            ShiftRightClamped,
            ShiftRightWrapped,
            Equal,
            NotEqual,
            Less,
            LessOrEqual,
            Greater,
            GreaterOrEqual,
        ]
    };

    /// Operation with this number; only the low four bits count.
    #[inline(always)]
    fn from_number(number: u8) -> Operation {
        Operation::ALL[usize::from(number & 15)]
    }

    /// Comparison named by the instruction.
    fn comparison(i: &Instruction) -> Operation {
        let known = [
            (Modifier::Eq, Operation::Equal),
            (Modifier::Ne, Operation::NotEqual),
            (Modifier::Lt, Operation::Less),
            (Modifier::Le, Operation::LessOrEqual),
            (Modifier::Gt, Operation::Greater),
        ];
        let named = known.iter().find(|(modifier, _)| i.has(*modifier));
        named.map_or(Operation::GreaterOrEqual, |(_, operation)| *operation)
    }

    /// Result for two numbers of at most 33 bits, or a shifted number and c.
    #[inline(always)]
    fn apply(self, a: i64, b: i64) -> i64 {
        match self {
            // A shifted number can exceed the sum of two words.
            Operation::Add => a.wrapping_add(b),
            Operation::Subtract => a - b,
            Operation::Difference => (a - b).abs(),
            // Halves round up for nonnegative sums and down for negative ones.
            Operation::Average => (a + b + i64::from(a + b >= 0)) >> 1,
            Operation::Minimum => a.min(b),
            Operation::Maximum => a.max(b),
            Operation::ShiftLeftClamped => shift_left(a, b.min(32)),
            Operation::ShiftLeftWrapped => shift_left(a, b & 31),
            Operation::ShiftRightClamped => a >> b.min(32),
            Operation::ShiftRightWrapped => a >> (b & 31),
            Operation::Equal => i64::from(a == b),
            Operation::NotEqual => i64::from(a != b),
            Operation::Less => i64::from(a < b),
            Operation::LessOrEqual => i64::from(a <= b),
            Operation::Greater => i64::from(a > b),
            Operation::GreaterOrEqual => i64::from(a >= b),
        }
    }
}

/// Left shift. A shift by 32 exceeds any clamp and leaves no low bit, so a smaller shift is equivalent and
/// fits.
#[inline(always)]
fn shift_left(a: i64, by: i64) -> i64 {
    let a = if by == 32 { a.min(i64::from(i32::MAX)) } else { a };
    a << by
}

/// Nearest number of `bits` bits.
#[inline(always)]
fn clamp(value: i64, bits: u32, signed: bool) -> i64 {
    let (least, most) = if signed { (-1 << (bits - 1), (1 << (bits - 1)) - 1) } else { (0, (1 << bits) - 1) };
    value.clamp(least, most)
}

/// Low `bits` bits of a word, extended.
#[inline(always)]
fn extend(word: u64, bits: u32, signed: bool) -> i64 {
    let above = 64 - bits;
    let top = word << above;
    if signed { (top as i64) >> above } else { (top >> above) as i64 }
}

/// True if the instruction's n-th type is signed.
fn is_signed(i: &Instruction, n: usize) -> bool {
    i.ty(n).is_some_and(ScalarType::is_signed)
}

/// Part of a word selected by the instruction's n-th operand.
fn part(i: &Instruction, n: usize) -> Option<WordPart> {
    match i.operands.get(n) {
        Some(Operand::Part { part, .. }) => *part,
        _ => None,
    }
}

/// Binds d = f(a, b, c) of words, according to the description.
fn bind_described(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, description: [u8; 8]) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    let mut rows = [0; 3];
    for (row, operand) in rows.iter_mut().zip(&i.operands[1..]) {
        *row = match operand {
            Operand::Absent => b.constant(0, false),
            operand => b.source(operand, WORD)?,
        };
    }
    let d = b.result(&i.operands[0], WORD)?;
    let immediate = u64::from_le_bytes(description);
    let op = Op { d, a: rows[0], b: rows[1], c: rows[2], immediate, ..b.op(run) };
    b.push(op);
    Ok(())
}
