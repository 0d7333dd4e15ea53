//! Register moves (PTX manual 9.7.9.5 to 9.7.9.7): `mov` of scalars, vectors and predicates, and width
//! changes.

use std::marker::PhantomData;

use iced_x86::Code;
use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{ScalarType, SpecialRegister};

use super::Bound;
use crate::bind::{BindError, Binder};
use crate::engine::lane::Lane;
use crate::engine::native::Forms;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::shapes::{Binary, Unary, binary, unary};
use crate::engine::warp_context::WarpContext;

/// d = a.
struct Copy<T>(PhantomData<T>);
impl<T: Lane> Unary for Copy<T> {
    type A = T;
    type D = T;
    #[inline(always)]
    fn apply(a: T) -> T {
        a
    }
}

/// d = a, zero-extended.
struct Widen;
impl Unary for Widen {
    type A = u32;
    type D = u64;
    #[inline(always)]
    fn apply(a: u32) -> u64 {
        u64::from(a)
    }
}

/// Converts a 32-bit row to a 64-bit row.
pub(crate) fn widen() -> Run {
    unary::<Widen>()
}

/// Converts a 64-bit row to the row of its low words.
pub(crate) fn narrow() -> Run {
    unary::<Field<u64, u32, 0>>()
}

/// d = field `N` (from the bottom) of `BITS` bits of a.
struct Field<A, D, const N: u32>(PhantomData<(A, D)>);

macro_rules! fields {
    ($($whole:ty => $part:ty),*) => {
        $(impl<const N: u32> Unary for Field<$whole, $part, N> {
            type A = $whole;
            type D = $part;
            #[inline(always)]
            fn apply(a: $whole) -> $part { (a >> (N * <$part>::BITS)) as $part }
        }
        impl<const N: u32> Binary for Field<$whole, $part, N> {
            type A = $whole;
            type B = $part;
            type D = $whole;
            #[inline(always)]
            fn apply(a: $whole, b: $part) -> $whole { a | (b as $whole) << (N * <$part>::BITS) }
        })*
    };
}
fields! { u64 => u32, u64 => u16, u64 => u8, u32 => u16, u32 => u8, u16 => u8 }

/// Functions that extract field `n` from a value and insert it into one.
fn field(whole: u32, part: u32, n: usize) -> Option<(Run, Run)> {
    macro_rules! numbered {
        ($whole:ty, $part:ty, $($number:literal)*) => {
            match n {
                $($number => (unary::<Field<$whole, $part, $number>>(), binary::<Field<$whole, $part, $number>>()),)*
                _ => return None,
            }
        };
    }
    Some(match (whole, part) {
        (64, 32) => numbered!(u64, u32, 0 1),
        (64, 16) => numbered!(u64, u16, 0 1 2 3),
        (64, 8) => numbered!(u64, u8, 0 1 2 3 4 5 6 7),
        (32, 16) => numbered!(u32, u16, 0 1),
        (32, 8) => numbered!(u32, u8, 0 1 2 3),
        (16, 8) => numbered!(u16, u8, 0 1),
        _ => return None,
    })
}

/// `mov`: a copy, an address, or packing and unpacking of a vector.
pub fn mov(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    match (&i.operands[0], &i.operands[1]) {
        (Operand::Vector(parts), whole) => unpack(b, parts, whole, ty),
        (whole, Operand::Vector(parts)) => pack(b, whole, parts, ty),
        (d, a) if ty.bits() == 128 => copy_128(b, d, a),
        (d, a) => {
            let a = b.source(a, ty)?;
            let d = b.result(d, ty)?;
            push_copy(b, d, a, ty.bits() == 64);
            Ok(())
        }
    }
}

pub(super) fn push_copy(b: &mut Binder<'_, '_>, d: u32, a: u32, wide: bool) {
    let run = if wide { unary::<Copy<u64>>() } else { unary::<Copy<u32>>() };
    let op = Op { d, a, ..b.op(run) };
    b.push(op);
}

/// Rows of the low and high half of a 128-bit register.
pub(super) fn halves_128(b: &Binder<'_, '_>, operand: &Operand) -> Result<[u32; 2], BindError> {
    match operand {
        Operand::Register(register) if b.register_type(*register).bits() == 128 => {
            let row = b.register(*register);
            Ok([row, row + 256])
        }
        other => Err(b.error(format!("{other:?} is not a 128-bit register"))),
    }
}

fn copy_128(b: &mut Binder<'_, '_>, d: &Operand, a: &Operand) -> Bound {
    let (d, a) = (halves_128(b, d)?, halves_128(b, a)?);
    push_copy(b, d[0], a[0], true);
    push_copy(b, d[1], a[1], true);
    Ok(())
}

fn part_type(b: &Binder<'_, '_>, ty: ScalarType, parts: usize) -> Result<ScalarType, BindError> {
    match ty.bits() as usize / parts.max(1) {
        8 => Ok(ScalarType::B8),
        16 => Ok(ScalarType::B16),
        32 => Ok(ScalarType::B32),
        64 => Ok(ScalarType::B64),
        _ => Err(b.error(format!("{parts} elements do not make a .{}", ty.name()))),
    }
}

