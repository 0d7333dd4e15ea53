//! Sums, products, quotients, minima (PTX manual 9.7.1.1 to 9.7.1.13).

use iced_x86::Code;
use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Integer, Widen, wide};
use crate::bind::Binder;
use crate::engine::native::Forms;
use crate::engine::shapes::{binary, ternary, unary};
use crate::ops::{Bound, bind_values, by_type, lane_functions, uniform_forms};

lane_functions! {
    /// a + b.
    Add<T: Integer> = |a: T, b: T| -> T { a.wrapping_add(b) }
    /// a + b, clamped.
    AddSaturating = |a: i32, b: i32| -> i32 { a.saturating_add(b) }
    /// a - b.
    Sub<T: Integer> = |a: T, b: T| -> T { a.wrapping_sub(b) }
    /// a - b, clamped.
    SubSaturating = |a: i32, b: i32| -> i32 { a.saturating_sub(b) }
    /// Low half of a * b.
    MulLo<T: Integer> = |a: T, b: T| -> T { a.wrapping_mul(b) }
    /// High half of a * b.
    MulHi<T: Integer> = |a: T, b: T| -> T { a.high_mul(b) }
    /// a * b, twice as wide.
    MulWide<T: Widen> = |a: T, b: T| -> T::Wide { a.wide_mul(b) }
    /// Low half of a * b, plus c.
    MadLo<T: Integer> = |a: T, b: T, c: T| -> T { a.wrapping_mul(b).wrapping_add(c) }
    /// High half of a * b, plus c.
    MadHi<T: Integer> = |a: T, b: T, c: T| -> T { a.high_mul(b).wrapping_add(c) }
    /// High half of a * b, plus c, clamped.
    MadHiSaturating = |a: i32, b: i32, c: i32| -> i32 { a.high_mul(b).saturating_add(c) }
    /// a * b + c, twice as wide.
    MadWide<T: Widen> = |a: T, b: T, c: T::Wide| -> T::Wide { a.wide_mul(b).wrapping_add(c) }
    /// Low half of the carry-less product a * b, xor c.
    ClmadLo = |a: u64, b: u64, c: u64| -> u64 { carryless(a, b) as u64 ^ c }
    /// High half of the carry-less product a * b, xor c.
    ClmadHi = |a: u64, b: u64, c: u64| -> u64 { (carryless(a, b) >> 64) as u64 ^ c }
    /// Low 32 bits of the product of the low 24 bits.
    Mul24Lo<T: Low24> = |a: T, b: T| -> u32 { a.product(b) as u32 }
    /// Bits 16 to 47 of the product of the low 24 bits.
    Mul24Hi<T: Low24> = |a: T, b: T| -> u32 { (a.product(b) >> 16) as u32 }
    /// Low 32 bits of the product of the low 24 bits, plus c.
    Mad24Lo<T: Low24> = |a: T, b: T, c: u32| -> u32 { (a.product(b) as u32).wrapping_add(c) }
    /// Bits 16 to 47 of the product of the low 24 bits, plus c.
    Mad24Hi<T: Low24> = |a: T, b: T, c: u32| -> u32 { ((a.product(b) >> 16) as u32).wrapping_add(c) }
    Mad24HiSaturating = |a: i32, b: i32, c: i32| -> i32 { ((a.product(b) >> 16) as i32).saturating_add(c) }
    /// |a - b| + c.
    Sad<T: Integer> = |a: T, b: T, c: T| -> T { a.max(b).wrapping_sub(a.min(b)).wrapping_add(c) }
    /// a / b.
    Div<T: Integer> = |a: T, b: T| -> T { a.quotient(b) }
    /// a - b * (a / b).
    Rem<T: Integer> = |a: T, b: T| -> T { a.remainder(b) }
    /// |a|.
    Abs<T: Integer> = |a: T| -> T { a.max(T::default().wrapping_sub(a)) }
    /// -a.
    Neg<T: Integer> = |a: T| -> T { T::default().wrapping_sub(a) }
    /// The smaller of a and b.
    Min<T: Integer> = |a: T, b: T| -> T { a.min(b) }
    /// The larger of a and b.
    Max<T: Integer> = |a: T, b: T| -> T { a.max(b) }
    /// The smaller of a and b, at least 0.
    MinRectified = |a: i32, b: i32| -> i32 { a.min(b).max(0) }
    /// The larger of a and b, at least 0.
    MaxRectified = |a: i32, b: i32| -> i32 { a.max(b).max(0) }
}

/// Word whose low 24 bits `mul24` and `mad24` read.
pub(crate) trait Low24: Integer {
    /// Product, in two's complement with 64 bits.
    fn product(self, other: Self) -> i64;
}

impl Low24 for u32 {
    #[inline(always)]
    fn product(self, other: u32) -> i64 {
        i64::from(self & 0xff_ffff) * i64::from(other & 0xff_ffff)
    }
}

impl Low24 for i32 {
    #[inline(always)]
    fn product(self, other: i32) -> i64 {
        i64::from(self << 8 >> 8) * i64::from(other << 8 >> 8)
    }
}

