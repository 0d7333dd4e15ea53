//! Which rows of a frame registers have. Registers of which no lane wants both at a time share rows: a warp's frame is small
//! then, and stays in the host's caches.
//!
//! Lanes that stand elsewhere lose nothing by it: a row is 32 places, one of each lane, and an op writes those of its own
//! lanes alone; registers of other widths, whose lanes have other places, share none. So what counts is the way of one lane
//! through the code. Rows are given by linear scan (Poletto and Sarkar, "Linear Scan Register Allocation", TOPLAS 1999): a
//! register has its rows from the first to the last place in the order of the code at which it is wanted.

use std::sync::Arc;

use ptx_frontend::analyse::{BlockId, ControlFlow, Liveness, Written, reads, writes};
use ptx_frontend::ir::{Function, Instruction, InstructionIndex, Parameter};
use ptx_frontend::isa::ScalarType;
use ptx_frontend::lower::LoweredFunction;

use super::{Binder, ROW_BYTES};

/// Rows of a register, at most.
const MOST_ROWS: usize = 4;

/// An instruction as it is bound, with its block.
type Bound<'i> = (BlockId, &'i Instruction);

/// From where to where a register is wanted, by position in the order of execution.
#[derive(Debug, Clone, Copy)]
enum Life {
    /// Nowhere.
    Never,
    /// From a position to another.
    Within { first: u32, last: u32, read: bool },
    /// Everywhere.
    Always,
}

impl Life {
    /// It is wanted at a position, too.
    fn extend(&mut self, position: u32, reads: bool) {
        *self = match *self {
            Life::Never => Life::Within { first: position, last: position, read: reads },
            Life::Within { first, last, read } => {
                Life::Within { first: first.min(position), last: last.max(position), read: read || reads }
            }
            Life::Always => Life::Always,
        };
    }
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
    pub(super) fn share_rows(&mut self, lowered: Option<&LoweredFunction>, liveness: &Liveness) {
        let source = Arc::clone(&self.source);
        let order: Vec<InstructionIndex> = match lowered {
            Some(lowered) => {
                let of_one = |effects: &std::ops::Range<u32>| effects.start as usize..effects.end as usize;
                lowered
                    .effects
                    .iter()
                    .filter_map(|effects| lowered.order.get(of_one(effects)))
                    .flatten()
                    .copied()
                    .collect()
            }
            None => (0..source.instructions.len()).map(|number| InstructionIndex(number as u32)).collect(),
        };
        let mut bound = Vec::with_capacity(order.len());
        for number in order {
            let Some(block) = self.flow.block_of(number) else { continue };
            let number = number.0 as usize;
            match (self.replacements.get(&number), source.instructions.get(number)) {
                (Some(others), _) => bound.extend(others.iter().map(|other| (block, other))),
                (None, instruction) => bound.extend(instruction.map(|instruction| (block, instruction))),
            }
        }
        let lives = lives(&source, &self.flow, liveness, &bound);
        self.layout.register_rows =
            share(&source, &lives, bound.len(), self.layout.predicate_rows, &mut self.registers);
        let nobodys = self.scratch_128();
        let unused = (0..lives.len()).filter(|&register| {
            matches!(lives[register], Life::Never) && rows_of(source.registers[register]) > 0
        });
        unused.for_each(|register| self.registers[register] = nobodys);
    }
}

