//! Fast functions from integers.

use std::marker::PhantomData;

use iced_x86::Code;
use ptx_frontend::isa::ScalarType;

use super::definition::Conversion;
use crate::engine::lane::Lane;
use crate::engine::native::Forms;
use crate::engine::op::Run;
use crate::engine::shapes::{Unary, unary};
use crate::number::Round;

/// Rust's `as` from an integer to an integer, or to a float rounded to nearest.
trait Cast<D>: Lane {
    fn cast(self) -> D;
}

macro_rules! casts {
    ($($from:ty => $($to:ty)*;)*) => {
        $($(impl Cast<$to> for $from {
            #[inline(always)]
            fn cast(self) -> $to { self as $to }
        })*)*
    };
}
casts! {
    u8 => u8 u16 u32 u64 f32 f64;
    i8 => u8 u16 u32 u64 f32 f64;
    u16 => u8 u16 u32 u64 f32 f64;
    i16 => u8 u16 u32 u64 f32 f64;
    u32 => u8 u16 u32 u64 f32 f64;
    i32 => u8 u16 u32 u64 f32 f64;
    u64 => u8 u16 u32 u64 f32 f64;
    i64 => f32 f64;
}

/// From `S` to `D`.
struct As<S, D>(PhantomData<(S, D)>);
impl<S: Cast<D>, D: Lane> Unary for As<S, D> {
    type A = S;
    type D = D;
    #[inline(always)]
    fn apply(a: S) -> D {
        a.cast()
    }
}

/// From the low word of a double word, of type `S`, to a double word.
struct LowWord<S>(PhantomData<S>);

macro_rules! low_words {
    ($($word:ty)*) => {
        $(impl Unary for LowWord<$word> {
            type A = u64;
            type D = u64;
            #[inline(always)]
            fn apply(a: u64) -> u64 { a as $word as u64 }
        })*
    };
}
low_words! { u32 i32 }

/// Extends or truncates. Only the operand's sign matters, and only for a wider result.
pub(super) fn resize(to: ScalarType, from: ScalarType) -> Option<Run> {
    fn to_any<S: Cast<u8> + Cast<u16> + Cast<u32> + Cast<u64>>(bits: u32) -> Option<Run> {
        Some(match bits {
            8 => unary::<As<S, u8>>(),
            16 => unary::<As<S, u16>>(),
            32 => unary::<As<S, u32>>(),
            64 => unary::<As<S, u64>>(),
            _ => return None,
        })
    }
    let bits = to.bits();
    match (from.bits(), from.is_signed() && bits > from.bits()) {
        (8, false) => to_any::<u8>(bits),
        (8, true) => to_any::<i8>(bits),
        (16, false) => to_any::<u16>(bits),
        (16, true) => to_any::<i16>(bits),
        (32, false) => to_any::<u32>(bits),
        (32, true) => to_any::<i32>(bits),
        (64, _) => to_any::<u64>(bits),
        _ => None,
    }
}

/// Extends or truncates the low part of a 64-bit register, as index arithmetic does (`cvt.s64.s32 %rd2,
/// %rd1`).
pub(super) fn resize_low_word(to: ScalarType, from: ScalarType) -> Option<Run> {
    use ScalarType::{S32, S64, U32, U64};
    match (from, to) {
        (S32, S64 | U64) => Some(unary::<LowWord<i32>>()),
        (U32, S64 | U64) => Some(unary::<LowWord<u32>>()),
        (S32 | U32, S32 | U32) => Some(unary::<As<u64, u32>>()),
        _ => None,
    }
}

