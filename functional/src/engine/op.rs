//! What the engine executes: ops bound to one kernel, their operands resolved to places in a frame.

use super::running::Running;

/// What a warp does after an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Flow {
    /// Goes on with the next op.
    Next,
    /// Goes on where the op has set the program counter.
    Jump,
    /// Stops; the reason is in [`Running::stop`].
    Stop,
}

/// A warp-wide operation.
///
/// # Safety
/// The op's operand offsets lie inside the running frame (the binder's promise), and the host has the instructions
/// the function is compiled for ([`crate::host::level`]).
pub type Run = unsafe fn(&mut Running<'_>, &Op) -> Flow;

/// A predicate read by an op: the word of a frame's predicate area, perhaps inverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredicateSource(u32);

impl PredicateSource {
    const INVERTED: u32 = 1 << 31;

    /// The predicate that always holds.
    pub const TRUE: PredicateSource = PredicateSource(0);

    /// Reads word `index`.
    pub fn new(index: u32, inverted: bool) -> PredicateSource {
        PredicateSource(index | if inverted { PredicateSource::INVERTED } else { 0 })
    }

    /// The word.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 & !PredicateSource::INVERTED
    }

    /// All ones when inverted, else 0.
    #[inline(always)]
    pub fn inversion(self) -> u32 {
        ((self.0 as i32) >> 31) as u32
    }

    /// As an operand field of an [`Op`].
    pub fn encode(self) -> u32 {
        self.0
    }

    /// From an operand field.
    #[inline(always)]
    pub fn decode(field: u32) -> PredicateSource {
        PredicateSource(field)
    }
}

/// Word of the predicate area that is all ones.
pub const PREDICATE_TRUE: u32 = 0;
/// Word of the predicate area that holds the carry flag CC.CF.
pub const PREDICATE_CARRY: u32 = 1;
/// Word of the predicate area that takes unwanted results.
pub const PREDICATE_SINK: u32 = 2;
/// First word for a kernel's own predicates.
pub const PREDICATE_FIRST: u32 = 3;

/// One bound op.
///
/// `a` to `e` and `d` are byte offsets of rows from the frame's start for values (or name constants, [`super::constants`]), word numbers for predicates written,
/// encoded [`PredicateSource`]s for predicates read; `immediate` is the op's own.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// Semantics.
    pub run: Run,
    /// Lanes that execute: those whose predicate holds.
    pub guard: PredicateSource,
    /// First result.
    pub d: u32,
    /// Operands.
    pub a: u32,
    /// Operands.
    pub b: u32,
    /// Operands.
    pub c: u32,
    /// Operands, or a second result.
    pub e: u32,
    /// An address offset, target, or table index.
    pub immediate: u64,
    /// Which of the warp's remembered allocations a memory op looks at first.
    pub slot: u32,
    /// The PTX instruction this came from: index into the function's instructions.
    pub instruction: u32,
}

impl Op {
    /// An unguarded op whose operands are all zero.
    pub fn new(run: Run, instruction: u32) -> Op {
        Op {
            run,
            guard: PredicateSource::TRUE,
            d: 0,
            a: 0,
            b: 0,
            c: 0,
            e: 0,
            immediate: 0,
            slot: 0,
            instruction,
        }
    }
}
