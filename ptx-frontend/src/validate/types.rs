//! Types of operands against types of the instruction (PTX manual 9.4).

use super::error::ValidationError;
use crate::isa::{ScalarType, SpecialRegister, TypeClass};

/// True if a register fits an operand of type `needed`. `wider` allows registers wider than the operand
/// (loads, stores, conversions; PTX manual 9.4.1).
pub(super) fn register_fits(needed: ScalarType, register: ScalarType, wider: bool) -> bool {
    if needed.accepts_register(register) {
        return true;
    }
    let integer = |ty: ScalarType| ty.is_integer() || ty.class() == TypeClass::Bits;
    wider && integer(needed) && integer(register) && register.bits() > needed.bits()
        // Floats, except the newer types, may be in wider untyped registers.
        || wider && matches!(needed, ScalarType::F16 | ScalarType::F16x2 | ScalarType::F32)
            && register.class() == TypeClass::Bits && register.bits() > needed.bits()
}

/// True if a special register fits an operand of type `needed`. Old code reads the low half of 32-bit ones.
pub(super) fn special_fits(needed: ScalarType, special: SpecialRegister, wider: bool) -> bool {
    let ty = special.ty();
    register_fits(needed, ty, wider)
        // The grid's number had 32 bits before PTX 3.0.
        || special == SpecialRegister::Gridid && matches!(needed.bits(), 16 | 32) && !needed.is_float()
        || needed.bits() == 16 && ty.bits() == 32 && !needed.is_float()
        || needed.bits() == ty.bits() && needed.class() != TypeClass::Predicate
}

/// True if a register of this type can hold an address.
pub(super) fn holds_address(ty: ScalarType) -> bool {
    matches!(ty.bits(), 32 | 64) && (ty.is_integer() || ty.class() == TypeClass::Bits)
}

/// Error for an operand of the wrong type.
pub(super) fn mismatch(what: String, found: ScalarType, needed: ScalarType) -> ValidationError {
    ValidationError::Type { what, found, needed }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ScalarType::*;

    #[test]
    fn equal_sizes_fit_if_untyped_or_of_equal_kind() {
        assert!(register_fits(U32, S32, false));
        assert!(register_fits(B32, F32, false));
        assert!(register_fits(F32, B32, false));
        assert!(!register_fits(F32, U32, false));
        assert!(!register_fits(U32, B64, false));
        assert!(!register_fits(Pred, B16, false));
    }

    #[test]
    fn loads_stores_conversions_take_wider_registers() {
        assert!(register_fits(U8, U32, true));
        assert!(register_fits(S16, B64, true));
        assert!(register_fits(F32, B64, true));
        assert!(!register_fits(U64, U32, true));
        assert!(!register_fits(F32, F64, true));
        assert!(register_fits(F16, B32, true) && !register_fits(Bf16, B32, true));
        assert!(!register_fits(B32, F64, true));
    }
}
