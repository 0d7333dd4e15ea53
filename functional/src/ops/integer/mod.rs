//! Integer arithmetic (PTX manual 9.7.1, 9.7.2).

mod arithmetic;
mod bits;
mod extended;
mod packed;

pub use arithmetic::*;
pub use bits::*;
pub use extended::*;
pub use packed::*;

use ptx_frontend::isa::ScalarType;

use crate::engine::lane::Lane;
use crate::engine::op::Run;
use crate::engine::shapes::binary;

/// The integers that PTX computes with.
pub(crate) trait Integer: Lane + Ord {
    /// Low half of the sum.
    fn wrapping_add(self, other: Self) -> Self;
    /// Low half of the difference.
    fn wrapping_sub(self, other: Self) -> Self;
    /// Low half of the product.
    fn wrapping_mul(self, other: Self) -> Self;
    /// High half of the product.
    fn high_mul(self, other: Self) -> Self;
    /// Quotient towards zero; all ones for a division by zero, which the manual leaves open: ptxas's code for Volta and
    /// Turing gives that for every width and sign, for the remainder too. The least number by -1 is itself.
    fn quotient(self, other: Self) -> Self;
    /// What the quotient leaves; all ones for a division by zero.
    fn remainder(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($ty:ty => $double:ty),*) => {
        $(impl Integer for $ty {
            #[inline(always)]
            fn wrapping_add(self, other: $ty) -> $ty { <$ty>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: $ty) -> $ty { <$ty>::wrapping_sub(self, other) }
            #[inline(always)]
            fn wrapping_mul(self, other: $ty) -> $ty { <$ty>::wrapping_mul(self, other) }
            #[inline(always)]
            fn high_mul(self, other: $ty) -> $ty {
                ((self as $double * other as $double) >> <$ty>::BITS) as $ty
            }
            #[inline(always)]
            fn quotient(self, other: $ty) -> $ty { if other == 0 { !0 } else { self.wrapping_div(other) } }
            #[inline(always)]
            fn remainder(self, other: $ty) -> $ty { if other == 0 { !0 } else { self.wrapping_rem(other) } }
        })*
    };
}
integer! { u16 => u32, u32 => u64, u64 => u128, i16 => i32, i32 => i64, i64 => i128 }

/// A type and the one twice as wide.
pub(crate) trait Widen: Integer {
    /// Twice as wide.
    type Wide: Integer;
    /// The whole product.
    fn wide_mul(self, other: Self) -> Self::Wide;
}

macro_rules! widen {
    ($($ty:ty => $wide:ty),*) => {
        $(impl Widen for $ty {
            type Wide = $wide;
            #[inline(always)]
            fn wide_mul(self, other: $ty) -> $wide { self as $wide * other as $wide }
        })*
    };
}
widen! { u16 => u32, i16 => i32, u32 => u64, i32 => i64 }

/// The type twice as wide as `ty`.
pub(crate) fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

/// The sum of two rows of words or double words.
pub(crate) fn add_rows(wide: bool) -> Run {
    if wide { binary::<Add<u64>>() } else { binary::<Add<u32>>() }
}
