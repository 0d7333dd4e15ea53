//! `min` and `max` (PTX manual 9.7.3.11, 9.7.3.12, 9.7.4.7, 9.7.4.8).
//!
//! A number wins over a NaN, unless `.NaN` is given; -0 is smaller than +0. Numbers are compared as integers: bits
//! of a negative number count down, so they are turned over.

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::half::halves;
use super::{Bound, bind};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Run;
use crate::number::half::{self, Bf16, F16, HalfFormat};
use crate::number::{self, NAN_16, NAN_32, propagate};

/// Which of two numbers is taken.
trait Choice: 'static {
    /// Is `a`, with this rank among all numbers, taken before `b`?
    fn prefers<T: Ord>(a: T, b: T) -> bool;
}

/// The smaller.
struct Min;
impl Choice for Min {
    #[inline(always)]
    fn prefers<T: Ord>(a: T, b: T) -> bool {
        a < b
    }
}

/// The larger.
struct Max;
impl Choice for Max {
    #[inline(always)]
    fn prefers<T: Ord>(a: T, b: T) -> bool {
        a > b
    }
}

/// How operands and results are treated.
const FTZ: u8 = 1;
const NAN: u8 = 2;
const ABS: u8 = 4;
const XORSIGN: u8 = 8;

/// The choice between two numbers of a format, as bits of `$bits`.
macro_rules! extremum {
    ($choose:ident, $bits:ty, $signed:ty) => {
        /// The chosen of `a` and `b`, `nan` if there is none.
        #[inline(always)]
        fn $choose<C: Choice, const FLAGS: u8>(a: $bits, b: $bits, infinity: $bits, nan: $bits) -> $bits {
            const SIGN: $bits = 1 << (<$bits>::BITS - 1);
            let xorsign = (a ^ b) & SIGN;
            let (a, b) = if FLAGS & ABS != 0 { (a & !SIGN, b & !SIGN) } else { (a, b) };
            let rank = |x: $bits| {
                let turned = if x & SIGN != 0 { !SIGN } else { 0 };
                (x ^ turned) as $signed
            };
            let (a_is_nan, b_is_nan) = (a & !SIGN > infinity, b & !SIGN > infinity);
            let take_a = b_is_nan || (!a_is_nan && C::prefers(rank(a), rank(b)));
            let chosen = if take_a { a } else { b };
            let chosen = if FLAGS & XORSIGN != 0 { (chosen & !SIGN) | xorsign } else { chosen };
            let no_number = if FLAGS & NAN != 0 { a_is_nan || b_is_nan } else { a_is_nan && b_is_nan };
            if no_number { nan } else { chosen }
        }
    };
}
extremum!(choose_16, u16, i16);
extremum!(choose_32, u32, i32);
extremum!(choose_64, u64, i64);

struct Single<C, const FLAGS: u8>(PhantomData<C>);
impl<C: Choice, const FLAGS: u8> Arithmetic for Single<C, FLAGS> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [f32; 3]) -> u32 {
        let [a, b, _] = x.map(|x| if FLAGS & FTZ != 0 { number::flush(x) } else { x }.to_bits());
        choose_32::<C, FLAGS>(a, b, 0x7f80_0000, NAN_32)
    }
}

struct Double<C>(PhantomData<C>);
impl<C: Choice> Arithmetic for Double<C> {
    type T = f64;
    type D = f64;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [f64; 3]) -> f64 {
        f64::from_bits(choose_64::<C, 0>(a.to_bits(), b.to_bits(), 0x7ff << 52, 0x7ff8 << 48))
    }
    #[inline(always)]
    fn is_rare(_: [f64; 3], d: f64) -> bool {
        d.is_nan()
    }
    fn rare(x: [f64; 3]) -> f64 {
        propagate(&x[..2])
    }
}

struct Half<C, F, const FLAGS: u8>(PhantomData<(C, F)>);
impl<C: Choice, F: HalfFormat, const FLAGS: u8> Arithmetic for Half<C, F, FLAGS> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [u16; 3]) -> u16 {
        let [a, b, _] = x.map(|x| if FLAGS & FTZ != 0 { half::flush::<F>(x) } else { x });
        choose_16::<C, FLAGS>(a, b, F::FORMAT.infinity() as u16, NAN_16)
    }
}

/// What picks the function for a set of flags.
trait Family {
    fn run<const FLAGS: u8>(self) -> Run;
}

struct SingleFamily<C>(PhantomData<C>);
impl<C: Choice> Family for SingleFamily<C> {
    fn run<const FLAGS: u8>(self) -> Run {
        arithmetic::<Single<C, FLAGS>>()
    }
}

struct HalfFamily<C, F> {
    packed: bool,
    of: PhantomData<(C, F)>,
}
impl<C: Choice, F: HalfFormat> Family for HalfFamily<C, F> {
    fn run<const FLAGS: u8>(self) -> Run {
        halves::<Half<C, F, FLAGS>>(self.packed)
    }
}

/// The function for the instruction's modifiers. `.xorsign` comes with `.abs` only.
fn flagged(b: &Binder<'_, '_>, i: &Instruction, family: impl Family) -> Result<Run, crate::bind::BindError> {
    const BOTH: u8 = ABS | XORSIGN;
    let flag = |modifier, value| if i.has(modifier) { value } else { 0 };
    let flags = flag(Modifier::Ftz, FTZ)
        | flag(Modifier::Nan, NAN)
        | flag(Modifier::AbsFlag, ABS)
        | flag(Modifier::Xorsign, XORSIGN);
    macro_rules! one_of {
        ($($flags:expr),*) => {
            match flags {
                $(flags if flags == $flags => family.run::<{ $flags }>(),)*
                _ => return Err(b.error(".xorsign needs .abs")),
            }
        };
    }
    Ok(one_of!(
        0,
        FTZ,
        NAN,
        FTZ | NAN,
        ABS,
        FTZ | ABS,
        NAN | ABS,
        FTZ | NAN | ABS,
        BOTH,
        FTZ | BOTH,
        NAN | BOTH,
        FTZ | NAN | BOTH
    ))
}

fn bind_single<C: Choice>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = flagged(b, i, SingleFamily::<C>(PhantomData))?;
    bind(b, i, run, ScalarType::F32)
}

fn bind_half<C: Choice>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => {
            flagged(b, i, HalfFamily::<C, Bf16> { packed, of: PhantomData })?
        }
        _ => flagged(b, i, HalfFamily::<C, F16> { packed, of: PhantomData })?,
    };
    bind(b, i, run, ty)
}

/// `min.f32`.
pub fn min(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_single::<Min>(b, i)
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

/// `max.f64`.
pub fn max_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Double<Max>>(), ScalarType::F64)
}

/// `max` of halves.
pub fn max_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half::<Max>(b, i)
}
