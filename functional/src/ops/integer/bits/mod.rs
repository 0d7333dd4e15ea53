//! Bit counts, fields and masks (PTX manual 9.7.1.14 to 9.7.1.22).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::lane::Lane;
use crate::engine::op::Run;
use crate::engine::shapes::{binary, ternary};
use crate::ops::{Bound, bind_values, by_type, lane_functions};

/// Words and double words with bit operations.
pub(crate) trait Bitwise: Lane {
    /// Number of ones.
    fn ones(self) -> u32;
    /// Leading zeros.
    fn zeros_above(self) -> u32;
    /// Bits in reverse order.
    fn reversed(self) -> Self;
    /// Position of the highest bit that differs from the sign; all ones if there is none.
    fn highest(self) -> u32;
    /// Left shift that brings that bit to the top; all ones if there is none.
    fn shift_to_top(self) -> u32;
    /// Field of `length` bits from bit `position`. Bits beyond the top and above the field copy the field's
    /// highest bit if signed, and are 0 otherwise.
    fn field(self, position: u32, length: u32) -> Self;
    /// `target` with its field of `length` bits from bit `position` replaced by the low bits of `self`.
    fn insert(self, target: Self, position: u32, length: u32) -> Self;
}

/// Position or length of a field in a value of `WIDTH` bits. The manual uses 8 bits of the operand.
/// Code of `ptxas` uses 8 bits for words. For double words, whose fields it extracts by shifts, it
/// uses all 32 bits.
#[inline(always)]
fn counted<const WIDTH: u32>(count: u32) -> u32 {
    if WIDTH == 64 { count } else { count & 0xff }
}

macro_rules! bitwise {
    ($($ty:ty, $unsigned:ty);*) => {
        $(impl Bitwise for $ty {
            #[inline(always)]
            fn ones(self) -> u32 { self.count_ones() }
            #[inline(always)]
            fn zeros_above(self) -> u32 { self.leading_zeros() }
            #[inline(always)]
            fn reversed(self) -> $ty { self.reverse_bits() }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn shift_to_top(self) -> u32 {
                let magnitude = if self < 0 { !self } else { self };
                if magnitude == 0 { u32::MAX } else { magnitude.leading_zeros() }
            }
            #[inline(always)]
            fn highest(self) -> u32 {
                let shift = self.shift_to_top();
                if shift == u32::MAX { shift } else { <$ty>::BITS - 1 - shift }
            }
            #[inline(always)]
            #[allow(unused_comparisons)]
            fn field(self, position: u32, length: u32) -> $ty {
                let (position, length) = (counted::<{ <$ty>::BITS }>(position), counted::<{ <$ty>::BITS }>(length));
                let fill: $ty = if self < 0 { !0 } else { 0 };
                let shifted = self.checked_shr(position).unwrap_or(fill);
                // For an empty field, a single shift would be by the whole width.
                let above = <$ty>::BITS - length.clamp(1, <$ty>::BITS);
                if length == 0 { 0 } else { shifted << above >> above }
            }
            #[inline(always)]
            fn insert(self, target: $ty, position: u32, length: u32) -> $ty {
                let (position, length) = (counted::<{ <$ty>::BITS }>(position), counted::<{ <$ty>::BITS }>(length));
                let ones: $unsigned = !0;
                let low = !ones.checked_shl(length).unwrap_or(0);
                let mask = low.checked_shl(position).unwrap_or(0) as $ty;
                (target & !mask) | (self.checked_shl(position).unwrap_or(0) & mask)
            }
        })*
    };
}
bitwise! { u32, u32; u64, u64; i32, u32; i64, u64 }

lane_functions! {
    /// Ones of a.
    Ones<T: Bitwise> = |a: T| -> u32 { a.ones() }
    /// Leading zeros of a.
    LeadingZeros<T: Bitwise> = |a: T| -> u32 { a.zeros_above() }
    /// Position of the highest bit that differs from the sign.
    Highest<T: Bitwise> = |a: T| -> u32 { a.highest() }
    /// Shift that brings the highest bit that differs from the sign to the top.
    ShiftToTop<T: Bitwise> = |a: T| -> u32 { a.shift_to_top() }
    /// a with its bits reversed.
    Reversed<T: Bitwise> = |a: T| -> T { a.reversed() }
    /// Field of c bits from bit b of a.
    Field<T: Bitwise> = |a: T, b: u32, c: u32| -> T { a.field(b, c) }
    /// b with its field of e bits from bit c replaced.
    Insert<T: Bitwise> = |a: T, b: T, c: u32, e: u32| -> T { a.insert(b, c, e) }
    /// Position of the |c|-th one of a, upwards or downwards from bit b.
    FindOne = |a: u32, b: u32, c: i32| -> u32 { find_one(a, b, c) }
    /// a zero-extended from bit b, clamped to 32.
    ZeroExtendClamp = |a: u32, b: u32| -> u32 { a.field(0, b.min(32)) }
    /// a zero-extended from bit b modulo 32.
    ZeroExtendWrap = |a: u32, b: u32| -> u32 { a.field(0, b & 31) }
    /// a sign-extended from bit b, clamped to 32.
    SignExtendClamp = |a: i32, b: u32| -> i32 { a.field(0, b.min(32)) }
    /// a sign-extended from bit b modulo 32.
    SignExtendWrap = |a: i32, b: u32| -> i32 { a.field(0, b & 31) }
    /// b ones from bit a, both clamped to 32.
    MaskClamp = |a: u32, b: u32| -> u32 { mask(a.min(32), b.min(32)) }
    /// b ones from bit a, both modulo 32.
    MaskWrap = |a: u32, b: u32| -> u32 { mask(a & 31, b & 31) }
}

