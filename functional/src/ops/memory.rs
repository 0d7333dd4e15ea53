//! Data movement (PTX manual 9.7.9): selection of the warp-wide load, store or move for an instruction.

mod address;
mod asynchronous;
mod bulk;
mod distributed;
mod hints;
mod multimem;
mod stack;
mod tensor;

pub use address::*;
pub use asynchronous::*;
pub use bulk::*;
pub use distributed::*;
pub use hints::*;
pub use multimem::*;
pub use stack::*;
pub use tensor::*;

use std::marker::PhantomData;

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType, SpecialRegister};

use super::load_store::{As, VECTOR, load, load_parameter, load_vector, store, store_vector, vector_slot};
use super::parallel::bind_transactions;
use super::place::{AccessSpace, Place, by_space, place};
use super::{Bound, control};
use crate::bind::{BindError, Binder};
use crate::engine::lane::Lane;
use crate::engine::machine::{AccessKind, Deferral};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::running::Running;
use crate::engine::shapes::{Binary, Unary, binary, unary};

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

fn copy_predicate(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a predicate source, `d` a predicate word.
    unsafe {
        let truth = w.predicate(crate::engine::op::PredicateSource::decode(op.a));
        w.write_predicate(op.d, truth);
    }
    Flow::Next
}

/// p = true if the launch or kernel set the cluster's dimensions.
fn clusters_are_explicit(w: &mut Running<'_>, op: &Op) -> Flow {
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

/// Evaluates `$go!(memory type, register type)` for a load of `$ty` into a register of `$bits` bits.
macro_rules! by_load {
    ($b:expr, $ty:expr, $bits:expr, $go:ident) => {{
        let (bits, signed) = ($ty.bits(), $ty.is_signed());
        match (bits, signed, $bits) {
            // Without sign extension, a row of halves equals a row of words.
            (8, false, ..=32) => $go!(u8, u32),
            (8, false, 64) => $go!(u8, u64),
            (8, true, ..=16) => $go!(i8, i16),
            (8, true, 32) => $go!(i8, i32),
            (8, true, 64) => $go!(i8, i64),
            (16, _, ..=16) | (16, false, 32) => $go!(u16, u32),
            (16, false, 64) => $go!(u16, u64),
            (16, true, 32) => $go!(i16, i32),
            (16, true, 64) => $go!(i16, i64),
            (32, _, 32) => $go!(u32, u32),
            (32, false, 64) => $go!(u32, u64),
            (32, true, 64) => $go!(i32, i64),
            (64, _, 64) => $go!(u64, u64),
            _ => return Err($b.error(format!("a .{} does not fit a {}-bit register", $ty.name(), $bits))),
        }
    }};
}

/// Evaluates `$go!(memory type, register type)` for a store of `$ty` from 64-bit or 32-bit rows.
macro_rules! by_store {
    ($b:expr, $ty:expr, $wide:expr, $go:ident) => {
        match ($ty.bits(), $wide) {
            (8, false) => $go!(u8, u32),
            (16, false) => $go!(u16, u32),
            (32, false) => $go!(u32, u32),
            (8, true) => $go!(u8, u64),
            (16, true) => $go!(u16, u64),
            (32, true) => $go!(u32, u64),
            (64, true) => $go!(u64, u64),
            _ => return Err($b.error(format!("a .{} cannot be stored from a narrower register", $ty.name()))),
        }
    };
}

/// Elements of a vector operand, or the operand itself.
fn elements(operand: &Operand) -> Vec<Operand> {
    match operand {
        Operand::Vector(parts) => parts.clone(),
        one => vec![one.clone()],
    }
}

/// Register width and row that receive a loaded element.
fn load_target(b: &mut Binder<'_, '_>, operand: &Operand, ty: ScalarType) -> Result<(u32, u32), BindError> {
    match operand {
        Operand::Register(register) => {
            let declared = b.register_type(*register);
            if declared == ScalarType::Pred {
                return Err(b.error("a predicate cannot be loaded"));
            }
            Ok((declared.bits(), b.register(*register)))
        }
        Operand::Discard => {
            let bits = ty.bits().max(16);
            Ok((bits, b.scratch(bits > 32)))
        }
        other => Err(b.error(format!("{other:?} cannot be loaded"))),
    }
}

/// Splits each 128-bit element into two 64-bit elements.
fn as_pairs(b: &Binder<'_, '_>, operands: Vec<Operand>) -> Result<Vec<u32>, BindError> {
    let mut rows = Vec::new();
    for operand in &operands {
        rows.extend(halves_128(b, operand)?);
    }
    Ok(rows)
}

fn note_spin(w: &mut Running<'_>, _: &Op) -> Flow {
    w.may_spin();
    control::uncounted(w)
}

/// `ld`.
pub fn ld(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    if i.is_ordered() {
        let op = b.op(note_spin);
        b.push(op);
    }
    let targets: Vec<(u32, u32)>;
    let element;
    if ty.bits() == 128 {
        targets = as_pairs(b, elements(&i.operands[0]))?.into_iter().map(|row| (64, row)).collect();
        element = ScalarType::B64;
    } else {
        let mut found = Vec::new();
        for operand in elements(&i.operands[0]) {
            found.push(load_target(b, &operand, ty)?);
        }
        targets = found;
        element = ty;
    }
    let place = place(b, i, &i.operands[1])?;
    if i.is_ordered() && !i.has(Modifier::Cta) && targets.len() <= VECTOR {
        let wide = targets.iter().any(|(bits, _)| *bits > 32);
        b.note_deferral(Deferral { in_shared: false, sources: 0, results: targets.len() as u8, wide });
    }
    load_elements(b, &place, &targets, element)
}

fn load_elements(b: &mut Binder<'_, '_>, place: &Place, targets: &[(u32, u32)], ty: ScalarType) -> Bound {
    let bits = targets.iter().map(|(bits, _)| *bits).max().unwrap_or(32);
    if targets.iter().any(|(other, _)| (*other > 32) != (bits > 32)) {
        return Err(b.error("all elements of a vector must have the same width"));
    }
    match *place {
        Place::Parameter(at) => {
            for (n, &(bits, d)) in targets.iter().enumerate() {
                let at = at + n as u32 * ty.bytes();
                if at + ty.bytes() > b.source.parameter_bytes {
                    return Err(b.error("access beyond the kernel's parameters"));
                }
                macro_rules! go {
                    ($m:ty, $r:ty) => {
                        load_parameter::<As<$m, $r>> as Run
                    };
                }
                let run = by_load!(b, ty, bits, go);
                let op = Op { d, immediate: u64::from(at), ..b.op(run) };
                b.push(op);
            }
        }
        Place::Rows { space, row: a, wide, offset } if targets.len() == 1 => {
            macro_rules! go {
                ($m:ty, $r:ty) => {
                    by_space!(space, wide, |S| load::<S, As<$m, $r>>())
                };
            }
            let run = by_load!(b, ty, bits, go);
            let slot = b.next_slot();
            if wide {
                b.note_plain(AccessKind::Load, space, ty.bytes(), 1);
            }
            let op = Op { d: targets[0].1, a, immediate: offset as u64, slot, ..b.op(run) };
            b.push(op);
        }
        Place::Rows { space, row: a, wide, offset } => {
            macro_rules! go {
                ($m:ty, $r:ty) => {
                    by_space!(space, wide, |S| load_vector::<S, As<$m, $r>>())
                };
            }
            let run = by_load!(b, ty, bits, go);
            let plain = wide.then_some((AccessKind::Load, space));
            push_vector(
                b,
                run,
                (a, offset),
                (ty, plain),
                &targets.iter().map(|(_, row)| *row).collect::<Vec<_>>(),
            );
        }
    }
    Ok(())
}

/// Appends ops of up to [`VECTOR`] elements each, at an offset from the addresses in a row (64-bit if the
/// access is plain). The address is copied first if an element overlays it.
fn push_vector(
    b: &mut Binder<'_, '_>,
    run: Run,
    (mut a, offset): (u32, i64),
    (ty, plain): (ScalarType, Option<(AccessKind, AccessSpace)>),
    rows: &[u32],
) {
    let slot = b.next_slot();
    if rows.len() > VECTOR && rows[..VECTOR].contains(&a) {
        let kept = b.scratch(true);
        push_copy(b, kept, a, true);
        a = kept;
    }
    for (n, part) in rows.chunks(VECTOR).enumerate() {
        let row = |k: usize| part.get(k).copied().unwrap_or(part[0]);
        let offset = offset + (n * VECTOR) as i64 * i64::from(ty.bytes());
        let op = Op {
            d: row(0),
            b: row(1),
            c: row(2),
            e: row(3),
            a,
            immediate: offset as u64,
            slot: vector_slot(slot, part.len()),
            ..b.op(run)
        };
        if let Some((kind, space)) = plain {
            b.note_plain(kind, space, ty.bytes(), part.len());
        }
        b.push(op);
    }
}

/// `ld.global.nc`: `ld.global` from read-only memory.
pub fn ld_nc(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    ld(b, i)
}

/// `ldu`: equivalent to `ld`.
pub fn ldu(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    ld(b, i)
}

/// `st`.
pub fn st(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let place = place(b, i, &i.operands[0])?;
    let Place::Rows { space, row: a, wide: wide_address, offset } = place else {
        return Err(b.error("the kernel's parameters cannot be written"));
    };
    let (rows, element, wide) = if ty.bits() == 128 {
        (as_pairs(b, elements(&i.operands[1]))?, ScalarType::B64, true)
    } else {
        let mut rows = Vec::new();
        let mut wide = ty.bits() == 64;
        let all = elements(&i.operands[1]);
        if all.contains(&Operand::Discard) {
            return store_wanted(b, (space, a, wide_address, offset), &all, ty);
        }
        for operand in elements(&i.operands[1]) {
            if let Operand::Register(register) = operand {
                wide = b.register_type(register).bits() == 64;
            }
        }
        for operand in elements(&i.operands[1]) {
            let read_as = if wide { ScalarType::B64 } else { ScalarType::B32 };
            rows.push(b.source(
                &operand,
                if matches!(operand, Operand::Immediate(_)) { widened(ty, wide) } else { read_as },
            )?);
        }
        (rows, ty, wide)
    };
    store_elements(b, (space, a, wide_address, offset), &rows, element, wide)
}

/// Stores all elements except `_`, one by one.
fn store_wanted(
    b: &mut Binder<'_, '_>,
    (space, a, wide_address, offset): (AccessSpace, u32, bool, i64),
    elements: &[Operand],
    ty: ScalarType,
) -> Bound {
    let wide = ty.bits() == 64;
    for (n, operand) in elements.iter().enumerate().filter(|(_, operand)| **operand != Operand::Discard) {
        let row = b.source(operand, ty)?;
        let at = offset + n as i64 * i64::from(ty.bytes());
        store_elements(b, (space, a, wide_address, at), &[row], ty, wide)?;
    }
    Ok(())
}

/// `st.async`: a store that also completes transactions of a barrier.
pub fn st_async(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let bytes = b.last_type(i)?.bytes() * i.vector_length() as u32;
    st(b, i)?;
    bind_transactions(b, i, &i.operands[2], bytes)
}

/// `st.async.release`: a plain store, because earlier accesses are already done.
pub fn st_async_release(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    st(b, i)
}

/// Stores 32-bit or 64-bit rows to consecutive elements, from an address in a row of a space.
fn store_elements(
    b: &mut Binder<'_, '_>,
    (space, a, wide_address, offset): (AccessSpace, u32, bool, i64),
    rows: &[u32],
    element: ScalarType,
    wide: bool,
) -> Bound {
    if rows.len() == 1 {
        macro_rules! go {
            ($m:ty, $r:ty) => {
                by_space!(space, wide_address, |S| store::<S, As<$m, $r>>())
            };
        }
        let run = by_store!(b, element, wide, go);
        let slot = b.next_slot();
        if wide_address {
            b.note_plain(AccessKind::Store, space, element.bytes(), 1);
        }
        let op = Op { a, b: rows[0], immediate: offset as u64, slot, ..b.op(run) };
        b.push(op);
        return Ok(());
    }
    macro_rules! go {
        ($m:ty, $r:ty) => {
            by_space!(space, wide_address, |S| store_vector::<S, As<$m, $r>>())
        };
    }
    let run = by_store!(b, element, wide, go);
    let plain = wide_address.then_some((AccessKind::Store, space));
    push_vector(b, run, (a, offset), (element, plain), rows);
    Ok(())
}

/// Type in which an immediate is stored from rows of this width.
fn widened(ty: ScalarType, wide: bool) -> ScalarType {
    if wide {
        ScalarType::B64
    } else if ty.bits() == 64 {
        ScalarType::B32
    } else {
        ty
    }
}
