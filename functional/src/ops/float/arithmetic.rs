//! `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt` with IEEE 754 rounding (PTX manual 9.7.3.3 to
//! 9.7.3.8, 9.7.3.13, 9.7.3.15, 9.7.4.1 to 9.7.4.4, 9.7.5).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::ScalarType;

use super::double::double;
use super::half::{Half, ZeroOutside, halves};
use super::modifiers::Modifiers;
use super::operation::{Add, Div, Fma, Mul, Operation, Rcp, Sqrt, Sub};
use super::single::{pair, single};
use super::{Bound, bind};
use crate::bind::Binder;
use crate::engine::op::Op;
use crate::number::half::{Bf16, F16};
use crate::ops::convert::widen_half;

fn bind_single<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, single::<O>(Modifiers::of(i)), ScalarType::F32)
}

fn bind_double<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, double::<O>(Modifiers::of(i)), ScalarType::F64)
}

fn bind_half<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<Half<O, Bf16>>(packed),
        _ => halves::<Half<O, F16>>(packed),
    };
    bind(b, i, run, ty)
}

/// [`bind_half`] for an operation whose operands may include a special NaN.
fn bind_outside<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let packed = ty.bits() == 32;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => halves::<ZeroOutside<Half<O, Bf16>>>(packed),
        _ => halves::<ZeroOutside<Half<O, F16>>>(packed),
    };
    bind(b, i, run, ty)
}

fn bind_pair<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, pair::<O>(Modifiers::of(i)), ScalarType::F32x2)
}

/// Single precision, with widened halves for all operands but the last.
fn bind_mixed<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let half = b.last_type(i)?;
    let mut rows = [0; 3];
    for (n, (row, operand)) in rows.iter_mut().zip(&i.operands[1..]).enumerate() {
        *row = if n + 1 == O::OPERANDS {
            b.source(operand, ScalarType::F32)?
        } else {
            let (a, d) = (b.source(operand, half)?, b.scratch(false));
            let op = Op { d, a, ..b.op(widen_half(half)) };
            b.push(op);
            d
        };
    }
    let d = b.result(&i.operands[0], ScalarType::F32)?;
    let modifiers = Modifiers::of(i);
    let immediate = modifiers.encode();
    let op = Op { d, a: rows[0], b: rows[1], c: rows[2], immediate, ..b.op(single::<O>(modifiers)) };
    b.push(op);
    Ok(())
}

macro_rules! arithmetic_forms {
    ($($(#[$doc:meta])* $name:ident = $bind:ident::<$operation:ident>;)*) => {
        $($(#[$doc])*
        pub fn $name(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
            $bind::<$operation>(b, i)
        })*
    };
}

arithmetic_forms! {
    /// `add.f32`.
    add = bind_single::<Add>;
    /// `add.f64`.
    add_double = bind_double::<Add>;
    /// `add` of halves.
    add_half = bind_half::<Add>;
    /// `add.f32x2`.
    add_pair = bind_pair::<Add>;
    /// `add.f32` of a half and a single.
    add_mixed = bind_mixed::<Add>;
    /// `sub.f32`.
    sub = bind_single::<Sub>;
    /// `sub.f64`.
    sub_double = bind_double::<Sub>;
    /// `sub` of halves.
    sub_half = bind_half::<Sub>;
    /// `sub.f32x2`.
    sub_pair = bind_pair::<Sub>;
    /// `sub.f32` of a half and a single.
    sub_mixed = bind_mixed::<Sub>;
    /// `mul.f32`.
    mul = bind_single::<Mul>;
    /// `mul.f64`.
    mul_double = bind_double::<Mul>;
    /// `mul` of halves.
    mul_half = bind_half::<Mul>;
    /// `mul.f32x2`.
    mul_pair = bind_pair::<Mul>;
    /// `fma.f32`.
    fma = bind_single::<Fma>;
    /// `fma.f64`.
    fma_double = bind_double::<Fma>;
    /// `fma` of halves.
    fma_half = bind_half::<Fma>;
    /// `fma.oob`.
    fma_oob = bind_outside::<Fma>;
    /// `fma.f32x2`.
    fma_pair = bind_pair::<Fma>;
    /// `fma.f32` of two halves and a single.
    fma_mixed = bind_mixed::<Fma>;
    /// `mad.f32`: `fma.f32` since sm_20.
    mad = bind_single::<Fma>;
    /// `mad.f64`: `fma.f64`.
    mad_double = bind_double::<Fma>;
    /// `div.f32`, correctly rounded.
    div = bind_single::<Div>;
    /// `div.f64`.
    div_double = bind_double::<Div>;
    /// `rcp.f32`, correctly rounded.
    rcp = bind_single::<Rcp>;
    /// `rcp.f64`.
    rcp_double = bind_double::<Rcp>;
    /// `sqrt.f32`, correctly rounded.
    sqrt = bind_single::<Sqrt>;
    /// `sqrt.f64`.
    sqrt_double = bind_double::<Sqrt>;
}
