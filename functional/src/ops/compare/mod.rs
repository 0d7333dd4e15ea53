//! Comparison and selection (PTX manual 9.7.6, 9.7.7).
//!
//! The common `setp`, with one result and no combination, has a function for each comparison and type.
//! Other forms share one function per type, which computes the relations less, equal and greater and
//! selects from them.

use std::marker::PhantomData;

use half::{bf16, f16};
use iced_x86::Code;
use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::{Bound, bind_values, lane_functions};
use crate::bind::{BindError, Binder};
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::{Bits, Lane, WARP, array_of};
use crate::engine::native::Forms;
use crate::engine::op::{Flow, Op, PREDICATE_SINK, PredicateSource, Run};
use crate::engine::shapes::{
    CHUNK, Predicate, lane_masks, predicate, read_chunk, ternary, test_lanes, write_chunk,
};
use crate::engine::warp_context::WarpContext;

/// Comparable type.
trait Compared: Lane + PartialOrd {}
impl<T: Lane + PartialOrd> Compared for T {}

/// Half-precision type, with one or two values per register.
trait Half: Lane<Bits = u32> + PartialOrd {}
impl<T: Lane<Bits = u32> + PartialOrd> Half for T {}

macro_rules! comparisons {
    ($($name:ident = |$a:ident, $b:ident| $truth:expr;)*) => {
        $(struct $name<T>(PhantomData<T>);
        impl<T: Compared> Predicate for $name<T> {
            type A = T;
            #[inline(always)]
            #[allow(clippy::eq_op, clippy::neg_cmp_op_on_partial_ord)]
            fn apply($a: T, $b: T) -> bool { $truth }
        })*
    };
}
comparisons! {
    Equal = |a, b| a == b;
    NotEqual = |a, b| a != b;
    Less = |a, b| a < b;
    LessEqual = |a, b| a <= b;
    Greater = |a, b| a > b;
    GreaterEqual = |a, b| a >= b;
    OrderedNotEqual = |a, b| a < b || a > b;
    UnorderedEqual = |a, b| !(a < b || a > b);
    UnorderedLess = |a, b| !(a >= b);
    UnorderedLessEqual = |a, b| !(a > b);
    UnorderedGreater = |a, b| !(a <= b);
    UnorderedGreaterEqual = |a, b| !(a < b);
    Numbers = |a, b| a == a && b == b;
    SomeNan = |a, b| a != a || b != b;
}

/// Set of relations between two numbers: [`LESS`], [`EQUAL`], [`GREATER`], [`UNORDERED`].
type Relations = u32;
const LESS: Relations = 1;
const EQUAL: Relations = 2;
const GREATER: Relations = 4;
const UNORDERED: Relations = 8;

/// Relations for which a comparison is true (PTX manual 9.3.1).
fn relations(how: Modifier) -> Option<Relations> {
    Some(match how {
        Modifier::Eq => EQUAL,
        Modifier::Ne => LESS | GREATER,
        Modifier::Lt | Modifier::Lo => LESS,
        Modifier::Le | Modifier::Ls => LESS | EQUAL,
        Modifier::Gt | Modifier::Hi => GREATER,
        Modifier::Ge | Modifier::Hs => GREATER | EQUAL,
        Modifier::Equ => EQUAL | UNORDERED,
        Modifier::Neu => LESS | GREATER | UNORDERED,
        Modifier::Ltu => LESS | UNORDERED,
        Modifier::Leu => LESS | EQUAL | UNORDERED,
        Modifier::Gtu => GREATER | UNORDERED,
        Modifier::Geu => GREATER | EQUAL | UNORDERED,
        Modifier::Num => LESS | EQUAL | GREATER,
        Modifier::IsNan => UNORDERED,
        _ => return None,
    })
}

