//! Liveness of registers, and the maximum number of live registers of a thread.

use super::flow::{Block, BlockId, ControlFlow};
use super::registers::{reads, writes};
use super::written::Written;
use crate::ir::{Function, Instruction, RegisterId};
use crate::isa::ScalarType;

/// Live registers at block boundaries, and the maximum register demand.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Liveness {
    /// Registers that are live across blocks; the others live within one block.
    passed: Vec<RegisterId>,
    /// One bit per such register, block by block.
    live_in: Vec<Bits>,
    live_out: Vec<Bits>,
    maximum: u32,
}

#[derive(Debug, Clone, PartialEq, Eq)]
struct Bits(Vec<u64>);

impl Bits {
    fn new(length: usize) -> Bits {
        Bits(vec![0; length.div_ceil(64)])
    }

    fn set(&mut self, bit: usize) {
        if let Some(word) = self.0.get_mut(bit / 64) {
            *word |= 1 << (bit % 64);
        }
    }

    /// Set bits, ascending.
    fn ones(&self) -> impl Iterator<Item = usize> + '_ {
        (0..).step_by(64).zip(&self.0).flat_map(|(first, word)| {
            let behind = |rest: &u64| Some(rest & (rest - 1)).filter(|rest| *rest != 0);
            let rests = std::iter::successors(Some(*word).filter(|word| *word != 0), behind);
            rests.map(move |rest: u64| first + rest.trailing_zeros() as usize)
        })
    }

    /// Adds the bits of `other`; returns true if there were new ones.
    fn merge(&mut self, other: impl Iterator<Item = u64>) -> bool {
        let mut changed = false;
        for (word, other) in self.0.iter_mut().zip(other) {
            changed |= other & !*word != 0;
            *word |= other;
        }
        changed
    }
}

/// Effect of a block on registers that live across blocks.
struct Transfer {
    /// Registers read by lanes for which the block has not written them.
    wanted: Bits,
    /// Registers written for all lanes.
    written: Bits,
}

/// 32-bit registers that a value takes in the register file; predicates have their own file.
fn units(ty: ScalarType) -> u32 {
    match ty {
        ScalarType::Pred => 0,
        _ => ty.bits().div_ceil(32),
    }
}

const LOCAL: usize = usize::MAX;

impl Liveness {
    /// Analyses a function.
    pub fn of(function: &Function, flow: &ControlFlow) -> Liveness {
        let (passed, number) = passed_registers(function, flow);
        let mut written = Written::new(function);
        let mut transfer = |block| transfer(function, block, &number, passed.len(), &mut written);
        let transfers: Vec<Transfer> = flow.blocks().iter().map(&mut transfer).collect();
        let empty = || vec![Bits::new(passed.len()); flow.blocks().len()];
        let mut liveness = Liveness { live_in: empty(), live_out: empty(), passed, maximum: 0 };
        liveness.solve(flow, &transfers);
        liveness.maximum = (0..flow.blocks().len())
            .map(|block| liveness.most_in_block(function, flow, &number, block))
            .max()
            .unwrap_or(0);
        liveness
    }

    fn solve(&mut self, flow: &ControlFlow, transfers: &[Transfer]) {
        let mut work: Vec<usize> = (0..flow.blocks().len()).collect();
        let mut queued = vec![true; flow.blocks().len()];
        while let Some(block) = work.pop() {
            queued[block] = false;
            for successor in &flow.blocks()[block].successors {
                let incoming = self.live_in[successor.0 as usize].0.iter().copied();
                self.live_out[block].merge(incoming);
            }
            let transfer = &transfers[block];
            let out = self.live_out[block].0.iter().zip(&transfer.written.0).zip(&transfer.wanted.0);
            let passed = out.map(|((out, written), wanted)| out & !written | wanted);
            if self.live_in[block].merge(passed) {
                for before in &flow.blocks()[block].predecessors {
                    let before = before.0 as usize;
                    if !std::mem::replace(&mut queued[before], true) {
                        work.push(before);
                    }
                }
            }
        }
    }

    /// Maximum number of 32-bit registers live at one point of a block.
    fn most_in_block(&self, function: &Function, flow: &ControlFlow, number: &[usize], block: usize) -> u32 {
        let size =
            |register: RegisterId| function.registers.get(register.0 as usize).map_or(0, |ty| units(*ty));
        let mut live: std::collections::HashSet<RegisterId, rustc_hash::FxBuildHasher> =
            self.members(&self.live_out[block]).collect();
        let mut now: u32 = live.iter().map(|register| size(*register)).sum();
        let mut most = now;
        for instruction in code(function, &flow.blocks()[block]).iter().rev() {
            let written = writes(instruction);
            // A result occupies its registers even if nothing reads it.
            let unread: u32 = written.iter().filter(|r| !live.contains(r)).map(|r| size(*r)).sum();
            most = most.max(now + unread);
            for register in written {
                let guarded_and_passed =
                    instruction.guard.is_some() && number.get(register.0 as usize) != Some(&LOCAL);
                if !guarded_and_passed && live.remove(&register) {
                    now -= size(register);
                }
            }
            for register in reads(instruction) {
                if live.insert(register) {
                    now += size(register);
                }
            }
            most = most.max(now);
        }
        most
    }

    fn members<'a>(&'a self, bits: &'a Bits) -> impl Iterator<Item = RegisterId> + 'a {
        bits.ones().filter_map(|bit| self.passed.get(bit).copied())
    }

