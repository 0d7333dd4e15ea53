//! Registers that an instruction reads and writes.

use crate::ir::{AddressBase, Instruction, Operand, RegisterId};

/// Registers that the instruction reads: operands, addresses, the guard. A register may occur repeatedly.
pub fn reads(instruction: &Instruction) -> Vec<RegisterId> {
    let mut registers = Vec::new();
    registers.extend(instruction.guard.map(|guard| guard.register));
    let syntax = instruction.op.line().parsed();
    // The result of a warpgroup product is also a summand.
    let accumulates = syntax.mnemonic == "wgmma";
    for (operand, place) in instruction.operands.iter().zip(&syntax.operands) {
        collect(operand, !place.written || accumulates, &mut registers);
    }
    registers
}

/// Registers that the instruction writes if its guard holds.
pub fn writes(instruction: &Instruction) -> Vec<RegisterId> {
    let mut registers = Vec::new();
    for (operand, place) in instruction.operands.iter().zip(&instruction.op.line().parsed().operands) {
        if place.written {
            collect(operand, true, &mut registers);
        }
    }
    registers
}

/// Registers of an operand: its values if `values`, and its addresses if not written.
fn collect(operand: &Operand, values: bool, registers: &mut Vec<RegisterId>) {
    match operand {
        Operand::Register(register) | Operand::NegatedPredicate(register) if values => {
            registers.push(*register);
        }
        Operand::Part { of, .. } => collect(of, values, registers),
        Operand::Address { base: AddressBase::Register(register), .. } => registers.push(*register),
        Operand::Texel { handle, sampler, coordinates } => {
            for part in [&**handle, &**sampler].into_iter().chain(coordinates) {
                collect(part, true, registers);
            }
        }
        Operand::Vector(elements) | Operand::Parameters(elements) => {
            for element in elements {
                collect(element, values, registers);
            }
        }
        _ => {}
    }
}
