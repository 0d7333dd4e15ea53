//! Copies of a loop's body. Each copy writes registers of its own; the last one leaves the values that the
//! code behind needs in the original registers.

use rustc_hash::FxHashMap;

use crate::analyse::writes;
use crate::ir::{AddressBase, Function, Instruction, Operand, RegisterId};
use crate::isa::{Integer, Memory, Modifier, Op, ScalarType, Token};

use super::counter::{addition, in_width};
use super::find::Loop;

/// Offsets of an address operand, in bytes, lie below this (24 bits with a sign).
const FARTHEST: i64 = 1 << 23;

/// Use of a register in a loop.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    /// Holds nothing between iterations or behind the loop.
    Temporary,
    /// Carries a value, and is written only where each iteration passes.
    Carried {
        /// Position of the last unguarded write.
        last: usize,
    },
    /// Carries a value, and is written under conditions.
    Fixed,
}

/// Registers that a loop writes.
#[derive(Debug, Default)]
pub(super) struct Roles {
    roles: FxHashMap<RegisterId, Role>,
    /// Temporaries that are written under conditions: one name for each copy.
    conditional: FxHashMap<RegisterId, ()>,
}

impl Roles {
    /// `is_passed` tells the registers whose values enter the next iteration or leave the loop;
    /// `is_kept` those that an early exit needs.
    pub(super) fn of(
        function: &Function,
        found: &Loop,
        is_passed: &dyn Fn(RegisterId) -> bool,
        is_kept: &dyn Fn(RegisterId) -> bool,
    ) -> Roles {
        let mut roles = Roles::default();
        for at in found.header..found.latch {
            let Some(i) = function.instructions.get(at) else { break };
            for register in writes(i) {
                let is_plain = found.is_always(at) && has_plain_results(i);
                let role = match roles.roles.get(&register).copied() {
                    Some(Role::Fixed) => Role::Fixed,
                    _ if is_kept(register) => Role::Fixed,
                    _ if !is_passed(register) => Role::Temporary,
                    _ if !is_plain => Role::Fixed,
                    Some(Role::Carried { last }) if i.guard.is_some() => Role::Carried { last },
                    _ if i.guard.is_some() => Role::Fixed,
                    _ => Role::Carried { last: at },
                };
                roles.roles.insert(register, role);
                if !is_plain || i.guard.is_some() {
                    roles.conditional.insert(register, ());
                }
            }
        }
        roles
    }
}

/// True if each result is a whole register.
fn has_plain_results(i: &Instruction) -> bool {
    let written = i.operands.iter().zip(&i.op.line().parsed().operands).filter(|(_, place)| place.written);
    written.map(|(operand, _)| operand).all(|operand| !matches!(operand, Operand::Part { .. }))
}

/// Writer of copies.
pub(super) struct Copier<'l> {
    roles: &'l Roles,
    /// Current name of each renamed register.
    names: FxHashMap<RegisterId, RegisterId>,
    /// Registers that are a constant above another.
    sums: FxHashMap<RegisterId, (RegisterId, i64)>,
    /// True in the last copy.
    is_last: bool,
}

