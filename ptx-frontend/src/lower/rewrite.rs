//! Assembler transformations that precede the choice of machine instructions. They change the PTX code
//! itself, so that execution follows them:
//!
//! * A branch to a return becomes a return.
//! * A short stretch that a branch skips is guarded by the branch's condition, and the branch
//!   disappears. For `sm_70`, versions 12.9 and 11.8 of `ptxas` do so up to eight machine instructions,
//!   or twenty with a load from global memory.

use std::ops::Range;
use std::sync::Arc;

use warp_stream::OperationClass;

use crate::analyse::{ControlFlow, writes};
use crate::ir::{Function, Guard, Instruction, InstructionIndex, Operand};
use crate::isa::{Control, Effect, Modifier, Op};

use super::code::{Node, NodeKind};
use super::contract::Replacements;
use super::{Target, combine, select, values};

/// Maximum machine instructions that are guarded instead of skipped.
const LONGEST: usize = 8;
/// Maximum if one of them waits long for memory.
const LONGEST_WITH_LOAD: usize = 20;

/// Rewrites a function where possible.
pub fn rewrite(source: &mut Arc<Function>) {
    rewrite_with(source, &Replacements::default());
}

/// Rewrites a contracted function and its replacements. Contraction comes first, because an assembler
/// contracts within the original blocks.
pub fn rewrite_contracted(source: &mut Arc<Function>, replacements: &mut Replacements) {
    let gone = rewrite_with(source, replacements);
    for (position, mut instructions) in std::mem::take(replacements) {
        let position = position - gone.before(position);
        let guard = source.instructions.get(position).and_then(|replaced| replaced.guard);
        instructions.iter_mut().for_each(|instruction| instruction.guard = guard);
        replacements.insert(position, instructions);
    }
}

/// Removed instructions of a function.
#[derive(Debug, Default)]
struct Gone {
    /// For each original position, the number of removed instructions before it. Empty if none is removed.
    before: Vec<u32>,
}

impl Gone {
    fn of(is_gone: &[bool]) -> Gone {
        let mut lost = 0;
        let before = is_gone.iter().map(|gone| {
            let before = lost;
            lost += u32::from(*gone);
            before
        });
        let before: Vec<u32> = before.collect();
        Gone { before: if lost > 0 { before } else { Vec::new() } }
    }

    /// Number of removed instructions before a position.
    fn before(&self, position: usize) -> usize {
        self.before.get(position).map_or(0, |before| *before as usize)
    }
}

/// Rewrites the function and returns the removed instructions.
fn rewrite_with(source: &mut Arc<Function>, replacements: &Replacements) -> Gone {
    if !source.instructions.iter().any(|i| i.op == Op::Control(Control::bra)) {
        return Gone::default();
    }
    let function = Arc::make_mut(source);
    return_at_once(function);
    guard_short_stretches(function, replacements)
}

/// Target of a branch with a single target.
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

fn guard_short_stretches(function: &mut Function, replacements: &Replacements) -> Gone {
    let mut gone = vec![false; function.instructions.len()];
    let mut entries = entries(function);
    let mut lengths = None;
    for position in (0..function.instructions.len()).rev() {
        let branch = &function.instructions[position];
        let (Some(guard), Some(target)) = (branch.guard, target(branch)) else { continue };
        if target <= position || target >= function.instructions.len() {
            continue;
        }
        let stretch = position + 1..target;
        if can_be_guarded(function, stretch.clone(), guard, &entries)
            && is_short(
                function,
                &stretch,
                lengths.get_or_insert_with(|| Lengths::of(function, replacements)),
            )
        {
            for i in &mut function.instructions[stretch] {
                i.guard = Some(Guard { register: guard.register, negated: !guard.negated });
            }
            gone[position] = true;
            entries[target] -= 1;
        }
    }
    let lost = Gone::of(&gone);
    remove(function, &gone, &lost);
    lost
}

/// For each position, the number of branches to it.
fn entries(function: &Function) -> Vec<u32> {
    let mut entries = vec![0; function.instructions.len() + 1];
    for label in function.instructions.iter().flat_map(labels) {
        if let Some(count) = entries.get_mut(label.0 as usize) {
            *count += 1;
        }
    }
    entries
}

fn can_be_guarded(function: &Function, stretch: Range<usize>, guard: Guard, entries: &[u32]) -> bool {
    let Some(code) = function.instructions.get(stretch.clone()) else { return false };
    let takes_guard = |i: &Instruction| {
        let acts_alone = matches!(i.op.line().effect, Effect::Pure | Effect::Load | Effect::Store);
        let of_one_lane = !matches!(i.op, Op::Matrix(_) | Op::Parallel(_));
        acts_alone && of_one_lane && i.guard.is_none() && !writes(i).contains(&guard.register)
    };
    let is_entered = |entries: &[u32]| entries.iter().any(|count| *count > 0);
    code.iter().all(takes_guard) && !entries.get(stretch).is_none_or(is_entered)
}

fn is_short(function: &Function, stretch: &Range<usize>, lengths: &Lengths) -> bool {
    let code = function.instructions.get(stretch.clone()).unwrap_or_default();
    let waits_long = code.iter().any(|i| i.op.line().effect == Effect::Load && !is_near(i));
    lengths.of_block(stretch.start) <= if waits_long { LONGEST_WITH_LOAD } else { LONGEST }
}

/// True if an access stays within the SM.
fn is_near(i: &Instruction) -> bool {
    i.modifiers().any(|of| {
        matches!(
            of,
            Modifier::Shared | Modifier::Const | Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc
        )
    })
}

/// Machine instructions of the basic blocks before rewriting.
struct Lengths {
    flow: ControlFlow,
    by_block: Vec<usize>,
}

impl Lengths {
    fn of(function: &Function, replacements: &Replacements) -> Lengths {
        let flow = ControlFlow::of(function);
        let values = values::Values::of(function, &flow, replacements);
        // The function stays the same on all targets.
        let machine = Target::Sm70.machine();
        let combinations = combine::Combinations::of(&values, function.instructions.len(), machine);
        let code = select::select(function, &flow, &values, &combinations, machine);
        let by_block = code.blocks.iter().map(|nodes| length(nodes)).collect();
        Lengths { flow, by_block }
    }

    fn of_block(&self, start: usize) -> usize {
        let block = self.flow.block_of(InstructionIndex(start as u32));
        block.and_then(|block| self.by_block.get(block.0 as usize)).copied().unwrap_or(usize::MAX)
    }
}

/// Machine instructions of a stretch. Instructions with a slow path cannot be guarded. Constants that are
/// first put into registers are not counted.
fn length(nodes: &[Node]) -> usize {
    let reads = |node: &Node| node.reads().next().is_some();
    if nodes.iter().any(|node| node.class == OperationClass::Branch && reads(node)) {
        return usize::MAX;
    }
    nodes
        .iter()
        .filter(|node| node.kind == NodeKind::Machine && (node.effect.is_some() || reads(node)))
        .count()
}

fn labels(i: &Instruction) -> impl Iterator<Item = InstructionIndex> + '_ {
    i.operands.iter().flat_map(|operand| match operand {
        Operand::Label(target) => std::slice::from_ref(target).iter().copied(),
        Operand::BranchTargets(targets) => targets.iter().copied(),
        _ => [].iter().copied(),
    })
}

/// Removes instructions and adjusts labels.
fn remove(function: &mut Function, is_gone: &[bool], gone: &Gone) {
    if gone.before.is_empty() {
        return;
    }
    let moved = |label: &mut InstructionIndex| label.0 -= gone.before(label.0 as usize) as u32;
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
        !is_gone[position - 1]
    });
}
