//! Working form of the lowering passes: machine instructions over virtual 32-bit registers and predicates.

use warp_stream::{MemoryOperation, OperationClass};

/// Adjacent virtual 32-bit registers.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Words {
    /// First register.
    pub(super) first: u32,
    /// Number of registers; 0 for none.
    pub(super) count: u8,
}

impl Words {
    pub(super) const NONE: Words = Words { first: 0, count: 0 };

    pub(super) fn iter(self) -> std::ops::Range<u32> {
        self.first..self.first + u32::from(self.count)
    }

    /// Part of `count` registers from register number `from` on.
    pub(super) fn part(self, from: u8, count: u8) -> Words {
        let from = from.min(self.count);
        Words { first: self.first + u32::from(from), count: count.min(self.count - from) }
    }

    pub(super) fn is_none(self) -> bool {
        self.count == 0
    }
}

/// Kind of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum NodeKind {
    /// A machine instruction.
    Machine,
    /// Copy of its first source; a machine instruction unless both registers coalesce.
    Copy,
    /// No machine instruction: another node carries its effect.
    Absorbed,
}

/// A future machine instruction, or an effect without one.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: NodeKind,
    pub(super) class: OperationClass,
    pub(super) destination: Words,
    pub(super) sources: [Words; 4],
    /// Virtual predicates read, including the guard.
    pub(super) predicates_read: Vec<u32>,
    pub(super) predicates_written: Vec<u32>,
    pub(super) memory: Option<MemoryOperation>,
    /// True if the destination keeps its value in lanes without the guard.
    pub(super) guarded: bool,
    /// True if a source may arrive after the machine instruction that writes it was issued.
    pub(super) deferred: bool,
    /// PTX instruction that takes effect with the node.
    pub(super) effect: Option<u32>,
    /// Merged PTX accesses, which take effect after that one, in this order.
    pub(super) joined: Vec<u32>,
    /// Line of the PTX text.
    pub(super) line: u32,
}

impl Node {
    /// A machine instruction of this class without operands.
    pub(super) fn new(class: OperationClass, line: u32) -> Node {
        Node {
            kind: NodeKind::Machine,
            class,
            destination: Words::NONE,
            sources: [Words::NONE; 4],
            predicates_read: Vec::new(),
            predicates_written: Vec::new(),
            memory: None,
            guarded: false,
            deferred: false,
            effect: None,
            joined: Vec::new(),
            line,
        }
    }

    /// PTX instructions that take effect with the node.
    pub(super) fn effects(&self) -> impl Iterator<Item = u32> + '_ {
        self.effect.into_iter().chain(self.joined.iter().copied())
    }

    /// Virtual registers read.
    pub(super) fn reads(&self) -> impl Iterator<Item = u32> + '_ {
        self.sources.iter().flat_map(|source| source.iter())
    }
}

/// Code of a function during lowering.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    /// Nodes of each basic block, in PTX block order.
    pub(super) blocks: Vec<Vec<Node>>,
    /// Group of adjacent registers that contains each virtual register.
    pub(super) group_of: Vec<u32>,
    /// Groups of adjacent registers.
    pub(super) groups: Vec<Words>,
    /// Number of virtual predicates.
    pub(super) predicates: u32,
}

impl Code {
    /// Creates adjacent virtual registers.
    pub(super) fn group(&mut self, count: u8) -> Words {
        let words = Words { first: self.group_of.len() as u32, count };
        self.group_of.extend((0..count).map(|_| self.groups.len() as u32));
        self.groups.push(words);
        words
    }

    /// Creates a virtual predicate.
    pub(super) fn predicate(&mut self) -> u32 {
        self.predicates += 1;
        self.predicates - 1
    }
}
