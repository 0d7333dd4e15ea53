//! Definitions and uses of a function's registers, and values that can replace registers.

use warp_stream::CacheOperator;

use crate::analyse::{ControlFlow, reads, writes};
use crate::ir::{AddressBase, Function, Guard, Instruction, InstructionIndex, Operand, RegisterId, Space};
use crate::isa::{Effect, Memory, Modifier, Op, SpecialRegister};

use super::Replacements;
use super::access::cache;
use super::dominators::Dominators;
use super::evaluate::evaluate;

/// Marks variables of the module among those of the function.
const MODULE_LEVEL: u32 = 1 << 31;

/// A value that needs no register.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Constant {
    /// Bits.
    Bits(u64),
    /// Address of a variable in shared or local memory, known at assembly.
    Address(u32),
    /// Location in a constant bank: a kernel parameter, or an address known at load time.
    Bank,
}

/// Definitions and uses of registers.
#[derive(Debug)]
pub(super) struct Values<'f> {
    function: &'f Function,
    block_of: Vec<u32>,
    /// Instructions that write each register.
    definitions: Vec<Vec<u32>>,
    /// Instructions that read each register, without duplicates.
    uses: Vec<Vec<u32>>,
    /// True for a register with one unguarded definition that precedes all reads.
    single: Vec<bool>,
    constants: Vec<Option<Constant>>,
    /// Operands whose negation contraction has put into a register.
    negatives: Vec<(RegisterId, Operand)>,
    gone: Vec<bool>,
    /// True for registers whose value may arrive when a memory access is performed, instead of at issue.
    deferred: Vec<bool>,
}

impl<'f> Values<'f> {
    pub(super) fn of(function: &'f Function, flow: &ControlFlow, replacements: &Replacements) -> Values<'f> {
        let registers = function.registers.len();
        let mut values = Values {
            function,
            block_of: block_numbers(flow, function.instructions.len()),
            definitions: vec![Vec::new(); registers],
            uses: vec![Vec::new(); registers],
            single: vec![false; registers],
            constants: vec![None; registers],
            negatives: negatives(replacements),
            gone: vec![false; function.instructions.len()],
            deferred: vec![false; registers],
        };
        for (position, instructions) in replacements {
            if let Some(gone) = values.gone.get_mut(*position) {
                *gone = instructions.is_empty();
            }
        }
        values.collect();
        let dominators = Dominators::of(flow);
        for register in 0..registers {
            values.single[register] = values.is_single(register, &dominators);
        }
        values.find_constants();
        values.find_deferred();
        values
    }

    fn collect(&mut self) {
        for (position, i) in self.function.instructions.iter().enumerate() {
            if self.gone[position] {
                continue;
            }
            for register in self.reads(i) {
                if let Some(uses) = self.uses.get_mut(register.0 as usize)
                    && uses.last() != Some(&(position as u32))
                {
                    uses.push(position as u32);
                }
            }
            for register in writes(i) {
                if let Some(definitions) = self.definitions.get_mut(register.0 as usize) {
                    definitions.push(position as u32);
                }
            }
        }
    }

    /// Registers that an instruction reads, with contraction applied.
    pub(super) fn reads(&self, i: &Instruction) -> Vec<RegisterId> {
        let mut registers = reads(i);
        for register in &mut registers {
            if let Operand::Register(source) = self.behind_negative(&Operand::Register(*register)) {
                *register = *source;
            }
        }
        registers
    }

    fn is_single(&self, register: usize, dominators: &Dominators) -> bool {
        let [definition] = self.definitions[register][..] else { return false };
        let guard = self.instruction(definition).and_then(|i| i.guard);
        let block = self.block(definition);
        guard.is_none_or(|guard| self.is_within_guard(register, definition, guard))
            && self.uses[register].iter().all(|&at| {
                let used_in = self.block(at);
                if used_in == block { at > definition } else { dominators.dominates(block, used_in) }
            })
    }

    /// True if only instructions of the same block and guard as the definition read the register.
    fn is_within_guard(&self, register: usize, definition: u32, guard: Guard) -> bool {
        let block = self.block(definition);
        let mut last = definition;
        let same_guard = self.uses[register].iter().all(|&at| {
            last = last.max(at);
            self.block(at) == block && self.instruction(at).is_some_and(|i| i.guard == Some(guard))
        });
        let changes = self.definitions.get(guard.register.0 as usize);
        same_guard && changes.is_none_or(|all| all.iter().all(|at| *at < definition || *at > last))
    }

    fn find_constants(&mut self) {
        // In code order, a definition precedes its copies, except in loops.
        for (position, i) in self.function.instructions.iter().enumerate() {
            for register in writes(i) {
                if self.single.get(register.0 as usize) == Some(&true) && !self.gone[position] {
                    self.constants[register.0 as usize] = self.constant_of(i);
                }
            }
        }
    }

    fn find_deferred(&mut self) {
        // Values derived without a machine instruction are deferred too. A second pass finds those of
        // loops.
        for i in self.function.instructions.iter().chain(&self.function.instructions) {
            let is_ordered = i.op.line().effect == Effect::Load && cache(i) == CacheOperator::Coherent;
            let reads_deferred = || reads(i).iter().any(|register| self.is_deferred(*register));
            if i.op.line().effect == Effect::Atomic || is_ordered || reads_deferred() {
                for register in writes(i) {
                    self.deferred[register.0 as usize] = true;
                }
            }
        }
    }

    /// True if the value may arrive after the issue of the machine instruction that writes it.
    pub(super) fn is_deferred(&self, register: RegisterId) -> bool {
        self.deferred.get(register.0 as usize).copied().unwrap_or(false)
    }

    fn constant_of(&self, i: &Instruction) -> Option<Constant> {
        match i.op {
            Op::Memory(Memory::mov) => match i.operands.get(1)? {
                Operand::Special(special) => is_in_bank(*special).then_some(Constant::Bank),
                // Among a module's variables, only those in shared memory have 32-bit addresses.
                Operand::Address { base: AddressBase::External(of), .. }
                    if i.last_type().is_some_and(|ty| ty.bits() == 32) =>
                {
                    Some(Constant::Address(of.0 | MODULE_LEVEL))
                }
                operand => self.constant(operand),
            },
            Op::Memory(Memory::cvta_to) => self.constant(i.operands.get(1)?),
            Op::Memory(Memory::cvta) if i.has(Modifier::Global) => self.constant(i.operands.get(1)?),
            Op::Memory(Memory::ld) => {
                let is_parameter = i.has(Modifier::Param) || i.has(Modifier::ParamEntry);
                match i.operands.get(1)? {
                    Operand::Address { base: AddressBase::Parameter(_), .. } if self.function.is_kernel => {
                        is_parameter.then_some(Constant::Bank)
                    }
                    Operand::Address { base, .. } if i.has(Modifier::Const) => {
                        (!matches!(base, AddressBase::Register(_))).then_some(Constant::Bank)
                    }
                    _ => None,
                }
            }
            _ if i.op.line().effect == Effect::Pure => self.computed(i),
            _ => None,
        }
    }

    /// Result of an instruction with only constant sources.
    fn computed(&self, i: &Instruction) -> Option<Constant> {
        let known = |operand: &Operand| match self.constant(operand) {
            Some(Constant::Bits(bits)) => Some(bits),
            _ => None,
        };
        let operands: Option<Vec<u64>> = i.operands.iter().skip(1).map(known).collect();
        evaluate(i, &operands?).map(Constant::Bits)
    }

    /// Constant value of an operand.
    pub(super) fn constant(&self, operand: &Operand) -> Option<Constant> {
        match self.behind_negative(operand) {
            Operand::Immediate(bits) => Some(Constant::Bits(*bits)),
            Operand::Register(register) => self.constants.get(register.0 as usize).copied().flatten(),
            Operand::Address { base: AddressBase::Register(_), .. } => None,
            Operand::Address { base: AddressBase::Variable(variable), .. } => {
                Some(match self.function.variables.get(variable.0 as usize)?.space {
                    Space::Shared | Space::Local => Constant::Address(variable.0),
                    _ => Constant::Bank,
                })
            }
            Operand::Address { .. } | Operand::Function(_) => Some(Constant::Bank),
            _ => None,
        }
    }

    /// Operand whose negation contraction has put into this register; else the operand itself.
    pub(super) fn behind_negative<'o>(&'o self, operand: &'o Operand) -> &'o Operand {
        let Operand::Register(register) = operand else { return operand };
        let made = self.negatives.binary_search_by_key(register, |(register, _)| *register);
        made.ok().and_then(|at| self.negatives.get(at)).map_or(operand, |(_, of)| of)
    }

    /// Bits of a register.
    pub(super) fn bits(&self, register: RegisterId) -> u32 {
        self.function.registers.get(register.0 as usize).map_or(0, |ty| ty.bits())
    }

    pub(super) fn instruction(&self, position: u32) -> Option<&'f Instruction> {
        self.function.instructions.get(position as usize)
    }