/// Gives registers their rows, from row `first` on: writes the byte offset of each that is wanted and no predicate into
/// `offsets`, and gives the number of rows.
fn share(function: &Function, lives: &[Life], positions: usize, first: usize, offsets: &mut [u32]) -> usize {
    let rows_of = |register: usize| rows_of(function.registers[register]);
    let mut rows = Rows { next: first, free: Default::default() };
    let mut beginning = vec![Vec::new(); positions];
    let mut ending = vec![Vec::new(); positions];
    for register in (0..lives.len()).filter(|&register| rows_of(register) > 0) {
        match lives[register] {
            Life::Never => {}
            Life::Within { first, last, read: true } => {
                beginning[first as usize].push(register);
                ending[last as usize].push(register);
            }
            // What is put off may write its result at any time behind it.
            Life::Within { .. } | Life::Always => offsets[register] = rows.take(rows_of(register)),
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
    /// Byte offsets of those that are free again, by how many are together. Those of a wide value are for wide ones alone: a
    /// lane's place in them is not its place in the row of a word, which another lane may want meanwhile.
    free: [Vec<u32>; MOST_ROWS + 1],
}

impl Rows {
    /// The byte offset of rows that nobody has, of which so many are together.
    fn take(&mut self, count: usize) -> u32 {
        self.free[count].pop().unwrap_or_else(|| {
            let offset = (self.next * ROW_BYTES) as u32;
            self.next += count;
            offset
        })
    }
}

/// Where each register is wanted. `order` has the instructions as they are executed.
fn lives(function: &Function, flow: &ControlFlow, liveness: &Liveness, order: &[Bound<'_>]) -> Vec<Life> {
    let mut lives = vec![Life::Never; function.registers.len()];
    let mut written = Written::new(function);
    // By register: the block, from 1, at whose beginning it is wanted, and which is gone through.
    let mut wanted_in = vec![0; function.registers.len()];
    let mut ends = vec![None; flow.blocks().len()];
    let mut current = None;
    for (position, &(block, instruction)) in (0..).zip(order) {
        if current != Some(block) {
            written.begin_block();
            current = Some(block);
            for register in liveness.live_in(block) {
                wanted_in[register.0 as usize] = block.0 + 1;
                lives[register.0 as usize].extend(position, true);
            }
        }
        ends[block.0 as usize] = Some(position);
        for register in reads(instruction) {
            let is_known =
                wanted_in[register.0 as usize] == block.0 + 1 || written.covers(register, instruction.guard);
            match &mut lives[register.0 as usize] {
                life if is_known => life.extend(position, true),
                life => *life = Life::Always,
            }
        }
        for register in writes(instruction) {
            lives[register.0 as usize].extend(position, false);
        }
        written.note(instruction);
    }
    for (block, end) in (0..).zip(ends) {
        let Some(end) = end else { continue };
        for register in liveness.live_out(BlockId(block)) {
            lives[register.0 as usize].extend(end, true);
        }
    }
    let of_callers = function.parameters.iter().chain(&function.returns).flat_map(Parameter::registers);
    of_callers.for_each(|register| lives[register.0 as usize] = Life::Always);
    lives
}

#[cfg(test)]
mod tests {
    use ptx_frontend::Module;

    use super::*;

    /// The rows of registers of a kernel, by name, and the number of all.
    fn shared(body: &str) -> (impl Fn(&str) -> u32, usize) {
        let text = format!(
            ".version 7.0\n.target sm_70\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n{body}\n}}"
        );
        let module = Module::parse(text, "test").unwrap();
        let function = (*module.function("k").unwrap()).clone();
        let flow = ControlFlow::of(&function);
        let liveness = Liveness::of(&function, &flow);
        let block = |number| flow.block_of(InstructionIndex(number)).unwrap();
        let order: Vec<Bound<'_>> = (0..)
            .zip(&function.instructions)
            .map(|(number, instruction)| (block(number), instruction))
            .collect();
        let lives = lives(&function, &flow, &liveness, &order);
        let mut offsets = vec![u32::MAX; function.registers.len()];
        let rows = share(&function, &lives, order.len(), 1, &mut offsets);
        let names = function.register_names;
        let row = move |name: &str| {
            offsets[names.iter().position(|other| other == name).unwrap()] / ROW_BYTES as u32
        };
        (row, rows)
    }

    #[test]
    fn values_of_which_one_ends_before_the_other_begins_share_a_row() {
        let (row, rows) = shared(
            "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; bra N; N: mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; ret;",
        );
        assert_eq!((row("%r1"), rows), (row("%r2"), 3));
    }

    #[test]
    fn a_result_shares_no_row_with_an_operand_of_its_instruction() {
        let (row, _) = shared("mov.u32 %r1, 1; add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret;");
        assert_ne!(row("%r1"), row("%r2"));
    }

    #[test]
    fn what_a_loop_reads_keeps_its_row_to_the_loops_end() {
        let (row, _) = shared(
            "mov.u32 %r1, 1; mov.u32 %r2, 0;
             TOP: add.u32 %r2, %r2, %r1; mov.u32 %r3, 3; st.global.u32 [%rd1], %r3;
             setp.lt.u32 %p1, %r2, 9; @%p1 bra TOP; ret;",
        );
        assert!(row("%r3") != row("%r1") && row("%r3") != row("%r2"));
    }

    #[test]
    fn values_on_two_ways_through_the_code_share_a_row_and_what_both_need_has_its_own() {
        let (row, _) = shared(
            "mov.u32 %r1, 1; @%p1 bra ELSE;
             mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; bra END;
             ELSE: mov.u32 %r3, 3; st.global.u32 [%rd1], %r3;
             END: st.global.u32 [%rd1], %r1; ret;",
        );
        assert_eq!(row("%r2"), row("%r3"));
        assert_ne!(row("%r1"), row("%r2"));
    }

    #[test]
    fn what_is_read_before_it_is_written_has_its_row_from_the_beginning() {
        let (row, _) = shared(
            "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; @%p1 mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; ret;",
        );
        assert_ne!(row("%r1"), row("%r2"));
    }

    #[test]
    fn values_of_one_guard_share_a_row() {
        let (row, rows) = shared(
            "@%p1 mov.u32 %r1, 1; @%p1 st.global.u32 [%rd1], %r1; @%p1 mov.u32 %r2, 2; @%p1 st.global.u32 [%rd1], %r2; ret;",
        );
        assert_eq!((row("%r1"), rows), (row("%r2"), 3));
    }

    #[test]
    fn values_of_different_widths_share_no_row_as_a_lane_has_other_places_in_them() {
        let (row, rows) = shared(
            "mov.u32 %r1, 1; mov.u32 %r2, 1; st.global.u32 [%rd1], %r1; st.global.u32 [%rd1], %r2;
             mov.u64 %rd2, 2; st.global.u64 [%rd1], %rd2; mov.u32 %r3, 1; st.global.u32 [%rd1], %r3;
             mov.u64 %rd3, 2; st.global.u64 [%rd1], %rd3; ret;",
        );
        let words = [row("%r1"), row("%r2"), row("%r3")];
        let wide = ["%rd1", "%rd2", "%rd3"].map(row).into_iter().flat_map(|row| [row, row + 1]);
        assert!(wide.into_iter().all(|row| !words.contains(&row)));
        assert_eq!(rows, 6);
    }

    #[test]
    fn a_result_that_nothing_reads_has_rows_of_its_own() {
        let (row, _) =
            shared("atom.global.add.u32 %r1, [%rd1], 1; mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; ret;");
        assert_ne!(row("%r1"), row("%r2"));
    }
}
