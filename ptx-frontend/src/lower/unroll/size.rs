//! Limits of unrolling, measured on loops of one kind of instruction with ptxas 12.9 for `sm_70`.

use warp_stream::{MemorySpace, OperationClass};

use crate::analyse::ControlFlow;
use crate::ir::{Function, InstructionIndex};
use crate::lower::code::{Node, NodeKind};
use crate::lower::contract::Replacements;
use crate::lower::{combine, select, values};

use super::find::Loop;

/// Copies of a loop with an unknown number of iterations.
pub(super) const COPIES: u32 = 4;

/// Instructions that continue a loop: step, comparison, branch.
const OVERHEAD: u32 = 3;

/// Maximum weight of such a loop without loads, and of one with loads from global memory.
const LONGEST: u32 = 21;
const LONGEST_WITH_LOADS: u32 = 51;
/// Each load from shared memory adds this, up to a maximum.
const PER_SHARED_LOAD: u32 = 5;
const LONGEST_WITH_SHARED_LOADS: u32 = 100;

/// Longest body that becomes straight code, by number of iterations. Values between are interpolated.
const STRAIGHT: [(u32, u32); 12] = [
    (2, 194),
    (3, 126),
    (4, 97),
    (5, 78),
    (8, 57),
    (16, 38),
    (32, 25),
    (64, 17),
    (100, 13),
    (200, 9),
    (400, 6),
    (3591, 1),
];

/// Maximum length of a loop that is repeated a known number of times.
const REPEATED: u32 = 360;

/// Least number of copies of a repeated loop.
const FEWEST: u32 = 3;

/// Maximum number of branches within an iteration.
const BRANCHES: usize = 4;

/// Additional weight of an atomic operation, before which lanes with one address are brought together.
const ATOMIC: u32 = 10;

/// Way to unroll a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Plan {
    /// This many copies, without a branch back.
    Straight(u32),
    /// A loop of `copies`, then `rest` copies.
    Repeated { copies: u32, rest: u32 },
    /// Four copies while possible, then two, then one.
    Unknown,
}

/// Machine instructions of a basic block.
#[derive(Debug, Clone, Copy, Default)]
struct Size {
    instructions: u32,
    /// Instructions, with accesses and barriers counted twice.
    weight: u32,
    global_loads: u32,
    shared_loads: u32,
    /// True if a slow path may be called.
    has_slow_path: bool,
}

/// Sizes of all blocks of a function.
pub(super) struct Sizes<'f> {
    flow: &'f ControlFlow,
    by_block: Vec<Size>,
}

impl<'f> Sizes<'f> {
    pub(super) fn of(function: &Function, flow: &'f ControlFlow, replacements: &Replacements) -> Sizes<'f> {
        let values = values::Values::of(function, flow, replacements);
        let combinations = combine::Combinations::of(&values, function.instructions.len());
        let code = select::select(function, flow, &values, &combinations);
        Sizes { flow, by_block: code.blocks.iter().map(|nodes| size(nodes)).collect() }
    }

    fn of_loop(&self, found: &Loop) -> Option<Size> {
        let number =
            |at: usize| self.flow.block_of(InstructionIndex(at as u32)).map(|block| block.0 as usize);
        let blocks = self.by_block.get(number(found.header)?..=number(found.latch)?)?;
        let sum = |of: fn(&Size) -> u32| blocks.iter().map(of).sum();
        Some(Size {
            instructions: sum(|of| of.instructions),
            weight: sum(|of| of.weight),
            global_loads: sum(|of| of.global_loads),
            shared_loads: sum(|of| of.shared_loads),
            has_slow_path: blocks.iter().any(|of| of.has_slow_path),
        })
    }
}

fn size(nodes: &[Node]) -> Size {
    let mut size = Size::default();
    for node in nodes {
        let reads = node.reads().next().is_some();
        if node.kind != NodeKind::Machine || (node.effect.is_none() && !reads) {
            continue;
        }
        let space = node.memory.map(|memory| memory.space);
        let is_heavy = space.is_some_and(|space| space != MemorySpace::Constant)
            || matches!(node.class, OperationClass::Barrier);
        size.instructions += 1;
        let is_atomic = matches!(node.class, OperationClass::Atomic | OperationClass::Reduction);
        size.weight += 1 + u32::from(is_heavy) + if is_atomic { ATOMIC } else { 0 };
        if node.class == OperationClass::Load {
            match space {
                Some(MemorySpace::Shared) => size.shared_loads += 1,
                _ => size.global_loads += 1,
            }
        }
        size.has_slow_path |= node.class == OperationClass::Branch && reads;
    }
    size
}

/// Way to unroll a loop; `None` if it stays as it is.
pub(super) fn plan(found: &Loop, sizes: &Sizes<'_>) -> Option<Plan> {
    let size = sizes.of_loop(found)?;
    if size.has_slow_path || found.branches > BRANCHES {
        return None;
    }
    let [body, weight] = [size.instructions, size.weight].map(|of| of.saturating_sub(OVERHEAD).max(1));
    match found.counter.trips {
        Some(trips) if weight <= longest_straight(trips) => Some(Plan::Straight(trips as u32)),
        _ if !found.exits.is_empty() => None,
        Some(trips) => repeated(u32::try_from(trips).ok()?, body),
        None => (size.weight <= longest_unknown(&size)).then_some(Plan::Unknown),
    }
}

fn longest_unknown(size: &Size) -> u32 {
    match size.global_loads {
        0 => (LONGEST + PER_SHARED_LOAD * size.shared_loads).min(LONGEST_WITH_SHARED_LOADS),
        _ => LONGEST_WITH_LOADS,
    }
}

/// Interpolates in [`STRAIGHT`], on logarithmic scales.
fn longest_straight(trips: u64) -> u32 {
    if trips <= 1 {
        return u32::MAX;
    }
    let Ok(trips) = u32::try_from(trips) else { return 0 };
    let above = STRAIGHT.partition_point(|(of, _)| *of < trips);
    let (Some((to, less)), Some((from, more))) = (STRAIGHT.get(above), STRAIGHT.get(above.saturating_sub(1)))
    else {
        return 0;
    };
    if above == 0 || *to == trips {
        return *less;
    }
    let [from, to, at] = [*from, *to, trips].map(|of| f64::from(of).ln());
    let [more, less] = [*more, *less].map(|of| f64::from(of).ln());
    (more + (less - more) * (at - from) / (to - from)).exp() as u32
}

/// The largest number of copies whose rest is at most a tenth of them.
fn repeated(trips: u32, body: u32) -> Option<Plan> {
    let most = (REPEATED / body).min(trips / 2);
    let copies = (FEWEST..=most).rev().find(|copies| trips % copies <= copies / 10)?;
    Some(Plan::Repeated { copies, rest: trips % copies })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn straight_code_follows_the_measured_lengths() {
        assert_eq!(longest_straight(16), 38);
        assert_eq!(longest_straight(3591), 1);
        assert_eq!(longest_straight(3592), 0);
        assert!((25..38).contains(&longest_straight(24)));
    }

    #[test]
    fn a_known_loop_repeats_as_in_the_assembler() {
        assert_eq!(repeated(1000, 10), Some(Plan::Repeated { copies: 27, rest: 1 }));
        assert_eq!(repeated(1001, 10), Some(Plan::Repeated { copies: 27, rest: 2 }));
        assert_eq!(repeated(10_000, 10), Some(Plan::Repeated { copies: 33, rest: 1 }));
        assert_eq!(repeated(16, 40), Some(Plan::Repeated { copies: 8, rest: 0 }));
    }
}
