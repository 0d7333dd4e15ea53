//! Skeleton of floating-point operations: up to three operands of one type and two paths to the result.
//!
//! The compiler vectorises the common path, which is correct for nearly all operands. Lanes that need the
//! rare path are detected afterwards and recomputed one by one. Examples are NaNs with payload, and angles
//! too large for the fast reduction.

use super::isa::{Isa, per_level};
use super::lane::{Lane, WARP, array_of};
use super::op::{Flow, Op};
use super::shapes::{CHUNK, read_chunk, write_chunk};
use super::warp_context::WarpContext;

/// d = f(a), f(a, b) or f(a, b, c).
pub trait Arithmetic: 'static {
    /// Operand type.
    type T: Lane;
    /// Result type.
    type D: Lane;
    /// Number of operands, 1 to 3; unused operands repeat the first.
    const OPERANDS: usize;
    /// Result of one lane. `how` is the op's immediate, equal for all lanes.
    fn common(x: [Self::T; 3], how: u64) -> Self::D;
    /// True if [`Arithmetic::rare`] must recompute a lane for which [`Arithmetic::common`] returned `d`.
    #[inline(always)]
    fn is_rare(_x: [Self::T; 3], _d: Self::D) -> bool {
        false
    }
    /// Result of one rare lane.
    fn rare(x: [Self::T; 3], how: u64) -> Self::D {
        Self::common(x, how)
    }
}

type Chunk<T> = [<T as Lane>::Bits; CHUNK];

#[inline(always)]
fn lane<T: Lane>(x: &[Chunk<T>; 3], i: usize) -> [T; 3] {
    [T::from_bits(x[0][i]), T::from_bits(x[1][i]), T::from_bits(x[2][i])]
}

/// A chunk of the operands.
///
/// # Safety
/// The contract of [`super::op::Run`] holds: the op names rows of `O::T`'s width.
#[inline(always)]
unsafe fn operands<O: Arithmetic>(w: &WarpContext<'_>, op: &Op, chunk: usize) -> [Chunk<O::T>; 3] {
    // SAFETY: guaranteed by the caller.
    unsafe {
        let a = read_chunk::<O::T>(w, op.a, chunk);
        let b = if O::OPERANDS > 1 { read_chunk::<O::T>(w, op.b, chunk) } else { a };
        let c = if O::OPERANDS > 2 { read_chunk::<O::T>(w, op.c, chunk) } else { a };
        [a, b, c]
    }
}

/// Recomputes the rare lanes of a chunk. The operands are read again, because passing them would force the
/// common path to keep them in memory instead of vector registers.
///
/// # Safety
/// As for [`operands`].
#[cold]
#[inline(never)]
unsafe fn mend<O: Arithmetic>(w: &WarpContext<'_>, op: &Op, chunk: usize, mut d: Chunk<O::D>) -> Chunk<O::D> {
    // SAFETY: guaranteed by the caller.
    let x = unsafe { operands::<O>(w, op, chunk) };
    for (i, d) in d.iter_mut().enumerate() {
        let operands = lane::<O::T>(&x, i);
        if O::is_rare(operands, O::D::from_bits(*d)) {
            *d = O::rare(operands, op.immediate).to_bits();
        }
    }
    d
}

#[inline(always)]
unsafe fn arithmetic_body<I: Isa, O: Arithmetic>(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder allocated rows of the types' widths.
        unsafe {
            let x = operands::<O>(w, op, chunk);
            let mut d: Chunk<O::D> = array_of(|i| O::common(lane::<O::T>(&x, i), op.immediate).to_bits());
            let mut rare = false;
            for (i, d) in d.iter().enumerate() {
                rare |= O::is_rare(lane::<O::T>(&x, i), O::D::from_bits(*d));
            }
            if rare {
                d = mend::<O>(w, op, chunk, d);
            }
            write_chunk::<O::D>(w, op, chunk, d);
        }
    }
    Flow::Next
}

per_level! {
    /// Warp-wide form of an [`Arithmetic`].
    pub fn arithmetic<O: Arithmetic> = arithmetic_body
}
