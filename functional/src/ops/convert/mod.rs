//! Conversion between types (PTX manual 9.7.9.20).
//!
//! Module [`definition`] defines every form, one lane at a time, with integers. Common forms with registers
//! as wide as the types also have a vectorised function in [`integers`], [`to_integer`] and [`floats`].
//! Pairs of narrow floats and packed integers are in [`narrow`], fixed-point pairs in [`fixed`], and
//! stochastic rounding in [`stochastic`].

mod definition;
mod fixed;
mod floats;
mod integers;
mod narrow;
mod pack;
mod stochastic;
mod to_integer;

pub use fixed::*;
pub(super) use floats::widen_half;
pub use narrow::*;
pub use pack::pack_halves;
pub use stochastic::{stochastic_halves, stochastic_narrow};

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::Bound;
use super::float::modifiers::Modifiers;
use crate::bind::Binder;
use crate::engine::native::Forms;
use crate::engine::op::{Op, Run};
use crate::number::Round;
use definition::{Conversion, convert_lanes};

/// `cvt` from integer to integer.
pub fn integer_to_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(
        b,
        i,
        |conversion| if conversion.sat { None } else { integers::resize(conversion.to, conversion.from) },
    )
}

/// `cvt` from float to integer.
pub fn float_to_integer(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, to_integer::function)
}

/// `cvt` from integer to float.
pub fn integer_to_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, integers::to_float)
}

/// `cvt` from float to float.
pub fn float_to_float(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, floats::function)
}

/// `cvt.satfinite` from single to half.
pub fn half_finite(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    bind(b, i, |_| None)
}

/// Binds a conversion. `quick` may return a fast function if the registers are as wide as the types;
/// otherwise the definition applies.
fn bind(b: &mut Binder<'_, '_>, i: &Instruction, quick: impl FnOnce(&Conversion) -> Option<Run>) -> Bound {
    let (Some(to), Some(from)) = (i.ty(0), i.ty(1)) else {
        return Err(b.error("cvt requires two types"));
    };
    let mut conversion = Conversion {
        ftz: i.has(Modifier::Ftz),
        sat: i.has(Modifier::Sat),
        relu: i.has(Modifier::Relu),
        satfinite: i.has(Modifier::Satfinite),
        ..Conversion::new(to, from)
    };
    (conversion.round, conversion.integral) = rounding(i);
    let a = source(b, &i.operands[1], &mut conversion)?;
    let d = result(b, &i.operands[0], &mut conversion)?;
    let run = match (conversion.fits_result(), conversion.fits_source()) {
        (true, true) => quick(&conversion),
        (true, false) if !conversion.sat => integers::resize_low_word(conversion.to, conversion.from),
        _ => None,
    };
    let op = match run {
        Some(run) => Op { d, a, immediate: Modifiers::of(i).encode(), ..b.op(run) },
        None => Op { d, a, immediate: conversion.encode(), ..b.op(convert_lanes) },
    };
    b.push(op);
    Ok(())
}

/// Rounding of the result, and whether to an integral value.
fn rounding(i: &Instruction) -> (Round, bool) {
    i.modifiers()
        .find_map(|modifier| {
            Some(match modifier {
                Modifier::Rn => (Round::Nearest, false),
                Modifier::Rna => (Round::NearestAway, false),
                Modifier::Rz => (Round::Zero, false),
                Modifier::Rm => (Round::Down, false),
                Modifier::Rp => (Round::Up, false),
                Modifier::Rni => (Round::Nearest, true),
                Modifier::Rzi => (Round::Zero, true),
                Modifier::Rmi => (Round::Down, true),
                Modifier::Rpi => (Round::Up, true),
                _ => return None,
            })
        })
        .unwrap_or((Round::Nearest, false))
}

/// Row of the operand, whose register may be wider than its type.
fn source(
    b: &mut Binder<'_, '_>,
    operand: &Operand,
    conversion: &mut Conversion,
) -> Result<u32, crate::bind::BindError> {
    let from = conversion.from;
    let Operand::Register(register) = operand else {
        return b.source(operand, from);
    };
    let declared = b.register_type(*register);
    if !holds(declared, from) {
        return Err(b.error(format!("a .{} register cannot hold a .{}", declared.name(), from.name())));
    }
    conversion.source_bits = declared.bits();
    Ok(b.register(*register))
}

/// Row of the result, whose register may be wider than its type.
fn result(
    b: &mut Binder<'_, '_>,
    operand: &Operand,
    conversion: &mut Conversion,
) -> Result<u32, crate::bind::BindError> {
    let to = conversion.to;
    let Operand::Register(register) = operand else {
        return b.result(operand, to);
    };
    let declared = b.register_type(*register);
    if !holds(declared, to) {
        return Err(b.error(format!("a .{} register cannot take a .{}", declared.name(), to.name())));
    }
    conversion.result_bits = declared.bits();
    Ok(b.register(*register))
}

fn holds(register: ScalarType, value: ScalarType) -> bool {
    register != ScalarType::Pred && register.bits() >= value.bits() && register.bits() <= 64
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    floats::native_forms(forms);
    integers::native_forms(forms);
    to_integer::native_forms(forms);
}