    /// Registers live at the start of the block.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = RegisterId> + '_ {
        self.live_in.get(block.0 as usize).into_iter().flat_map(|bits| self.members(bits))
    }

    /// Registers live at the end of the block.
    pub fn live_out(&self, block: BlockId) -> impl Iterator<Item = RegisterId> + '_ {
        self.live_out.get(block.0 as usize).into_iter().flat_map(|bits| self.members(bits))
    }

    /// Maximum number of 32-bit registers live at once, without predicates.
    pub fn maximum_live(&self) -> u32 {
        self.maximum
    }
}

/// Registers that some block reads before writing, and for each register its number among these.
fn passed_registers(function: &Function, flow: &ControlFlow) -> (Vec<RegisterId>, Vec<usize>) {
    let mut written = Written::new(function);
    let mut number = vec![LOCAL; function.registers.len()];
    let mut passed = Vec::new();
    for block in flow.blocks() {
        written.begin_block();
        for instruction in code(function, block) {
            for register in reads(instruction) {
                if let Some(number) = number.get_mut(register.0 as usize)
                    && *number == LOCAL
                    && !written.covers(register, instruction.guard)
                {
                    *number = passed.len();
                    passed.push(register);
                }
            }
            written.note(instruction);
        }
    }
    (passed, number)
}

fn code<'f>(function: &'f Function, block: &Block) -> &'f [Instruction] {
    function.instructions.get(block.start.0 as usize..block.end.0 as usize).unwrap_or(&[])
}

/// Effect of a block; `written` is limited to registers live across blocks.
fn transfer(
    function: &Function,
    block: &Block,
    number: &[usize],
    passed: usize,
    written: &mut Written,
) -> Transfer {
    let mut transfer = Transfer { wanted: Bits::new(passed), written: Bits::new(passed) };
    let bit_of =
        |register: RegisterId| number.get(register.0 as usize).copied().filter(|number| *number != LOCAL);
    written.begin_block();
    for instruction in code(function, block) {
        for register in reads(instruction) {
            if let Some(bit) = bit_of(register)
                && !written.covers(register, instruction.guard)
            {
                transfer.wanted.set(bit);
            }
        }
        written.note(instruction);
        for register in writes(instruction) {
            if let Some(bit) = bit_of(register)
                && written.is_whole(register)
            {
                transfer.written.set(bit);
            }
        }
    }
    transfer
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    fn analysed(body: &str) -> (Function, ControlFlow, Liveness) {
        let text = format!(
            ".version 7.0\n.target sm_70\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>; .reg .b64 %rd<9>;\n{body}\n}}"
        );
        let module = Module::parse(text, "test").unwrap();
        let function = (*module.function("k").unwrap()).clone();
        let flow = ControlFlow::of(&function);
        let liveness = Liveness::of(&function, &flow);
        (function, flow, liveness)
    }

    fn names(function: &Function, registers: impl Iterator<Item = RegisterId>) -> Vec<&str> {
        let mut names: Vec<_> =
            registers.map(|register| function.register_names[register.0 as usize].as_str()).collect();
        names.sort_unstable();
        names
    }

    #[test]
    fn values_live_from_write_to_last_read() {
        let (function, _, liveness) = analysed(
            "mov.u32 %r1, 1; mov.u32 %r2, 2; @%p1 bra L; add.u32 %r2, %r1, %r2; L: st.global.u32 [%rd1], %r2; ret;",
        );
        assert_eq!(names(&function, liveness.live_in(BlockId(1))), ["%r1", "%r2", "%rd1"]);
        assert_eq!(names(&function, liveness.live_in(BlockId(2))), ["%r2", "%rd1"]);
        assert_eq!(names(&function, liveness.live_out(BlockId(2))), [""; 0]);
    }

    #[test]
    fn loop_counters_live_across_the_back_edge() {
        let (function, _, liveness) =
            analysed("mov.u32 %r1, 0; TOP: add.u32 %r1, %r1, 1; setp.lt.u32 %p1, %r1, 9; @%p1 bra TOP; ret;");
        assert_eq!(names(&function, liveness.live_out(BlockId(1))), ["%r1"]);
    }

    #[test]
    fn demand_counts_wide_values_twice_without_predicates() {
        let (_, _, liveness) = analysed(
            "mov.u64 %rd1, 1; mov.u64 %rd2, 2; mov.u32 %r1, 3; setp.eq.u32 %p1, %r1, 3;
             st.global.u64 [%rd1], %rd2; st.global.u32 [%rd1], %r1; ret;",
        );
        assert_eq!(liveness.maximum_live(), 5);
    }

    #[test]
    fn values_under_one_guard_live_locally() {
        let (function, _, liveness) = analysed(
            "bra N; N: @%p1 mov.u32 %r1, 2; @%p1 add.u32 %r1, %r1, 1; @%p1 st.global.u32 [%rd1], %r1; bra M; M: ret;",
        );
        assert_eq!(names(&function, liveness.live_in(BlockId(0))), ["%p1", "%rd1"]);
    }

    #[test]
    fn guarded_writes_keep_the_old_value_alive() {
        let (function, _, liveness) =
            analysed("mov.u32 %r1, 1; bra N; N: @%p1 mov.u32 %r1, 2; st.global.u32 [%rd1], %r1; ret;");
        assert!(names(&function, liveness.live_in(BlockId(1))).contains(&"%r1"));
    }
}
