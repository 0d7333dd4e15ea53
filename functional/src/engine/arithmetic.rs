//! The shape of floating-point arithmetic: up to three operands of one type, and two ways to the result.
//!
//! The common way is vectorised by the compiler and right for nearly all operands; the lanes for which it is not
//! (a NaN whose payload counts, an angle too large for the quick reduction) are found afterwards, all at once, and
//! done again one by one.

use super::isa::{Isa, per_level};
use super::lane::{Lane, WARP};
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

/// Does the rare lanes of a chunk again.
#[cold]
#[inline(never)]
fn mend<O: Arithmetic>(x: &[Chunk<O::T>; 3], how: u64, d: &mut Chunk<O::D>) {
    for (i, d) in d.iter_mut().enumerate() {
        let operands = lane::<O::T>(x, i);
        if O::is_rare(operands, O::D::from_bits(*d)) {
            *d = O::rare(operands, how).to_bits();
        }
    }
}

#[inline(always)]
unsafe fn arithmetic_body<I: Isa, O: Arithmetic>(w: &mut Running<'_>, op: &Op) -> Flow {
    for chunk in 0..WARP / CHUNK {
        // SAFETY: the binder has given rows of the types' widths.
        unsafe {
            let a = read_chunk::<O::T>(w, op.a, chunk);
            let b = if O::OPERANDS > 1 { read_chunk::<O::T>(w, op.b, chunk) } else { a };
            let c = if O::OPERANDS > 2 { read_chunk::<O::T>(w, op.c, chunk) } else { a };
            let x = [a, b, c];
            let mut d: Chunk<O::D> =
                std::array::from_fn(|i| O::common(lane::<O::T>(&x, i), op.immediate).to_bits());
            let mut rare = false;
            for (i, d) in d.iter().enumerate() {
                rare |= O::is_rare(lane::<O::T>(&x, i), O::D::from_bits(*d));
            }
            if rare {
                mend::<O>(&x, op.immediate, &mut d);
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
