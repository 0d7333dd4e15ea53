//! `cp.async` (PTX manual 9.7.9.26.3). A copy completes at once, so there is nothing to wait for.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::ScalarType;

use super::{load_elements, store_elements};
use crate::bind::{BindError, Binder};
use crate::engine::address_translation::{Global, Shared, lanes_of, resolve_aligned};
use crate::engine::op::{Flow, Op, PredicateSource};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::Bound;
use crate::ops::address_operand::{AccessSpace, AddressOperand, address_operand_in, wide_address};
use crate::ops::control::{self, bind_nothing};

/// Maximum bytes of a lane's copy.
const MOST: usize = 16;

/// `cp.async`.
pub fn cp_async(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let bytes = width(b, i)?;
    match &i.operands[3] {
        Operand::Absent => copy_whole(b, i, bytes),
        read => {
            let read = b.source(read, ScalarType::U32)?;
            copy_part(b, i, bytes, read)
        }
    }
}

/// `cp.async` with a cache policy.
pub fn cp_async_hint(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    cp_async(b, i)
}

/// `cp.async` that writes zeros in lanes whose predicate holds.
pub fn cp_async_ignore(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let bytes = width(b, i)?;
    let a = b.predicate_source(&i.operands[3])?.encode();
    let read = b.scratch(false);
    let op = Op { d: read, a, immediate: bytes.into(), ..b.op(bytes_read) };
    b.push(op);
    copy_part(b, i, bytes, read)
}

/// `cp.async` that writes zeros in lanes whose predicate holds, with a cache policy.
pub fn cp_async_ignore_hint(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    cp_async_ignore(b, i)
}

/// d = 0 where predicate `a` holds, else the immediate.
unsafe fn bytes_read(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a predicate source, `d` a 32-bit row.
    unsafe {
        let ignored = w.predicate(PredicateSource::decode(op.a));
        let bytes = |lane| if ignored >> lane & 1 != 0 { 0 } else { op.immediate as u32 };
        w.write_row(op.d, &std::array::from_fn(bytes));
    }
    control::uncounted(w)
}

/// Bytes of each lane's copy.
fn width(b: &Binder<'_, '_>, i: &Instruction) -> Result<u32, BindError> {
    match i.operands[2] {
        Operand::Immediate(bytes @ (4 | 8 | 16)) => Ok(bytes as u32),
        _ => Err(b.error("the size of a copy must be 4, 8 or 16 bytes")),
    }
}

/// Binds a complete copy as a load and a store.
fn copy_whole(b: &mut Binder<'_, '_>, i: &Instruction, bytes: u32) -> Bound {
    let word = ScalarType::B32;
    let to = address_operand_in(b, AccessSpace::Shared, &i.operands[0])?;
    let from = address_operand_in(b, AccessSpace::Global, &i.operands[1])?;
    let AddressOperand::Rows { space, row, wide, offset } = to else {
        return Err(b.error("the kernel's parameters are read-only"));
    };
    let rows: Vec<u32> = (0..bytes / word.bytes()).map(|_| b.scratch(false)).collect();
    let targets: Vec<(u32, u32)> = rows.iter().map(|row| (word.bits(), *row)).collect();
    load_elements(b, &from, &targets, word)?;
    store_elements(b, (space, row, wide, offset), &rows, word, false)
}

/// Binds a partial copy, which reads only the first bytes; row `c` holds their number.
fn copy_part(b: &mut Binder<'_, '_>, i: &Instruction, bytes: u32, c: u32) -> Bound {
    let to = wide_address(b, &i.operands[0])?;
    let from = wide_address(b, &i.operands[1])?;
    let slot = b.next_slot();
    let op = Op { a: to, b: from, c, e: bytes, slot, ..b.op(copy_lanes) };
    b.push(op);
    Ok(())
}

/// `e` bytes at shared address `a` = the first `c` bytes at global address `b`, zero-padded.
unsafe fn copy_lanes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    for lane in lanes_of(w.mask) {
        // SAFETY: the binder allocated the rows.
        let (to, from, read) = unsafe {
            (w.read_lane::<u64>(op.a, lane), w.read_lane::<u64>(op.b, lane), w.read_lane::<u32>(op.c, lane))
        };
        if let Err(fault) = copy_lane(w, op, lane, to, from, read.min(op.e)) {
            return w.fault(fault);
        }
    }
    Flow::Next
}

fn copy_lane(
    w: &mut WarpContext<'_>,
    op: &Op,
    lane: usize,
    to: u64,
    from: u64,
    read: u32,
) -> Result<(), FaultKind> {
    let width = op.e;
    if from & u64::from(width - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address: from, width, lane: lane as u32 });
    }
    let mut bytes = [0u8; MOST];
    for (byte, address) in bytes.iter_mut().zip(from..from.saturating_add(u64::from(read))) {
        let place = resolve_aligned::<Global>(w, op.slot, lane, address, 1)?;
        // SAFETY: the byte was checked for this lane.
        *byte = unsafe { place.read() };
    }
    let place = resolve_aligned::<Shared<u64>>(w, op.slot, lane, to, width)?;
    // SAFETY: the address was checked for this lane, and the width is at most that of the buffer.
    unsafe { place.copy_from_nonoverlapping(bytes.as_ptr(), width as usize) };
    Ok(())
}

/// `cp.async.commit_group`.
pub fn cp_async_commit_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `cp.async.wait_group`.
pub fn cp_async_wait_group(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `cp.async.wait_all`.
pub fn cp_async_wait_all(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}
