//! Integer arithmetic (PTX manual 9.7.1, 9.7.2).

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use super::{Bound, bind_binary, bind_ternary, by_type, not_yet};
use crate::bind::Binder;
use crate::engine::lane::Lane;
use crate::engine::op::Run;
use crate::engine::shapes::{Binary, Ternary, binary};

/// The integers that PTX computes with.
pub(crate) trait Integer: Lane {
    /// Low half of the sum.
    fn wrapping_add(self, other: Self) -> Self;
    /// Low half of the difference.
    fn wrapping_sub(self, other: Self) -> Self;
    /// Low half of the product.
    fn wrapping_mul(self, other: Self) -> Self;
}

macro_rules! integer {
    ($($ty:ty)*) => {
        $(impl Integer for $ty {
            #[inline(always)]
            fn wrapping_add(self, other: $ty) -> $ty { <$ty>::wrapping_add(self, other) }
            #[inline(always)]
            fn wrapping_sub(self, other: $ty) -> $ty { <$ty>::wrapping_sub(self, other) }
            #[inline(always)]
            fn wrapping_mul(self, other: $ty) -> $ty { <$ty>::wrapping_mul(self, other) }
        })*
    };
}
integer! { u16 u32 u64 i16 i32 i64 }

/// a + b.
pub(crate) struct Add<T>(PhantomData<T>);
impl<T: Integer> Binary for Add<T> {
    type A = T;
    type B = T;
    type D = T;
    #[inline(always)]
    fn apply(a: T, b: T) -> T {
        a.wrapping_add(b)
    }
}

/// The sum of two rows of words or double words.
pub(crate) fn add_rows(wide: bool) -> Run {
    if wide { binary::<Add<u64>>() } else { binary::<Add<u32>>() }
}

/// `add`.
pub fn add(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run =
        by_type!(b, ty, binary, Add, U16 => u16, S16 => u16, U32 => u32, S32 => u32, U64 => u64, S64 => u64);
    bind_binary(b, i, run, ty, [ty, ty])
}

/// a * b + c.
struct MadLo<T>(PhantomData<T>);
impl<T: Integer> Ternary for MadLo<T> {
    type A = T;
    type B = T;
    type C = T;
    type D = T;
    #[inline(always)]
    fn apply(a: T, b: T, c: T) -> T {
        a.wrapping_mul(b).wrapping_add(c)
    }
}

/// `mad.lo`.
pub fn mad_lo(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, ternary, MadLo, U16 => u16, S16 => u16, U32 => u32, S32 => u32, U64 => u64, S64 => u64);
    bind_ternary(b, i, run, ty, [ty, ty, ty])
}

/// A type and the one twice as wide.
trait Widen: Lane {
    type Wide: Lane;
    fn wide_product(self, other: Self) -> Self::Wide;
}

macro_rules! widen {
    ($($ty:ty => $wide:ty),*) => {
        $(impl Widen for $ty {
            type Wide = $wide;
            #[inline(always)]
            fn wide_product(self, other: $ty) -> $wide { (self as $wide).wrapping_mul(other as $wide) }
        })*
    };
}
widen! { u16 => u32, i16 => i32, u32 => u64, i32 => i64 }

/// a * b, twice as wide.
struct MulWide<T>(PhantomData<T>);
impl<T: Widen> Binary for MulWide<T> {
    type A = T;
    type B = T;
    type D = T::Wide;
    #[inline(always)]
    fn apply(a: T, b: T) -> T::Wide {
        a.wide_product(b)
    }
}

/// The type twice as wide as `ty`.
pub(crate) fn wide(ty: ScalarType) -> ScalarType {
    match ty {
        ScalarType::U16 => ScalarType::U32,
        ScalarType::S16 => ScalarType::S32,
        ScalarType::U32 => ScalarType::U64,
        _ => ScalarType::S64,
    }
}

/// `mul.wide`.
pub fn mul_wide(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, binary, MulWide, U16 => u16, S16 => i16, U32 => u32, S32 => i32);
    bind_binary(b, i, run, wide(ty), [ty, ty])
}

not_yet! {
    add_saturating add_packed sub sub_saturating mul_lo mul_hi mad_hi mad_hi_saturating mad_wide mul24_lo mul24_hi
    mad24_lo mad24_hi sad div rem abs neg min max popc clz bfind bfind_shiftamt fns brev bfe bfi szext bmsk dp4a dp2a
    add_cc addc sub_cc subc mad_cc madc vabsdiff4_add vabsdiff4
}
