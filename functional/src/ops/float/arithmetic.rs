//! `add`, `sub`, `mul`, `fma`, `mad`, `div`, `rcp`, `sqrt` with IEEE 754 rounding (PTX manual 9.7.3.3 to 9.7.3.8,
//! 9.7.3.13, 9.7.3.15, 9.7.4.1 to 9.7.4.4).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use super::double::double;
use super::half::{Clamp, Half, Relu, Sat, Unclamped, halves};
use super::operation::{Add, Div, Fma, Mul, Operation, Rcp, Sqrt, Sub};
use super::single::single;
use super::{Bound, bind, rounding};
use crate::bind::Binder;
use crate::engine::op::Run;
use crate::number::half::{Bf16, F16, HalfFormat};

fn bind_single<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let run = single::<O>(rounding(i), i.has(Modifier::Ftz), i.has(Modifier::Sat));
    bind(b, i, run, ScalarType::F32)
}

fn bind_double<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, double::<O>(rounding(i)), ScalarType::F64)
}

fn bind_half<O: Operation>(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let run = match ty {
        ScalarType::Bf16 | ScalarType::Bf16x2 => clamped_half::<O, Bf16>(i, ty.bits() == 32),
        _ => clamped_half::<O, F16>(i, ty.bits() == 32),
    };
    bind(b, i, run, ty)
}

fn clamped_half<O: Operation, F: HalfFormat>(i: &Instruction, packed: bool) -> Run {
    if i.has(Modifier::Relu) {
        flushed_half::<O, F, Relu>(i, packed)
    } else if i.has(Modifier::Sat) {
        flushed_half::<O, F, Sat>(i, packed)
    } else {
        flushed_half::<O, F, Unclamped>(i, packed)
    }
}

fn flushed_half<O: Operation, F: HalfFormat, C: Clamp>(i: &Instruction, packed: bool) -> Run {
    if i.has(Modifier::Ftz) {
        halves::<Half<O, F, C, true>>(packed)
    } else {
        halves::<Half<O, F, C, false>>(packed)
    }
}

macro_rules! forms {
    ($($(#[$doc:meta])* $name:ident = $bind:ident::<$operation:ident>;)*) => {
        $($(#[$doc])*
        pub fn $name(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
            $bind::<$operation>(b, i)
        })*
    };
}

forms! {
    /// `add.f32`.
    add = bind_single::<Add>;
    /// `add.f64`.
    add_double = bind_double::<Add>;
    /// `add` of halves.
    add_half = bind_half::<Add>;
    /// `sub.f32`.
    sub = bind_single::<Sub>;
    /// `sub.f64`.
    sub_double = bind_double::<Sub>;
    /// `sub` of halves.
    sub_half = bind_half::<Sub>;
    /// `mul.f32`.
    mul = bind_single::<Mul>;
    /// `mul.f64`.
    mul_double = bind_double::<Mul>;
    /// `mul` of halves.
    mul_half = bind_half::<Mul>;
    /// `fma.f32`.
    fma = bind_single::<Fma>;
    /// `fma.f64`.
    fma_double = bind_double::<Fma>;
    /// `fma` of halves.
    fma_half = bind_half::<Fma>;
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
