//! Maxwell and Pascal (`sm_50` to `sm_62`).
//!
//! The multiplier takes factors of 16 bits (`XMAD`), so a product of words is a chain. The stack of
//! reconvergence points needs no register (`SSY`, `SYNC`). Three instructions share a control word.

use warp_stream::OperationClass::{
    Branch, Conversion, Fence, Fp32, Fp32Compare, Fp64Compare, Integer, IntegerExtremum, IntegerMultiply,
    Move, SpecialFunction,
};

use crate::ir::Instruction;
use crate::isa::{Compare, Convert, Float, Integer as IntegerForm, Modifier, Op, Parallel, ScalarType};

use super::super::combine::Shape;
use super::super::expansion::Expansion::{self, Chain, One};
use super::{Machine, Registers};

pub(super) const MACHINE: Machine = Machine {
    name: "sm_60",
    since: 50,
    instruction_bytes: 8,
    control_word_before: Some(3),
    prologue: &[Move],
    // `SSY`.
    reconvergence: &[Branch],
    registers: Registers { most: 255, hidden: 0, all_warps: 32, unit: 8 },
    three_sources: true,
    wide_sum: Shape::CarriedProduct,
    expansion,
};

/// 32-bit division: the reciprocal, two products with `XMAD`, and corrections of the quotient or the
/// remainder.
macro_rules! division {
    ($corrections:literal) => {
        Chain(&[
            (Conversion, 1),
            (SpecialFunction, 1),
            (Integer, 1),
            (Conversion, 1),
            (IntegerMultiply, 3),
            (Integer, 1),
            (IntegerMultiply, 4),
            (Integer, 1),
            (IntegerMultiply, 4),
            (Integer, 2),
            (IntegerMultiply, 3),
            (Integer, $corrections),
        ])
    };
}

/// Expansions of Pascal that differ from Volta's.
fn expansion(i: &Instruction, constant: Option<u64>) -> Option<Expansion> {
    let ty = i.last_type();
    let wide = ty.is_some_and(|ty| ty.bits() == 64);
    match i.op {
        Op::Integer(form) => integer(form, ty, wide, constant),
        Op::Float(form) => float(form, i.has(Modifier::Ftz)),
        Op::Compare(Compare::slct) => Some(One(Integer)),
        Op::Compare(Compare::set_integer) if !wide => Some(One(Integer)),
        Op::Compare(Compare::set_float) if ty == Some(ScalarType::F64) => Some(One(Fp64Compare)),
        Op::Convert(Convert::float_to_float)
            if [i.ty(0), i.ty(1)] == [Some(ScalarType::F32), Some(ScalarType::F16)] =>
        {
            Some(One(Conversion))
        }
        // A `MEMBAR.CTA` follows each barrier of the CTA, where Volta has a `NOP` before the barrier.
        Op::Parallel(Parallel::membar | Parallel::fence) if !i.has(Modifier::Cta) => Some(One(Fence)),
        _ => None,
    }
}

fn integer(
    form: IntegerForm,
    ty: Option<ScalarType>,
    wide: bool,
    constant: Option<u64>,
) -> Option<Expansion> {
    use IntegerForm as F;
    let half = ty.is_some_and(|ty| ty.bits() == 16);
    let is_short = constant.is_some_and(|factor| factor < 1 << 16);
    let is_power = constant.is_some_and(u64::is_power_of_two);
    let chain = match form {
        F::mul_lo | F::mad_lo if half => return None,
        F::mul_lo | F::mad_lo if wide && is_short => Chain(&[(Move, 1), (IntegerMultiply, 8), (Integer, 2)]),
        F::mul_lo if wide => Chain(&[(IntegerMultiply, 12), (Integer, 2)]),
        F::mad_lo if wide => Chain(&[(IntegerMultiply, 13), (Integer, 4)]),
        F::mul_lo | F::mad_lo if is_short => Chain(&[(IntegerMultiply, 2)]),
        F::mul_lo | F::mad_lo => Chain(&[(IntegerMultiply, 3)]),
        F::mul_hi | F::mad_hi if wide => Chain(&[(IntegerMultiply, 24), (Integer, 14)]),
        F::mul_hi | F::mad_hi => Chain(&[(IntegerMultiply, 4), (Integer, 1)]),
        // A shift for each half.
        F::mul_wide if !half && is_power => Chain(&[(Integer, 2)]),
        F::mad_wide if !half && is_power => Chain(&[(Integer, 3)]),
        F::mul_wide if !half && is_short => Chain(&[(Move, 1), (IntegerMultiply, 6), (Integer, 1)]),
        F::mul_wide if !half => Chain(&[(IntegerMultiply, 7), (Integer, 1)]),
        F::mad_wide if !half => Chain(&[(IntegerMultiply, 6), (Integer, 3)]),
        F::mul_wide | F::mad_wide => One(IntegerMultiply),
        F::mad_cc | F::madc if !wide => Chain(&[(IntegerMultiply, 3)]),
        F::mul24_lo | F::mad24_lo => Chain(&[(Integer, 2), (IntegerMultiply, 3)]),
        F::min | F::max if wide => Chain(&[(IntegerExtremum, 2)]),
        F::min | F::max => One(IntegerExtremum),
        F::abs if !wide => One(Conversion),
        F::div if !wide => division!(8),
        F::rem if !wide => division!(7),
        F::bfe if !wide && constant.is_some() => One(Integer),
        F::bfi if !wide => Chain(&[(Integer, 2)]),
        _ => return None,
    };
    Some(chain)
}

fn float(form: Float, flushes: bool) -> Option<Expansion> {
    use Float as F;
    match form {
        F::min_double | F::max_double => Some(One(Fp64Compare)),
        // `RRO` reduces the range of the argument.
        F::ex2_approx if flushes => Some(Chain(&[(Integer, 1), (SpecialFunction, 1)])),
        F::ex2_approx => {
            Some(Chain(&[(Fp32Compare, 1), (Fp32, 1), (Integer, 1), (SpecialFunction, 1), (Fp32, 1)]))
        }
        F::sin_approx | F::cos_approx => Some(Chain(&[(Integer, 1), (SpecialFunction, 1)])),
        _ => None,
    }
}