impl<'l> Copier<'l> {
    pub(super) fn new(roles: &'l Roles) -> Copier<'l> {
        Copier { roles, names: FxHashMap::default(), sums: FxHashMap::default(), is_last: false }
    }

    /// Starts a copy.
    pub(super) fn begin(&mut self, is_last: bool) {
        self.is_last = is_last;
        let roles = self.roles;
        self.names.retain(|register, _| roles.roles.get(register) != Some(&Role::Temporary));
    }

    /// Reads a constant instead of a register, which `name` holds.
    pub(super) fn rename(&mut self, register: RegisterId, name: RegisterId) {
        self.names.insert(register, name);
    }

    /// Current name of a register.
    pub(super) fn name(&self, register: RegisterId) -> RegisterId {
        self.names.get(&register).copied().unwrap_or(register)
    }

    /// Copy of the instruction at `position`. New registers are added to `function`.
    pub(super) fn copy(
        &mut self,
        function: &mut Function,
        i: &Instruction,
        position: usize,
        is_always: bool,
    ) -> Instruction {
        let mut copy = i.clone();
        if let Some(guard) = &mut copy.guard {
            guard.register = self.name(guard.register);
        }
        let syntax = i.op.line().parsed();
        for (operand, place) in copy.operands.iter_mut().zip(&syntax.operands) {
            self.read(operand, !place.written);
        }
        let sum = self.sum_of(function, &copy);
        if let Some((base, total)) = sum
            && let [_, from, step] = &mut copy.operands[..]
            && copy.op != Op::Memory(Memory::mov)
        {
            *from = Operand::Register(base);
            *step = Operand::Immediate(total as u64);
        }
        let is_whole = i.guard.is_none() && is_always;
        for (operand, place) in copy.operands.iter_mut().zip(&syntax.operands) {
            if place.written {
                self.write(function, operand, position, is_whole);
            }
        }
        self.note_sum(&mut copy, sum, is_whole);
        copy
    }

    /// Copy of a change of sign, whose result only a contracted sum reads.
    pub(super) fn copy_of_sign(&mut self, function: &mut Function, i: &Instruction) -> Instruction {
        let mut copy = i.clone();
        if let Some((result, sources)) = copy.operands.split_first_mut() {
            sources.iter_mut().for_each(|of| self.read(of, true));
            if let Operand::Register(register) = result {
                let name = add_register(function, *register);
                self.names.insert(*register, name);
                *register = name;
            }
        }
        copy
    }

    fn read(&self, operand: &mut Operand, values: bool) {
        match operand {
            Operand::Register(register) | Operand::NegatedPredicate(register) if values => {
                *register = self.name(*register);
            }
            Operand::Part { of, .. } => self.read(of, values),
            Operand::Address { base: AddressBase::Register(register), offset } => {
                *register = self.name(*register);
                if let Some((base, above)) = self.sums.get(register)
                    && let Some(sum) = offset.checked_add(*above)
                    && sum.abs() < FARTHEST
                {
                    (*register, *offset) = (*base, sum);
                }
            }
            Operand::Texel { handle, sampler, coordinates } => {
                self.read(handle, true);
                self.read(sampler, true);
                coordinates.iter_mut().for_each(|of| self.read(of, true));
            }
            Operand::Vector(elements) | Operand::Parameters(elements) => {
                elements.iter_mut().for_each(|of| self.read(of, values));
            }
            _ => {}
        }
    }

    fn write(&mut self, function: &mut Function, operand: &mut Operand, position: usize, is_whole: bool) {
        match operand {
            Operand::Register(register) => {
                *register = self.written(function, *register, position, is_whole);
                self.forget(*register);
            }
            Operand::Part { of, .. } => self.write(function, of, position, false),
            Operand::Vector(elements) | Operand::Parameters(elements) => {
                for element in elements {
                    self.write(function, element, position, is_whole);
                }
            }
            _ => {}
        }
    }

    /// Name that the current copy writes for a register.
    fn written(
        &mut self,
        function: &mut Function,
        register: RegisterId,
        position: usize,
        is_whole: bool,
    ) -> RegisterId {
        let is_new = match self.roles.roles.get(&register) {
            Some(Role::Temporary) => {
                !self.names.contains_key(&register)
                    || (is_whole && !self.roles.conditional.contains_key(&register))
            }
            Some(Role::Carried { last }) if is_whole => {
                if self.is_last && position == *last {
                    self.names.remove(&register);
                    return register;
                }
                true
            }
            _ => false,
        };
        if is_new {
            let name = add_register(function, register);
            self.names.insert(register, name);
        }
        self.name(register)
    }

    /// Register and constant whose sum an instruction computes. A copy of a register adds nothing.
    fn sum_of(&self, function: &Function, copy: &Instruction) -> Option<(RegisterId, i64)> {
        let bits = |of: RegisterId| function.registers.get(of.0 as usize).map_or(0, |ty| ty.bits());
        let (from, step) = match (copy.op, &copy.operands[..]) {
            (Op::Memory(Memory::mov), [Operand::Register(_), Operand::Register(from), ..])
                if copy.guard.is_none() && bits(*from) >= 32 =>
            {
                (*from, 0)
            }
            _ => addition(copy)?,
        };
        let bits = bits(from);
        if copy.last_type()?.bits() != bits || copy.has(Modifier::Sat) {
            return None;
        }
        let (base, above) = self.sums.get(&from).copied().unwrap_or((from, 0));
        Some((base, in_width(above.wrapping_add(step), bits)))
    }

    /// Forgets what is known of a register that gets another value.
    fn forget(&mut self, register: RegisterId) {
        // A sum whose base changes is looked at in `note_sum`.
        self.sums.remove(&register);
    }

    /// Records the sum in the result's name, after its base may have changed.
    fn note_sum(&mut self, copy: &mut Instruction, sum: Option<(RegisterId, i64)>, is_whole: bool) {
        let results: Vec<RegisterId> = writes(copy);
        let result = match (sum, &results[..]) {
            (Some((base, total)), [result]) if is_whole => Some((*result, base, total)),
            _ => None,
        };
        let bits = copy.last_type().map_or(64, |ty| ty.bits());
        match result {
            // The base itself moves on: sums above it are now lower by that.
            Some((result, base, total)) if result == base => {
                for (of, above) in self.sums.values_mut() {
                    if *of == base {
                        *above = in_width(above.wrapping_sub(total), bits);
                    }
                }
                self.as_addition(copy, base, total);
            }
            _ => {
                self.sums.retain(|_, (base, _)| !results.contains(base));
                if let Some((result, base, total)) = result {
                    self.sums.insert(result, (base, total));
                }
            }
        }
    }

    /// A copy back to the base becomes an addition, as the value in between need not exist.
    fn as_addition(&self, copy: &mut Instruction, base: RegisterId, total: i64) {
        if copy.op != Op::Memory(Memory::mov) || total == 0 {
            return;
        }
        let ty = match copy.last_type().map(ScalarType::bits) {
            Some(64) => ScalarType::S64,
            _ => ScalarType::S32,
        };
        let op = Op::Integer(Integer::add);
        if let Some(tokens) = op.line().parsed().fit(&[Token::Type(ty)]) {
            let operands = [base, base].map(Operand::Register);
            copy.op = op;
            copy.tokens = tokens;
            copy.operands = operands.into_iter().chain([Operand::Immediate(total as u64)]).collect();
        }
    }
}

/// Adds a register like another.
pub(super) fn add_register(function: &mut Function, like: RegisterId) -> RegisterId {
    let new = RegisterId(function.registers.len() as u32);
    let at = like.0 as usize;
    let ty = function.registers.get(at).copied().unwrap_or(ScalarType::B32);
    let name = function.register_names.get(at).cloned().unwrap_or_default();
    function.registers.push(ty);
    function.register_names.push(name);
    new
}
