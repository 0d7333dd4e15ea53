//! Lowering: from the typed form of a function to code like that of the machine, as the vendor's assembler makes it for
//! `sm_70`, as far as timing can tell.
//!
//! ```text
//! contract ──► rewrite ──► values (who writes and reads what) ──► fold (what becomes part of what) ──► select (nodes
//! over virtual registers) ──► dead ──► join (several accesses become one) ──► schedule ──► allocate ──► emit
//! ```
//!
//! Every instruction of PTX takes effect with exactly one machine instruction; those that need none of their own take
//! effect with one that needs their result. Nothing moves from one basic block to another.

mod access;
mod allocate;
mod banks;
mod code;
mod contract;
mod converge;
mod dead;
mod depend;
mod dominators;
mod emit;
mod evaluate;
mod fold;
mod interference;
mod join;
mod listing;
mod live;
mod low_bits;
mod neighbours;
mod recipe;
mod rewrite;
mod schedule;
mod select;
mod values;

use std::ops::Range;

use warp_stream::MachineInstruction;

use crate::analyse::ControlFlow;
use crate::ir::{Function, InstructionIndex};
use crate::isa::Effect;

pub use contract::{Replacements, contract};
pub use listing::listing;
pub use low_bits::SharedAddresses;
pub use rewrite::{rewrite, rewrite_contracted};

/// Registers that values may take before the order of the code spares them: as many as leave an SM all its warps, less
/// those that no value has; then fewer, where that was not enough.
const ROOMS: [usize; 4] = [29, 25, 21, 17];

/// A function as machine instructions.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LoweredFunction {
    /// By address; the first has address 0. `line` is that of the PTX text.
    pub instructions: Vec<MachineInstruction>,
    /// For each machine instruction, which PTX instructions take effect when it is issued, in this order: a range of
    /// [`LoweredFunction::order`].
    pub effects: Vec<Range<u32>>,
    /// The PTX instructions in the order in which they take effect.
    pub order: Vec<InstructionIndex>,
    /// For each PTX instruction, the machine instruction with which it takes effect; for one that begins a basic block,
    /// where the block begins.
    pub position: Vec<u32>,
    /// Of each machine instruction that makes the accesses of several PTX instructions, the first of these, in ascending
    /// order. Together they lie in as many bytes as the machine instruction accesses, at a multiple of that.
    pub joined: Vec<InstructionIndex>,
    /// 32-bit registers of a thread, as an assembler would allot them.
    pub registers: u32,
}

impl LoweredFunction {
    /// Instructions of PTX that it has been made of.
    pub fn ptx_instructions(&self) -> usize {
        self.order.len()
    }
}

/// Lowers a function that [`contract`] and [`rewrite_contracted`] have been over; `replacements` are what they gave, and
/// `flow` is of what they left.
pub fn lower(
    function: &Function,
    flow: &ControlFlow,
    replacements: &Replacements,
    addresses: &SharedAddresses,
) -> LoweredFunction {
    let values = values::Values::of(function, flow, replacements);
    let folds = fold::Folds::of(&values, function.instructions.len());
    let mut code = select::select(function, flow, &values, &folds);
    dead::drop_dead(&mut code, flow);
    join::join(function, &mut code, &values, &folds, addresses);
    let calls = function.instructions.iter().any(|i| i.op.line().effect == Effect::Call);
    let ordered = |room: usize| {
        let mut code = code.clone();
        schedule::schedule(&mut code, flow, &values, &folds, room);
        let allocation = allocate::Allocation::of(&code, flow, calls);
        (code, allocation)
    };
    let (mut code, mut allocation) = ordered(ROOMS[0]);
    for room in &ROOMS[1..] {
        if allocation.registers <= allocate::ALL_WARPS {
            break;
        }
        let (other_code, other) = ordered(*room);
        if other.registers < allocation.registers {
            (code, allocation) = (other_code, other);
        }
    }
    emit::emit(function, flow, &code, &allocation)
}
