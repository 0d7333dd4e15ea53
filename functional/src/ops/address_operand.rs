//! Address operands: memory space and address row of an access.

use ptx_frontend::ir::{AddressBase, Instruction, Operand};
use ptx_frontend::isa::Modifier;

use crate::bind::{BindError, Binder, FramePlace, SymbolAddress};
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::memory::{CLUSTER_WINDOWS, WINDOW_SIZE};
use crate::ops::control;

/// Location named by an address operand.
pub(crate) enum AddressOperand {
    /// Addresses `row` + `offset` in a space; `wide` rows are 64-bit.
    Rows { space: AccessSpace, row: u32, wide: bool, offset: i64 },
    /// Offset in the kernel's parameters.
    Parameter(u32),
}

/// Memory space of an access, as far as known at binding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AccessSpace {
    /// Device memory.
    Global,
    /// Shared memory of the CTA.
    Shared,
    /// Local memory of the thread.
    Local,
    /// Determined by the address.
    Generic,
}

/// State space named by the instruction.
pub(crate) fn named_space(i: &Instruction) -> Option<AccessSpace> {
    i.modifiers().find_map(|modifier| match modifier {
        Modifier::Global | Modifier::Const => Some(AccessSpace::Global),
        Modifier::Shared | Modifier::SharedCta | Modifier::SharedCluster => Some(AccessSpace::Shared),
        Modifier::Local => Some(AccessSpace::Local),
        Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc => Some(AccessSpace::Generic),
        _ => None,
    })
}

/// True if the first state space that the instruction names is the cluster's shared memory.
pub(crate) fn names_cluster(i: &Instruction) -> bool {
    let spaces = |m: &Modifier| {
        matches!(m, Modifier::Global | Modifier::Shared | Modifier::SharedCta | Modifier::SharedCluster)
    };
    i.modifiers().find(spaces) == Some(Modifier::SharedCluster)
}

/// Resolves the address operand of a load, store or atomic.
pub(crate) fn address_operand(
    b: &mut Binder<'_, '_>,
    i: &Instruction,
    operand: &Operand,
) -> Result<AddressOperand, BindError> {
    if names_cluster(i) {
        return cluster_place(b, operand);
    }
    address_operand_in(b, named_space(i).unwrap_or(AccessSpace::Generic), operand)
}

/// Converts addresses of a cluster's shared memory to generic addresses, which need no ops of their own.
fn cluster_place(b: &mut Binder<'_, '_>, operand: &Operand) -> Result<AddressOperand, BindError> {
    let a = wide_address(b, operand)?;
    let row = b.scratch(true);
    let window = b.linker_addresses().shared_window();
    let op = Op { d: row, a, immediate: window, ..b.op(generic_of_cluster) };
    b.push(op);
    let place = AddressOperand::Rows { space: AccessSpace::Generic, row, wide: true, offset: 0 };
    b.note_access(&place);
    Ok(place)
}

/// d = generic address of address `a` in the cluster's window, which starts at the immediate; an always
/// invalid address beyond the window.
unsafe fn generic_of_cluster(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let generic = |address: u64| {
        if address < CLUSTER_WINDOWS * WINDOW_SIZE { op.immediate + address } else { address | 1 << 63 }
    };
    // SAFETY: `a` and `d` are rows of double words.
    unsafe {
        let addresses = w.read_row::<u64>(op.a);
        w.write_row(op.d, &addresses.map(generic));
    }
    control::uncounted(w)
}

/// 64-bit row with the address of an operand, including its offset.
pub(crate) fn wide_address(b: &mut Binder<'_, '_>, operand: &Operand) -> Result<u32, BindError> {
    let Operand::Address { base, offset } = operand else {
        return Err(b.error(format!("{operand:?} is not an address")));
    };
    let a = b.address_value(*base, *offset, true)?;
    match base {
        AddressBase::Register(register) if b.register_type(*register).bits() == 32 => {
            let d = b.scratch(true);
            let op = Op { d, a, ..b.op(super::mov::widen()) };
            b.push(op);
            Ok(d)
        }
        _ => Ok(a),
    }
}

/// Resolves an address operand in `space`, unless the address selects another space.
pub(crate) fn address_operand_in(
    b: &mut Binder<'_, '_>,
    space: AccessSpace,
    operand: &Operand,
) -> Result<AddressOperand, BindError> {
    let (base, offset) = match operand {
        Operand::Address { base, offset } => (*base, *offset),
        Operand::Register(register) => (AddressBase::Register(*register), 0),
        other => return Err(b.error(format!("{other:?} is not an address"))),
    };
    let place = match base {
        AddressBase::Register(register) => {
            let wide = b.register_type(register).bits() == 64;
            AddressOperand::Rows { space, row: b.register(register), wide, offset }
        }
        AddressBase::Absolute => AddressOperand::Rows { space, row: b.constant(0, true), wide: true, offset },
        AddressBase::External(external) => {
            let space = match b.external(external)? {
                SymbolAddress::Shared { .. } => AccessSpace::Shared,
                _ => AccessSpace::Global,
            };
            let row = b.address_value(base, offset, true)?;
            AddressOperand::Rows { space, row, wide: true, offset: 0 }
        }
        AddressBase::Variable(_) | AddressBase::Parameter(_) | AddressBase::Return(_) => {
            match b.frame_place(base)? {
                FramePlace::KernelParameter(at) => match u32::try_from(i64::from(at) + offset) {
                    Ok(at) => AddressOperand::Parameter(at),
                    Err(_) => return Err(b.error("the address is before the kernel's parameters")),
                },
                FramePlace::Local(_) => {
                    let row = b.address_value(base, offset, false)?;
                    AddressOperand::Rows { space: AccessSpace::Local, row, wide: false, offset: 0 }
                }
                FramePlace::Fixed(_) => {
                    let shared = b.is_shared_variable(base);
                    let row = b.address_value(base, offset, true)?;
                    let space = if shared { AccessSpace::Shared } else { AccessSpace::Global };
                    AddressOperand::Rows { space, row, wide: true, offset: 0 }
                }
            }
        }
    };
    b.note_access(&place);
    Ok(place)
}

/// Evaluates `$function::<Space, $rest>` for a run-time space.
macro_rules! by_space {
    ($space:expr, $wide:expr, |$s:ident| $run:expr) => {
        match ($space, $wide) {
            (AccessSpace::Global, true) => {
                type $s = $crate::engine::address_translation::Global;
                $run
            }
            (AccessSpace::Generic, true) => {
                type $s = $crate::engine::address_translation::Generic;
                $run
            }
            (AccessSpace::Shared, true) => {
                type $s = $crate::engine::address_translation::Shared<u64>;
                $run
            }
            (AccessSpace::Shared, false) => {
                type $s = $crate::engine::address_translation::Shared<u32>;
                $run
            }
            (AccessSpace::Local, true) => {
                type $s = $crate::engine::address_translation::Local<u64>;
                $run
            }
            (AccessSpace::Local, false) => {
                type $s = $crate::engine::address_translation::Local<u32>;
                $run
            }
            (AccessSpace::Global | AccessSpace::Generic, false) => {
                type $s = $crate::engine::address_translation::GlobalNarrow;
                $run
            }
        }
    };
}
pub(crate) use by_space;
