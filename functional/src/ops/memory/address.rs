//! Generic addresses and those of a state space (PTX manual 9.7.9.18 to 9.7.9.20).

use ptx_frontend::ir::Instruction;
use ptx_frontend::isa::{Modifier, ScalarType};

use crate::bind::Binder;
use crate::engine::op::{Flow, Op};
use crate::engine::running::Running;
use crate::engine::shapes::binary;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::Bound;
use crate::ops::integer::Add;
use crate::ops::place::{AccessSpace, named_space};

/// Generic address of a space's address 0: shared and local memory have windows, the others are generic already.
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

/// `cvta`: address within a space to generic address.
pub fn cvta(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let offset = window(b, i);
    bind_conversion(b, i, offset)
}

/// `cvta.to`: generic address to address within a space.
pub fn cvta_to(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let offset = window(b, i).wrapping_neg();
    bind_conversion(b, i, offset)
}

/// p = a lies within `b` bytes from the immediate; inverted if `c` is all ones.
fn in_window(w: &mut Running<'_>, op: &Op) -> Flow {
    // SAFETY: `a` is a row of double words, `d` a predicate word.
    unsafe {
        let addresses = w.read_row::<u64>(op.a);
        let mut truth = 0;
        for (lane, address) in addresses.iter().enumerate() {
            truth |= u32::from(address.wrapping_sub(op.immediate) < u64::from(op.b)) << lane;
        }
        w.write_predicate(op.d, truth ^ op.c);
    }
    Flow::Next
}

/// `isspacep`.
pub fn isspacep(b: &mut Binder<'_, '_>, i: &Instruction) -> Bound {
    let a = b.source(&i.operands[1], ScalarType::U64)?;
    let d = b.predicate_result(&i.operands[0])?;
    let (base, local) = (b.linker_addresses().shared_window(), b.linker_addresses().local_window());
    let (start, length, inversion) = match i.modifiers().next() {
        Some(Modifier::Shared | Modifier::SharedCta) => (base, WINDOW_SIZE, 0),
        Some(Modifier::SharedCluster) => (base, CLUSTER_WINDOWS * WINDOW_SIZE, 0),
        Some(Modifier::Local) => (local, WINDOW_SIZE, 0),
        Some(Modifier::Global) => (local, base + CLUSTER_WINDOWS * WINDOW_SIZE - local, u32::MAX),
        // Constants and parameters lie in global memory here, and only global memory is told apart from the windows.
        _ => (base, 0, 0),
    };
    let op = Op { d, a, b: length as u32, c: inversion, immediate: start, ..b.op(in_window) };
    b.push(op);
    Ok(())
}
