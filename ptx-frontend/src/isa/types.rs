//! Fundamental types of PTX (manual section 5.2) and their properties.

use serde::{Deserialize, Serialize};

macro_rules! scalar_types {
    ($($(#[$doc:meta])* $name:ident = $text:literal, $bits:literal, $class:ident;)*) => {
        /// A type specifier, such as the `.f32` of `add.f32`.
        #[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Serialize, Deserialize)]
        pub enum ScalarType { $($(#[$doc])* $name,)* }

        impl ScalarType {
            /// Every type.
            pub const ALL: &'static [ScalarType] = &[$(ScalarType::$name,)*];

            /// The specifier without its dot.
            pub fn name(self) -> &'static str {
                match self { $(ScalarType::$name => $text,)* }
            }

            /// The type with this specifier (no dot).
            pub fn from_name(name: &str) -> Option<ScalarType> {
                match name { $($text => Some(ScalarType::$name),)* _ => None }
            }

            /// Width in bits; a predicate has 1.
            pub fn bits(self) -> u32 {
                match self { $(ScalarType::$name => $bits,)* }
            }

            /// Interpretation of the bits.
            pub fn class(self) -> TypeClass {
                match self { $(ScalarType::$name => TypeClass::$class,)* }
            }
        }
    };
}

/// Interpretation of a type's bits.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum TypeClass {
    /// Untyped bits.
    Bits,
    /// Two's complement.
    Signed,
    /// Unsigned.
    Unsigned,
    /// One floating-point number.
    Float,
    /// Several packed numbers.
    Packed,
    /// One bit in a predicate register.
    Predicate,
    /// Opaque reference to a texture, surface or sampler.
    Opaque,
}

scalar_types! {
    /// Unsigned 8-bit.
    U8 = "u8", 8, Unsigned;
    /// Unsigned 16-bit.
    U16 = "u16", 16, Unsigned;
    /// Unsigned 32-bit.
    U32 = "u32", 32, Unsigned;
    /// Unsigned 64-bit.
    U64 = "u64", 64, Unsigned;
    /// Signed 8-bit.
    S8 = "s8", 8, Signed;
    /// Signed 16-bit.
    S16 = "s16", 16, Signed;
    /// Signed 32-bit.
    S32 = "s32", 32, Signed;
    /// Signed 64-bit.
    S64 = "s64", 64, Signed;
    /// IEEE binary16.
    F16 = "f16", 16, Float;
    /// Two binary16.
    F16x2 = "f16x2", 32, Packed;
    /// bfloat16.
    Bf16 = "bf16", 16, Float;
    /// Two bfloat16.
    Bf16x2 = "bf16x2", 32, Packed;
    /// 19-bit float of the tensor cores, in 32 bits.
    Tf32 = "tf32", 32, Float;
    /// IEEE binary32.
    F32 = "f32", 32, Float;
    /// Two binary32.
    F32x2 = "f32x2", 64, Packed;
    /// IEEE binary64.
    F64 = "f64", 64, Float;
    /// Two unsigned 16-bit.
    U16x2 = "u16x2", 32, Packed;
    /// Two signed 16-bit.
    S16x2 = "s16x2", 32, Packed;
    /// Two 8-bit floats, 4 exponent and 3 mantissa bits.
    E4m3x2 = "e4m3x2", 16, Packed;
    /// Two 8-bit floats, 5 exponent and 2 mantissa bits.
    E5m2x2 = "e5m2x2", 16, Packed;
    /// Two 6-bit floats in a byte each, 2 exponent and 3 mantissa bits.
    E2m3x2 = "e2m3x2", 16, Packed;
    /// Two 6-bit floats in a byte each, 3 exponent and 2 mantissa bits.
    E3m2x2 = "e3m2x2", 16, Packed;
    /// Two 4-bit floats, 2 exponent bits and 1 mantissa bit.
    E2m1x2 = "e2m1x2", 8, Packed;
    /// Two powers of 2, 8 exponent bits each.
    Ue8m0x2 = "ue8m0x2", 16, Packed;
    /// Two signed 8-bit fixed-point numbers with 6 fraction bits.
    S2f6x2 = "s2f6x2", 16, Packed;
    /// Four 8-bit floats, 4 exponent and 3 mantissa bits.
    E4m3x4 = "e4m3x4", 32, Packed;
    /// Four 8-bit floats, 5 exponent and 2 mantissa bits.
    E5m2x4 = "e5m2x4", 32, Packed;
    /// Four 6-bit floats in a byte each, 2 exponent and 3 mantissa bits.
    E2m3x4 = "e2m3x4", 32, Packed;
    /// Four 6-bit floats in a byte each, 3 exponent and 2 mantissa bits.
    E3m2x4 = "e3m2x4", 32, Packed;
    /// Four 4-bit floats, 2 exponent bits and 1 mantissa bit.
    E2m1x4 = "e2m1x4", 16, Packed;
    /// Signed 2-bit (`cvt.pack`).
    S2 = "s2", 2, Signed;
    /// Unsigned 2-bit (`cvt.pack`).
    U2 = "u2", 2, Unsigned;
    /// 8-bit float, 4 exponent and 3 mantissa bits (tensor operands).
    E4m3 = "e4m3", 8, Bits;
    /// 8-bit float, 5 exponent and 2 mantissa bits (tensor operands).
    E5m2 = "e5m2", 8, Bits;
    /// 6-bit float in a byte, 3 exponent and 2 mantissa bits (tensor operands).
    E3m2 = "e3m2", 8, Bits;
    /// 6-bit float in a byte, 2 exponent and 3 mantissa bits (tensor operands).
    E2m3 = "e2m3", 8, Bits;
    /// 4-bit float, 2 exponent bits and 1 mantissa bit (tensor operands).
    E2m1 = "e2m1", 4, Bits;
    /// Power of 2, 8 exponent bits (scales of tensor operands).
    Ue8m0 = "ue8m0", 8, Bits;
    /// 8-bit float without sign, 4 exponent and 3 mantissa bits (scales of tensor operands).
    Ue4m3 = "ue4m3", 8, Bits;
    /// Untyped 1-bit (tensor operands).
    B1 = "b1", 1, Bits;
    /// Signed 4-bit (tensor operands).
    S4 = "s4", 4, Signed;
    /// Unsigned 4-bit (tensor operands).
    U4 = "u4", 4, Unsigned;
    /// Untyped 8-bit.
    B8 = "b8", 8, Bits;
    /// Untyped 16-bit.
    B16 = "b16", 16, Bits;
    /// Untyped 32-bit.
    B32 = "b32", 32, Bits;
    /// Untyped 64-bit.
    B64 = "b64", 64, Bits;
    /// Untyped 128-bit.
    B128 = "b128", 128, Bits;
    /// Predicate.
    Pred = "pred", 1, Predicate;
    /// Texture reference.
    Texref = "texref", 64, Opaque;
    /// Surface reference.
    Surfref = "surfref", 64, Opaque;
    /// Sampler reference.
    Samplerref = "samplerref", 64, Opaque;
}

impl ScalarType {
    /// Bytes of a value in memory (predicates cannot be stored; sub-byte types take one).
    pub fn bytes(self) -> u32 {
        self.bits().div_ceil(8)
    }

    /// True for signed two's complement.
    pub fn is_signed(self) -> bool {
        self.class() == TypeClass::Signed
    }

    /// True for a single floating-point number.
    pub fn is_float(self) -> bool {
        self.class() == TypeClass::Float
    }

    /// True for signed and unsigned integers.
    pub fn is_integer(self) -> bool {
        matches!(self.class(), TypeClass::Signed | TypeClass::Unsigned)
    }

    /// True if a register declared as `register` fits an operand of type `self`. Sizes must be equal, and
    /// the classes must be equal or one of them untyped (PTX manual 9.4.1). Integer types of either sign
    /// are interchangeable.
    pub fn accepts_register(self, register: ScalarType) -> bool {
        if self.bits() != register.bits() {
            return false;
        }
        let (operand, declared) = (self.class(), register.class());
        operand == declared
            || matches!(operand, TypeClass::Bits | TypeClass::Packed)
            || matches!(declared, TypeClass::Bits | TypeClass::Packed)
            || (self.is_integer() && register.is_integer())
    }
}