/// Plain `setp` of an ordered comparison, by modifier; integers have no others.
fn plain_ordered<T: Compared>(how: Modifier) -> Option<Run> {
    Some(match how {
        Modifier::Eq => predicate::<Equal<T>>(),
        Modifier::Lt | Modifier::Lo => predicate::<Less<T>>(),
        Modifier::Le | Modifier::Ls => predicate::<LessEqual<T>>(),
        Modifier::Gt | Modifier::Hi => predicate::<Greater<T>>(),
        Modifier::Ge | Modifier::Hs => predicate::<GreaterEqual<T>>(),
        _ => return None,
    })
}

fn plain_integer<T: Compared>(how: Modifier) -> Option<Run> {
    if how == Modifier::Ne { Some(predicate::<NotEqual<T>>()) } else { plain_ordered::<T>(how) }
}

fn plain_float<T: Compared>(how: Modifier) -> Option<Run> {
    Some(match how {
        Modifier::Ne => predicate::<OrderedNotEqual<T>>(),
        Modifier::Equ => predicate::<UnorderedEqual<T>>(),
        Modifier::Neu => predicate::<NotEqual<T>>(),
        Modifier::Ltu => predicate::<UnorderedLess<T>>(),
        Modifier::Leu => predicate::<UnorderedLessEqual<T>>(),
        Modifier::Gtu => predicate::<UnorderedGreater<T>>(),
        Modifier::Geu => predicate::<UnorderedGreaterEqual<T>>(),
        Modifier::Num => predicate::<Numbers<T>>(),
        Modifier::IsNan => predicate::<SomeNan<T>>(),
        _ => return plain_ordered::<T>(how),
    })
}

/// Lanes whose operands have one of the relations `wanted`.
///
/// # Safety
/// As for [`Run`]: `a` and `b` are rows of `T`.
#[inline(always)]
unsafe fn related<I: Isa, T: Compared>(w: &WarpContext<'_>, op: &Op, wanted: Relations) -> u32 {
    // SAFETY: guaranteed by the caller.
    let (less, equal, greater) = unsafe {
        (
            test_lanes::<I, Less<T>>(w, op),
            test_lanes::<I, Equal<T>>(w, op),
            test_lanes::<I, Greater<T>>(w, op),
        )
    };
    let pick = |relation: Relations, lanes: u32| if wanted & relation != 0 { lanes } else { 0 };
    pick(LESS, less)
        | pick(EQUAL, equal)
        | pick(GREATER, greater)
        | pick(UNORDERED, !(less | equal | greater))
}

/// Combination of the comparison's result with the predicate `c`.
const ALONE: u32 = 0;
const COMBINE_AND: u32 = 1;
const COMBINE_OR: u32 = 2;
const COMBINE_XOR: u32 = 3;

/// Op field with the relations and the combination.
fn encode(wanted: Relations, combination: u32) -> u32 {
    wanted | combination << 8
}

/// The comparison's result `truth`, combined with the op's predicate `c`.
///
/// # Safety
/// As for [`Run`]: `c` is a predicate source.
#[inline(always)]
unsafe fn combined(w: &WarpContext<'_>, op: &Op, truth: u32) -> u32 {
    // SAFETY: guaranteed by the caller.
    let c = unsafe { w.predicate(PredicateSource::decode(op.c)) };
    match op.slot >> 8 {
        COMBINE_AND => truth & c,
        COMBINE_OR => truth | c,
        COMBINE_XOR => truth ^ c,
        _ => truth,
    }
}

