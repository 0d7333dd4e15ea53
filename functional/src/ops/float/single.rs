//! Single precision: an operation under a rounding, `.ftz` and `.sat`.

use std::marker::PhantomData;

use super::modifiers::Modifiers;
use super::operation::Operation;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::rounding::redirect;
use crate::number::{self, Down, Nearest, Round, Rounding, Up, Zero};

/// `O` rounded to nearest, with `.ftz` if `FTZ`: what most instructions are.
struct Quick<O, const FTZ: bool>(PhantomData<O>);

impl<O: Operation, const FTZ: bool> Arithmetic for Quick<O, FTZ> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3], _: u64) -> f32 {
        let d = O::nearest(if FTZ { x.map(number::flush) } else { x });
        number::canonical(if FTZ { number::flush(d) } else { d })
    }
}

/// `O` rounded as `R`, with any modifiers.
struct Single<O, R>(PhantomData<(O, R)>);

impl<O: Operation, R: Rounding> Arithmetic for Single<O, R> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> f32 {
        let modifiers = Modifiers::decode(how);
        let x = x.map(|x| modifiers.operand(x));
        let r = if R::ROUND == Round::Down { O::nearest_down(x) } else { O::nearest(x) };
        let d = match R::ROUND {
            Round::Nearest => r,
            _ => redirect::<R>(r, O::excess(x.map(f64::from), f64::from(r))),
        };
        modifiers.result(d)
    }
}

/// The warp-wide function of `O`.
pub(super) fn single<O: Operation>(modifiers: Modifiers) -> Run {
    match modifiers.round() {
        Round::Zero => arithmetic::<Single<O, Zero>>(),
        Round::Down => arithmetic::<Single<O, Down>>(),
        Round::Up => arithmetic::<Single<O, Up>>(),
        _ if modifiers.has(Modifiers::SAT) => arithmetic::<Single<O, Nearest>>(),
        _ if modifiers.has(Modifiers::FTZ) => arithmetic::<Quick<O, true>>(),
        _ => arithmetic::<Quick<O, false>>(),
    }
}
