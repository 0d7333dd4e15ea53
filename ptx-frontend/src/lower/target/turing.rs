//! Turing (`sm_75`).
//!
//! Turing has minima and maxima of integers, and needs no `NOP` before a CTA's barrier.

use warp_stream::OperationClass::{Barrier, Branch, IntegerExtremum, Move, SpecialRegister};

use crate::ir::Instruction;
use crate::isa::{Integer, Op, Parallel};

use super::super::combine::Shape;
use super::super::expansion::Expansion::{self, Chain, One};
use super::{Machine, Registers};

pub(super) const MACHINE: Machine = Machine {
    name: "sm_75",
    since: 75,
    instruction_bytes: 16,
    control_word_before: None,
    prologue: &[Move],
    // `BMOV` and `BSSY`.
    reconvergence: &[Move, Branch],
    registers: Registers { most: 255, hidden: 2, all_warps: 64, unit: 8 },
    three_sources: true,
    wide_sum: Shape::One,
    expansion,
};

/// Expansions of Turing that differ from Volta's.
pub(super) fn expansion(i: &Instruction, _: Option<u64>) -> Option<Expansion> {
    use Parallel as F;
    let wide = i.last_type().is_some_and(|ty| ty.bits() == 64);
    match i.op {
        Op::Integer(Integer::min | Integer::max) if !wide => Some(One(IntegerExtremum)),
        Op::Parallel(F::bar_sync | F::bar_arrive | F::barrier_sync | F::barrier_arrive) => Some(One(Barrier)),
        Op::Parallel(F::bar_red_popc | F::barrier_red_popc | F::bar_red | F::barrier_red) => {
            Some(Chain(&[(Barrier, 1), (SpecialRegister, 1)]))
        }
        _ => None,
    }
}
