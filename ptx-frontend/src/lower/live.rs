//! Liveness of virtual registers and predicates at block ends.

use crate::analyse::ControlFlow;

use super::code::{Code, Node};

/// A set of small numbers.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Bits(Vec<u64>);

impl Bits {
    pub(super) fn new(length: usize) -> Bits {
        Bits(vec![0; length.div_ceil(64)])
    }

    pub(super) fn has(&self, bit: u32) -> bool {
        self.0.get(bit as usize / 64).is_some_and(|word| word >> (bit % 64) & 1 == 1)
    }

    pub(super) fn set(&mut self, bit: u32) {
        if let Some(word) = self.0.get_mut(bit as usize / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    pub(super) fn clear(&mut self, bit: u32) {
        if let Some(word) = self.0.get_mut(bit as usize / 64) {
            *word &= !(1 << (bit % 64));
        }
    }

    /// Numbers in ascending order.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.0.iter().enumerate().flat_map(|(at, word)| {
            let mut rest = *word;
            std::iter::from_fn(move || {
                let bit = (rest != 0).then(|| rest.trailing_zeros())?;
                rest &= rest - 1;
                Some(at as u32 * 64 + bit)
            })
        })
    }

    /// Adds the numbers of `other` that are not in `without`; returns true if some were new.
    fn merge(&mut self, other: &Bits, without: Option<&Bits>) -> bool {
        let mut changed = false;
        for (at, word) in self.0.iter_mut().enumerate() {
            let more = other.0[at] & !without.map_or(0, |without| without.0[at]);
            changed |= more & !*word != 0;
            *word |= more;
        }
        changed
    }
}

/// Registers of one kind that nodes read and write.
pub(super) trait RegisterClass {
    /// Number of registers.
    fn count(code: &Code) -> usize;
    /// Registers read, including a destination that keeps its value in lanes without the guard.
    fn reads(node: &Node, each: impl FnMut(u32));
    /// Registers written.
    fn writes(node: &Node, each: impl FnMut(u32));
}

/// 32-bit registers.
pub(super) struct OfWords;

/// Predicates.
pub(super) struct OfPredicates;

impl RegisterClass for OfWords {
    fn count(code: &Code) -> usize {
        code.group_of.len()
    }

    fn reads(node: &Node, mut each: impl FnMut(u32)) {
        node.reads().for_each(&mut each);
        if node.guarded {
            node.destination.iter().for_each(each);
        }
    }

    fn writes(node: &Node, each: impl FnMut(u32)) {
        node.destination.iter().for_each(each);
    }
}

impl RegisterClass for OfPredicates {
    fn count(code: &Code) -> usize {
        code.predicates as usize
    }

    fn reads(node: &Node, mut each: impl FnMut(u32)) {
        node.predicates_read.iter().copied().for_each(&mut each);
        if node.guarded {
            node.predicates_written.iter().copied().for_each(each);
        }
    }

    fn writes(node: &Node, each: impl FnMut(u32)) {
        node.predicates_written.iter().copied().for_each(each);
    }
}

/// Live registers at the end of each block.
#[derive(Debug)]
pub(super) struct LiveOut {
    /// Values live across blocks; no others are live at a block's end.
    passed: Vec<u32>,
    /// For each block, indices into `passed`.
    rows: Vec<Bits>,
}

impl LiveOut {
    /// Values live at the end of a block.
    pub(super) fn of_block(&self, block: usize) -> impl Iterator<Item = u32> + '_ {
        let numbers = self.rows.get(block).into_iter().flat_map(Bits::iter);
        numbers.filter_map(|number| self.passed.get(number as usize).copied())
    }
}

/// A set of small numbers with fast iteration.
#[derive(Debug)]
pub(super) struct Live {
    members: Vec<u32>,
    /// Index of each number among the members.
    places: Vec<u32>,
}

impl Live {
    /// An empty set of numbers below `count`.
    pub(super) fn new(count: usize) -> Live {
        Live { members: Vec::new(), places: vec![u32::MAX; count] }
    }

    /// Replaces the members.
    pub(super) fn reset(&mut self, members: impl Iterator<Item = u32>) {
        for member in self.members.drain(..) {
            self.places[member as usize] = u32::MAX;
        }
        members.for_each(|member| self.set(member));
    }

    pub(super) fn has(&self, number: u32) -> bool {
        self.places[number as usize] != u32::MAX
    }

    pub(super) fn set(&mut self, number: u32) {
        if !self.has(number) {
            self.places[number as usize] = self.members.len() as u32;
            self.members.push(number);
        }
    }

    pub(super) fn clear(&mut self, number: u32) {
        let place = std::mem::replace(&mut self.places[number as usize], u32::MAX);
        if place != u32::MAX {
            self.members.swap_remove(place as usize);
            if let Some(moved) = self.members.get(place as usize) {
                self.places[*moved as usize] = place;
            }
        }
    }

    /// The number of members.
    pub(super) fn count(&self) -> usize {
        self.members.len()
    }

    /// Members, unordered.
    pub(super) fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        self.members.iter().copied()
    }
}

/// Marks values that live within one block.
const LOCAL: u32 = u32::MAX;

/// Values live across blocks, and the index of each value among these.
fn passed<K: RegisterClass>(code: &Code) -> (Vec<u32>, Vec<u32>) {
    let mut passed = Vec::new();
    let mut numbers = vec![LOCAL; K::count(code)];
    // For each number, the last block that wrote it, from 1.
    let mut written_in = vec![0; K::count(code)];
    for (block, nodes) in (1..).zip(&code.blocks) {
        for node in nodes {
            K::reads(node, |word| {
                let number = &mut numbers[word as usize];
                if written_in[word as usize] != block && *number == LOCAL {
                    *number = passed.len() as u32;
                    passed.push(word);
                }
            });
            K::writes(node, |word| written_in[word as usize] = block);
        }
    }
    (passed, numbers)
}

/// Live values at the end of each block.
pub(super) fn live_out<K: RegisterClass>(code: &Code, flow: &ControlFlow) -> LiveOut {
    let (passed, numbers) = passed::<K>(code);
    let blocks = code.blocks.len();
    let mut wanted = vec![Bits::new(passed.len()); blocks];
    let mut written = vec![Bits::new(passed.len()); blocks];
    for (block, nodes) in code.blocks.iter().enumerate() {
        for node in nodes {
            K::reads(node, |word| match numbers[word as usize] {
                LOCAL => {}
                number if written[block].has(number) => {}
                number => wanted[block].set(number),
            });
            K::writes(node, |word| match numbers[word as usize] {
                LOCAL => {}
                number => written[block].set(number),
            });
        }
    }
    let mut live_in = wanted;
    let mut live_out = vec![Bits::new(passed.len()); blocks];
    let mut work: Vec<usize> = (0..blocks).collect();
    let mut queued = vec![true; blocks];
    while let Some(block) = work.pop() {
        queued[block] = false;
        for successor in &flow.blocks()[block].successors {
            live_out[block].merge(&live_in[successor.0 as usize], None);
        }
        if live_in[block].merge(&live_out[block], Some(&written[block])) {
            for before in &flow.blocks()[block].predecessors {
                let before = before.0 as usize;
                if !std::mem::replace(&mut queued[before], true) {
                    work.push(before);
                }
            }
        }
    }
    LiveOut { passed, rows: live_out }
}