/// p = truth combined with c, q = (not truth) combined with c.
#[inline(always)]
unsafe fn setp_body<I: Isa, T: Compared>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` and `b` are rows of `T`, `c` a predicate source, `d` and `e` predicate words.
    unsafe {
        let truth = related::<I, T>(w, op, op.slot & 0xff);
        let (p, q) = (combined(w, op, truth), combined(w, op, !truth));
        w.write_predicate(op.d, p);
        w.write_predicate(op.e, q);
    }
    Flow::Next
}

/// p = truth for the low halves combined with c, q = truth for the high halves combined with c.
#[inline(always)]
unsafe fn setp_pair_body<I: Isa, T: Half>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: as in `setp_body`.
    unsafe {
        let low = related::<I, Low<T>>(w, op, op.slot & 0xff);
        let high = related::<I, High<T>>(w, op, op.slot & 0xff);
        let (p, q) = (combined(w, op, low), combined(w, op, high));
        w.write_predicate(op.d, p);
        w.write_predicate(op.e, q);
    }
    Flow::Next
}

/// d = the immediate where the truth, combined with c, holds, else 0.
#[inline(always)]
unsafe fn set_body<I: Isa, T: Compared>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` and `b` are rows of `T`, `c` a predicate source, `d` a row of words.
    unsafe {
        let truth = related::<I, T>(w, op, op.slot & 0xff);
        let truth = combined(w, op, truth);
        for chunk in 0..WARP / CHUNK {
            let masks = lane_masks(truth, chunk);
            let d = array_of(|i| masks[i] & op.immediate as u32);
            write_chunk::<u32>(w, op, chunk, d);
        }
    }
    Flow::Next
}

/// Halves of d = halves of the immediate where the halves' truth, combined with c, holds, else 0.
#[inline(always)]
unsafe fn set_pair_body<I: Isa, T: Half>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: as in `set_body`.
    unsafe {
        let low = related::<I, Low<T>>(w, op, op.slot & 0xff);
        let high = related::<I, High<T>>(w, op, op.slot & 0xff);
        let (low, high) = (combined(w, op, low), combined(w, op, high));
        for chunk in 0..WARP / CHUNK {
            let (low, high) = (lane_masks(low, chunk), lane_masks(high, chunk));
            let on = op.immediate as u32;
            let d = array_of(|i| (low[i] & on) | (high[i] & on << 16));
            write_chunk::<u32>(w, op, chunk, d);
        }
    }
    Flow::Next
}

per_level! {
    fn setp_of<T: Compared> = setp_body
}
per_level! {
    fn setp_of_pair<T: Half> = setp_pair_body
}
per_level! {
    fn set_of<T: Compared> = set_body
}
per_level! {
    fn set_of_pair<T: Half> = set_pair_body
}

/// Value in a register's low half.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Low<T>(T);

/// Value in a register's high half.
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct High<T>(T);

/// Floating-point number whose subnormals read as zero (`.ftz`).
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
struct Flushed<T>(T);

impl<T: Half> Lane for Low<T> {
    type Bits = u32;
    #[inline(always)]
    fn from_bits(bits: u32) -> Low<T> {
        Low(T::from_bits(bits & 0xffff))
    }
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.0.to_bits()
    }
}

impl<T: Half> Lane for High<T> {
    type Bits = u32;
    #[inline(always)]
    fn from_bits(bits: u32) -> High<T> {
        High(T::from_bits(bits >> 16))
    }
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.0.to_bits() << 16
    }
}

/// Type with subnormals.
trait Subnormal: Lane<Bits = u32> + PartialOrd {
    /// Sign bit.
    const SIGN: u32;
    /// Bits of the exponent field.
    const EXPONENT: u32;
}
impl Subnormal for f32 {
    const SIGN: u32 = 1 << 31;
    const EXPONENT: u32 = 0x7f80_0000;
}
impl Subnormal for f16 {
    const SIGN: u32 = 1 << 15;
    const EXPONENT: u32 = 0x7c00;
}
impl Subnormal for bf16 {
    const SIGN: u32 = 1 << 15;
    const EXPONENT: u32 = 0x7f80;
}

impl<T: Subnormal> Lane for Flushed<T> {
    type Bits = u32;
    #[inline(always)]
    fn from_bits(bits: u32) -> Flushed<T> {
        Flushed(T::from_bits(if bits & T::EXPONENT == 0 { bits & T::SIGN } else { bits }))
    }
    #[inline(always)]
    fn to_bits(self) -> u32 {
        self.0.to_bits()
    }
}

