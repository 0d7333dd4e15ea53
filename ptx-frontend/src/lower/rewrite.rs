//! What an assembler does to the code before it chooses machine instructions, as a change of the PTX code itself, so that
//! whoever executes it does the same:
//!
//! * A branch to a return is a return.
//! * A short stretch that a branch jumps over is guarded by the branch's condition instead; the branch goes. ptxas does so
//!   with about ten machine instructions at most, accesses to memory included.

use std::collections::BTreeSet;
use std::ops::Range;
use std::sync::Arc;

use crate::analyse::writes;
use crate::ir::{Function, Guard, Instruction, InstructionIndex, Operand};
use crate::isa::{Control, Effect, Op};

use super::contract::Replacements;
use super::recipe::{Recipe, recipe};

/// Machine instructions that are guarded rather than jumped over, at most.
const LONGEST: u32 = 12;
/// Loads among them.
const MOST_LOADS: usize = 4;
/// Stores and atomic operations among them.
const MOST_STORES: usize = 1;

/// Rewrites a function, if there is anything to rewrite. The answer is which instructions it has no more.
pub fn rewrite(source: &mut Arc<Function>) -> BTreeSet<usize> {
    if !source.instructions.iter().any(|i| i.op == Op::Control(Control::bra)) {
        return BTreeSet::new();
    }
    let function = Arc::make_mut(source);
    return_at_once(function);
    guard_short_stretches(function)
}

/// Rewrites a function whose products have been contracted, and what stands in the place of its instructions. In this
/// order, since an assembler contracts within the blocks that the code has at first.
pub fn rewrite_contracted(source: &mut Arc<Function>, replacements: &mut Replacements) {
    let gone = rewrite(source);
    for (position, mut instructions) in std::mem::take(replacements) {
        let position = position - gone.range(..position).count();
        let guard = source.instructions.get(position).and_then(|replaced| replaced.guard);
        instructions.iter_mut().for_each(|instruction| instruction.guard = guard);
        replacements.insert(position, instructions);
    }
}

/// The target of a branch to one place.
fn target(i: &Instruction) -> Option<usize> {
    match (i.op, i.operands.first()) {
        (Op::Control(Control::bra), Some(Operand::Label(target))) => Some(target.0 as usize),
        _ => None,
    }
}

fn return_at_once(function: &mut Function) {
    for position in 0..function.instructions.len() {
        let Some(target) = target(&function.instructions[position]) else { continue };
        let Some(end) = function.instructions.get(target) else { continue };
        let is_end = matches!(end.op, Op::Control(Control::ret | Control::exit)) && end.guard.is_none();
        if is_end {
            let (op, tokens, operands) = (end.op, end.tokens.clone(), end.operands.clone());
            let branch = &mut function.instructions[position];
            (branch.op, branch.tokens, branch.operands) = (op, tokens, operands);
        }
    }
}

fn guard_short_stretches(function: &mut Function) -> BTreeSet<usize> {
    let mut gone = BTreeSet::new();
    for position in (0..function.instructions.len()).rev() {
        let branch = &function.instructions[position];
        let (Some(guard), Some(target)) = (branch.guard, target(branch)) else { continue };
        if target <= position || target >= function.instructions.len() {
            continue;
        }
        let stretch = position + 1..target;
        if can_be_guarded(function, stretch.clone(), guard, &gone) {
            for i in &mut function.instructions[stretch] {
                i.guard = Some(Guard { register: guard.register, negated: !guard.negated });
            }
            gone.insert(position);
        }
    }
    remove(function, &gone);
    gone
}

fn can_be_guarded(function: &Function, stretch: Range<usize>, guard: Guard, gone: &BTreeSet<usize>) -> bool {
    let Some(code) = function.instructions.get(stretch.clone()) else { return false };
    let takes_guard = |i: &Instruction| {
        let effect = i.op.line().effect;
        let acts_alone = matches!(effect, Effect::Pure | Effect::Load | Effect::Store | Effect::Atomic);
        let of_one_lane = !matches!(i.op, Op::Matrix(_) | Op::Parallel(_));
        acts_alone && of_one_lane && i.guard.is_none() && !writes(i).contains(&guard.register)
    };
    let lengths = code.iter().map(length).sum::<u32>();
    let with = |effect: Effect| code.iter().filter(|i| i.op.line().effect == effect).count();
    let few_accesses =
        with(Effect::Load) <= MOST_LOADS && with(Effect::Store) + with(Effect::Atomic) <= MOST_STORES;
    let inside = |label: usize| stretch.start <= label && label < stretch.end;
    let is_entered = function
        .instructions
        .iter()
        .enumerate()
        .any(|(at, i)| !gone.contains(&at) && labels(i).any(|label| inside(label.0 as usize)));
    code.iter().all(takes_guard) && lengths <= LONGEST && few_accesses && !is_entered
}

/// Machine instructions that the instruction becomes, roughly.
fn length(i: &Instruction) -> u32 {
    match recipe(i) {
        Recipe::One(_) => 1,
        Recipe::Halves(_) | Recipe::Carried(_) => 2,
        Recipe::Chain(steps) => steps.iter().map(|(_, count)| u32::from(*count)).sum(),
        Recipe::Same => 0,
    }
}

fn labels(i: &Instruction) -> impl Iterator<Item = InstructionIndex> + '_ {
    i.operands.iter().flat_map(|operand| match operand {
        Operand::Label(target) => std::slice::from_ref(target).iter().copied(),
        Operand::BranchTargets(targets) => targets.iter().copied(),
        _ => [].iter().copied(),
    })
}

/// Takes instructions out; labels move along.
fn remove(function: &mut Function, gone: &BTreeSet<usize>) {
    if gone.is_empty() {
        return;
    }
    let moved = |label: &mut InstructionIndex| {
        label.0 -= gone.range(..label.0 as usize).count() as u32;
    };
    for operand in function.instructions.iter_mut().flat_map(|i| &mut i.operands) {
        match operand {
            Operand::Label(label) => moved(label),
            Operand::BranchTargets(labels) => labels.iter_mut().for_each(moved),
            _ => {}
        }
    }
    let mut position = 0;
    function.instructions.retain(|_| {
        position += 1;
        !gone.contains(&(position - 1))
    });
}