    pub(super) fn block(&self, position: u32) -> u32 {
        self.block_of.get(position as usize).copied().unwrap_or(0)
    }

    /// True if contraction has removed the instruction.
    pub(super) fn is_gone(&self, position: u32) -> bool {
        self.gone.get(position as usize).copied().unwrap_or(false)
    }

    /// Single definition of a register that all reads see.
    pub(super) fn single_definition(&self, register: RegisterId) -> Option<u32> {
        let register = register.0 as usize;
        (*self.single.get(register)?).then(|| self.definitions[register].first().copied()).flatten()
    }

    pub(super) fn uses(&self, register: RegisterId) -> &[u32] {
        self.uses.get(register.0 as usize).map_or(&[], Vec::as_slice)
    }

    /// True if the register has the same value at `reader` as at `from`, which dominates it.
    pub(super) fn is_stable(&self, register: RegisterId, from: u32, reader: u32) -> bool {
        if self.single_definition(register).is_some() {
            return true;
        }
        let definitions = self.definitions.get(register.0 as usize);
        self.block(from) == self.block(reader)
            && from < reader
            && definitions.is_none_or(|all| all.iter().all(|at| *at < from || *at >= reader))
    }
}

fn negatives(replacements: &Replacements) -> Vec<(RegisterId, Operand)> {
    let mut negatives = Vec::new();
    for instructions in replacements.values() {
        for sign_change in instructions.split_last().map_or(&[][..], |(_, before)| before) {
            if let [Operand::Register(register), of, ..] = &sign_change.operands[..] {
                negatives.push((*register, of.clone()));
            }
        }
    }
    negatives.sort_by_key(|(register, _)| *register);
    negatives
}

fn block_numbers(flow: &ControlFlow, instructions: usize) -> Vec<u32> {
    let number =
        |position: usize| flow.block_of(InstructionIndex(position as u32)).map_or(0, |block| block.0);
    (0..instructions).map(number).collect()
}

/// True for sizes of grid and CTA, which lie with the parameters; others are read from special registers.
fn is_in_bank(special: SpecialRegister) -> bool {
    use SpecialRegister as S;
    matches!(special, S::NtidX | S::NtidY | S::NtidZ | S::NctaidX | S::NctaidY | S::NctaidZ)
}