uniform_forms! {
    add = by_width!(binary, Add);
    add_saturating = only!(binary, AddSaturating);
    sub = by_width!(binary, Sub);
    sub_saturating = only!(binary, SubSaturating);
    mul_lo = by_width!(binary, MulLo);
    mul_hi = by_integer!(binary, MulHi);
    mad_lo = by_width!(ternary, MadLo);
    mad_hi = by_integer!(ternary, MadHi);
    mad_hi_saturating = only!(ternary, MadHiSaturating);
    mul24_lo = by_type!(binary, Mul24Lo, U32 => u32, S32 => i32);
    mul24_hi = by_type!(binary, Mul24Hi, U32 => u32, S32 => i32);
    mad24_lo = by_type!(ternary, Mad24Lo, U32 => u32, S32 => i32);
    mad24_hi_saturating = only!(ternary, Mad24HiSaturating);
    mad24_hi = by_type!(ternary, Mad24Hi, U32 => u32, S32 => i32);
    sad = by_integer!(ternary, Sad);
    div = by_integer!(binary, Div);
    rem = by_integer!(binary, Rem);
    abs = by_type!(unary, Abs, S16 => i16, S32 => i32, S64 => i64);
    neg = by_type!(unary, Neg, S16 => i16, S32 => i32, S64 => i64);
    min = by_integer!(binary, Min);
    max = by_integer!(binary, Max);
    min_relu = only!(binary, MinRectified);
    max_relu = only!(binary, MaxRectified);
}

/// Binds `mul_wide`.
pub fn mul_wide(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, binary, MulWide, U16 => u16, S16 => i16, U32 => u32, S32 => i32);
    bind_values(b, i, run, wide(ty), &[ty, ty])
}

/// Binds `mad_wide`.
pub fn mad_wide(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = by_type!(b, ty, ternary, MadWide, U16 => u16, S16 => i16, U32 => u32, S32 => i32);
    bind_values(b, i, run, wide(ty), &[ty, ty, wide(ty)])
}

/// Carry-less product: the product of polynomials with bits as coefficients.
#[inline(always)]
fn carryless(a: u64, b: u64) -> u128 {
    (0..64).fold(0, |sum, bit| sum ^ ((u128::from(a) << bit) * u128::from(b >> bit & 1)))
}

/// Binds `clmad`.
pub fn clmad(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = if i.has(Modifier::Hi) { ternary::<ClmadHi>() } else { ternary::<ClmadLo>() };
    bind_values(b, i, run, ScalarType::U64, &[ScalarType::U64; 3])
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    macro_rules! forms {
        ($($run:expr => $emit:ident $code:ident;)*) => {
            $(forms.lanes($run, |e, op| e.$emit(op, Code::$code));)*
        };
    }
    forms! {
        binary::<Add<u32>>() => words EVEX_Vpaddd_zmm_k1z_zmm_zmmm512b32;
        binary::<Add<u64>>() => doubles EVEX_Vpaddq_zmm_k1z_zmm_zmmm512b64;
        binary::<Sub<u32>>() => words EVEX_Vpsubd_zmm_k1z_zmm_zmmm512b32;
        binary::<Sub<u64>>() => doubles EVEX_Vpsubq_zmm_k1z_zmm_zmmm512b64;
        binary::<MulLo<u32>>() => words EVEX_Vpmulld_zmm_k1z_zmm_zmmm512b32;
        binary::<MulLo<u64>>() => doubles EVEX_Vpmullq_zmm_k1z_zmm_zmmm512b64;
        binary::<Min<u32>>() => words EVEX_Vpminud_zmm_k1z_zmm_zmmm512b32;
        binary::<Min<i32>>() => words EVEX_Vpminsd_zmm_k1z_zmm_zmmm512b32;
        binary::<Max<u32>>() => words EVEX_Vpmaxud_zmm_k1z_zmm_zmmm512b32;
        binary::<Max<i32>>() => words EVEX_Vpmaxsd_zmm_k1z_zmm_zmmm512b32;
        binary::<Min<u64>>() => doubles EVEX_Vpminuq_zmm_k1z_zmm_zmmm512b64;
        binary::<Min<i64>>() => doubles EVEX_Vpminsq_zmm_k1z_zmm_zmmm512b64;
        binary::<Max<u64>>() => doubles EVEX_Vpmaxuq_zmm_k1z_zmm_zmmm512b64;
        binary::<Max<i64>>() => doubles EVEX_Vpmaxsq_zmm_k1z_zmm_zmmm512b64;
        unary::<Abs<i32>>() => word EVEX_Vpabsd_zmm_k1z_zmmm512b32;
        unary::<Abs<i64>>() => double EVEX_Vpabsq_zmm_k1z_zmmm512b64;
    }
    forms.lanes(ternary::<MadLo<u32>>(), |e, op| e.multiply_add_words(op));
    forms.lanes(ternary::<MadLo<u64>>(), |e, op| e.multiply_add_doubles(op));
    forms.lanes(unary::<Neg<i32>>(), |e, op| e.negate_words(op));
    forms.lanes(unary::<Neg<i64>>(), |e, op| e.negate_doubles(op));
    forms.lanes(binary::<MulWide<u32>>(), |e, op| e.multiply_wide(op, false, false));
    forms.lanes(binary::<MulWide<i32>>(), |e, op| e.multiply_wide(op, true, false));
    forms.lanes(binary::<MulWide<u16>>(), |e, op| e.multiply_halves(op, false));
    forms.lanes(binary::<MulWide<i16>>(), |e, op| e.multiply_halves(op, true));
    forms.lanes(binary::<MulHi<u32>>(), |e, op| e.multiply_high(op, false));
    forms.lanes(binary::<MulHi<i32>>(), |e, op| e.multiply_high(op, true));
    forms.lanes(ternary::<MadWide<u32>>(), |e, op| e.multiply_wide(op, false, true));
    forms.lanes(ternary::<MadWide<i32>>(), |e, op| e.multiply_wide(op, true, true));
}

#[cfg(test)]
mod tests;
