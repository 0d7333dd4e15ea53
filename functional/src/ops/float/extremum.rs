//! `min` and `max` (PTX manual 9.7.3.11, 9.7.3.12, 9.7.4.7, 9.7.4.8).
//!
//! A number wins over a NaN, unless `.NaN` is given, and -0 is smaller than +0. Numbers are compared as
//! integers; bits of negative numbers count down and are therefore inverted.

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::half::halves;
use super::modifiers::Modifiers;
use super::{Bound, bind};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::native::Forms;
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::number::{NAN_16, NAN_32, NAN_64, propagate};

/// Choice between two numbers.
trait Choice: 'static {
    /// True if `a` is chosen over `b`, given their ranks among all numbers.
    fn prefers<T: Ord>(a: T, b: T) -> bool;
}

/// The smaller number.
struct Min;
impl Choice for Min {
    #[inline(always)]
    fn prefers<T: Ord>(a: T, b: T) -> bool {
        a < b
    }
}

/// The larger number.
struct Max;
impl Choice for Max {
    #[inline(always)]
    fn prefers<T: Ord>(a: T, b: T) -> bool {
        a > b
    }
}

/// Defines the choice between two numbers of a format with `$bits` bits.
macro_rules! extremum {
    ($choose:ident, $bits:ty, $signed:ty) => {
        /// The chosen of `a` and `b`; `nan` if both are NaN or `.NaN` applies.
        #[inline(always)]
        fn $choose<C: Choice>(a: $bits, b: $bits, how: Modifiers, infinity: $bits, nan: $bits) -> $bits {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            let xorsign = (a ^ b) & SIGN;
            let (a, b) = if how.has(Modifiers::ABS) { (a & !SIGN, b & !SIGN) } else { (a, b) };
            let rank = |x: $bits| {
                let turned = if x & SIGN != 0 { !SIGN } else { 0 };
                (x ^ turned) as $signed
            };
            let (a_is_nan, b_is_nan) = (a & !SIGN > infinity, b & !SIGN > infinity);
            let take_a = b_is_nan || (!a_is_nan && C::prefers(rank(a), rank(b)));
            let chosen = if take_a { a } else { b };
            let chosen = if how.has(Modifiers::XORSIGN) { (chosen & !SIGN) | xorsign } else { chosen };
            let no_number = if how.has(Modifiers::NAN) { a_is_nan || b_is_nan } else { a_is_nan && b_is_nan };
            if no_number { nan } else { chosen }
        }
    };
}
extremum!(choose_16, u16, i16);
extremum!(choose_32, u32, i32);
extremum!(choose_64, u64, i64);

/// Minimum or maximum of two halves; a number wins over a NaN.
pub(in crate::ops) fn extreme_half<F: HalfFormat>(larger: bool, a: u16, b: u16) -> u16 {
    let choose = if larger { choose_16::<Max> } else { choose_16::<Min> };
    choose(a, b, Modifiers::NONE, F::FORMAT.infinity() as u16, NAN_16)
}

/// Minimum or maximum of two singles, with any modifiers.
pub(in crate::ops) fn extreme_single(larger: bool, a: u32, b: u32, how: Modifiers) -> u32 {
    let choose = if larger { choose_32::<Max> } else { choose_32::<Min> };
    choose(a, b, how, 0x7f80_0000, NAN_32)
}

/// `C` of singles, with any modifiers.
struct Single<C>(PhantomData<C>);
impl<C: Choice> Arithmetic for Single<C> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> u32 {
        let how = Modifiers::decode(how);
        let [a, b, _] = x.map(|x| how.operand(x).to_bits());
        choose_32::<C>(a, b, how, 0x7f80_0000, NAN_32)
    }
}

/// `C` of singles, without modifiers.
struct Plain<C>(PhantomData<C>);
impl<C: Choice> Arithmetic for Plain<C> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [f32; 3], _: u64) -> u32 {
        Single::<C>::common(x, 0)
    }
}

/// `C` of three singles, with any modifiers.
struct Three<C>(PhantomData<C>);
impl<C: Choice> Arithmetic for Three<C> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 3;
    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> u32 {
        let how = Modifiers::decode(how);
        let [a, b, c] = x.map(|x| how.operand(x).to_bits());
        let choose = |a, b| choose_32::<C>(a, b, how, 0x7f80_0000, NAN_32);
        choose(choose(a, b), c)
    }
}

/// `C` of doubles.
struct Double<C>(PhantomData<C>);
impl<C: Choice> Arithmetic for Double<C> {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [f64; 3], _: u64) -> f64 {
        let bits = choose_64::<C>(a.to_bits(), b.to_bits(), Modifiers::decode(0), 0x7ff << 52, NAN_64);
        f64::from_bits(bits)
    }
    #[inline(always)]
    fn is_rare(_: [f64; 3], d: f64) -> bool {
        d.is_nan()
    }
    fn rare(x: [f64; 3], _: u64) -> f64 {
        propagate(&x[..2])
    }
}

/// `C` of halves, with any modifiers.
struct Half<C, F>(PhantomData<(C, F)>);
impl<C: Choice, F: HalfFormat> Arithmetic for Half<C, F> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [u16; 3], how: u64) -> u16 {
        let how = Modifiers::decode(how);
        let [a, b, _] = x.map(|x| how.half_operand::<F>(x));
        choose_16::<C>(a, b, how, F::FORMAT.infinity() as u16, NAN_16)
    }
}

/// Checks that `.xorsign` comes with `.abs`.
fn check(b: &Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.has(Modifier::Xorsign) && !i.has(Modifier::AbsFlag) {
        return Err(b.error(".xorsign requires .abs"));
    }
    Ok(())
}

fn bind_single<C: Choice>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    check(b, i)?;
    let plain = i.modifiers().next().is_none();
    let run = if plain { arithmetic::<Plain<C>>() } else { arithmetic::<Single<C>>() };
    bind(b, i, run, ScalarType::F32)
}

fn bind_half<C: Choice>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    check(b, i)?;
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<Half<C, Bf16>>(packed),
        _ => halves::<Half<C, F16>>(packed),
    };
    bind(b, i, run, ty)
}

/// `min.f32`.
pub fn min(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_single::<Min>(b, i)
}

/// `min.f32` of three.
pub fn min_three(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Three<Min>>(), ScalarType::F32)
}

/// `min.f64`.
pub fn min_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Double<Min>>(), ScalarType::F64)
}

/// `min` of halves.
pub fn min_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half::<Min>(b, i)
}

/// `max.f32`.
pub fn max(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_single::<Max>(b, i)
}

/// `max.f32` of three.
pub fn max_three(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Three<Max>>(), ScalarType::F32)
}

/// `max.f64`.
pub fn max_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Double<Max>>(), ScalarType::F64)
}

/// `max` of halves.
pub fn max_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half::<Max>(b, i)
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(arithmetic::<Plain<Min>>(), |e, op| e.extremum(op, false));
    forms.lanes(arithmetic::<Plain<Max>>(), |e, op| e.extremum(op, true));
}
