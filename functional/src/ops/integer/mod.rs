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

/// Integer type of PTX.
pub(crate) trait Integer: Lane + Ord {
    /// Low half of the sum.
    fn wrapping_add(self, other: Self) -> Self;
    /// Low half of the difference.
    fn wrapping_sub(self, other: Self) -> Self;
    /// Low half of the product.
    fn wrapping_mul(self, other: Self) -> Self;
    /// High half of the product.
    fn high_mul(self, other: Self) -> Self;
    /// Quotient rounded towards zero. The manual leaves division by zero open. Code of ptxas for Volta and
    /// Turing returns all ones, for every width and sign, and also for the remainder. The least number
    /// divided by -1 is itself.
    fn quotient(self, other: Self) -> Self;
    /// Remainder of the quotient; all ones for a division by zero.
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

/// Type with a type twice as wide.
pub(crate) trait Widen: Integer {
    /// Type twice as wide.
    type Wide: Integer;
    /// Full product.
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

/// Type twice as wide as `ty`.
pub(crate) fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

/// Sum of two 32-bit or 64-bit rows.
pub(crate) fn add_rows(wide: bool) -> Run {
    if wide { binary::<Add<u64>>() } else { binary::<Add<u32>>() }
}
