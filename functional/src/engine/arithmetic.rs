//! The shape of floating-point arithmetic: up to three operands of one type, and two ways to the result.
//!
//! The common way is vectorised by the compiler and right for nearly all operands; the lanes for which it is not
//! (a NaN whose payload counts, an angle too large for the quick reduction) are found afterwards, all at once, and
//! done again one by one.

use super::isa::{Isa, per_level};
use super::lane::{Lane, WARP, array_of};
use super::op::{Flow, Op};
use super::running::Running;
use super::shapes::{CHUNK, read_chunk, write_chunk};

/// d = f(a), f(a, b) or f(a, b, c).
pub trait Arithmetic: 'static {
    /// Operands.
    type T: Lane;
    /// Result.
    type D: Lane;
    /// How many of the three operands there are; the others repeat the first.
    const OPERANDS: usize;
    /// One lane. `how` is the op's immediate, the same for all lanes.
    fn common(x: [Self::T; 3], how: u64) -> Self::D;
    /// Must the lane, for which [`Arithmetic::common`] said `d`, be done by [`Arithmetic::rare`]?
    #[inline(always)]
    fn is_rare(_x: [Self::T; 3], _d: Self::D) -> bool {
        false
    }
    /// One lane that is rare.
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
/// As for [`super::op::Run`]: the op names rows of `O::T`'s width.
#[inline(always)]
unsafe fn operands<O: Arithmetic>(w: &Running<'_>, op: &Op, chunk: usize) -> [Chunk<O::T>; 3] {
    // SAFETY: the caller's promise.
    unsafe {
        let a = read_chunk::<O::T>(w, op.a, chunk);
        let b = if O::OPERANDS > 1 { read_chunk::<O::T>(w, op.b, chunk) } else { a };
        let c = if O::OPERANDS > 2 { read_chunk::<O::T>(w, op.c, chunk) } else { a };
        [a, b, c]
    }
}

/// Does the rare lanes of a chunk again. Reads the operands anew: were it given them, the common way would have to keep
/// them in memory and not in vector registers.
///
/// # Safety
/// As for [`operands`].
#[cold]
#[inline(never)]
unsafe fn mend<O: Arithmetic>(w: &Running<'_>, op: &Op, chunk: usize, mut d: Chunk<O::D>) -> Chunk<O::D> {
    // SAFETY: the caller's promise.
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
unsafe fn arithmetic_body<I: Isa, O: Arithmetic>(w: &mut Running<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder has given rows of the types' widths.
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
    /// The warp-wide form of an [`Arithmetic`].
    pub fn arithmetic<O: Arithmetic> = arithmetic_body
}
