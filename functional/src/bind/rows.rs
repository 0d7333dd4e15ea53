//! Allocation of register rows in a frame. Registers that are never live at the same time share rows: a
//! small frame stays in the host's caches.
//!
//! Divergent lanes are unaffected. A row has one element per lane, an op writes only the elements of its
//! own lanes, and registers of different widths never share rows. Liveness along the path of a single lane
//! therefore suffices.
//!
//! Rows are assigned by linear scan (Poletto and Sarkar, "Linear Scan Register Allocation", TOPLAS 1999). A
//! register occupies its rows from its first to its last use in code order.

use std::sync::Arc;

use ptx_frontend::analyse::{BlockId, ControlFlow, Liveness, Written, reads, writes};
use ptx_frontend::ir::{Function, Instruction, InstructionIndex, Parameter};
use ptx_frontend::isa::ScalarType;
use ptx_frontend::lower::LoweredFunction;

use super::{Binder, ROW_BYTES};

/// Maximum rows of one register.
const MOST_ROWS: usize = 4;

/// An instruction to bind, with its block.
type Bound<'i> = (BlockId, &'i Instruction);

/// Live range of a register, in positions of the execution order.
#[derive(Debug, Clone, Copy)]
enum Life {
    /// Never live.
    Never,
    /// Live between two positions, inclusive.
    Within { first: u32, last: u32, read: bool },
    /// Live everywhere.
    Always,
}

impl Life {
    /// Extends the range to `position`.
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

/// Rows of a register of type `ty`; predicates have none.
pub(crate) fn rows_of(ty: ScalarType) -> usize {
    match ty.bits() {
        _ if ty == ScalarType::Pred => 0,
        0..=32 => 1,
        33..=64 => 2,
        _ => MOST_ROWS,
    }
}

impl Binder<'_, '_> {
    /// Assigns rows to registers, in the order in which instructions are bound.
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

/// Assigns rows to registers from row `first` on and returns the number of rows. The byte offset of each
/// live register that is no predicate goes into `offsets`.
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
            // A deferred op may write its result at any later time.
            Life::Within { .. } | Life::Always => offsets[register] = rows.take(rows_of(register)),
        }
    }
    for (begin, end) in beginning.into_iter().zip(ending) {
        for register in begin {
            offsets[register] = rows.take(rows_of(register));
        }
        // Rows are freed last: an op may write its result before it has read all operands.
        for register in end {
            rows.free[rows_of(register)].push(offsets[register]);
        }
    }
    rows.next - first
}

/// Free list of a frame's rows.
struct Rows {
    /// First row never used.
    next: usize,
    /// Byte offsets of free groups, by group size. Rows of wide values serve wide values only: their
    /// elements lie elsewhere than the elements of a 32-bit row, which another lane may still need.
    free: [Vec<u32>; MOST_ROWS + 1],
}

impl Rows {
    /// Allocates `count` adjacent rows; returns their byte offset.
    fn take(&mut self, count: usize) -> u32 {
        self.free[count].pop().unwrap_or_else(|| {
            let offset = (self.next * ROW_BYTES) as u32;
            self.next += count;
            offset
        })
    }
}

/// Live range of each register; `order` is the execution order.
fn lives(function: &Function, flow: &ControlFlow, liveness: &Liveness, order: &[Bound<'_>]) -> Vec<Life> {
    let mut lives = vec![Life::Never; function.registers.len()];
    let mut written = Written::new(function);
    // For each register, the block (from 1) that is being walked and at whose start the register is live.
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

    /// Row of each named register of a kernel, and the number of rows.
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
    fn values_with_disjoint_lives_share_a_row() {
        let (row, rows) = shared(
            "mov.u32 %r1, 1; st.global.u32 [%rd1], %r1; bra N; N: mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; ret;",
        );
        assert_eq!((row("%r1"), rows), (row("%r2"), 3));
    }

    #[test]
    fn result_and_operand_of_an_instruction_use_other_rows() {
        let (row, _) = shared("mov.u32 %r1, 1; add.u32 %r2, %r1, 1; st.global.u32 [%rd1], %r2; ret;");
        assert_ne!(row("%r1"), row("%r2"));
    }

    #[test]
    fn values_read_in_a_loop_live_to_the_loops_end() {
        let (row, _) = shared(
            "mov.u32 %r1, 1; mov.u32 %r2, 0;
             TOP: add.u32 %r2, %r2, %r1; mov.u32 %r3, 3; st.global.u32 [%rd1], %r3;
             setp.lt.u32 %p1, %r2, 9; @%p1 bra TOP; ret;",
        );
        assert!(row("%r3") != row("%r1") && row("%r3") != row("%r2"));
    }

    #[test]
    fn values_of_two_branches_share_a_row() {
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
    fn registers_read_before_written_live_from_the_start() {
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
    fn values_of_different_widths_share_no_row() {
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
    fn dead_results_have_rows_of_their_own() {
        let (row, _) =
            shared("atom.global.add.u32 %r1, [%rd1], 1; mov.u32 %r2, 2; st.global.u32 [%rd1], %r2; ret;");
        assert_ne!(row("%r1"), row("%r2"));
    }
}
