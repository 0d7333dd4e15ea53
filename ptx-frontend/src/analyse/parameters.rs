//! Bytes of the parameter block that a kernel reads. Bytes between fields of a structure are undefined.

use std::ops::Range;

use crate::ir::{AddressBase, Function, Instruction, Operand};
use crate::isa::{Effect, Op};

/// Bytes of a texture, sampler or surface handle (PTX manual 5.3).
const HANDLE_BYTES: u64 = 8;
/// Bytes of a tensor map (PTX manual 5.5.8).
const TENSOR_MAP_BYTES: u64 = 128;

/// Parameter bytes that a kernel reads according to its code, as offsets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ParametersRead {
    /// Exactly these bytes.
    Known(Vec<Range<u64>>),
    /// These bytes, and others through computed addresses.
    Indexed(Vec<Range<u64>>),
    /// Possibly all bytes.
    Any,
}

/// Use of a parameter's address by an instruction.
enum Use {
    /// Read of this many bytes.
    Read(u64),
    /// Address computation, or no read.
    Address,
    /// Any other use.
    Other,
}

impl ParametersRead {
    /// Parameter bytes that a kernel reads. Functions that the kernel calls read parameters only through
    /// addresses.
    pub fn of(kernel: &Function) -> ParametersRead {
        let mut read = Vec::new();
        let mut is_indexed = false;
        for instruction in &kernel.instructions {
            let mut places = Vec::new();
            instruction.operands.iter().for_each(|operand| collect(operand, &mut places));
            for (number, offset) in places {
                let bytes = match Use::of(instruction) {
                    Use::Read(bytes) => bytes,
                    Use::Address => {
                        is_indexed = true;
                        continue;
                    }
                    Use::Other => return ParametersRead::Any,
                };
                match range(kernel, number, offset, bytes) {
                    Some(range) => read.push(range),
                    None => return ParametersRead::Any,
                }
            }
        }
        if is_indexed { ParametersRead::Indexed(read) } else { ParametersRead::Known(read) }
    }
}

impl Use {
    fn of(instruction: &Instruction) -> Use {
        let line = instruction.op.line();
        let is_tensor =
            || instruction.operands.iter().any(|operand| matches!(operand, Operand::Texel { .. }));
        match instruction.op {
            Op::Texture(_) => Use::Read(HANDLE_BYTES),
            _ if line.parsed().mnemonic == "ld" => match instruction.last_type() {
                Some(ty) => Use::Read(u64::from(ty.bits().div_ceil(8)) * instruction.vector_length() as u64),
                None => Use::Other,
            },
            _ if line.effect == Effect::Pure => Use::Address,
            Op::Memory(_) if is_tensor() => Use::Read(TENSOR_MAP_BYTES),
            _ => Use::Other,
        }
    }
}

fn range(kernel: &Function, number: u32, offset: i64, bytes: u64) -> Option<Range<u64>> {
    let parameter = kernel.parameters.get(number as usize)?;
    let start = u64::from(parameter.offset).checked_add_signed(offset)?;
    Some(start..start.checked_add(bytes)?)
}

/// Parameters whose addresses an operand names, with offsets.
fn collect(operand: &Operand, places: &mut Vec<(u32, i64)>) {
    match operand {
        Operand::Address { base: AddressBase::Parameter(number), offset } => places.push((*number, *offset)),
        Operand::Texel { handle, sampler, coordinates } => {
            let parts = [&**handle, &**sampler].into_iter().chain(coordinates);
            parts.for_each(|part| collect(part, places));
        }
        Operand::Part { of, .. } => collect(of, places),
        Operand::Vector(elements) | Operand::Parameters(elements) => {
            elements.iter().for_each(|element| collect(element, places));
        }
        _ => {}
    }
}
