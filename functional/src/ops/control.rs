//! Control flow (PTX manual 9.7.12), and helper ops of the binder.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{ScalarType, SpecialRegister};

use super::Bound;
use crate::bind::Binder;
use crate::engine::address_translation::lanes_of;
use crate::engine::native::{Form, Forms};
use crate::engine::op::{Flow, Op};
use crate::engine::special;
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Branches to the low half of the immediate; diverging lanes meet at the high half.
fn branch(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let target = op.immediate as u32;
    if w.mask == w.active {
        w.pc = target;
        return w.spend_fuel();
    }
    w.diverge(w.mask, target, w.pc + 1, (op.immediate >> 32) as u32)
}

/// `bra`.
pub fn bra(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    match &i.operands[0] {
        Operand::Label(target) => {
            let op = b.op(branch);
            b.push_branch(op, Some(*target));
            Ok(())
        }
        other => Err(b.error(format!("{other:?} is not a label"))),
    }
}

/// Branches to entry `a` of list `b`, one entry after another if lanes differ.
fn branch_indexed(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a 32-bit row.
    let indices = unsafe { w.read_row::<u32>(op.a) };
    let targets = &w.grid.program.branch_targets[op.b as usize];
    let first = w.mask.trailing_zeros() as usize;
    let Some(&target) = targets.get(indices[first] as usize) else {
        return w.fault(FaultKind::InvalidTarget { target: u64::from(indices[first]), lane: first as u32 });
    };
    let mut same = 0;
    for lane in lanes_of(w.mask) {
        if targets.get(indices[lane] as usize) == Some(&target) {
            same |= 1 << lane;
        }
    }
    if same == w.active {
        w.pc = target;
        return w.spend_fuel();
    }
    // Other lanes, and lanes excluded by the guard, execute this op again or continue. The guard no longer
    // matters for lanes that have branched.
    let next = if same == w.mask { w.pc + 1 } else { w.pc };
    w.diverge(same, target, next, (op.immediate >> 32) as u32)
}

/// `brx.idx`.
pub fn brx_idx(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[0], ScalarType::U32)?;
    match &i.operands[1] {
        Operand::BranchTargets(targets) => {
            let list = b.target_list(targets);
            let op = Op { a, b: list, ..b.op(branch_indexed) };
            b.push_branch(op, None);
            Ok(())
        }
        other => Err(b.error(format!("{other:?} is not a list of branch targets"))),
    }
}

/// Returns from a function; in a kernel, the lanes exit.
pub(crate) fn leave(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    crate::engine::call::return_values(w);
    w.leave()
}

/// `ret`.
pub fn ret(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    let op = b.op(leave);
    b.release_stack(op.guard);
    b.push(op);
    Ok(())
}

fn exit_lanes(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    w.exit_lanes()
}

/// `exit`.
pub fn exit(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    let op = b.op(exit_lanes);
    b.push(op);
    Ok(())
}

fn stop_with_trap(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    let lane = w.mask.trailing_zeros();
    w.fault(FaultKind::Trap { lane })
}

/// `trap`.
pub fn trap(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    let op = b.op(stop_with_trap);
    b.push(op);
    Ok(())
}

/// `brkpt`: faults, because no debugger is attached.
pub fn brkpt(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    trap(b, i)
}

fn sleep(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    w.divergence.impatient = true;
    w.pc += 1;
    w.yield_slice()
}

/// `nanosleep`: yields to other warps.
pub fn nanosleep(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    if b.is_timed() {
        let time = b.source(&i.operands[0], ScalarType::U32)?;
        b.note_sleep(time);
    }
    let op = b.op(sleep);
    b.push(op);
    Ok(())
}

fn nothing(_: &mut WarpContext<'_>, _: &Op) -> Flow {
    Flow::Next
}

/// Op of a machine instruction without any effect of its own.
pub(crate) fn uncounted_nothing(w: &mut WarpContext<'_>, _: &Op) -> Flow {
    uncounted(w)
}

/// Appends a no-op that counts as an instruction.
pub(crate) fn bind_nothing(b: &mut Binder<'_, '_>) -> Bound {
    let op = b.op(nothing);
    b.push(op);
    Ok(())
}

/// `pmevent`: no effect without performance monitors.
pub fn pmevent(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `pmevent.mask`: no effect without performance monitors.
pub fn pmevent_mask(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `griddepcontrol`: no effect, because dependent grids do not overlap.
pub fn griddepcontrol(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `setmaxnreg`: no effect, because registers are never short.
pub fn setmaxnreg(b: &mut Binder<'_, '_>, _: &Instruction) -> Bound {
    bind_nothing(b)
}

/// `call`.
pub fn call(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    b.bind_call(i)
}

fn clock_register(op: &Op) -> SpecialRegister {
    SpecialRegister::ALL.get(op.immediate as usize).copied().unwrap_or(SpecialRegister::Clock64)
}

/// d = a 32-bit clock; the immediate is its number.
pub(crate) fn clock_32(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let now = special::clock(clock_register(op), w.grid, w.cta) as u32;
    // SAFETY: `d` is a 32-bit row.
    unsafe { w.write_row(op.d, &[now; 32]) };
    uncounted(w)
}

/// d = a 64-bit clock; the immediate is its number.
pub(crate) fn clock_64(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let now = special::clock(clock_register(op), w.grid, w.cta);
    // SAFETY: `d` is a 64-bit row.
    unsafe { w.write_row(op.d, &[now; 32]) };
    uncounted(w)
}

/// d = address in local memory of offset `immediate` in this frame.
pub(crate) fn local_address_64(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let address = op.immediate.wrapping_add(u64::from(w.local_base));
    // SAFETY: `d` is a 64-bit row.
    unsafe { w.write_row(op.d, &[address; 32]) };
    uncounted(w)
}

/// [`local_address_64`] for 32-bit addresses.
pub(crate) fn local_address_32(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let address = (op.immediate as u32).wrapping_add(w.local_base);
    // SAFETY: `d` is a 32-bit row.
    unsafe { w.write_row(op.d, &[address; 32]) };
    uncounted(w)
}

/// d = generic address of offset `immediate` in the kernel's parameters.
pub(crate) fn parameter_address(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let address = w.grid.parameter_address.wrapping_add(op.immediate);
    // SAFETY: `d` is a 64-bit row.
    unsafe { w.write_row(op.d, &[address; 32]) };
    uncounted(w)
}

/// Excludes an op of the binder from the instruction count.
pub(crate) fn uncounted(w: &mut WarpContext<'_>) -> Flow {
    w.discount();
    Flow::Next
}

/// Adds the forms that have machine code.
pub(crate) fn native_forms(forms: &mut Forms) {
    forms.add(branch, Form::Branch);
    forms.add(nothing, Form::Nothing);
}