/// Comparison and combination of `setp` and `set`, from the modifiers.
fn comparison(b: &Binder<'_, '_>, i: &Instruction) -> Result<(Modifier, u32, u32), BindError> {
    let how = i.modifiers().next();
    let Some((how, wanted)) = how.and_then(|how| Some((how, relations(how)?))) else {
        return Err(b.error("the instruction names no comparison"));
    };
    let combination = i
        .modifiers()
        .find_map(|modifier| match modifier {
            Modifier::And => Some(COMBINE_AND),
            Modifier::Or => Some(COMBINE_OR),
            Modifier::Xor => Some(COMBINE_XOR),
            _ => None,
        })
        .unwrap_or(ALONE);
    Ok((how, wanted, combination))
}

/// True if the comparison reads integers of this type as signed.
fn is_signed(how: Modifier, ty: ScalarType) -> bool {
    ty.is_signed() && !matches!(how, Modifier::Lo | Modifier::Ls | Modifier::Hi | Modifier::Hs)
}

/// Evaluates `$run::<T>($argument)` for the integer type that a comparison reads.
macro_rules! by_compared_integer {
    ($how:expr, $ty:expr, $run:ident($($argument:expr)?)) => {
        match ($ty.bits(), is_signed($how, $ty)) {
            (16, false) => $run::<u16>($($argument)?),
            (16, true) => $run::<i16>($($argument)?),
            (32, false) => $run::<u32>($($argument)?),
            (32, true) => $run::<i32>($($argument)?),
            (_, false) => $run::<u64>($($argument)?),
            (_, true) => $run::<i64>($($argument)?),
        }
    };
}

/// Evaluates `$run::<T>()` for a half-precision type.
macro_rules! by_half {
    ($b:expr, $ty:expr, $flush:expr, $run:ident()) => {
        match ($ty, $flush) {
            (ScalarType::F16 | ScalarType::F16x2, false) => $run::<f16>(),
            (ScalarType::F16 | ScalarType::F16x2, true) => $run::<Flushed<f16>>(),
            (ScalarType::Bf16 | ScalarType::Bf16x2, false) => $run::<bf16>(),
            (ScalarType::Bf16 | ScalarType::Bf16x2, true) => $run::<Flushed<bf16>>(),
            (other, _) => return Err($b.error(format!(".{} is not a half-precision type", other.name()))),
        }
    };
}

/// Binds p|q = a ? b combined with c. `plain` serves instructions with only p and no c, `general` all
/// others.
fn bind_setp(b: &mut Binder<'_, '_>, i: &Instruction, plain: Option<Run>, general: Run) -> Bound {
    let ty = b.last_type(i)?;
    let (_, wanted, combination) = comparison(b, i)?;
    // Single halves have no q.
    let (results, sources) = i.operands.split_at(i.operands.len().saturating_sub(3));
    let d = b.predicate_result(&results[0])?;
    let e = b.predicate_result(results.get(1).unwrap_or(&Operand::Absent))?;
    let a = b.source(&sources[0], ty)?;
    let second = b.source(&sources[1], ty)?;
    let c = b.predicate_source(&sources[2])?.encode();
    let run = match plain {
        Some(plain) if combination == ALONE && e == PREDICATE_SINK => plain,
        _ => general,
    };
    let op = Op { d, e, a, b: second, c, slot: encode(wanted, combination), ..b.op(run) };
    b.push(op);
    Ok(())
}

/// `setp` of integers.
pub fn setp_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let (how, ..) = comparison(b, i)?;
    let plain = by_compared_integer!(how, ty, plain_integer(how));
    let general = by_compared_integer!(how, ty, setp_of());
    bind_setp(b, i, plain, general)
}

/// `setp.f32`.
pub fn setp_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (how, ..) = comparison(b, i)?;
    let (plain, general) = if i.has(Modifier::Ftz) {
        (plain_float::<Flushed<f32>>(how), setp_of::<Flushed<f32>>())
    } else {
        (plain_float::<f32>(how), setp_of::<f32>())
    };
    bind_setp(b, i, plain, general)
}

/// `setp.f64`.
pub fn setp_double(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (how, ..) = comparison(b, i)?;
    bind_setp(b, i, plain_float::<f64>(how), setp_of::<f64>())
}

