//! Quick functions from float to float.

use std::marker::PhantomData;

use ptx_frontend::isa::ScalarType;

use super::definition::Conversion;
use super::to_integer::Real;
use crate::engine::op::Run;
use crate::engine::shapes::{Unary, unary};
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::number::rounding::redirect;
use crate::number::{self, Down, Nearest, Round, Rounding, Up, Zero};

/// Double to single, rounded as `R`.
struct Narrow<R, const FTZ: bool>(PhantomData<R>);
impl<R: Rounding, const FTZ: bool> Unary for Narrow<R, FTZ> {
    type A = f64;
    type D = f32;
    #[inline(always)]
    fn apply(a: f64) -> f32 {
        let nearest = a as f32;
        let rounded = redirect::<R>(nearest, f64::from(nearest) - a);
        number::canonical(if FTZ { number::flush(rounded) } else { rounded })
    }
}

/// Single to double.
struct Widen<const FTZ: bool>;
impl<const FTZ: bool> Unary for Widen<FTZ> {
    type A = f32;
    type D = f64;
    #[inline(always)]
    fn apply(a: f32) -> f64 {
        f64::from(if FTZ { number::flush(a) } else { a })
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

/// What a conversion within a type does to a number.
trait Change: 'static {
    fn change<T: Real>(a: T) -> T;
}

/// Nothing.
struct Keep;
impl Change for Keep {
    #[inline(always)]
    fn change<T: Real>(a: T) -> T {
        a
    }
}

/// Makes it an integral value.
struct Integral<R>(PhantomData<R>);
impl<R: Rounding> Change for Integral<R> {
    #[inline(always)]
    fn change<T: Real>(a: T) -> T {
        a.integral::<R>()
    }
}

/// Single to single.
struct Single<C, const FTZ: bool, const SAT: bool>(PhantomData<C>);
impl<C: Change, const FTZ: bool, const SAT: bool> Unary for Single<C, FTZ, SAT> {
    type A = f32;
    type D = f32;
    #[inline(always)]
    fn apply(a: f32) -> f32 {
        let d = C::change(if FTZ { number::flush(a) } else { a });
        if SAT { number::saturate(d) } else { number::canonical(d) }
    }
}

/// Double to double: NaN is made quiet.
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

/// The function for a conversion, if there is a quick one.
pub(super) fn function(conversion: &Conversion) -> Option<Run> {
    let Conversion { from, to, round, ftz, sat, .. } = *conversion;
    if conversion.relu {
        return None;
    }
    match (from, to) {
        (ScalarType::F32, ScalarType::F32) => Some(single(conversion)),
        _ if sat => None,
        (ScalarType::F64, ScalarType::F64) => Some(double(conversion)),
        (ScalarType::F64, ScalarType::F32) => narrow(round, ftz),
        (ScalarType::F32, ScalarType::F64) => {
            Some(if ftz { unary::<Widen<true>>() } else { unary::<Widen<false>>() })
        }
        // No half but zero is as small as a subnormal single.
        (ScalarType::F32, ScalarType::F16) => nearest(round, unary::<NarrowHalf<F16>>),
        (ScalarType::F16, ScalarType::F32) => Some(unary::<WidenHalf<F16>>()),
        _ if ftz => None,
        (ScalarType::F32, ScalarType::Bf16) => nearest(round, unary::<NarrowHalf<Bf16>>),
        (ScalarType::Bf16, ScalarType::F32) => Some(unary::<WidenHalf<Bf16>>()),
        _ => None,
    }
}

fn nearest(round: Round, run: impl FnOnce() -> Run) -> Option<Run> {
    (round == Round::Nearest).then(run)
}

fn narrow(round: Round, ftz: bool) -> Option<Run> {
    fn flushed<R: Rounding>(ftz: bool) -> Run {
        if ftz { unary::<Narrow<R, true>>() } else { unary::<Narrow<R, false>>() }
    }
    match round {
        Round::Nearest => Some(flushed::<Nearest>(ftz)),
        Round::Zero => Some(flushed::<Zero>(ftz)),
        Round::Down => Some(flushed::<Down>(ftz)),
        Round::Up => Some(flushed::<Up>(ftz)),
        Round::NearestAway => None,
    }
}

/// The function that `$function` is for the change that a conversion makes.
macro_rules! by_change {
    ($conversion:expr, $change:ident => $function:expr) => {
        match ($conversion.integral, $conversion.round) {
            (false, _) => {
                type $change = Keep;
                $function
            }
            (true, Round::Nearest | Round::NearestAway) => {
                type $change = Integral<Nearest>;
                $function
            }
            (true, Round::Zero) => {
                type $change = Integral<Zero>;
                $function
            }
            (true, Round::Down) => {
                type $change = Integral<Down>;
                $function
            }
            (true, Round::Up) => {
                type $change = Integral<Up>;
                $function
            }
        }
    };
}

fn single(conversion: &Conversion) -> Run {
    fn flagged<C: Change>(ftz: bool, sat: bool) -> Run {
        match (ftz, sat) {
            (false, false) => unary::<Single<C, false, false>>(),
            (false, true) => unary::<Single<C, false, true>>(),
            (true, false) => unary::<Single<C, true, false>>(),
            (true, true) => unary::<Single<C, true, true>>(),
        }
    }
    by_change!(conversion, C => flagged::<C>(conversion.ftz, conversion.sat))
}

fn double(conversion: &Conversion) -> Run {
    by_change!(conversion, C => unary::<Double<C>>())
}
