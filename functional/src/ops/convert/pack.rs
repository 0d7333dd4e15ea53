//! Two singles to a pair of halves.

use std::marker::PhantomData;

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::arithmetic::{Arithmetic, arithmetic};
use crate::engine::op::Op;
use crate::number::half::{Bf16, F16, HalfFormat};
use crate::number::{Nearest, Round, Rounding, Zero};
use crate::ops::Bound;
use crate::ops::float::modifiers::Modifiers;

/// Half for a single, rounded by `R` (to nearest or toward zero).
#[inline(always)]
fn narrow<F: HalfFormat, R: Rounding>(a: f32, modifiers: Modifiers) -> u16 {
    let nearest = F::narrow(a);
    let outward = F::widen(nearest).abs() > a.abs();
    let rounded = if R::ROUND == Round::Zero && outward { nearest.wrapping_sub(1) } else { nearest };
    let infinite = rounded & 0x7fff == F::FORMAT.infinity() as u16;
    // The largest number is the predecessor of infinity.
    let too_large = infinite && modifiers.has(Modifiers::SATFINITE);
    modifiers.half_result::<F>(if too_large { rounded.wrapping_sub(1) } else { rounded })
}

/// a in the upper half, b in the lower half, with any modifiers.
struct Pack<F, R>(PhantomData<(F, R)>);
impl<F: HalfFormat, R: Rounding> Arithmetic for Pack<F, R> {
    type T = f32;
    type D = u32;
    const OPERANDS: usize = 2;
    #[inline(always)]
    fn common(x: [f32; 3], how: u64) -> u32 {
        let [a, b, _] = x.map(|x| narrow::<F, R>(x, Modifiers::decode(how)));
        u32::from(a) << 16 | u32::from(b)
    }
}

/// `cvt` of two singles to `.f16x2` or `.bf16x2`.
pub fn pack_halves(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = i.ty(0).unwrap_or(ScalarType::F16x2);
    let run = match (ty, i.has(Modifier::Rz)) {
        (ScalarType::Bf16x2, false) => arithmetic::<Pack<Bf16, Nearest>>(),
        (ScalarType::Bf16x2, true) => arithmetic::<Pack<Bf16, Zero>>(),
        (_, false) => arithmetic::<Pack<F16, Nearest>>(),
        (_, true) => arithmetic::<Pack<F16, Zero>>(),
    };
    let a = b.source(&i.operands[1], ScalarType::F32)?;
    let second = b.source(&i.operands[2], ScalarType::F32)?;
    let d = b.result(&i.operands[0], ty)?;
    let op = Op { d, a, b: second, immediate: Modifiers::of(i).encode(), ..b.op(run) };
    b.push(op);
    Ok(())
}