/// Integer to single or double, if the host's rounding fits or the result is exact.
pub(super) fn to_float(conversion: &Conversion) -> Option<Run> {
    fn function<S: Cast<f32> + Cast<f64>>(to: ScalarType) -> Run {
        if to == ScalarType::F32 { unary::<As<S, f32>>() } else { unary::<As<S, f64>>() }
    }
    let precision = match conversion.to {
        ScalarType::F32 => 24,
        ScalarType::F64 => 53,
        _ => return None,
    };
    let exact = conversion.from.bits() <= precision;
    if conversion.sat || (conversion.round != Round::Nearest && !exact) {
        return None;
    }
    Some(match conversion.from {
        ScalarType::U8 => function::<u8>(conversion.to),
        ScalarType::S8 => function::<i8>(conversion.to),
        ScalarType::U16 => function::<u16>(conversion.to),
        ScalarType::S16 => function::<i16>(conversion.to),
        ScalarType::U32 => function::<u32>(conversion.to),
        ScalarType::S32 => function::<i32>(conversion.to),
        ScalarType::U64 => function::<u64>(conversion.to),
        ScalarType::S64 => function::<i64>(conversion.to),
        _ => return None,
    })
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(unary::<As<u32, u32>>(), |e, op| e.move_words(op));
    forms.lanes(unary::<As<u64, u64>>(), |e, op| e.move_doubles(op));
    forms.lanes(unary::<As<u64, u32>>(), |e, op| e.narrow(op, false));
    forms.lanes(unary::<As<u32, u64>>(), |e, op| e.widen(op, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256));
    forms.lanes(unary::<As<i32, u64>>(), |e, op| e.widen(op, Code::EVEX_Vpmovsxdq_zmm_k1z_ymmm256));
    forms.lanes(unary::<As<i32, f32>>(), |e, op| e.word(op, Code::EVEX_Vcvtdq2ps_zmm_k1z_zmmm512b32_er));
    forms.lanes(unary::<As<u32, f32>>(), |e, op| e.word(op, Code::EVEX_Vcvtudq2ps_zmm_k1z_zmmm512b32_er));
    forms.lanes(unary::<LowWord<i32>>(), |e, op| e.extend_low_words(op, true));
    forms.lanes(unary::<LowWord<u32>>(), |e, op| e.extend_low_words(op, false));
    forms.lanes(unary::<As<i32, f64>>(), |e, op| {
        e.doubles_of_words(op, Code::EVEX_Vcvtdq2pd_zmm_k1z_ymmm256b32_er, false)
    });
    forms.lanes(unary::<As<u32, f64>>(), |e, op| {
        e.doubles_of_words(op, Code::EVEX_Vcvtudq2pd_zmm_k1z_ymmm256b32_er, false)
    });
    forms.lanes(unary::<As<i64, f64>>(), |e, op| e.double(op, Code::EVEX_Vcvtqq2pd_zmm_k1z_zmmm512b64_er));
    forms.lanes(unary::<As<u64, f64>>(), |e, op| e.double(op, Code::EVEX_Vcvtuqq2pd_zmm_k1z_zmmm512b64_er));
    forms.lanes(unary::<As<i64, f32>>(), |e, op| {
        e.singles_of_doubles(op, Code::EVEX_Vcvtqq2ps_ymm_k1z_zmmm512b64_er)
    });
    forms.lanes(unary::<As<u64, f32>>(), |e, op| {
        e.singles_of_doubles(op, Code::EVEX_Vcvtuqq2ps_ymm_k1z_zmmm512b64_er)
    });
    macro_rules! parts {
        ($($part:ty, $bits:literal, $signed:literal;)*) => {$(
            forms.lanes(unary::<As<$part, u32>>(), |e, op| e.resize(op, $bits, $signed));
            forms.lanes(unary::<As<$part, u64>>(), |e, op| e.resize_wide(op, $bits, $signed));
            forms.lanes(unary::<As<$part, f32>>(), |e, op| e.resize_to_singles(op, $bits, $signed));
        )*};
    }
    parts! {
        u8, 8, false;
        i8, 8, true;
        u16, 16, false;
        i16, 16, true;
    }
    forms.lanes(unary::<As<u32, u8>>(), |e, op| e.resize(op, 8, false));
    forms.lanes(unary::<As<u32, u16>>(), |e, op| e.resize(op, 16, false));
    forms.lanes(unary::<As<u16, u8>>(), |e, op| e.resize(op, 8, false));
    forms.lanes(unary::<As<u8, u16>>(), |e, op| e.resize(op, 8, false));
}
