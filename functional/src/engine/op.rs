//! Ops: units of execution, bound to one kernel, with operands resolved to frame offsets.

use super::warp_context::WarpContext;

/// Control flow of a warp after an op.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Flow {
    /// Continue with the next op.
    Next,
    /// Continue at the program counter that the op has set.
    Jump,
    /// Stop for the reason in `WarpContext::stop`.
    Stop,
}

/// A warp-wide operation.
///
/// # Safety
/// The op's operand offsets lie inside the running frame, as the binder guarantees, and the host supports
/// the function's level ([`crate::host::level`]).
pub type Run = unsafe fn(&mut WarpContext<'_>, &Op) -> Flow;

/// A predicate operand: a word of the frame's predicate area, possibly inverted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PredicateSource(u32);

impl PredicateSource {
    const INVERTED: u32 = 1 << 31;

    /// Predicate that always holds.
    pub const TRUE: PredicateSource = PredicateSource(0);

    /// Reads word `index`.
    pub fn new(index: u32, inverted: bool) -> PredicateSource {
        PredicateSource(index | if inverted { PredicateSource::INVERTED } else { 0 })
    }

    /// Number of the word.
    #[inline(always)]
    pub fn index(self) -> u32 {
        self.0 & !PredicateSource::INVERTED
    }

    /// Mask to invert with: all ones if inverted, else 0.
    #[inline(always)]
    pub fn inversion(self) -> u32 {
        ((self.0 as i32) >> 31) as u32
    }

    /// Encodes the operand for a field of an [`Op`].
    pub fn encode(self) -> u32 {
        self.0
    }

    /// Decodes an operand field.
    #[inline(always)]
    pub fn decode(field: u32) -> PredicateSource {
        PredicateSource(field)
    }
}

/// Predicate word of all ones.
pub const PREDICATE_TRUE: u32 = 0;
/// Predicate word of the carry flag CC.CF.
pub const PREDICATE_CARRY: u32 = 1;
/// Predicate word for discarded results.
pub const PREDICATE_SINK: u32 = 2;
/// First predicate word of a kernel's own predicates.
pub const PREDICATE_FIRST: u32 = 3;

/// A bound op.
///
/// Fields `a` to `e` hold byte offsets of rows from the frame's start (or constants, [`super::constants`]).
/// For predicates, they hold the word number of a written one, or an encoded [`PredicateSource`]. The op
/// defines `immediate`.
#[derive(Debug, Clone, Copy)]
pub struct Op {
    /// Function that executes the op.
    pub run: Run,
    /// Guard: lanes whose predicate holds execute the op.
    pub guard: PredicateSource,
    /// First result.
    pub d: u32,
    /// First operand.
    pub a: u32,
    /// Second operand.
    pub b: u32,
    /// Third operand.
    pub c: u32,
    /// Fourth operand, or a second result.
    pub e: u32,
    /// Address offset, target, or table index.
    pub immediate: u64,
    /// Slot of a memory op in the warp's cache of allocations.
    pub slot: u32,
    /// PTX instruction of the op, as an index into the function's instructions.
    pub instruction: u32,
}

impl Op {
    /// An unguarded op whose operands are zero.
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
