//! Lowering: from the typed form of a function to code like that of the vendor's assembler, as far as
//! timing is concerned. A [`Target`] is the code of a generation of GPUs.
//!
//! ```text
//! contract ──► rewrite ──► values (writers and readers of a register)
//!   ──► combine (which instructions absorb others) ──► select (nodes over virtual registers)
//!   ──► dead ──► join (several accesses become one) ──► schedule ──► allocate ──► emit
//! ```
//!
//! Every PTX instruction takes effect with exactly one machine instruction. A PTX instruction without its
//! own takes effect with one that needs its result. Nothing moves between basic blocks.

mod access;
mod allocate;
mod banks;
mod bottom_up;
mod code;
mod combine;
mod contract;
mod converge;
mod dead;
mod depend;
mod dominators;
mod emit;
mod evaluate;
mod expansion;
mod interference;
mod join;
mod known_bits;
mod listing;
mod live;
mod neighbours;
mod order;
mod rewrite;
mod schedule;
mod select;
mod target;
mod values;

use std::ops::Range;

use warp_stream::MachineInstruction;

use crate::analyse::ControlFlow;
use crate::ir::{Function, InstructionIndex};
use crate::isa::Effect;

pub use contract::{Replacements, contract};
pub use known_bits::SharedAddresses;
pub use listing::listing;
pub use rewrite::{rewrite, rewrite_contracted};
pub use target::Target;

/// A function as machine instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoweredFunction {
    /// Machine instructions by address, from 0. Field `line` refers to the PTX text.
    pub instructions: Vec<MachineInstruction>,
    /// For each machine instruction, the PTX instructions that take effect at its issue, in order: a range
    /// of [`LoweredFunction::order`].
    pub effects: Vec<Range<u32>>,
    /// PTX instructions in the order in which they take effect.
    pub order: Vec<InstructionIndex>,
    /// For each PTX instruction, the machine instruction with which it takes effect; for the first of a
    /// basic block, the start of the block.
    pub position: Vec<u32>,
    /// First PTX instruction of each merged access, ascending. Merged accesses together cover the bytes of
    /// their machine instruction, aligned to their number.
    pub joined: Vec<InstructionIndex>,
    /// 32-bit registers per thread, as an assembler would allocate them.
    pub registers: u32,
}

impl LoweredFunction {
    /// Number of PTX instructions.
    pub fn ptx_instructions(&self) -> usize {
        self.order.len()
    }
}

/// Lowers a function for `target` after [`contract`] and [`rewrite_contracted`], with their
/// `replacements`. `flow` describes the function after these passes.
pub fn lower(
    function: &Function,
    flow: &ControlFlow,
    replacements: &Replacements,
    addresses: &SharedAddresses,
    target: Target,
) -> LoweredFunction {
    let machine = target.machine();
    let values = values::Values::of(function, flow, replacements);
    let combinations = combine::Combinations::of(&values, function.instructions.len(), machine);
    let mut code = select::select(function, flow, &values, &combinations, machine);
    dead::drop_dead(&mut code, flow);
    join::join(function, &mut code, &values, &combinations, addresses);
    let calls = function.instructions.iter().any(|i| i.op.line().effect == Effect::Call);
    let (code, allocation) = order::order(&code, flow, &values, &combinations, calls, &machine.registers);
    emit::emit(function, flow, &code, &allocation, target)
}