/// `setp.f16`, `setp.bf16`.
pub fn setp_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let general = by_half!(b, b.last_type(i)?, i.has(Modifier::Ftz), setp_of());
    bind_setp(b, i, None, general)
}

/// `setp.f16x2`, `setp.bf16x2`.
pub fn setp_half_pair(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let general = by_half!(b, b.last_type(i)?, i.has(Modifier::Ftz), setp_of_pair());
    bind_setp(b, i, None, general)
}

/// Binds d = a ? b combined with c, where `on` stands for true.
fn bind_set(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, on: u32) -> Bound {
    let (_, wanted, combination) = comparison(b, i)?;
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[1], ty)?;
    let second = b.source(&i.operands[2], ty)?;
    let c = b.predicate_source(&i.operands[3])?.encode();
    let d = b.result(&i.operands[0], result_type(b, i)?)?;
    let slot = encode(wanted, combination);
    let op = Op { d, a, b: second, c, immediate: u64::from(on), slot, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// First type of the instruction.
fn result_type(b: &Binder<'_, '_>, i: &Instruction) -> Result<ScalarType, BindError> {
    i.ty(0).ok_or_else(|| b.error("the instruction has no type"))
}

/// Value that `set` writes for true into a result of this type.
fn true_value(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::F32 => 1f32.to_bits(),
        ScalarType::F16 | ScalarType::F16x2 => u32::from(f16::ONE.to_bits()),
        ScalarType::Bf16 | ScalarType::Bf16x2 => u32::from(bf16::ONE.to_bits()),
        ScalarType::U16 | ScalarType::S16 => 0xffff,
        _ => u32::MAX,
    }
}

/// `set` of integers.
pub fn set_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let (how, ..) = comparison(b, i)?;
    let run = by_compared_integer!(how, ty, set_of());
    let on = true_value(result_type(b, i)?);
    bind_set(b, i, run, on)
}

/// `set.f32`, `set.f64`.
pub fn set_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = match (b.last_type(i)?, i.has(Modifier::Ftz)) {
        (ScalarType::F64, _) => set_of::<f64>(),
        (_, true) => set_of::<Flushed<f32>>(),
        (_, false) => set_of::<f32>(),
    };
    let on = true_value(result_type(b, i)?);
    bind_set(b, i, run, on)
}

/// `set.f16`, `set.bf16`.
pub fn set_half(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_half!(b, b.last_type(i)?, i.has(Modifier::Ftz), set_of());
    let on = true_value(result_type(b, i)?);
    bind_set(b, i, run, on)
}

/// `set.f16x2`, `set.bf16x2`: each half of the result has half the width.
pub fn set_half_pair(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_half!(b, b.last_type(i)?, i.has(Modifier::Ftz), set_of_pair());
    let on = true_value(result_type(b, i)?) & 0xffff;
    bind_set(b, i, run, on)
}

