//! Double precision: an operation under a rounding.

use std::marker::PhantomData;

use super::operation::Operation;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::{Down, Finite, Format, Nearest, Round, Rounding, Up, Zero, propagate};

/// `O` rounded as `R`.
struct Double<O, R>(PhantomData<(O, R)>);

impl<O: Operation, R: Rounding> Arithmetic for Double<O, R> {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f64; 3]) -> f64 {
        match R::ROUND {
            Round::Nearest => O::nearest(x),
            round => directed::<O>(x, round),
        }
    }

    #[inline(always)]
    fn is_rare(_: [f64; 3], d: f64) -> bool {
        d.is_nan()
    }

    fn rare(x: [f64; 3]) -> f64 {
        propagate(&x[..O::OPERANDS])
    }
}

/// `O` in integers, rounded once at the end. Where the exact result is not a finite number, no rounding takes place
/// and the host's result stands.
#[inline(never)]
fn directed<O: Operation>(x: [f64; 3], round: Round) -> f64 {
    let decode = |x: f64| Finite::decode(x.to_bits(), Format::F64);
    let exact = match (decode(x[0]), decode(x[1]), decode(x[2])) {
        (Some(a), Some(b), Some(c)) => O::exact([a, b, c], round),
        _ => None,
    };
    match exact {
        Some(exact) => f64::from_bits(exact.encode(Format::F64, round)),
        None => O::nearest(x),
    }
}

/// The warp-wide function of `O`.
pub(super) fn double<O: Operation>(round: Round) -> Run {
    match round {
        Round::Zero => arithmetic::<Double<O, Zero>>(),
        Round::Down => arithmetic::<Double<O, Down>>(),
        Round::Up => arithmetic::<Double<O, Up>>(),
        Round::Nearest | Round::NearestAway => arithmetic::<Double<O, Nearest>>(),
    }
}
