//! Memory access of an instruction.

use warp_stream::{AccessKind, CacheOperator, MemoryOperation, MemorySpace, OperationClass};

use crate::ir::{Function, Instruction, Operand};
use crate::isa::{Effect, Modifier, Op, ScalarType};

/// Maximum bytes per lane of a machine instruction, except matrix accesses.
const LARGEST: u32 = 32;

/// Memory access of a machine instruction of this class for `i`; `None` without an access.
pub(super) fn access(function: &Function, i: &Instruction, class: OperationClass) -> Option<MemoryOperation> {
    let kind = match class {
        OperationClass::Load | OperationClass::LoadConstant | OperationClass::Texture => AccessKind::Load,
        OperationClass::Store => AccessKind::Store,
        OperationClass::Atomic => AccessKind::Atomic,
        OperationClass::Reduction => AccessKind::Reduction,
        OperationClass::Surface => match i.op.line().effect {
            Effect::Load => AccessKind::Load,
            Effect::Store => AccessKind::Store,
            _ => AccessKind::Reduction,
        },
        _ => return None,
    };
    let space = match class {
        OperationClass::Texture | OperationClass::Surface => MemorySpace::Texture,
        OperationClass::LoadConstant => MemorySpace::Constant,
        _ => space(i),
    };
    Some(MemoryOperation { space, kind, width: width(function, i), cache: cache(i) })
}

fn space(i: &Instruction) -> MemorySpace {
    // Copies from global to shared memory name both spaces; the memory system sees the read of global
    // memory.
    if i.has(Modifier::Global)
        || matches!(i.op, Op::Memory(crate::isa::Memory::ld_nc | crate::isa::Memory::ldu))
    {
        return MemorySpace::Global;
    }
    let of = |modifier| match modifier {
        Modifier::Shared | Modifier::SharedCta | Modifier::SharedCluster => Some(MemorySpace::Shared),
        Modifier::Local => Some(MemorySpace::Local),
        Modifier::Const | Modifier::Param | Modifier::ParamEntry => Some(MemorySpace::Constant),
        _ => None,
    };
    let is_barrier = matches!(i.op, Op::Parallel(_));
    i.modifiers().find_map(of).unwrap_or(if is_barrier { MemorySpace::Shared } else { MemorySpace::Generic })
}

/// Bytes per lane of the loaded or stored value.
fn width(function: &Function, i: &Instruction) -> u8 {
    let of_registers = match i.op {
        Op::Matrix(_) => registers_of_vectors(function, i),
        Op::Texture(_) => i.ty(0).map_or(4, ScalarType::bytes) * i.vector_length() as u32,
        _ => return bytes(i),
    };
    of_registers.clamp(1, LARGEST) as u8
}

/// Bytes per lane of a load or store.
pub(super) fn bytes(i: &Instruction) -> u8 {
    let element = i.last_type().map_or(4, ScalarType::bytes);
    (element * i.vector_length() as u32).clamp(1, LARGEST) as u8
}

fn registers_of_vectors(function: &Function, i: &Instruction) -> u32 {
    let bytes = |operand: &Operand| match operand {
        Operand::Register(register) => {
            function.registers.get(register.0 as usize).map_or(0, |ty| ty.bytes().max(4))
        }
        _ => 0,
    };
    let vectors = i.operands.iter().filter_map(|operand| match operand {
        Operand::Vector(elements) => Some(elements.iter().map(bytes).sum::<u32>()),
        _ => None,
    });
    vectors.max().unwrap_or(4)
}

/// Caches that the access may use.
pub(super) fn cache(i: &Instruction) -> CacheOperator {
    let beyond_cta = i.modifiers().any(|m| matches!(m, Modifier::Gpu | Modifier::Sys | Modifier::Cluster));
    let is_volatile = i.has(Modifier::Volatile) || i.has(Modifier::Mmio);
    let of = |modifier| match modifier {
        Modifier::Cg => Some(CacheOperator::GlobalOnly),
        Modifier::Cs | Modifier::Lu => Some(CacheOperator::Streaming),
        Modifier::Cv | Modifier::Wt => Some(CacheOperator::Coherent),
        _ => None,
    };
    if is_volatile || (i.is_ordered() && beyond_cta) {
        return CacheOperator::Coherent;
    }
    if let Some(operator) = i.modifiers().find_map(of) {
        return operator;
    }
    match i.has(Modifier::Nc) || matches!(i.op, Op::Memory(crate::isa::Memory::ldu)) {
        true => CacheOperator::ReadOnly,
        false => CacheOperator::Default,
    }
}
