//! Which rows of a frame registers have. Registers that live and die within a stretch of code that runs from its beginning to
//! its end share rows with others that are done with: a warp's frame stays in the host's caches then.
//!
//! Lanes that stand elsewhere lose nothing by it: a row is 32 places, one of each lane, and an op writes those of its own
//! lanes alone.

use std::sync::Arc;

use ptx_frontend::analyse::{Block, reads, writes};
use ptx_frontend::ir::{Function, Instruction, Parameter, RegisterId};
use ptx_frontend::isa::ScalarType;
use ptx_frontend::lower::LoweredFunction;

use super::{Binder, ROW_BYTES, machine};

/// Rows of a register, at most.
const MOST_ROWS: usize = 4;

/// An instruction as it is bound, with the number of the stretch that it is in.
type Bound<'i> = (u32, &'i Instruction);

/// Where a register is used.
#[derive(Debug, Clone, Copy)]
enum Use {
    /// Nowhere.
    Never,
    /// From an instruction to another of the same stretch, by position in the order of execution.
    Within { stretch: u32, first: u32, last: u32, read: bool },
    /// In more than one stretch, before it is written, or outside of the instructions.
    Beyond,
}

/// Rows of a register of a type; predicates have none.
pub(super) fn rows_of(ty: ScalarType) -> usize {
    match ty.bits() {
        _ if ty == ScalarType::Pred => 0,
        0..=32 => 1,
        33..=64 => 2,
        _ => MOST_ROWS,
    }
}

impl Binder<'_, '_> {
    /// Gives registers their rows, by the order in which instructions are going to be bound.
    pub(super) fn share_rows(&mut self, lowered: Option<&LoweredFunction>) {
        let source = Arc::clone(&self.source);
        let order: Vec<(u32, usize)> = match lowered {
            Some(lowered) => machine::stretches(&self.flow, lowered),
            None => {
                let blocks = (0..).zip(self.flow.blocks());
                let numbers = |block: &Block| block.start.0 as usize..block.end.0 as usize;
                blocks.flat_map(|(stretch, block)| numbers(block).map(move |i| (stretch, i))).collect()
            }
        };
        let mut bound = Vec::with_capacity(order.len());
        for (stretch, number) in order {
            match (self.replacements.get(&number), source.instructions.get(number)) {
                (Some(others), _) => bound.extend(others.iter().map(|other| (stretch, other))),
                (None, instruction) => bound.extend(instruction.map(|instruction| (stretch, instruction))),
            }
        }
        self.layout.register_rows = share(&source, &bound, self.layout.predicate_rows, &mut self.registers);
    }
}

/// Gives registers their rows, from row `first` on: writes the byte offset of each that is no predicate into `offsets`, and
/// gives the number of rows. `order` has the instructions as they are executed.
fn share(function: &Function, order: &[Bound<'_>], first: usize, offsets: &mut [u32]) -> usize {
    let uses = uses(function, order);
    let rows_of = |register: usize| rows_of(function.registers[register]);
    let mut rows = Rows { next: first, free: Default::default() };
    let nobodys = rows.new_ones(MOST_ROWS);
    let mut beginning = vec![Vec::new(); order.len()];
    let mut ending = vec![Vec::new(); order.len()];
    for register in (0..uses.len()).filter(|&register| rows_of(register) > 0) {
        match uses[register] {
            Use::Never => offsets[register] = nobodys,
            Use::Within { first, last, read: true, .. } => {
                beginning[first as usize].push(register);
                ending[last as usize].push(register);
            }
            Use::Within { .. } | Use::Beyond => offsets[register] = rows.new_ones(rows_of(register)),
        }
    }
    for (begin, end) in beginning.into_iter().zip(ending) {
        for register in begin {
            offsets[register] = rows.take(rows_of(register));
        }
        // Only now: an op may write its result before it has read all operands.
        for register in end {
            rows.free[rows_of(register)].push(offsets[register]);
        }
    }
    rows.next - first
}

/// Rows of a frame.
struct Rows {
    /// The first that nobody has had.
    next: usize,
    /// Byte offsets of those that are free again, by how many are together.
    free: [Vec<u32>; MOST_ROWS + 1],
}

impl Rows {
    /// The byte offset of rows that are free, of which so many are together.
    fn take(&mut self, count: usize) -> u32 {
        self.free[count].pop().unwrap_or_else(|| self.new_ones(count))
    }

    /// The byte offset of rows that nobody has had.
    fn new_ones(&mut self, count: usize) -> u32 {
        let offset = (self.next * ROW_BYTES) as u32;
        self.next += count;
        offset
    }
}

/// Where each register is used.
fn uses(function: &Function, order: &[Bound<'_>]) -> Vec<Use> {
    let mut uses = vec![Use::Never; function.registers.len()];
    let of_callers = function.parameters.iter().chain(&function.returns).filter_map(in_register);
    for register in of_callers {
        uses[register.0 as usize] = Use::Beyond;
    }
    // The stretch, from 1, in which a register was last written without guard.
    let mut written = vec![0; function.registers.len()];
    for (position, &(stretch, instruction)) in (0..).zip(order) {
        for register in reads(instruction) {
            let whole = written[register.0 as usize] == stretch + 1;
            note(&mut uses[register.0 as usize], stretch, position, true, whole);
        }
        for register in writes(instruction) {
            note(&mut uses[register.0 as usize], stretch, position, false, true);
            if instruction.guard.is_none() {
                written[register.0 as usize] = stretch + 1;
            }
        }
    }
    uses
}

fn in_register(parameter: &Parameter) -> Option<RegisterId> {
    parameter.register
}

/// A register is used at a position; it is `whole` if all lanes that come there have written it in this stretch, or write it.
fn note(known: &mut Use, stretch: u32, position: u32, reads: bool, whole: bool) {
    *known = match *known {
        _ if !whole => Use::Beyond,
        Use::Never => Use::Within { stretch, first: position, last: position, read: reads },
        Use::Within { stretch: other, first, read, .. } if other == stretch => {
            Use::Within { stretch, first, last: position, read: read || reads }
        }
        _ => Use::Beyond,
    };
}
