//! Fermi and Kepler (`sm_20` to `sm_37`).
//!
//! `ptxas` 11 and 12 make no code for Fermi, so no expansion is measured. The opcodes are those that
//! "CUDA Binary Utilities" lists for GF100: `IMUL`, `IMNMX`, `BFE`, `BFI`, `ISCADD`, and `IADD` and
//! `LOP` of two sources; numbers of instructions follow from them. A thread has 63 registers (CUDA
//! programming guide, technical specifications). An SM has 32,768 registers and 48 warps.

use warp_stream::OperationClass::{
    Barrier, Branch, Fence, Fp64Compare, Integer, IntegerExtremum, IntegerMultiply, Move, SpecialRegister,
};

use crate::ir::Instruction;
use crate::isa::{Compare, Float, Integer as IntegerForm, Modifier, Op, Parallel};

use super::super::combine::Shape;
use super::super::expansion::Expansion::{self, Chain, One};
use super::{Machine, Registers};

pub(super) const MACHINE: Machine = Machine {
    name: "sm_20",
    since: 0,
    instruction_bytes: 8,
    control_word_before: None,
    prologue: &[Move],
    // `SSY`.
    reconvergence: &[Branch],
    registers: Registers { most: 63, hidden: 0, all_warps: 20, unit: 2 },
    three_sources: false,
    wide_sum: Shape::Product,
    expansion,
};

/// Expansions of Fermi that differ from Volta's.
fn expansion(i: &Instruction, _: Option<u64>) -> Option<Expansion> {
    use IntegerForm as F;
    use Parallel as P;
    let wide = i.last_type().is_some_and(|ty| ty.bits() == 64);
    match i.op {
        // `IMUL` and `IMUL.HI`.
        Op::Integer(F::mul_wide | F::mad_wide) => Some(Chain(&[(IntegerMultiply, 2)])),
        Op::Integer(F::mul24_lo | F::mad24_lo) => Some(Chain(&[(Integer, 2), (IntegerMultiply, 1)])),
        Op::Integer(F::min | F::max) if !wide => Some(One(IntegerExtremum)),
        Op::Integer(F::bfe | F::bfi) if !wide => Some(Chain(&[(Integer, 2)])),
        Op::Float(Float::min_double | Float::max_double) => Some(One(Fp64Compare)),
        Op::Compare(Compare::slct) => Some(One(Integer)),
        Op::Compare(Compare::set_integer) if !wide => Some(One(Integer)),
        Op::Parallel(P::bar_sync | P::bar_arrive | P::barrier_sync | P::barrier_arrive) => Some(One(Barrier)),
        Op::Parallel(P::bar_red_popc | P::barrier_red_popc | P::bar_red | P::barrier_red) => {
            Some(Chain(&[(Barrier, 1), (SpecialRegister, 1)]))
        }
        Op::Parallel(P::membar | P::fence) if !i.has(Modifier::Cta) => Some(One(Fence)),
        _ => None,
    }
}
