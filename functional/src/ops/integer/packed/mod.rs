//! Packed integers: sums, minima, maxima, dot products (PTX manual 9.7.1.1, 9.7.1.12, 9.7.1.13, 9.7.1.23,
//! 9.7.1.24).

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::op::Run;
use crate::engine::shapes::{Ternary, binary, ternary};
use crate::ops::{Bound, bind_values, lane_functions, uniform_forms};

const WORD: ScalarType = ScalarType::B32;

lane_functions! {
    /// Sums of the halves.
    AddHalves = |a: u32, b: u32| -> u32 {
        (a & 0xffff_0000).wrapping_add(b & 0xffff_0000) | (a.wrapping_add(b) & 0xffff)
    }
    /// Smaller halves.
    MinHalves = |a: u32, b: u32| -> u32 { by_halves(a, b, u16::min) }
    /// Larger halves.
    MaxHalves = |a: u32, b: u32| -> u32 { by_halves(a, b, u16::max) }
    /// Smaller signed halves.
    MinSigned = |a: u32, b: u32| -> u32 { by_halves(a, b, |a, b| (a as i16).min(b as i16) as u16) }
    /// Larger signed halves.
    MaxSigned = |a: u32, b: u32| -> u32 { by_halves(a, b, |a, b| (a as i16).max(b as i16) as u16) }
    /// Smaller signed halves, at least 0.
    MinRectified = |a: u32, b: u32| -> u32 { by_halves(a, b, |a, b| (a as i16).min(b as i16).max(0) as u16) }
    /// Larger signed halves, at least 0.
    MaxRectified = |a: u32, b: u32| -> u32 { by_halves(a, b, |a, b| (a as i16).max(b as i16).max(0) as u16) }
}

/// `f` of the lower halves and of the upper halves.
#[inline(always)]
fn by_halves(a: u32, b: u32, f: impl Fn(u16, u16) -> u16) -> u32 {
    u32::from(f(a as u16, b as u16)) | u32::from(f((a >> 16) as u16, (b >> 16) as u16)) << 16
}

uniform_forms! {
    min_packed = only!(binary, MinHalves);
    max_packed = only!(binary, MaxHalves);
}

/// Binds `min` of two signed halves.
pub fn min_packed_signed(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = if i.has(Modifier::Relu) { binary::<MinRectified>() } else { binary::<MinSigned>() };
    bind_values(b, i, run, WORD, &[WORD, WORD])
}

/// Binds `max` of two signed halves.
pub fn max_packed_signed(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = if i.has(Modifier::Relu) { binary::<MaxRectified>() } else { binary::<MaxSigned>() };
    bind_values(b, i, run, WORD, &[WORD, WORD])
}

/// Binds `add` of two halves.
pub fn add_packed(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind_values(b, i, binary::<AddHalves>(), WORD, &[WORD, WORD])
}

/// Signedness of packed integers.
trait Reading: 'static {
    /// Byte `n` from the bottom.
    fn byte(word: u32, n: u32) -> i32;
    /// Half `n` from the bottom.
    fn half(word: u32, n: u32) -> i32;
}

struct Unsigned;
impl Reading for Unsigned {
    #[inline(always)]
    fn byte(word: u32, n: u32) -> i32 {
        i32::from((word >> (8 * n)) as u8)
    }
    #[inline(always)]
    fn half(word: u32, n: u32) -> i32 {
        i32::from((word >> (16 * n)) as u16)
    }
}

struct Signed;
impl Reading for Signed {
    #[inline(always)]
    fn byte(word: u32, n: u32) -> i32 {
        i32::from((word >> (8 * n)) as i8)
    }
    #[inline(always)]
    fn half(word: u32, n: u32) -> i32 {
        i32::from((word >> (16 * n)) as i16)
    }
}

/// Products of four bytes, summed with c.
struct Dot4<A, B>(PhantomData<(A, B)>);
impl<A: Reading, B: Reading> Ternary for Dot4<A, B> {
    type A = u32;
    type B = u32;
    type C = i32;
    type D = i32;
    #[inline(always)]
    fn apply(a: u32, b: u32, c: i32) -> i32 {
        let product = |n| A::byte(a, n) * B::byte(b, n);
        c.wrapping_add(product(0) + product(1) + product(2) + product(3))
    }
}

/// Products of two halves of a and two bytes of b, from byte `FIRST` on, summed with c.
struct Dot2<A, B, const FIRST: u32>(PhantomData<(A, B)>);
impl<A: Reading, B: Reading, const FIRST: u32> Ternary for Dot2<A, B, FIRST> {
    type A = u32;
    type B = u32;
    type C = i32;
    type D = i32;
    #[inline(always)]
    fn apply(a: u32, b: u32, c: i32) -> i32 {
        let product = |n| A::half(a, n) * B::byte(b, FIRST + n);
        c.wrapping_add(product(0) + product(1))
    }
}

/// Evaluates `ternary::<$shape<A, B, …>>()` for the signedness of the operands.
macro_rules! by_signs {
    ($signs:expr, $shape:ident $(, $extra:expr)?) => {
        match $signs {
            [false, false] => ternary::<$shape<Unsigned, Unsigned $(, { $extra })?>>(),
            [false, true] => ternary::<$shape<Unsigned, Signed $(, { $extra })?>>(),
            [true, false] => ternary::<$shape<Signed, Unsigned $(, { $extra })?>>(),
            [true, true] => ternary::<$shape<Signed, Signed $(, { $extra })?>>(),
        }
    };
}

/// True for signed a and signed b.
fn signs(i: &Instruction) -> [bool; 2] {
    [0, 1].map(|n| i.ty(n).is_some_and(ScalarType::is_signed))
}

fn bind_words(b: &mut Binder<'_, '_>, i: &Instruction, run: Run) -> Bound {
    bind_values(b, i, run, WORD, &[WORD; 3])
}

/// Binds `dp4a`.
pub fn dp4a(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = by_signs!(signs(i), Dot4);
    bind_words(b, i, run)
}

/// Binds `dp2a`.
pub fn dp2a(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = if i.has(Modifier::Hi) { by_signs!(signs(i), Dot2, 2) } else { by_signs!(signs(i), Dot2, 0) };
    bind_words(b, i, run)
}

#[cfg(test)]
mod tests;
