//! Conversion of constants to the bits of an operand's or variable's type.

use half::{bf16, f16};

use super::error::ResolveError;
use crate::isa::{ScalarType, TypeClass};
use crate::parse::constant::Constant;

/// Bits of `constant` as a value of type `ty`. Integers are truncated to the type's width and sign-extended
/// or zero-extended; floating-point constants are rounded to floating-point types. In an untyped context, a
/// floating-point constant keeps its own bits. An integer in a 16-bit or packed floating-point context
/// becomes the bits of its value; in other floating-point contexts only 0 is allowed.
pub(super) fn convert(constant: Constant, ty: ScalarType) -> Result<u64, ResolveError> {
    match constant.integer_bits() {
        Some(bits) => integer(bits, ty),
        None => float(constant, ty),
    }
}

fn integer(bits: u64, ty: ScalarType) -> Result<u64, ResolveError> {
    match ty.class() {
        TypeClass::Predicate => Ok(u64::from(bits != 0)),
        TypeClass::Float if ty.bits() > 16 && bits != 0 => {
            Err(ResolveError::WrongConstant { found: "an integer", ty })
        }
        class => Ok(cut(bits, ty.bits(), class == TypeClass::Signed)),
    }
}

/// Low `width` bits, extended to 64.
fn cut(bits: u64, width: u32, signed: bool) -> u64 {
    let unused = 64u32.saturating_sub(width);
    if signed { ((bits << unused).cast_signed() >> unused).cast_unsigned() } else { bits << unused >> unused }
}

fn float(constant: Constant, ty: ScalarType) -> Result<u64, ResolveError> {
    let value = constant.float().unwrap_or(0.0);
    let own_bits = match constant {
        Constant::Single(bits) => (u64::from(bits), 32),
        _ => (value.to_bits(), 64),
    };
    let wrong = Err(ResolveError::WrongConstant { found: "a floating-point", ty });
    match ty {
        // Exact bits of `0f…`, including signalling NaNs.
        ScalarType::F32 | ScalarType::Tf32 if own_bits.1 == 32 => Ok(own_bits.0),
        ScalarType::F32 | ScalarType::Tf32 => Ok(u64::from((value as f32).to_bits())),
        ScalarType::F64 => Ok(value.to_bits()),
        ScalarType::F16 => Ok(u64::from(f16::from_f64(value).to_bits())),
        ScalarType::Bf16 => Ok(u64::from(bf16::from_f64(value).to_bits())),
        _ if ty.class() == TypeClass::Bits && ty.bits() >= 32 => match own_bits {
            // A decimal number or `0d…` in a 32-bit context becomes a single.
            (_, 64) if ty.bits() == 32 => Ok(u64::from((value as f32).to_bits())),
            (bits, _) => Ok(bits),
        },
        _ => wrong,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn integers_are_truncated_and_extended_by_type() {
        let minus_one = Constant::Signed(-1);
        assert_eq!(convert(minus_one, ScalarType::S16), Ok(u64::MAX));
        assert_eq!(convert(minus_one, ScalarType::U16), Ok(0xFFFF));
        assert_eq!(convert(Constant::Signed(0x1_0000_0007), ScalarType::B32), Ok(7));
        assert_eq!(convert(Constant::Unsigned(u64::MAX), ScalarType::B64), Ok(u64::MAX));
        assert_eq!(convert(minus_one, ScalarType::Pred), Ok(1));
    }

    #[test]
    fn float_constants_take_the_operands_precision() {
        assert_eq!(convert(Constant::Single(0x7F80_0001), ScalarType::F32), Ok(0x7F80_0001));
        assert_eq!(convert(Constant::Single(0x3F80_0000), ScalarType::F64), Ok(1f64.to_bits()));
        assert_eq!(convert(Constant::Double(1.0), ScalarType::F32), Ok(0x3F80_0000));
        assert_eq!(convert(Constant::Double(1.0), ScalarType::F16), Ok(0x3C00));
        assert_eq!(convert(Constant::Double(1.0), ScalarType::B64), Ok(1f64.to_bits()));
    }

    #[test]
    fn integers_and_floats_do_not_convert_implicitly() {
        assert!(convert(Constant::Signed(1), ScalarType::F32).is_err());
        assert_eq!(convert(Constant::Signed(0), ScalarType::F32), Ok(0));
        assert!(convert(Constant::Double(1.0), ScalarType::U32).is_err());
    }
}
