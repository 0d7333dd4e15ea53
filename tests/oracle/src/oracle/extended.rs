//! Extended-precision arithmetic (PTX manual 9.7.2) in at least 128 bits.

use ptx_frontend::isa::Modifier;

use super::{Answer, Judge, Unjudged, integer};
use crate::kernel::Carry;
use crate::operands::mask;
use crate::variant::Variant;

/// Judges an instruction with the carry as last operand and result. The carry is 1 or 0 when read with
/// `addc`; the borrow is all ones or 0 when read with `subc`.
pub(super) fn judge(variant: &Variant) -> Result<Judge, Unjudged> {
    let ty = *variant.types().last().ok_or(Unjudged::Unknown)?;
    let bits = ty.bits();
    let carry = Carry::of(variant);
    let hi = variant.has(Modifier::Hi);
    let mnemonic = variant.line.parsed().mnemonic;
    if !["add", "addc", "sub", "subc", "mad", "madc"].contains(&mnemonic) {
        return Err(Unjudged::Unknown);
    }
    Ok(Box::new(move |x| {
        let unsigned = |i: usize| u128::from(x[i] & mask(bits));
        let carried = if carry.read { u128::from(x.last().is_some_and(|carry| carry & 1 == 1)) } else { 0 };
        let (value, out) = match mnemonic {
            "add" | "addc" => {
                let sum = unsigned(0) + unsigned(1) + carried;
                (sum, sum >> bits != 0)
            }
            "sub" | "subc" => {
                let taken = unsigned(1) + carried;
                (unsigned(0).wrapping_sub(taken), unsigned(0) < taken)
            }
            _ => {
                let product = (integer(x[0], ty) as u128).wrapping_mul(integer(x[1], ty) as u128);
                let half = if hi { product >> bits } else { product } & u128::from(mask(bits));
                let sum = half + unsigned(2) + carried;
                (sum, sum >> bits != 0)
            }
        };
        let mut answers = vec![Answer::Bits(value as u64 & mask(bits))];
        if carry.written {
            let seen = if carry.borrow { mask(32) } else { 1 };
            answers.push(Answer::Bits(if out { seen } else { 0 }));
        }
        answers
    }))
}