/// d = a where the predicate c holds, else b.
#[inline(always)]
unsafe fn select_body<I: Isa, T: Lane>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a`, `b` and `d` are rows of `T`, `c` a predicate source.
    unsafe {
        let c = w.predicate(PredicateSource::decode(op.c));
        for chunk in 0..WARP / CHUNK {
            let (a, b) = (read_chunk::<T>(w, op.a, chunk), read_chunk::<T>(w, op.b, chunk));
            let masks = lane_masks(c, chunk);
            let d = array_of(|i| T::Bits::choose(masks[i], a[i], b[i]));
            write_chunk::<T>(w, op, chunk, d);
        }
    }
    Flow::Next
}

per_level! {
    fn select<T: Lane> = select_body
}

/// `selp`.
pub fn selp(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[1], ty)?;
    let second = b.source(&i.operands[2], ty)?;
    let c = b.predicate_source(&i.operands[3])?.encode();
    let d = b.result(&i.operands[0], ty)?;
    let run = if ty.bits() == 64 { select::<u64>() } else { select::<u32>() };
    let op = Op { d, a, b: second, c, ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Number that `slct` tests for being neither negative nor NaN.
pub(crate) trait Signed: Lane + PartialOrd {
    /// True for numbers from 0 up.
    #[inline(always)]
    fn is_at_least_zero(self) -> bool {
        self >= Self::default()
    }
}
impl Signed for i32 {}
impl Signed for f32 {}
impl Signed for Flushed<f32> {}

lane_functions! {
    /// a if c is not negative, else b; 32 bits.
    Slct<C: Signed> = |a: u32, b: u32, c: C| -> u32 { if c.is_at_least_zero() { a } else { b } }
    /// a if c is not negative, else b; 64 bits.
    SlctWide<C: Signed> = |a: u64, b: u64, c: C| -> u64 { if c.is_at_least_zero() { a } else { b } }
}

/// `slct`.
pub fn slct(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let (ty, tested) = (result_type(b, i)?, b.last_type(i)?);
    let run = match (ty.bits() == 64, tested, i.has(Modifier::Ftz)) {
        (false, ScalarType::S32, _) => ternary::<Slct<i32>>(),
        (false, _, false) => ternary::<Slct<f32>>(),
        (false, _, true) => ternary::<Slct<Flushed<f32>>>(),
        (true, ScalarType::S32, _) => ternary::<SlctWide<i32>>(),
        (true, _, false) => ternary::<SlctWide<f32>>(),
        (true, _, true) => ternary::<SlctWide<Flushed<f32>>>(),
    };
    bind_values(b, i, run, ty, &[ty, ty, tested])
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    // Immediate operands of VPCMP and VCMPPS (Intel SDM, volume 2, tables of both instructions). The
    // quiet comparisons are those of Rust.
    macro_rules! integers {
        ($($ty:ty => $emit:ident $code:ident;)*) => {$(
            forms.lanes(predicate::<Equal<$ty>>(), |e, op| e.$emit(op, Code::$code, 0));
            forms.lanes(predicate::<Less<$ty>>(), |e, op| e.$emit(op, Code::$code, 1));
            forms.lanes(predicate::<LessEqual<$ty>>(), |e, op| e.$emit(op, Code::$code, 2));
            forms.lanes(predicate::<NotEqual<$ty>>(), |e, op| e.$emit(op, Code::$code, 4));
            forms.lanes(predicate::<GreaterEqual<$ty>>(), |e, op| e.$emit(op, Code::$code, 5));
            forms.lanes(predicate::<Greater<$ty>>(), |e, op| e.$emit(op, Code::$code, 6));
        )*};
    }
    integers! {
        u32 => test_words EVEX_Vpcmpud_kr_k1_zmm_zmmm512b32_imm8;
        i32 => test_words EVEX_Vpcmpd_kr_k1_zmm_zmmm512b32_imm8;
        u64 => test_doubles EVEX_Vpcmpuq_kr_k1_zmm_zmmm512b64_imm8;
        i64 => test_doubles EVEX_Vpcmpq_kr_k1_zmm_zmmm512b64_imm8;
    }
    macro_rules! floats {
        ($($comparison:ident = $how:literal;)*) => {$(
            forms.lanes(predicate::<$comparison<f32>>(), |e, op| e.test_singles(op, $how));
            forms.lanes(predicate::<$comparison<f64>>(), |e, op| {
                e.test_doubles(op, Code::EVEX_Vcmppd_kr_k1_zmm_zmmm512b64_imm8_sae, $how)
            });
        )*};
    }
    floats! {
        Equal = 0x00;
        NotEqual = 0x04;
        Less = 0x11;
        LessEqual = 0x12;
        Greater = 0x1e;
        GreaterEqual = 0x1d;
        OrderedNotEqual = 0x0c;
        UnorderedEqual = 0x08;
        UnorderedLess = 0x19;
        UnorderedLessEqual = 0x1a;
        UnorderedGreater = 0x16;
        UnorderedGreaterEqual = 0x15;
        Numbers = 0x07;
        SomeNan = 0x03;
    }
    forms.lanes(select::<u32>(), |e, op| e.select::<2>(op));
    forms.lanes(select::<u64>(), |e, op| e.select::<4>(op));
}

#[cfg(test)]
mod tests;
