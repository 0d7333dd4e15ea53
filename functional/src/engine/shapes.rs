//! Shapes of warp-wide arithmetic: a value from one to four operands, or a predicate from two.
//!
//! An instruction defines the function of one lane. The shape runs that function over the warp, vectorised
//! by the compiler, and applies the active mask to the result.

use super::isa::{Isa, per_level};
use super::lane::{Bits, Lane, WARP, array_of};
use super::op::{Flow, Op};
use super::warp_context::WarpContext;

/// Lanes processed together. A chunk is loaded before it is stored, so a result may overlay an operand.
pub(crate) const CHUNK: usize = 16;

/// d = f(a).
pub trait Unary: 'static {
    /// Operand.
    type A: Lane;
    /// Result.
    type D: Lane;
    /// Result of one lane.
    fn apply(a: Self::A) -> Self::D;
}

/// d = f(a, b).
pub trait Binary: 'static {
    /// First operand.
    type A: Lane;
    /// Second operand.
    type B: Lane;
    /// Result.
    type D: Lane;
    /// Result of one lane.
    fn apply(a: Self::A, b: Self::B) -> Self::D;
}

/// d = f(a, b, c).
pub trait Ternary: 'static {
    /// First operand.
    type A: Lane;
    /// Second operand.
    type B: Lane;
    /// Third operand.
    type C: Lane;
    /// Result.
    type D: Lane;
    /// Result of one lane.
    fn apply(a: Self::A, b: Self::B, c: Self::C) -> Self::D;
}

/// d = f(a, b, c, e).
pub trait Quaternary: 'static {
    /// First operand.
    type A: Lane;
    /// Second operand.
    type B: Lane;
    /// Third operand.
    type C: Lane;
    /// Fourth operand.
    type E: Lane;
    /// Result.
    type D: Lane;
    /// Result of one lane.
    fn apply(a: Self::A, b: Self::B, c: Self::C, e: Self::E) -> Self::D;
}

/// p = f(a, b).
pub trait Predicate: 'static {
    /// Operand type.
    type A: Lane;
    /// Result of one lane.
    fn apply(a: Self::A, b: Self::A) -> bool;
}

/// For each byte, its bits spread to words of all ones or 0. A table, because the compiler vectorises the
/// shifts for all lanes but the last, whose exception costs more than the rest.
static SPREAD: [[u32; 8]; 256] = {
    let mut spread = [[0; 8]; 256];
    let mut bit = 0;
    while bit < 256 * 8 {
        let (byte, lane) = (bit / 8, bit % 8);
        spread[byte][lane] = if byte >> lane & 1 != 0 { u32::MAX } else { 0 };
        bit += 1;
    }
    spread
};

/// All ones for each lane of the chunk in `mask`.
#[inline(always)]
pub(crate) fn lane_masks(mask: u32, chunk: usize) -> [u32; CHUNK] {
    let bytes = (mask >> (chunk * CHUNK)).to_le_bytes();
    let (low, high) = (&SPREAD[bytes[0] as usize], &SPREAD[bytes[1] as usize]);
    array_of(|i| if i < 8 { low[i] } else { high[i - 8] })
}

/// Writes a chunk of results under the mask.
///
/// # Safety
/// As for [`super::op::Run`]: `op.d` names a row of `D`'s width.
#[inline(always)]
pub(crate) unsafe fn write_chunk<D: Lane>(
    w: &mut WarpContext<'_>,
    op: &Op,
    chunk: usize,
    mut result: [D::Bits; CHUNK],
) {
    let d = w.result::<D::Bits>(op.d).cast::<[D::Bits; CHUNK]>();
    // SAFETY: a row has 32 lanes, and `chunk` is 0 or 1.
    unsafe {
        let d = d.add(chunk);
        if w.mask != u32::MAX {
            let old = d.read();
            let masks = lane_masks(w.mask, chunk);
            for i in 0..CHUNK {
                result[i] = D::Bits::choose(masks[i], result[i], old[i]);
            }
        }
        d.write(result);
    }
}

