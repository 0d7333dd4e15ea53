//! Data movement (PTX manual 9.7.9): selection of the warp-wide load or store for an instruction.

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

pub use super::mov::{mov, mov_predicate, mov_vector};

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Modifier, ScalarType};

use super::address_operand::{AccessSpace, AddressOperand, address_operand, by_space};
use super::mov::{halves_128, push_copy};
use super::parallel::bind_transactions;
use super::row_access::{As, VECTOR, load, load_parameter, load_vector, store, store_vector, vector_slot};
use super::{Bound, control};
use crate::bind::{BindError, Binder};
use crate::engine::machine::{AccessKind, Deferral};
use crate::engine::op::{Flow, Op, Run};
use crate::engine::warp_context::WarpContext;

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

fn note_spin(w: &mut WarpContext<'_>, _: &Op) -> Flow {
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
    let place = address_operand(b, i, &i.operands[1])?;
    if i.is_ordered() && !i.has(Modifier::Cta) && targets.len() <= VECTOR {
        let wide = targets.iter().any(|(bits, _)| *bits > 32);
        b.note_deferral(Deferral { in_shared: false, sources: 0, results: targets.len() as u8, wide });
    }
    load_elements(b, &place, &targets, element)
}

fn load_elements(
    b: &mut Binder<'_, '_>,
    place: &AddressOperand,
    targets: &[(u32, u32)],
    ty: ScalarType,
) -> Bound {
    let bits = targets.iter().map(|(bits, _)| *bits).max().unwrap_or(32);
    if targets.iter().any(|(other, _)| (*other > 32) != (bits > 32)) {
        return Err(b.error("all elements of a vector must have the same width"));
    }
    match *place {
        AddressOperand::Parameter(at) => {
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
        AddressOperand::Rows { space, row: a, wide, offset } if targets.len() == 1 => {
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
        AddressOperand::Rows { space, row: a, wide, offset } => {
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
    let place = address_operand(b, i, &i.operands[0])?;
    let AddressOperand::Rows { space, row: a, wide: wide_address, offset } = place else {
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
