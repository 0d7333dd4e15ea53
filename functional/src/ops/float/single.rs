//! Single precision: an operation with rounding, `.ftz` and `.sat`, on one number or two.

use std::marker::PhantomData;

use iced_x86::Code;

use super::modifiers::Modifiers;
use super::operation::{Add, Div, Fma, Mul, Operation, Rcp, Sqrt, Sub};
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::native::{Approximation, Forms};
use crate::engine::op::Run;
use crate::number::rounding::redirect;
use crate::number::{self, Down, Nearest, Round, Rounding, Up, Zero};

/// `O` rounded to nearest, with `.ftz` if `FTZ`: the form of most instructions.
struct Quick<O, const FTZ: bool>(PhantomData<O>);

impl<O: Operation, const FTZ: bool> Arithmetic for Quick<O, FTZ> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3], _: u64) -> f32 {
        let x = if FTZ { x.map(number::flush) } else { x };
        let d = O::nearest(x);
        number::canonical(if FTZ { flushed::<O>(x, d, Round::Nearest) } else { d })
    }
}

/// A rounded result with subnormal numbers flushed.
#[inline(always)]
fn flushed<O: Operation>(x: [f32; 3], d: f32, round: Round) -> f32 {
    if !O::FLUSHED_BY_CODE {
        return number::flush(d);
    }
    let sign = f64::from(1_f32.copysign(d));
    number::flush_exact(d, round, |magnitude| sign * O::excess(x.map(f64::from), sign * magnitude))
}

/// `O` rounded by `R`, with any modifiers.
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
        modifiers.result(if modifiers.has(Modifiers::FTZ) { flushed::<O>(x, d, R::ROUND) } else { d })
    }
}

/// `O` with any rounding and modifiers.
struct Any<O>(PhantomData<O>);

impl<O: Operation> Arithmetic for Any<O> {
    type T = f32;
    type D = f32;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> f32 {
        match Modifiers::decode(how).round() {
            Round::Zero => Single::<O, Zero>::common(x, how),
            Round::Down => Single::<O, Down>::common(x, how),
            Round::Up => Single::<O, Up>::common(x, how),
            _ => Single::<O, Nearest>::common(x, how),
        }
    }
}

/// `O` on the lower and the upper 32 bits.
struct Pair<O>(PhantomData<O>);

impl<O: Arithmetic<T = f32, D = f32>> Arithmetic for Pair<O> {
    type T = u64;
    type D = u64;
    const OPERANDS: usize = O::OPERANDS;

    #[inline(always)]
    fn common(x: [u64; 3], how: u64) -> u64 {
        let low = O::common(x.map(|x| f32::from_bits(x as u32)), how);
        let high = O::common(x.map(|x| f32::from_bits((x >> 32) as u32)), how);
        u64::from(low.to_bits()) | u64::from(high.to_bits()) << 32
    }
}

/// Warp-wide function of `O` on two numbers.
pub(super) fn pair<O: Operation>(modifiers: Modifiers) -> Run {
    let plain = modifiers.round() == Round::Nearest && !modifiers.has(Modifiers::FTZ);
    if plain { arithmetic::<Pair<Quick<O, false>>>() } else { arithmetic::<Pair<Any<O>>>() }
}

/// Warp-wide function of `O`.
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

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(arithmetic::<Quick<Add, false>>(), |e, op| {
        e.singles(op, Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Sub, false>>(), |e, op| {
        e.singles(op, Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Mul, false>>(), |e, op| {
        e.singles(op, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Div, false>>(), |e, op| {
        e.singles(op, Code::EVEX_Vdivps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Sqrt, false>>(), |e, op| {
        e.single(op, Code::EVEX_Vsqrtps_zmm_k1z_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Fma, false>>(), |e, op| e.fused_singles(op));
    forms.lanes(arithmetic::<Quick<Rcp, false>>(), |e, op| {
        e.approximate(op, Approximation::Reciprocal, false)
    });
    forms.lanes(arithmetic::<Quick<Add, true>>(), |e, op| {
        e.flushed_singles(op, Code::EVEX_Vaddps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Sub, true>>(), |e, op| {
        e.flushed_singles(op, Code::EVEX_Vsubps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Mul, true>>(), |e, op| {
        e.flushed_singles(op, Code::EVEX_Vmulps_zmm_k1z_zmm_zmmm512b32_er)
    });
    forms.lanes(arithmetic::<Quick<Fma, true>>(), |e, op| e.flushed_fused_singles(op));
}
