//! What the passes of lowering work on: machine instructions over virtual 32-bit registers and predicates.

use warp_stream::{MemoryOperation, OperationClass};

/// Virtual 32-bit registers that lie next to each other.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(super) struct Words {
    /// The first.
    pub(super) first: u32,
    /// How many; 0 for none.
    pub(super) count: u8,
}

impl Words {
    pub(super) const NONE: Words = Words { first: 0, count: 0 };

    pub(super) fn iter(self) -> std::ops::Range<u32> {
        self.first..self.first + u32::from(self.count)
    }

    /// `count` of them, from the `from`-th on.
    pub(super) fn part(self, from: u8, count: u8) -> Words {
        let from = from.min(self.count);
        Words { first: self.first + u32::from(from), count: count.min(self.count - from) }
    }

    pub(super) fn is_none(self) -> bool {
        self.count == 0
    }
}

/// What becomes of a node.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// A machine instruction.
    Machine,
    /// A copy of its first source, which needs a machine instruction if the two registers cannot be one.
    Copy,
    /// No machine instruction: its effect comes with another's.
    Absorbed,
}

/// A machine instruction to be, or an effect that has none.
#[derive(Debug, Clone)]
pub(super) struct Node {
    pub(super) kind: Kind,
    pub(super) class: OperationClass,
    pub(super) destination: Words,
    pub(super) sources: [Words; 4],
    /// Virtual predicates read, the guard's among them.
    pub(super) predicates_read: Vec<u32>,
    pub(super) predicates_written: Vec<u32>,
    pub(super) memory: Option<MemoryOperation>,
    /// Where the guard does not hold, the destination keeps its value.
    pub(super) guarded: bool,
    /// What it reads may come later than the machine instruction that it is written by.
    pub(super) deferred: bool,
    /// The PTX instruction that takes effect with it.
    pub(super) effect: Option<u32>,
    /// Those whose accesses it makes too, and which take effect after that one, in this order.
    pub(super) joined: Vec<u32>,
    /// Line of the PTX text.
    pub(super) line: u32,
}

impl Node {
    /// A machine instruction of this class without operands.
    pub(super) fn new(class: OperationClass, line: u32) -> Node {
        Node {
            kind: Kind::Machine,
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

    /// The PTX instructions that take effect with it.
    pub(super) fn effects(&self) -> impl Iterator<Item = u32> + '_ {
        self.effect.into_iter().chain(self.joined.iter().copied())
    }

    /// Virtual registers read.
    pub(super) fn reads(&self) -> impl Iterator<Item = u32> + '_ {
        self.sources.iter().flat_map(|source| source.iter())
    }
}

/// The code of a function while it is lowered.
#[derive(Debug, Clone, Default)]
pub(super) struct Code {
    /// Nodes by basic block, in the order of the PTX code's blocks.
    pub(super) blocks: Vec<Vec<Node>>,
    /// For each virtual register, the group that it is part of: registers that lie next to each other.
    pub(super) group_of: Vec<u32>,
    /// The groups.
    pub(super) groups: Vec<Words>,
    /// Number of virtual predicates.
    pub(super) predicates: u32,
}

impl Code {
    /// New virtual registers that lie next to each other.
    pub(super) fn group(&mut self, count: u8) -> Words {
        let words = Words { first: self.group_of.len() as u32, count };
        self.group_of.extend((0..count).map(|_| self.groups.len() as u32));
        self.groups.push(words);
        words
    }

    /// A new virtual predicate.
    pub(super) fn predicate(&mut self) -> u32 {
        self.predicates += 1;
        self.predicates - 1
    }
}
