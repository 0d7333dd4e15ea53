//! Products that may be contracted to an `fma`: `mul` and `add` without a rounding modifier. Recording such
//! a product adds a use, which would prevent the contraction and change the kernel's results. Products are
//! therefore not recorded; their sums are.

use std::collections::HashSet;

use crate::analyse::{reads, writes};
use crate::ir::{Function, Instruction};
use crate::isa::Modifier;

/// Positions of unrecorded products, and of copies and negations of them.
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

/// True for one of these floating-point operations without a rounding modifier.
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