/// Reads a chunk of an operand.
///
/// # Safety
/// As for [`super::op::Run`]: `row` names a row of `T`'s width.
#[inline(always)]
pub(crate) unsafe fn read_chunk<T: Lane>(w: &WarpContext<'_>, row: u32, chunk: usize) -> [T::Bits; CHUNK] {
    // SAFETY: a row has 32 lanes, and `chunk` is 0 or 1.
    unsafe { w.row::<T::Bits>(row).cast::<[T::Bits; CHUNK]>().add(chunk).read() }
}

#[inline(always)]
unsafe fn unary_body<I: Isa, O: Unary>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::A>(w, op.a, chunk);
            let d = array_of(|i| O::apply(O::A::from_bits(a[i])).to_bits());
            write_chunk::<O::D>(w, op, chunk, d);
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn binary_body<I: Isa, O: Binary>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::A>(w, op.a, chunk);
            let b = read_chunk::<O::B>(w, op.b, chunk);
            let d = array_of(|i| O::apply(O::A::from_bits(a[i]), O::B::from_bits(b[i])).to_bits());
            write_chunk::<O::D>(w, op, chunk, d);
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn ternary_body<I: Isa, O: Ternary>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::A>(w, op.a, chunk);
            let b = read_chunk::<O::B>(w, op.b, chunk);
            let c = read_chunk::<O::C>(w, op.c, chunk);
            let d = array_of(|i| {
                O::apply(O::A::from_bits(a[i]), O::B::from_bits(b[i]), O::C::from_bits(c[i])).to_bits()
            });
            write_chunk::<O::D>(w, op, chunk, d);
        }
    }
    Flow::Next
}

#[inline(always)]
unsafe fn quaternary_body<I: Isa, O: Quaternary>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::A>(w, op.a, chunk);
            let b = read_chunk::<O::B>(w, op.b, chunk);
            let c = read_chunk::<O::C>(w, op.c, chunk);
            let e = read_chunk::<O::E>(w, op.e, chunk);
            let d = array_of(|i| {
                O::apply(
                    O::A::from_bits(a[i]),
                    O::B::from_bits(b[i]),
                    O::C::from_bits(c[i]),
                    O::E::from_bits(e[i]),
                )
                .to_bits()
            });
            write_chunk::<O::D>(w, op, chunk, d);
        }
    }
    Flow::Next
}

/// Lanes for which the predicate function holds, including inactive lanes.
///
/// # Safety
/// As for [`super::op::Run`].
#[inline(always)]
pub unsafe fn test_lanes<I: Isa, O: Predicate>(w: &WarpContext<'_>, op: &Op) -> u32 {
    let mut truth = [0u32; WARP];
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::A>(w, op.a, chunk);
            let b = read_chunk::<O::A>(w, op.b, chunk);
            let part: [u32; CHUNK] = array_of(|i| {
                0u32.wrapping_sub(u32::from(O::apply(O::A::from_bits(a[i]), O::A::from_bits(b[i]))))
            });
            truth.as_mut_ptr().cast::<[u32; CHUNK]>().add(chunk).write(part);
        }
    }
    I::top_bits_32(&truth)
}

#[inline(always)]
unsafe fn predicate_body<I: Isa, O: Predicate>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: the caller keeps `Run`'s contract.
    unsafe {
        let truth = test_lanes::<I, O>(w, op);
        w.write_predicate(op.d, truth);
    }
    Flow::Next
}

per_level! {
    /// Warp-wide form of a [`Unary`].
    pub fn unary<O: Unary> = unary_body
}
per_level! {
    /// Warp-wide form of a [`Binary`].
    pub fn binary<O: Binary> = binary_body
}
per_level! {
    /// Warp-wide form of a [`Ternary`].
    pub fn ternary<O: Ternary> = ternary_body
}
per_level! {
    /// Warp-wide form of a [`Quaternary`].
    pub fn quaternary<O: Quaternary> = quaternary_body
}
per_level! {
    /// Warp-wide form of a [`Predicate`], with the result in predicate `d`.
    pub fn predicate<O: Predicate> = predicate_body
}
