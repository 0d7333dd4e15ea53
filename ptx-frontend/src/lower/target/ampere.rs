//! Ampere (`sm_80`, `sm_86`).
//!
//! Beside Turing's forms, Ampere sets a reconvergence point with one instruction. The GPUs with GDDR6
//! convert 32-bit integers to single precision on the lanes of integers (`I2FP`).

use warp_stream::OperationClass::{Branch, Half, Integer, Move};

use crate::ir::Instruction;
use crate::isa::{Convert, Op, ScalarType};

use super::super::combine::Shape;
use super::super::expansion::Expansion::{self, One};
use super::{Machine, Registers, turing};

/// A100.
pub(super) const WITH_HBM: Machine = Machine {
    name: "sm_80",
    since: 80,
    instruction_bytes: 16,
    control_word_before: None,
    prologue: &[Move],
    // `BSSY`.
    reconvergence: &[Branch],
    registers: Registers { most: 255, hidden: 2, all_warps: 32, unit: 8 },
    three_sources: true,
    wide_sum: Shape::One,
    expansion,
};

/// GPUs of the GA10x chips.
pub(super) const WITH_GDDR6: Machine = Machine {
    name: "sm_86",
    since: 86,
    registers: Registers { most: 255, hidden: 2, all_warps: 40, unit: 8 },
    expansion: |i, constant| converted_on_integer_lanes(i).or_else(|| expansion(i, constant)),
    ..WITH_HBM
};

/// Expansions of Ampere that differ from Volta's.
fn expansion(i: &Instruction, constant: Option<u64>) -> Option<Expansion> {
    let is = |to, from| [i.ty(0), i.ty(1)] == [Some(to), Some(from)];
    match i.op {
        // `F2FP`, which packs halves.
        Op::Convert(Convert::float_to_float) if is(ScalarType::F16, ScalarType::F32) => Some(One(Half)),
        _ => turing::expansion(i, constant),
    }
}

/// `I2FP`.
fn converted_on_integer_lanes(i: &Instruction) -> Option<Expansion> {
    let is_word = matches!(i.ty(1), Some(ScalarType::S32 | ScalarType::U32));
    let is_single = i.ty(0) == Some(ScalarType::F32);
    (i.op == Op::Convert(Convert::integer_to_float) && is_word && is_single).then_some(One(Integer))
}
