//! Two singles to a pair of halves.

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::op::Run;
use crate::engine::shapes::{Binary, binary};
use crate::number::half::{self, Bf16, F16, HalfFormat};
use crate::number::{Nearest, Round, Rounding, Zero};
use crate::ops::{Bound, bind_binary};

/// The half for a single, rounded as `R` (to nearest or toward zero).
#[inline(always)]
fn narrow<F: HalfFormat, R: Rounding, const FINITE: bool>(a: f32) -> u16 {
    let nearest = F::narrow(a);
    let outward = F::widen(nearest).abs() > a.abs();
    let rounded = if R::ROUND == Round::Zero && outward { nearest.wrapping_sub(1) } else { nearest };
    // The largest number is just below infinity.
    let infinite = rounded & 0x7fff == F::FORMAT.infinity() as u16;
    if FINITE && infinite { rounded.wrapping_sub(1) } else { rounded }
}

/// a in the upper half, b in the lower.
struct Pack<F, R, const FINITE: bool, const RELU: bool>(PhantomData<(F, R)>);
impl<F: HalfFormat, R: Rounding, const FINITE: bool, const RELU: bool> Binary for Pack<F, R, FINITE, RELU> {
    type A = f32;
    type B = f32;
    type D = u32;
    #[inline(always)]
    fn apply(a: f32, b: f32) -> u32 {
        let narrowed = [a, b].map(narrow::<F, R, FINITE>);
        let [a, b] = if RELU { narrowed.map(half::rectify::<F>) } else { narrowed };
        u32::from(a) << 16 | u32::from(b)
    }
}

fn flagged<F: HalfFormat, R: Rounding>(i: &Instruction) -> Run {
    match (i.has(Modifier::Satfinite), i.has(Modifier::Relu)) {
        (false, false) => binary::<Pack<F, R, false, false>>(),
        (false, true) => binary::<Pack<F, R, false, true>>(),
        (true, false) => binary::<Pack<F, R, true, false>>(),
        (true, true) => binary::<Pack<F, R, true, true>>(),
    }
}

/// `cvt` of two singles to `.f16x2` or `.bf16x2`.
pub fn pack_halves(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = i.ty(0).unwrap_or(ScalarType::F16x2);
    let run = match (ty, i.has(Modifier::Rz)) {
        (ScalarType::Bf16x2, false) => flagged::<Bf16, Nearest>(i),
        (ScalarType::Bf16x2, true) => flagged::<Bf16, Zero>(i),
        (_, false) => flagged::<F16, Nearest>(i),
        (_, true) => flagged::<F16, Zero>(i),
    };
    bind_binary(b, i, run, ty, [ScalarType::F32; 2])
}
