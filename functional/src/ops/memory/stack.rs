//! The stack in local memory (PTX manual 9.7.17): `alloca`, `stacksave`, `stackrestore`.
//!
//! Frames grow up from the start of a thread's local memory. Memory from `alloca` grows down from the end,
//! so the stack pointer decreases as in the manual. A function that moves the stack pointer saves its
//! initial value, and every return restores it.

use ptx_frontend::ir::{Instruction, Operand};

use crate::bind::Binder;
use crate::engine::address_translation::lanes_of;
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op, PredicateSource};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;
use crate::ops::{Bound, control};

/// Minimum and maximum alignment of `alloca`, bytes.
const LEAST_ALIGN: u64 = 8;
const MOST_ALIGN: u64 = 1 << 23;

/// d = `a` bytes of the stack, aligned to `immediate`; `b` is 1 for 64-bit rows.
unsafe fn allocate(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let bottom = w.frame_end();
    // SAFETY: the binder allocated the rows.
    unsafe {
        for lane in lanes_of(w.mask) {
            let size = if op.b != 0 {
                w.read_lane::<u64>(op.a, lane)
            } else {
                w.read_lane::<u32>(op.a, lane).into()
            };
            let top = u64::from(w.divergence.stack[lane]);
            let place = top.checked_sub(size).map(|place| place & !(op.immediate - 1));
            match place.filter(|place| *place >= u64::from(bottom)) {
                Some(place) => {
                    let given = w.local_bytes - place as u32;
                    w.divergence.stack[lane] = place as u32;
                    w.divergence.local_used.1 = w.divergence.local_used.1.max(given);
                }
                None => {
                    return w.fault(FaultKind::StackOverflow { limit: w.local_bytes, lane: lane as u32 });
                }
            }
        }
        write_pointers(w, op);
    }
    Flow::Next
}

/// d = the stack pointers; `b` as in [`allocate`].
///
/// # Safety
/// As for [`crate::engine::op::Run`].
unsafe fn write_pointers(w: &mut WarpContext<'_>, op: &Op) {
    let pointers = w.divergence.stack;
    // SAFETY: guaranteed by the caller.
    unsafe {
        if op.b != 0 {
            w.write_row(op.d, &pointers.map(u64::from));
        } else {
            w.write_row(op.d, &pointers);
        }
    }
}

unsafe fn save(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `d` is a 32-bit row, or a 64-bit row according to `b`.
    unsafe { write_pointers(w, op) };
    Flow::Next
}

/// Stack pointers = `a`; `b` as in [`allocate`]. Pointers beyond local memory mean an empty stack.
unsafe fn restore(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a 32-bit row, or a 64-bit row according to `b`.
    let pointers: [u64; WARP] =
        unsafe { if op.b != 0 { w.read_row(op.a) } else { w.read_row::<u32>(op.a).map(u64::from) } };
    for lane in lanes_of(w.mask) {
        w.divergence.stack[lane] = pointers[lane].min(w.local_bytes.into()) as u32;
    }
    Flow::Next
}

unsafe fn save_uncounted(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: guaranteed by the caller.
    unsafe { save(w, op) };
    control::uncounted(w)
}

unsafe fn restore_uncounted(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: guaranteed by the caller.
    unsafe { restore(w, op) };
    control::uncounted(w)
}

/// Appends an op that saves the stack pointers; returns the row of the saved values.
pub(crate) fn bind_keep(b: &mut Binder<'_, '_>) -> u32 {
    let d = b.scratch(false);
    let op = Op { d, ..b.unguarded(save_uncounted) };
    b.push(op);
    d
}

/// Appends an op that restores the stack pointers saved by [`bind_keep`], for the returning lanes.
pub(crate) fn bind_release(b: &mut Binder<'_, '_>, kept: u32, returning: PredicateSource) {
    let op = Op { a: kept, guard: returning, ..b.op(restore_uncounted) };
    b.push(op);
}

/// `alloca`.
pub fn alloca(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let align = match i.operands[2] {
        Operand::Absent => LEAST_ALIGN,
        Operand::Immediate(align) if align.is_power_of_two() && align <= MOST_ALIGN => align.max(LEAST_ALIGN),
        _ => return Err(b.error("the alignment of alloca must be a constant power of two up to 2^23")),
    };
    let a = b.source(&i.operands[1], ty)?;
    let d = b.result(&i.operands[0], ty)?;
    let op = Op { d, a, b: u32::from(ty.bits() == 64), immediate: align, ..b.op(allocate) };
    b.push(op);
    Ok(())
}

/// `stacksave`.
pub fn stacksave(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let d = b.result(&i.operands[0], ty)?;
    let op = Op { d, b: u32::from(ty.bits() == 64), ..b.op(save) };
    b.push(op);
    Ok(())
}

/// `stackrestore`.
pub fn stackrestore(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let ty = b.last_type(i)?;
    let a = b.source(&i.operands[0], ty)?;
    let op = Op { a, b: u32::from(ty.bits() == 64), ..b.op(restore) };
    b.push(op);
    Ok(())
}
