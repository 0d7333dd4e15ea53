//! Constant folding at assembly time.
//!
//! Compilers leave few constants to fold: conversions of constants, and values computed from them.

use crate::ir::Instruction;
use crate::isa::{Convert, Integer, Logic, Modifier, Op, ScalarType};

/// Result of an instruction whose sources have these bits; `None` if the assembler does not fold it. Bits
/// above the type copy its sign.
pub(super) fn evaluate(i: &Instruction, operands: &[u64]) -> Option<u64> {
    let ty = i.last_type()?;
    let bits = ty.bits();
    if i.guard.is_some() || i.has(Modifier::Sat) || bits < 32 {
        return None;
    }
    let value = |n: usize| operands.get(n).map(|value| extended(*value, bits, ty.is_signed()));
    let shift = |amount: u64| u32::try_from(amount & 0xffff_ffff).ok().filter(|amount| *amount < bits);
    let result = match i.op {
        Op::Integer(Integer::add) => value(0)?.wrapping_add(value(1)?),
        Op::Integer(Integer::sub) => value(0)?.wrapping_sub(value(1)?),
        Op::Integer(Integer::mul_lo) => value(0)?.wrapping_mul(value(1)?),
        Op::Integer(Integer::mad_lo) => value(0)?.wrapping_mul(value(1)?).wrapping_add(value(2)?),
        Op::Integer(Integer::neg) => value(0)?.wrapping_neg(),
        Op::Logic(Logic::and) => value(0)? & value(1)?,
        Op::Logic(Logic::or) => value(0)? | value(1)?,
        Op::Logic(Logic::xor) => value(0)? ^ value(1)?,
        Op::Logic(Logic::not) => !value(0)?,
        Op::Logic(Logic::shl) => value(0)? << shift(*operands.get(1)?)?,
        Op::Logic(Logic::shr) => {
            let amount = shift(*operands.get(1)?)?;
            if ty.is_signed() { (value(0)? as i64 >> amount) as u64 } else { value(0)? >> amount }
        }
        Op::Convert(Convert::float_to_integer) => return truncated(i, *operands.first()?),
        _ => return None,
    };
    Some(extended(result, bits, true))
}

/// A single converted to 32 bits, if it fits.
fn truncated(i: &Instruction, operand: u64) -> Option<u64> {
    let value = f32::from_bits(operand as u32);
    let fits = i.ty(0).is_some_and(|ty| ty.bits() == 32) && value.abs() < 2_147_483_648.0;
    let is_exact = value.trunc() == value && (value >= 0.0 || i.ty(0).is_some_and(ScalarType::is_signed));
    (i.ty(1) == Some(ScalarType::F32) && fits && is_exact).then_some(value as i64 as u64)
}

/// Lowest `bits` of a value, extended by their sign or by zeros.
fn extended(value: u64, bits: u32, is_signed: bool) -> u64 {
    let above = 64 - bits.clamp(1, 64);
    if is_signed { ((value << above) as i64 >> above) as u64 } else { value << above >> above }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn low_bits_are_sign_extended() {
        assert_eq!(extended(0x1_8000_0000, 32, true), 0xffff_ffff_8000_0000);
        assert_eq!(extended(0x1_8000_0000, 32, false), 0x8000_0000);
    }
}