/// `length` ones from bit `position`; ones beyond bit 31 are lost.
#[inline(always)]
fn mask(position: u32, length: u32) -> u32 {
    u32::MAX.insert(0, position, length)
}

/// `fns`: position of the `|n|`-th one of `bits`, from bit `base` upwards, or downwards for a negative `n`.
/// For `n` = 0, the base itself if that bit is one. All ones if there is no such bit.
fn find_one(bits: u32, base: u32, n: i32) -> u32 {
    if base > 31 {
        return u32::MAX;
    }
    if n == 0 {
        return if bits >> base & 1 != 0 { base } else { u32::MAX };
    }
    let mut rest = if n > 0 { bits & u32::MAX << base } else { (bits << (31 - base)).reverse_bits() };
    for _ in 1..n.unsigned_abs().min(33) {
        rest &= rest.wrapping_sub(1);
    }
    match (rest, n > 0) {
        (0, _) => u32::MAX,
        (_, true) => rest.trailing_zeros(),
        (_, false) => base - rest.trailing_zeros(),
    }
}

/// Binds d = f(a), with a word result of a word or double word.
fn bind_count(b: &mut Binder<'_, '_>, i: &Instruction, run: Run) -> Bound {
    let ty = b.last_type(i)?;
    bind_values(b, i, run, ScalarType::U32, &[ty])
}

/// Binds `popc`.
pub fn popc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_type!(b, b.last_type(i)?, unary, Ones, B32 => u32, B64 => u64);
    bind_count(b, i, run)
}

/// Binds `clz`.
pub fn clz(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_type!(b, b.last_type(i)?, unary, LeadingZeros, B32 => u32, B64 => u64);
    bind_count(b, i, run)
}

/// Binds `bfind`.
pub fn bfind(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_type!(b, b.last_type(i)?, unary, Highest, U32 => u32, S32 => i32, U64 => u64, S64 => i64);
    bind_count(b, i, run)
}

/// Binds `bfind.shiftamt`.
pub fn bfind_shiftamt(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_type!(b, b.last_type(i)?, unary, ShiftToTop, U32 => u32, S32 => i32, U64 => u64, S64 => i64);
    bind_count(b, i, run)
}

/// Binds `fns`.
pub fn fns(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    const WORD: ScalarType = ScalarType::B32;
    bind_values(b, i, ternary::<FindOne>(), WORD, &[WORD, WORD, ScalarType::S32])
}

/// Binds `brev`.
pub fn brev(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, unary, Reversed, B32 => u32, B64 => u64);
    bind_values(b, i, run, ty, &[ty])
}

/// Binds `bfe`.
pub fn bfe(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, ternary, Field, U32 => u32, S32 => i32, U64 => u64, S64 => i64);
    bind_values(b, i, run, ty, &[ty, ScalarType::U32, ScalarType::U32])
}

/// Binds `bfi`.
pub fn bfi(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, quaternary, Insert, B32 => u32, B64 => u64);
    bind_values(b, i, run, ty, &[ty, ty, ScalarType::U32, ScalarType::U32])
}

/// Binds `szext`.
pub fn szext(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = match (ty.is_signed(), i.has(Modifier::Clamp)) {
        (false, true) => binary::<ZeroExtendClamp>(),
        (false, false) => binary::<ZeroExtendWrap>(),
        (true, true) => binary::<SignExtendClamp>(),
        (true, false) => binary::<SignExtendWrap>(),
    };
    bind_values(b, i, run, ty, &[ty, ScalarType::U32])
}

/// Binds `bmsk`.
pub fn bmsk(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = if i.has(Modifier::Clamp) { binary::<MaskClamp>() } else { binary::<MaskWrap>() };
    bind_values(b, i, run, ScalarType::B32, &[ScalarType::U32, ScalarType::U32])
}

#[cfg(test)]
mod tests;
