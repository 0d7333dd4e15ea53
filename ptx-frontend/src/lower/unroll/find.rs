//! Loops that can be unrolled: innermost, adjacent in the code, entered at the top, and continued by the
//! last branch alone.

use std::ops::Range;

use crate::analyse::{ControlFlow, reads};
use crate::ir::{Function, Instruction, InstructionIndex, Operand, RegisterId};
use crate::isa::{Control, Effect, Op};

use super::counter::{Counter, counter};

/// PTX instructions of the longest loop that is looked at; every plan has a lower limit.
const LONGEST: usize = 1000;

/// A loop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Loop {
    /// First instruction.
    pub(super) header: usize,
    /// The branch back.
    pub(super) latch: usize,
    /// Predicate of the branch back.
    pub(super) predicate: RegisterId,
    /// Branches before the last.
    pub(super) branches: usize,
    pub(super) counter: Counter,
    /// Targets outside of the loop of branches before the last.
    pub(super) exits: Vec<InstructionIndex>,
    /// Parts of the code that each iteration executes, ascending.
    pub(super) always: Vec<Range<usize>>,
}

impl Loop {
    /// True if each iteration executes the position.
    pub(super) fn is_always(&self, at: usize) -> bool {
        self.always.iter().any(|part| part.contains(&at))
    }
}

/// Loops of a function in code order.
pub(super) fn loops(function: &Function, flow: &ControlFlow) -> Vec<Loop> {
    let code = &function.instructions;
    let branches = branches(code);
    let mut found = Vec::new();
    for (latch, i) in code.iter().enumerate() {
        let (Some(header), Some(guard)) = (target(i), i.guard) else { continue };
        if header >= latch || latch - header > LONGEST || guard.negated || is_rolled(function, header, latch)
        {
            continue;
        }
        let Some((exits, always)) = body(code, header, latch) else { continue };
        if is_entered_within(&branches, header, latch) {
            continue;
        }
        let is_always = |at: usize| always.iter().any(|part: &Range<usize>| part.contains(&at));
        if let Some(counter) = counter(function, flow, (header, latch), guard.register, &is_always)
            && !is_read_within(code, header, latch, guard.register)
        {
            let within = |(at, _): &&(usize, usize)| (header..latch).contains(at);
            let branches = branches.iter().filter(within).count();
            let predicate = guard.register;
            found.push(Loop { header, latch, predicate, branches, counter, exits, always });
        }
    }
    found
}

/// Target of a branch with a single target.
fn target(i: &Instruction) -> Option<usize> {
    match (i.op, i.operands.first()) {
        (Op::Control(Control::bra), Some(Operand::Label(target))) => Some(target.0 as usize),
        _ => None,
    }
}

/// True if the text forbids unrolling.
fn is_rolled(function: &Function, header: usize, latch: usize) -> bool {
    function.rolled.iter().any(|at| (header..=latch).contains(&(at.0 as usize)))
}

/// Exits of a loop, and the parts that each iteration executes. A loop with an inner loop, a call, or
/// an instruction that cannot be copied is `None`.
fn body(
    code: &[Instruction],
    header: usize,
    latch: usize,
) -> Option<(Vec<InstructionIndex>, Vec<Range<usize>>)> {
    let mut exits = Vec::new();
    let mut always = Vec::new();
    // Farthest target within the loop so far, and the start of the current part.
    let mut farthest = header;
    let mut part = Some(header);
    for (at, i) in code.iter().enumerate().take(latch).skip(header) {
        if at >= farthest && part.is_none() {
            part = Some(at);
        }
        match i.op.line().effect {
            Effect::Call | Effect::Exit => return None,
            Effect::Branch => {
                let target = target(i)?;
                if target <= at && target >= header {
                    return None;
                }
                if (header..=latch).contains(&target) {
                    farthest = farthest.max(target);
                    always.extend(part.take().map(|from| from..at));
                } else {
                    exits.push(InstructionIndex(target as u32));
                }
            }
            _ if i.op.line().parsed().mnemonic == "wgmma" => return None,
            _ => {}
        }
    }
    if latch >= farthest && part.is_none() {
        part = Some(latch);
    }
    always.extend(part.map(|from| from..latch));
    Some((exits, always))
}

/// Branches of a function with their targets.
fn branches(code: &[Instruction]) -> Vec<(usize, usize)> {
    let mut branches = Vec::new();
    for (at, i) in code.iter().enumerate() {
        for operand in &i.operands {
            match operand {
                Operand::Label(target) => branches.push((at, target.0 as usize)),
                Operand::BranchTargets(targets) => {
                    branches.extend(targets.iter().map(|target| (at, target.0 as usize)));
                }
                _ => {}
            }
        }
    }
    branches
}

/// True if a branch outside of the loop leads behind its first instruction.
fn is_entered_within(branches: &[(usize, usize)], header: usize, latch: usize) -> bool {
    branches.iter().any(|(at, target)| *target > header && *target <= latch && !(header..=latch).contains(at))
}

/// True if an instruction before the branch back reads the register.
fn is_read_within(code: &[Instruction], header: usize, latch: usize, register: RegisterId) -> bool {
    code.iter().take(latch).skip(header).any(|i| reads(i).contains(&register))
}
