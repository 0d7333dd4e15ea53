//! Multi-word addition, subtraction and multiplication, chained by the carry flag CC.CF (PTX manual 9.7.2).
//!
//! A difference is the sum of the first number, the second's complement and a carry, as on hardware: a
//! borrow clears the flag. The manual calls the flag a borrow, which is equivalent within a chain of
//! subtractions. However, nvcc's 128-bit division reads the flag of a subtraction with `addc`.

use std::marker::PhantomData;
use std::ops::Not;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::Modifier;

use super::Integer;
use crate::bind::Binder;
use crate::engine::isa::{Isa, per_level};
use crate::engine::lane::{Lane, WARP, array_of};
use crate::engine::op::{Flow, Op, PREDICATE_CARRY, PREDICATE_SINK, PREDICATE_TRUE, PredicateSource, Run};
use crate::engine::shapes::{CHUNK, lane_masks, read_chunk, write_chunk};
use crate::engine::warp_context::WarpContext;
use crate::ops::Bound;

/// d = f(a, b, c, carry in), with a carry out.
trait Extended: 'static {
    /// Type of operands and result.
    type T: Lane;
    /// Result of one lane.
    fn apply(a: Self::T, b: Self::T, c: Self::T, carry: bool) -> (Self::T, bool);
}

/// Word of a multi-word number.
trait Digit: Integer + Not<Output = Self> {
    /// a + b + carry, and the carry out.
    fn carrying_sum(self, other: Self, carry: bool) -> (Self, bool);
}

macro_rules! digits {
    ($($ty:ty: $unsigned:ty),*) => {
        $(impl Digit for $ty {
            #[inline(always)]
            fn carrying_sum(self, other: $ty, carry: bool) -> ($ty, bool) {
                let (sum, first) = (self as $unsigned).overflowing_add(other as $unsigned);
                let (sum, second) = sum.overflowing_add(<$unsigned>::from(carry));
                (sum as $ty, first | second)
            }
        })*
    };
}
digits! { u32: u32, i32: u32, u64: u64, i64: u64 }

macro_rules! extended {
    ($($(#[$doc:meta])* $name:ident = |$a:ident, $b:ident, $c:ident, $carry:ident| $value:expr;)*) => {
        $(
            $(#[$doc])*
            struct $name<T>(PhantomData<T>);
            impl<T: Digit> Extended for $name<T> {
                type T = T;
                #[inline(always)]
                fn apply($a: T, $b: T, $c: T, $carry: bool) -> (T, bool) { $value }
            }
        )*
    };
}
extended! {
    /// a + b + carry.
    Sum = |a, b, _c, carry| a.carrying_sum(b, carry);
    /// a - b - 1 + carry.
    Difference = |a, b, _c, carry| a.carrying_sum(!b, carry);
    /// Low half of a * b, plus c and carry.
    LowProductSum = |a, b, c, carry| a.wrapping_mul(b).carrying_sum(c, carry);
    /// High half of a * b, plus c and carry.
    HighProductSum = |a, b, c, carry| a.high_mul(b).carrying_sum(c, carry);
}

/// Operands `a`, `b`, `c` are rows, the immediate is the predicate source of the carry in, and `e` the word
/// of the carry out.
#[inline(always)]
unsafe fn extended_body<I: Isa, O: Extended>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the binder allocated rows of the type's width, a predicate source and a predicate word.
    unsafe {
        let carry_in = w.predicate(PredicateSource::decode(op.immediate as u32));
        let mut carry_out = [0u32; WARP];
        for chunk in 0..WARP / CHUNK {
            let a = read_chunk::<O::T>(w, op.a, chunk);
            let b = read_chunk::<O::T>(w, op.b, chunk);
            let c = read_chunk::<O::T>(w, op.c, chunk);
            let carries = lane_masks(carry_in, chunk);
            let results: [(O::T, bool); CHUNK] = array_of(|i| {
                O::apply(O::T::from_bits(a[i]), O::T::from_bits(b[i]), O::T::from_bits(c[i]), carries[i] != 0)
            });
            for (i, (_, carry)) in results.iter().enumerate() {
                carry_out[chunk * CHUNK + i] = 0u32.wrapping_sub(u32::from(*carry));
            }
            write_chunk::<O::T>(w, op, chunk, array_of(|i| results[i].0.to_bits()));
        }
        w.write_predicate(op.e, I::top_bits_32(&carry_out));
    }
    Flow::Next
}

per_level! {
    fn extended<O: Extended> = extended_body
}

/// Source of the carry in.
#[derive(Clone, Copy)]
enum CarryIn {
    Clear,
    Set,
    Flag,
}

/// Binds an extended operation on two or three operands, with a carry out if the instruction has `.cc`.
fn bind_extended(b: &mut Binder<'_, '_>, i: &Instruction, run: Run, carry_in: CarryIn) -> Bound {
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[1], ty)?;
    let second = b.source(&i.operands[2], ty)?;
    let c = match i.operands.get(3) {
        Some(operand) => b.source(operand, ty)?,
        None => a,
    };
    let d = b.result(&i.operands[0], ty)?;
    let carry_in = match carry_in {
        CarryIn::Clear => PredicateSource::new(PREDICATE_TRUE, true),
        CarryIn::Set => PredicateSource::TRUE,
        CarryIn::Flag => PredicateSource::new(PREDICATE_CARRY, false),
    };
    let e = if i.has(Modifier::Cc) { PREDICATE_CARRY } else { PREDICATE_SINK };
    let op = Op { d, e, a, b: second, c, immediate: u64::from(carry_in.encode()), ..b.op(run) };
    b.push(op);
    Ok(())
}

/// Evaluates `extended::<$name<T>>()` for the unsigned type as wide as the instruction's.
macro_rules! by_digit {
    ($b:expr, $i:expr, $name:ident) => {
        if $b.last_type($i)?.bits() == 64 { extended::<$name<u64>>() } else { extended::<$name<u32>>() }
    };
}

/// Binds `add.cc`.
pub fn add_cc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_digit!(b, i, Sum);
    bind_extended(b, i, run, CarryIn::Clear)
}

/// Binds `addc`.
pub fn addc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_digit!(b, i, Sum);
    bind_extended(b, i, run, CarryIn::Flag)
}

/// Binds `sub.cc`.
pub fn sub_cc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_digit!(b, i, Difference);
    bind_extended(b, i, run, CarryIn::Set)
}

/// Binds `subc`.
pub fn subc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_digit!(b, i, Difference);
    bind_extended(b, i, run, CarryIn::Flag)
}

fn product_function(b: &Binder<'_, '_>, i: &Instruction) -> Result<Run, crate::bind::BindError> {
    let ty = b.last_type(i)?;
    Ok(match (i.has(Modifier::Hi), ty.is_signed(), ty.bits()) {
        (false, ..) => by_digit!(b, i, LowProductSum),
        (true, false, _) => by_digit!(b, i, HighProductSum),
        (true, true, 32) => extended::<HighProductSum<i32>>(),
        (true, true, _) => extended::<HighProductSum<i64>>(),
    })
}

/// Binds `mad.cc`.
pub fn mad_cc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = product_function(b, i)?;
    bind_extended(b, i, run, CarryIn::Clear)
}

/// Binds `madc`.
pub fn madc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = product_function(b, i)?;
    bind_extended(b, i, run, CarryIn::Flag)
}

#[cfg(test)]
mod tests;
