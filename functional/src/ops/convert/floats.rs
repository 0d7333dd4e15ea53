//! Fast functions from float to float.

use std::marker::PhantomData;

use iced_x86::Code;
use ptx_frontend::isa::ScalarType;

use super::definition::Conversion;
use super::to_integer::Real;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::native::Forms;
use crate::engine::op::Run;
use crate::engine::shapes::{Unary, unary};
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::number::rounding::redirect;
use crate::number::{self, Down, Nearest, Round, Rounding, Up, Zero};
use crate::ops::float::modifiers::Modifiers;

/// Double to single, rounded by `R`, with any modifiers.
struct Narrow<R>(PhantomData<R>);
impl<R: Rounding> Arithmetic for Narrow<R> {
    type T = f64;
    type D = f32;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f64; 3], how: u64) -> f32 {
        let (nearest, modifiers) = (a as f32, Modifiers::decode(how));
        let d = redirect::<R>(nearest, f64::from(nearest) - a);
        let is_flushed = modifiers.has(Modifiers::FTZ);
        let flushed = || number::flush_exact(d, R::ROUND, |magnitude| magnitude - a.abs());
        modifiers.result(if is_flushed { flushed() } else { d })
    }
}

/// Single to double.
struct Widen;
impl Arithmetic for Widen {
    type T = f32;
    type D = f64;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3], how: u64) -> f64 {
        f64::from(Modifiers::decode(how).operand(a))
    }
}

/// Single to half, to nearest.
struct NarrowHalf<F>(PhantomData<F>);
impl<F: HalfFormat> Unary for NarrowHalf<F> {
    type A = f32;
    type D = u16;
    #[inline(always)]
    fn apply(a: f32) -> u16 {
        F::narrow(a)
    }
}

/// Half to single.
struct WidenHalf<F>(PhantomData<F>);
impl<F: HalfFormat> Unary for WidenHalf<F> {
    type A = u16;
    type D = f32;
    #[inline(always)]
    fn apply(a: u16) -> f32 {
        number::canonical(F::widen(a))
    }
}

/// Operation on a number within its type.
trait Change: 'static {
    fn change<T: Real>(a: T) -> T;
}

/// No operation.
struct Keep;
impl Change for Keep {
    #[inline(always)]
    fn change<T: Real>(a: T) -> T {
        a
    }
}

/// Rounding to an integral value.
struct Integral<R>(PhantomData<R>);
impl<R: Rounding> Change for Integral<R> {
    #[inline(always)]
    fn change<T: Real>(a: T) -> T {
        a.integral::<R>()
    }
}

/// Single to single, with any modifiers.
struct Single<C>(PhantomData<C>);
impl<C: Change> Arithmetic for Single<C> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3], how: u64) -> f32 {
        let modifiers = Modifiers::decode(how);
        modifiers.result(C::change(modifiers.operand(a)))
    }
}

/// Double to double; NaN becomes quiet.
struct Double<C>(PhantomData<C>);
impl<C: Change> Unary for Double<C> {
    type A = f64;
    type D = u64;
    #[inline(always)]
    fn apply(a: f64) -> u64 {
        const QUIET: u64 = 1 << 51;
        if a.is_nan() { a.to_bits() | QUIET } else { C::change(a).to_bits() }
    }
}

/// Half (`.f16` or `.bf16`) to single.
pub(in crate::ops) fn widen_half(from: ScalarType) -> Run {
    if from == ScalarType::Bf16 { unary::<WidenHalf<Bf16>>() } else { unary::<WidenHalf<F16>>() }
}

/// Fast function of a conversion, if any.
pub(super) fn function(conversion: &Conversion) -> Option<Run> {
    let Conversion { from, to, ftz, .. } = *conversion;
    if conversion.relu || (conversion.sat && to != ScalarType::F32) {
        return None;
    }
    match (from, to) {
        (ScalarType::F32, ScalarType::F32) => Some(single(conversion)),
        (ScalarType::F64, ScalarType::F64) => Some(double(conversion)),
        (ScalarType::F64, ScalarType::F32) => narrow(conversion.round),
        (ScalarType::F32, ScalarType::F64) => Some(arithmetic::<Widen>()),
        _ if conversion.sat || conversion.round != Round::Nearest => None,
        // No nonzero half is as small as a subnormal single.
        (ScalarType::F32, ScalarType::F16) => Some(unary::<NarrowHalf<F16>>()),
        (ScalarType::F16, ScalarType::F32) => Some(widen_half(from)),
        _ if ftz => None,
        (ScalarType::F32, ScalarType::Bf16) => Some(unary::<NarrowHalf<Bf16>>()),
        (ScalarType::Bf16, ScalarType::F32) => Some(widen_half(from)),
        _ => None,
    }
}

fn narrow(round: Round) -> Option<Run> {
    match round {
        Round::Nearest => Some(arithmetic::<Narrow<Nearest>>()),
        Round::Zero => Some(arithmetic::<Narrow<Zero>>()),
        Round::Down => Some(arithmetic::<Narrow<Down>>()),
        Round::Up => Some(arithmetic::<Narrow<Up>>()),
        Round::NearestAway => None,
    }
}

/// Evaluates `$function` with the operation of a conversion.
macro_rules! by_change {
    ($conversion:expr, $function:ident) => {
        match ($conversion.integral, $conversion.round) {
            (false, _) => $function!(Keep),
            (true, Round::Nearest | Round::NearestAway) => $function!(Integral<Nearest>),
            (true, Round::Zero) => $function!(Integral<Zero>),
            (true, Round::Down) => $function!(Integral<Down>),
            (true, Round::Up) => $function!(Integral<Up>),
        }
    };
}

fn single(conversion: &Conversion) -> Run {
    macro_rules! function {
        ($change:ty) => {
            arithmetic::<Single<$change>>()
        };
    }
    by_change!(conversion, function)
}

fn double(conversion: &Conversion) -> Run {
    macro_rules! function {
        ($change:ty) => {
            unary::<Double<$change>>()
        };
    }
    by_change!(conversion, function)
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(arithmetic::<Widen>(), |e, op| {
        let flushes = Modifiers::decode(op.immediate).has(Modifiers::FTZ);
        e.doubles_of_words(op, Code::EVEX_Vcvtps2pd_zmm_k1z_ymmm256b32_sae, flushes)
    });
    forms.lanes(arithmetic::<Narrow<Nearest>>(), |e, op| {
        // The op flushes and clamps.
        if Modifiers::decode(op.immediate).has(Modifiers::FTZ | Modifiers::SAT) {
            return e.call_op();
        }
        e.singles_of_doubles(op, Code::EVEX_Vcvtpd2ps_ymm_k1z_zmmm512b64_er)
    });
}
