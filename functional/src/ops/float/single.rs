//! Single precision: an operation under a rounding, `.ftz` and `.sat`.

use std::marker::PhantomData;

use super::operation::Operation;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::rounding::redirect;
use crate::number::{self, Down, Nearest, Round, Rounding, Up, Zero};

/// `O` rounded as `R`, with `.ftz` if `FTZ` and `.sat` if `SAT`.
struct Single<O, R, const FTZ: bool, const SAT: bool>(PhantomData<(O, R)>);

impl<O: Operation, R: Rounding, const FTZ: bool, const SAT: bool> Arithmetic for Single<O, R, FTZ, SAT> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3]) -> f32 {
        let x = if FTZ { x.map(number::flush) } else { x };
        let d = rounded::<O, R>(x);
        let d = if FTZ { number::flush(d) } else { d };
        if SAT { number::saturate(d) } else { number::canonical(d) }
    }
}

/// `O` rounded as `R`.
#[inline(always)]
fn rounded<O: Operation, R: Rounding>(x: [f32; 3]) -> f32 {
    let r = match R::ROUND {
        Round::Nearest => return O::nearest(x),
        Round::Down => O::nearest_down(x),
        _ => O::nearest(x),
    };
    redirect::<R>(r, O::excess(x.map(f64::from), f64::from(r)))
}

/// The warp-wide function of `O`.
pub(super) fn single<O: Operation>(round: Round, ftz: bool, sat: bool) -> Run {
    match round {
        Round::Zero => flagged::<O, Zero>(ftz, sat),
        Round::Down => flagged::<O, Down>(ftz, sat),
        Round::Up => flagged::<O, Up>(ftz, sat),
        Round::Nearest | Round::NearestAway => flagged::<O, Nearest>(ftz, sat),
    }
}

fn flagged<O: Operation, R: Rounding>(ftz: bool, sat: bool) -> Run {
    match (ftz, sat) {
        (false, false) => arithmetic::<Single<O, R, false, false>>(),
        (false, true) => arithmetic::<Single<O, R, false, true>>(),
        (true, false) => arithmetic::<Single<O, R, true, false>>(),
        (true, true) => arithmetic::<Single<O, R, true, true>>(),
    }
}
