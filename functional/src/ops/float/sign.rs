//! Sign-bit operations and number classification: `abs`, `neg`, `copysign`, `testp` (PTX manual 9.7.3.1,
//! 9.7.3.2, 9.7.3.9, 9.7.3.10, 9.7.4.5, 9.7.4.6).

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::half::halves;
use super::modifiers::Modifiers;
use super::{Bound, bind};
use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::lane::Lane;
use crate::engine::native::{Forms, Sign};
use crate::engine::op::{Op, Run};
use crate::engine::shapes::{Predicate, predicate};
use crate::number::Format;
use crate::number::half::{Bf16, F16, HalfFormat};

/// Change of an operand's sign bit.
trait SignChange: 'static {
    /// Changed bits, given the format's sign bit.
    fn change(bits: u64, sign: u64) -> u64;
}

/// |a|.
struct Abs;
impl SignChange for Abs {
    #[inline(always)]
    fn change(bits: u64, sign: u64) -> u64 {
        bits & !sign
    }
}

/// -a.
struct Neg;
impl SignChange for Neg {
    #[inline(always)]
    fn change(bits: u64, sign: u64) -> u64 {
        bits ^ sign
    }
}

/// Single precision.
struct Single<S>(PhantomData<S>);
impl<S: SignChange> Arithmetic for Single<S> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [f32; 3], how: u64) -> u32 {
        let a = Modifiers::decode(how).operand(a);
        S::change(u64::from(a.to_bits()), 1 << 31) as u32
    }
}

/// Double precision.
struct Double<S>(PhantomData<S>);
impl<S: SignChange> Arithmetic for Double<S> {
    type T = u64;
    type D = u64;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [u64; 3], _: u64) -> u64 {
        S::change(a, 1 << 63)
    }
}

/// Half precision.
struct Half<S, F>(PhantomData<(S, F)>);
impl<S: SignChange, F: HalfFormat> Arithmetic for Half<S, F> {
    type T = u16;
    type D = u16;
    const OPERANDS: usize = 1;
    #[inline(always)]
    fn common([a, _, _]: [u16; 3], how: u64) -> u16 {
        let a = Modifiers::decode(how).half_operand::<F>(a);
        S::change(u64::from(a), 1 << 15) as u16
    }
}

fn bind_single<S: SignChange>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Single<S>>(), ScalarType::F32)
}

fn bind_half<S: SignChange>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<Half<S, Bf16>>(packed),
        _ => halves::<Half<S, F16>>(packed),
    };
    bind(b, i, run, ty)
}

/// `abs.f32`.
pub fn abs(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_single::<Abs>(b, i)
}

/// `abs.f64`.
pub fn abs_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Double<Abs>>(), ScalarType::F64)
}

/// `abs` of halves.
pub fn abs_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half::<Abs>(b, i)
}

/// `neg.f32`.
pub fn neg(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_single::<Neg>(b, i)
}

/// `neg.f64`.
pub fn neg_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, arithmetic::<Double<Neg>>(), ScalarType::F64)
}

/// `neg` of halves.
pub fn neg_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_half::<Neg>(b, i)
}

/// b with the sign of a.
struct CopySign<T>(PhantomData<T>);
impl Arithmetic for CopySign<u32> {
    type T = u32;
    type D = u32;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [u32; 3], _: u64) -> u32 {
        (a & (1 << 31)) | (b & !(1 << 31))
    }
}
impl Arithmetic for CopySign<u64> {
    type T = u64;
    type D = u64;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common([a, b, _]: [u64; 3], _: u64) -> u64 {
        (a & (1 << 63)) | (b & !(1 << 63))
    }
}

/// `copysign`.
pub fn copysign(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = if ty.bits() == 64 { arithmetic::<CopySign<u64>>() } else { arithmetic::<CopySign<u32>>() };
    bind(b, i, run, ty)
}

/// Property that `testp` tests.
trait Property: 'static {
    /// True if the number with these bits has the property.
    fn holds(bits: u64, format: Format) -> bool;
}

macro_rules! properties {
    ($($name:ident = |$bits:ident, $format:ident| $holds:expr;)*) => {
        $(struct $name;
        impl Property for $name {
            #[inline(always)]
            fn holds($bits: u64, $format: Format) -> bool { $holds }
        })*
    };
}

properties! {
    Finite = |bits, format| bits & format.infinity() != format.infinity();
    Infinite = |bits, format| bits & !format.sign() == format.infinity();
    Number = |bits, format| !format.is_nan(bits);
    NotANumber = |bits, format| format.is_nan(bits);
    Normal = |bits, format| Finite::holds(bits, format) && !format.is_subnormal(bits);
    Subnormal = |bits, format| format.is_subnormal(bits);
}

/// Test of a property of numbers in registers of type `T`.
struct Test<P, T>(PhantomData<(P, T)>);
impl<P: Property, T: Lane + Into<u64>> Predicate for Test<P, T> {
    type A = T;
    #[inline(always)]
    fn apply(a: T, _: T) -> bool {
        let format = if size_of::<T>() == 8 { Format::F64 } else { Format::F32 };
        P::holds(a.into(), format)
    }
}

fn test<T: Lane + Into<u64>>(i: &Instruction) -> Option<Run> {
    i.modifiers().find_map(|property| {
        Some(match property {
            Modifier::Finite => predicate::<Test<Finite, T>>(),
            Modifier::Infinite => predicate::<Test<Infinite, T>>(),
            Modifier::Number => predicate::<Test<Number, T>>(),
            Modifier::Notanumber => predicate::<Test<NotANumber, T>>(),
            Modifier::Normal => predicate::<Test<Normal, T>>(),
            Modifier::Subnormal => predicate::<Test<Subnormal, T>>(),
            _ => return None,
        })
    })
}

/// `testp`.
pub fn testp(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = if ty.bits() == 64 { test::<u64>(i) } else { test::<u32>(i) };
    let run = run.ok_or_else(|| b.error("testp names no property"))?;
    let a = b.source(&i.operands[1], ty)?;
    let d = b.predicate_result(&i.operands[0])?;
    let op = Op { d, a, b: a, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Adds the forms that have machine code.
pub(super) fn native_forms(forms: &mut Forms) {
    forms.lanes(arithmetic::<Single<Abs>>(), |e, op| e.change_signs(op, Sign::Clear, is_flushed(op)));
    forms.lanes(arithmetic::<Single<Neg>>(), |e, op| e.change_signs(op, Sign::Flip, is_flushed(op)));
    forms.lanes(arithmetic::<Double<Abs>>(), |e, op| e.change_signs_of_doubles(op, Sign::Clear));
    forms.lanes(arithmetic::<Double<Neg>>(), |e, op| e.change_signs_of_doubles(op, Sign::Flip));
}

fn is_flushed(op: &Op) -> bool {
    Modifiers::decode(op.immediate).has(Modifiers::FTZ)
}
