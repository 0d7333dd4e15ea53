//! Memory effects of an instruction, as far as the sanitizer tracks them.

use ptx_frontend::ir::{Instruction, Operand};
use ptx_frontend::isa::{Effect, Matrix, Memory, Modifier, Op as Form};

use crate::ops::address_operand::AccessSpace;

/// Kind of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum AccessKind {
    /// Read.
    Read,
    /// Write.
    Write,
    /// Atomic read and write.
    Atomic,
    /// Write of unknown extent, from the address on.
    Clobber,
    /// Write at an unknown address.
    Anywhere,
}

/// An access by each executing lane.
#[derive(Debug, Clone)]
pub(super) struct LaneAccess {
    /// Index of the address operand.
    pub(super) operand: usize,
    /// Memory space, if it differs from the instruction's own state space.
    pub(super) space: Option<AccessSpace>,
    pub(super) kind: AccessKind,
    /// Bytes per lane; 0 if unknown.
    pub(super) bytes: u32,
    /// Bytes per element.
    pub(super) element: u32,
    /// Volatile, relaxed, acquire or release, or bypasses L1: the program expects other observers.
    pub(super) strong: bool,
    /// Compare-and-swap.
    pub(super) swaps: bool,
    /// `.release` or stronger.
    pub(super) releases: bool,
    /// Index of a store's value operand.
    pub(super) value: Option<usize>,
}

impl LaneAccess {
    /// Copy to or from a tensor, whose address is in its tensor map.
    fn anywhere() -> LaneAccess {
        LaneAccess {
            operand: usize::MAX,
            space: None,
            kind: AccessKind::Anywhere,
            bytes: 0,
            element: 0,
            strong: false,
            swaps: false,
            releases: false,
            value: None,
        }
    }
}

/// Bytes per mbarrier.
const MBARRIER_BYTES: u32 = 8;

/// Accesses of an instruction, except to parameters and constants.
pub(super) fn accesses(i: &Instruction) -> Vec<LaneAccess> {
    let is_elsewhere = |modifier: Modifier| {
        matches!(modifier, Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc | Modifier::Const)
    };
    if i.modifiers().any(is_elsewhere) {
        return Vec::new();
    }
    let tensor = i.operands.iter().any(|it| matches!(it, Operand::Texel { .. }));
    if tensor && matches!(i.op, Form::Memory(_)) && i.op.line().effect != Effect::Pure {
        return vec![LaneAccess::anywhere()];
    }
    let Some(operand) = i.operands.iter().position(|it| matches!(it, Operand::Address { .. })) else {
        return Vec::new();
    };
    let element = i.last_type().map_or(0, |ty| ty.bytes());
    let access = LaneAccess {
        operand,
        space: None,
        kind: AccessKind::Read,
        bytes: element * i.vector_length() as u32,
        element,
        strong: i.modifiers().any(is_strong),
        swaps: i.has(Modifier::Cas),
        releases: i.has(Modifier::Release) || i.has(Modifier::AcqRel),
        value: None,
    };
    match i.op {
        Form::Memory(form) if is_multicast(form) => Vec::new(),
        Form::Memory(Memory::ld | Memory::ld_nc | Memory::ldu) => vec![access],
        Form::Memory(Memory::st | Memory::st_async | Memory::st_async_release) => {
            vec![LaneAccess { kind: AccessKind::Write, value: Some(operand + 1), ..access }]
        }
        Form::Atomic(_) => vec![LaneAccess { kind: AccessKind::Atomic, ..access }],
        Form::Memory(
            Memory::cp_async | Memory::cp_async_hint | Memory::cp_async_ignore | Memory::cp_async_ignore_hint,
        ) => copy(i, &access),
        Form::Memory(_) | Form::Parallel(_) | Form::Matrix(_)
            if matches!(i.op.line().effect, Effect::Store | Effect::Atomic) =>
        {
            let bytes = if matches!(i.op, Form::Parallel(_)) { MBARRIER_BYTES } else { 0 };
            vec![LaneAccess { kind: AccessKind::Clobber, bytes, ..access }]
        }
        Form::Matrix(Matrix::stmatrix) => vec![LaneAccess { kind: AccessKind::Clobber, bytes: 0, ..access }],
        _ => Vec::new(),
    }
}

/// True if the address is a multicast address for the memory of several devices, which the sanitizer does
/// not track.
fn is_multicast(form: Memory) -> bool {
    matches!(
        form,
        Memory::multimem_ld_reduce
            | Memory::multimem_ld_reduce_float
            | Memory::multimem_st
            | Memory::multimem_red
            | Memory::multimem_red_float
            | Memory::multimem_cp_async_bulk
            | Memory::multimem_cp_async_bulk_masked
            | Memory::multimem_cp_reduce_async_bulk
    )
}

fn is_strong(modifier: Modifier) -> bool {
    matches!(
        modifier,
        Modifier::Volatile
            | Modifier::Relaxed
            | Modifier::Acquire
            | Modifier::Release
            | Modifier::Mmio
            | Modifier::Cg
            | Modifier::Cv
            | Modifier::Wt
    )
}

/// `cp.async`: writes shared memory, and reads global memory if the copy is complete.
fn copy(i: &Instruction, access: &LaneAccess) -> Vec<LaneAccess> {
    let Some(Operand::Immediate(bytes)) = i.operands.get(2) else { return Vec::new() };
    let bytes = *bytes as u32;
    let side = |operand, space, kind| LaneAccess {
        operand,
        space: Some(space),
        kind,
        bytes,
        element: bytes,
        strong: false,
        ..access.clone()
    };
    let write = side(0, AccessSpace::Shared, AccessKind::Write);
    match i.operands.get(3) {
        None | Some(Operand::Absent) => vec![write, side(1, AccessSpace::Global, AccessKind::Read)],
        Some(_) => vec![write],
    }
}