fn unpack(b: &mut Binder<'_, '_>, parts: &[Operand], whole: &Operand, ty: ScalarType) -> Bound {
    if ty.bits() == 128 {
        for (row, parts) in halves_128(b, whole)?.into_iter().zip(parts.chunks(parts.len().div_ceil(2))) {
            unpack_row(b, parts, row, ScalarType::B64)?;
        }
        return Ok(());
    }
    let whole = b.source(whole, ty)?;
    unpack_row(b, parts, whole, ty)
}

fn unpack_row(b: &mut Binder<'_, '_>, parts: &[Operand], whole: u32, ty: ScalarType) -> Bound {
    let part = part_type(b, ty, parts.len())?;
    if let [only] = parts {
        let d = b.result(only, part)?;
        push_copy(b, d, whole, true);
        return Ok(());
    }
    // Only a single part can overlay the whole: otherwise the widths differ.
    for (n, operand) in parts.iter().enumerate() {
        if *operand == Operand::Discard {
            continue;
        }
        let (take, _) =
            field(ty.bits(), part.bits(), n).ok_or_else(|| b.error("the vector has a wrong length"))?;
        let d = b.result(operand, part)?;
        let op = Op { d, a: whole, ..b.op(take) };
        b.push(op);
    }
    Ok(())
}

fn pack(b: &mut Binder<'_, '_>, whole: &Operand, parts: &[Operand], ty: ScalarType) -> Bound {
    if ty.bits() == 128 {
        for (row, parts) in halves_128(b, whole)?.into_iter().zip(parts.chunks(parts.len().div_ceil(2))) {
            pack_row(b, row, parts, ScalarType::B64)?;
        }
        return Ok(());
    }
    let d = b.result(whole, ty)?;
    pack_row(b, d, parts, ty)
}

fn pack_row(b: &mut Binder<'_, '_>, d: u32, parts: &[Operand], ty: ScalarType) -> Bound {
    let part = part_type(b, ty, parts.len())?;
    if let [only] = parts {
        let a = b.source(only, part)?;
        push_copy(b, d, a, true);
        return Ok(());
    }
    let wide = ty.bits() == 64;
    let mut whole = b.constant(0, wide);
    let gathered = b.scratch(wide);
    for (n, operand) in parts.iter().enumerate() {
        let (_, put) =
            field(ty.bits(), part.bits(), n).ok_or_else(|| b.error("the vector has a wrong length"))?;
        let value = b.source(operand, part)?;
        let last = n + 1 == parts.len();
        let op = Op { d: if last { d } else { gathered }, a: whole, b: value, ..b.op(put) };
        b.push(op);
        whole = gathered;
    }
    Ok(())
}

/// `mov.v2`, `mov.v4`: all elements are read before the first is written.
pub fn mov_vector(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let wide = ty.bits() == 64;
    let (Operand::Vector(to), Operand::Vector(from)) = (&i.operands[0], &i.operands[1]) else {
        return Err(b.error("both operands must be vectors"));
    };
    let mut rows = Vec::with_capacity(from.len());
    for element in from {
        let a = b.source(element, ty)?;
        let row = b.scratch(wide);
        push_copy(b, row, a, wide);
        rows.push(row);
    }
    for (element, row) in to.iter().zip(rows) {
        if *element != Operand::Discard {
            let d = b.result(element, ty)?;
            push_copy(b, d, row, wide);
        }
    }
    Ok(())
}

fn copy_predicate(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a predicate source, `d` a predicate word.
    unsafe {
        let truth = w.predicate(crate::engine::op::PredicateSource::decode(op.a));
        w.write_predicate(op.d, truth);
    }
    Flow::Next
}

/// p = true if the launch or kernel set the cluster's dimensions.
fn clusters_are_explicit(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let truth = if w.grid.has_explicit_clusters { u32::MAX } else { 0 };
    // SAFETY: `d` is a predicate word.
    unsafe { w.write_predicate(op.d, truth) };
    Flow::Next
}

/// `mov.pred`.
pub fn mov_predicate(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if i.operands[1] == Operand::Special(SpecialRegister::IsExplicitCluster) {
        let d = b.predicate_result(&i.operands[0])?;
        let op = Op { d, ..b.op(clusters_are_explicit) };
        b.push(op);
        return Ok(());
    }
    let a = b.predicate_source(&i.operands[1])?.encode();
    let d = b.predicate_result(&i.operands[0])?;
    let op = Op { d, a, ..b.op(copy_predicate) };
    b.push(op);
    Ok(())
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    forms.lanes(unary::<Copy<u32>>(), |e, op| e.move_words(op));
    forms.lanes(unary::<Copy<u64>>(), |e, op| e.move_doubles(op));
    forms.lanes(widen(), |e, op| e.widen(op, Code::EVEX_Vpmovzxdq_zmm_k1z_ymmm256));
    forms.lanes(unary::<Field<u64, u32, 0>>(), |e, op| e.narrow(op, false));
    forms.lanes(unary::<Field<u64, u32, 1>>(), |e, op| e.narrow(op, true));
    forms.lanes(copy_predicate, |e, op| e.copy_predicate(op));
}
