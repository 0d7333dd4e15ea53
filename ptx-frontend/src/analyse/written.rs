//! Registers that a block has written so far, to find reads of values from the block itself.

use super::registers::writes;
use crate::ir::{Function, Guard, Instruction, RegisterId};

/// Lanes for which a block has written a register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Lanes {
    /// All lanes that reach the block.
    All,
    /// Lanes of a guard, valid while the guard's predicate has this write count.
    Guarded(Guard, u32),
}

/// Registers written by the block during a walk through its instructions.
#[derive(Debug, Clone)]
pub struct Written {
    /// Number of the block.
    block: u32,
    /// For each register, the block that wrote it last, and the lanes.
    lanes: Vec<(u32, Lanes)>,
    /// For each register, its number of writes, guarded or not.
    times: Vec<u32>,
}

impl Written {
    /// State before the first block of a function.
    pub fn new(function: &Function) -> Written {
        let registers = function.registers.len();
        Written { block: 1, lanes: vec![(0, Lanes::All); registers], times: vec![0; registers] }
    }

    /// Starts the next block.
    pub fn begin_block(&mut self) {
        self.block += 1;
    }

    fn lanes(&self, register: RegisterId) -> Option<Lanes> {
        let (block, lanes) = *self.lanes.get(register.0 as usize)?;
        (block == self.block).then_some(lanes)
    }

    fn guarded(&self, guard: Guard) -> Lanes {
        Lanes::Guarded(guard, self.times.get(guard.register.0 as usize).copied().unwrap_or(0))
    }

    /// True if the block has written the register for all its lanes.
    pub fn is_whole(&self, register: RegisterId) -> bool {
        self.lanes(register) == Some(Lanes::All)
    }

    /// True if the block has written the register for all lanes that read it under `guard`.
    pub fn covers(&self, register: RegisterId, guard: Option<Guard>) -> bool {
        match self.lanes(register) {
            Some(Lanes::All) => true,
            guarded => guarded.is_some() && guarded == guard.map(|guard| self.guarded(guard)),
        }
    }

    /// Records an instruction's writes.
    pub fn note(&mut self, instruction: &Instruction) {
        let lanes = instruction.guard.map_or(Lanes::All, |guard| self.guarded(guard));
        let others = instruction.guard.map(|guard| self.guarded(Guard { negated: !guard.negated, ..guard }));
        for register in writes(instruction) {
            let known = self.lanes(register);
            let whole = known == Some(Lanes::All) || known.is_some() && known == others;
            if let Some(slot) = self.lanes.get_mut(register.0 as usize) {
                *slot = (self.block, if whole { Lanes::All } else { lanes });
            }
            if let Some(times) = self.times.get_mut(register.0 as usize) {
                *times += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Module;

    /// True if earlier instructions write the first source of the last instruction for all its lanes.
    fn is_covered(body: &str) -> bool {
        let text = format!(
            ".version 7.0\n.target sm_70\n.entry k() {{ .reg .pred %p<9>; .reg .b32 %r<9>;\n{body}\n}}"
        );
        let module = Module::parse(text, "test").unwrap();
        let function = module.function("k").unwrap();
        let mut written = Written::new(&function);
        written.begin_block();
        // The very last instruction ends the kernel.
        let [before @ .., last, _] = &function.instructions[..] else { panic!("there is too little code") };
        before.iter().for_each(|instruction| written.note(instruction));
        let crate::ir::Operand::Register(source) = last.operands[1] else { panic!("no register is read") };
        written.covers(source, last.guard)
    }

    #[test]
    fn unguarded_writes_cover_every_read() {
        assert!(is_covered("mov.u32 %r1, 1; mov.u32 %r2, %r1;"));
        assert!(is_covered("mov.u32 %r1, 1; @%p1 mov.u32 %r1, 2; mov.u32 %r2, %r1;"));
        assert!(!is_covered("mov.u32 %r3, 1; mov.u32 %r2, %r1;"));
    }

    #[test]
    fn guarded_writes_cover_reads_under_that_guard() {
        assert!(is_covered("@%p1 mov.u32 %r1, 1; @%p1 mov.u32 %r2, %r1;"));
        assert!(!is_covered("@%p1 mov.u32 %r1, 1; mov.u32 %r2, %r1;"));
        assert!(!is_covered("@%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r2, %r1;"));
        assert!(!is_covered("@%p1 mov.u32 %r1, 1; @%p2 mov.u32 %r2, %r1;"));
    }

    #[test]
    fn rewritten_predicates_are_new_guards() {
        let again = "@%p1 mov.u32 %r1, 1; setp.eq.u32 %p1, %r5, 0; @%p1 mov.u32 %r2, %r1;";
        assert!(!is_covered(again));
        let other = "@%p1 mov.u32 %r1, 1; setp.eq.u32 %p2, %r5, 0; @%p1 mov.u32 %r2, %r1;";
        assert!(is_covered(other));
        let between = "@%p1 mov.u32 %r1, 1; setp.eq.u32 %p1, %r5, 0; @!%p1 mov.u32 %r1, 2; mov.u32 %r2, %r1;";
        assert!(!is_covered(between));
    }

    #[test]
    fn writes_under_opposite_guards_cover_every_read() {
        assert!(is_covered("@%p1 mov.u32 %r1, 1; @!%p1 mov.u32 %r1, 2; mov.u32 %r2, %r1;"));
    }
}
