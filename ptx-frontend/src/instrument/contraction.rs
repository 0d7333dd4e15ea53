//! Products that may become part of an `fma`: `mul` and `add` without a rounding modifier. To store such a product is one
//! more use of it, and would keep the assembler, or ours, from contracting it; then the instrumented kernel would compute
//! something else. So they are not recorded; their sums are.

use std::collections::HashSet;

use crate::analyse::{reads, writes};
use crate::ir::{Function, Instruction};
use crate::isa::Modifier;

/// Positions of the products, and of copies and negations of them, that are not recorded.
pub(super) fn unrecorded(function: &Function) -> HashSet<usize> {
    let instructions = &function.instructions;
    let goes_on = |i: &&Instruction| is_float(i, &["add", "sub"]) || hands_on(i);
    let wanted: HashSet<_> = instructions.iter().filter(goes_on).flat_map(reads).collect();
    let mut products = HashSet::new();
    let mut positions = HashSet::new();
    for (position, instruction) in instructions.iter().enumerate() {
        let is_product = is_float(instruction, &["mul"]) && instruction.guard.is_none();
        let of_product = hands_on(instruction) && reads(instruction).iter().any(|one| products.contains(one));
        let results = writes(instruction);
        if (is_product || of_product) && results.iter().any(|result| wanted.contains(result)) {
            products.extend(results);
            positions.insert(position);
        }
    }
    positions
}

/// Is it this floating-point operation, with the rounding left open?
fn is_float(instruction: &Instruction, mnemonics: &[&str]) -> bool {
    let line = instruction.op.line();
    let rounding = [Modifier::Rn, Modifier::Rz, Modifier::Rm, Modifier::Rp];
    line.group == "float"
        && mnemonics.contains(&line.parsed().mnemonic)
        && !instruction.modifiers().any(|modifier| rounding.contains(&modifier))
}

fn hands_on(instruction: &Instruction) -> bool {
    let mnemonic = instruction.op.line().parsed().mnemonic;
    mnemonic == "mov" || is_float(instruction, &["neg"])
}
