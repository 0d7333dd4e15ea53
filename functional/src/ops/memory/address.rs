//! Conversion between generic addresses and addresses of a state space (PTX manual 9.7.9.18 to 9.7.9.20).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::grid::Grid;
use crate::engine::op::{Flow, Op, Run};
use crate::engine::shapes::binary;
use crate::engine::warp_context::WarpContext;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::Bound;
use crate::ops::address_operand::{AccessSpace, named_space};
use crate::ops::integer::Add;

/// Generic address of a space's address 0. Shared and local memory have windows; other addresses are
/// already generic.
fn window(b: &Binder<'_, '_>, i: &Instruction) -> u64 {
    match named_space(i) {
        Some(AccessSpace::Shared) => b.linker_addresses().shared_window(),
        Some(AccessSpace::Local) => b.linker_addresses().local_window(),
        _ => 0,
    }
}

fn bind_conversion(b: &mut Binder<'_, '_>, i: &Instruction, offset: u64) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::U64)?;
    let d = b.result(&i.operands[0], ScalarType::U64)?;
    let op = Op { d, a, b: b.constant(offset, true), ..b.op(binary::<Add<u64>>()) };
    b.push(op);
    Ok(())
}

/// `cvta`: address in a space to generic address.
pub fn cvta(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let offset = window(b, i);
    bind_conversion(b, i, offset)
}

/// `cvta.to`: generic address to address in a space.
pub fn cvta_to(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let offset = window(b, i).wrapping_neg();
    bind_conversion(b, i, offset)
}

/// p = a is within `b` bytes from the immediate.
fn in_window(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    tell(w, op, |_, address| address.wrapping_sub(op.immediate) < u64::from(op.b))
}

/// p = a is in a variable in constant memory.
fn in_constant_memory(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    tell(w, op, is_constant)
}

/// p = a is neither within `b` bytes from the immediate nor in a variable in constant memory.
fn in_global_memory(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    tell(w, op, |grid, address| {
        address.wrapping_sub(op.immediate) >= u64::from(op.b) && !is_constant(grid, address)
    })
}

/// p = a is in the kernel's parameters.
fn in_parameters(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    tell(w, op, |grid, address| {
        let has_address = grid.program.needs_parameter_address;
        has_address && address.wrapping_sub(grid.parameter_address) < grid.parameters.len() as u64
    })
}

/// Sets predicate `d` to `truth` of each lane's address in row `a`.
fn tell(w: &mut WarpContext<'_>, op: &Op, truth: impl Fn(&Grid, u64) -> bool) -> Flow {
    let grid = w.grid;
    // SAFETY: `a` is a 64-bit row, `d` a predicate word.
    unsafe {
        let addresses = w.read_row::<u64>(op.a);
        let bits =
            addresses.iter().enumerate().map(|(lane, address)| u32::from(truth(grid, *address)) << lane);
        let bits = bits.fold(0, |all, bit| all | bit);
        w.write_predicate(op.d, bits);
    }
    Flow::Next
}

fn is_constant(grid: &Grid, address: u64) -> bool {
    let variables = &grid.program.variables_in_constant_memory;
    let behind = variables.partition_point(|variable| variable.start <= address);
    behind.checked_sub(1).and_then(|last| variables.get(last)).is_some_and(|last| last.contains(&address))
}

/// `isspacep`. The window of parameters lies in global memory, unlike that of constants (PTX manual,
/// generic addressing).
pub fn isspacep(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::U64)?;
    let d = b.predicate_result(&i.operands[0])?;
    let (shared, local) = (b.linker_addresses().shared_window(), b.linker_addresses().local_window());
    let all_windows = shared + CLUSTER_WINDOWS * WINDOW_SIZE - local;
    let (run, start, length): (Run, u64, u64) = match i.modifiers().next() {
        Some(Modifier::Shared | Modifier::SharedCta) => (in_window, shared, WINDOW_SIZE),
        Some(Modifier::SharedCluster) => (in_window, shared, CLUSTER_WINDOWS * WINDOW_SIZE),
        Some(Modifier::Local) => (in_window, local, WINDOW_SIZE),
        Some(Modifier::Param | Modifier::ParamEntry) => (in_parameters, 0, 0),
        Some(Modifier::Const) => (in_constant_memory, 0, 0),
        _ => (in_global_memory, local, all_windows),
    };
    if matches!(i.modifiers().next(), Some(Modifier::Const | Modifier::Global)) {
        b.need_constants();
    }
    let op = Op { d, a, b: length as u32, immediate: start, ..b.op(run) };
    b.push(op);
    Ok(())
}
