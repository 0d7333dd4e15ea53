//! Which bytes of its parameter block a kernel reads: what lies between the fields of a structure may be anything.

use std::ops::Range;

use crate::ir::{AddressBase, Function, Operand};

/// Offsets of the parameter block that loads read. `None` if the kernel does something else with the place of a parameter
/// than to load from it, so that it may read any of its bytes.
pub fn parameter_bytes_read(kernel: &Function) -> Option<Vec<Range<u64>>> {
    let mut read = Vec::new();
    for instruction in &kernel.instructions {
        let mut places = Vec::new();
        instruction.operands.iter().for_each(|operand| collect(operand, &mut places));
        if places.is_empty() {
            continue;
        }
        let syntax = instruction.op.line().parsed();
        let bytes =
            u64::from(instruction.last_type()?.bits().div_ceil(8)) * instruction.vector_length() as u64;
        for (number, offset) in places {
            let parameter = kernel.parameters.get(number as usize)?;
            let start = u64::from(parameter.offset).checked_add_signed(offset)?;
            if syntax.mnemonic != "ld" {
                return None;
            }
            read.push(start..start.checked_add(bytes)?);
        }
    }
    Some(read)
}

/// Parameters whose places an operand names, with offsets.
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
