//! Combining of instructions: sums of products, sums of addresses, changes of sign.
//!
//! An instruction combines with its readers if all of them can absorb it and its sources are still
//! available there.

use warp_stream::OperationClass;

use crate::analyse::writes;
use crate::ir::{AddressBase, Instruction, Operand, RegisterId};
use crate::isa::{Compare, Effect, Float, Integer, Logic, Modifier, Op, ScalarType};

use super::expansion::{Expansion, expansion};
use super::target::Machine;
use super::values::{Constant, Values};

/// An absorbed instruction.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Combination {
    /// Position of the absorbed instruction.
    pub(super) inner: u32,
    /// Operand of the reader that is its result.
    pub(super) operand: u8,
    /// Class of the combined instruction.
    pub(super) class: OperationClass,
    pub(super) shape: Shape,
}

/// Number of machine instructions of a combination.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Shape {
    One,
    /// One for each half of 64 bits.
    Pair,
    /// As many as for the product alone: a product of several instructions with an absorbed sum.
    Product,
    /// One more than for the product: the sum has a carry.
    CarriedProduct,
}

/// Base of an address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Base {
    /// Base register.
    pub(super) register: RegisterId,
    /// Register named by the machine instruction: the base, or the register that the base is a multiple of.
    pub(super) named: RegisterId,
    /// Variable whose address is added.
    pub(super) place: Option<u32>,
    /// Bytes added.
    pub(super) offset: i64,
}

/// Combined instructions of a function.
#[derive(Debug, Default)]
pub(super) struct Combinations {
    absorbed: Vec<bool>,
    taken: Vec<Option<Combination>>,
}

/// Absorbable part of a reader.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Absorbable {
    /// Constant added to an address.
    Offset,
    /// Shared address scaled by 4, 8 or 16.
    Scale,
    /// Change of sign.
    Sign,
    /// Negation of a predicate.
    Not,
}

impl Combinations {
    pub(super) fn of(values: &Values<'_>, instructions: usize, machine: &Machine) -> Combinations {
        let mut combinations =
            Combinations { absorbed: vec![false; instructions], taken: vec![None; instructions] };
        for position in (0..instructions as u32).rev() {
            if let Some((i, result)) = candidate(values, position)
                && (values.uses(result).is_empty() || combinations.is_part(values, i, position, result))
            {
                combinations.absorbed[position as usize] = true;
            }
        }
        for position in 0..instructions as u32 {
            if let Some((i, result)) = candidate(values, position)
                && !combinations.is_absorbed(position)
                && combinations.taken_by(position).is_none()
            {
                combinations.give_away(values, i, position, result, machine);
            }
        }
        combinations
    }

    /// True if other instructions absorb this one.
    pub(super) fn is_absorbed(&self, position: u32) -> bool {
        self.absorbed.get(position as usize).copied().unwrap_or(false)
    }

    /// Instruction absorbed by the one at `position`.
    pub(super) fn taken_by(&self, position: u32) -> Option<Combination> {
        self.taken.get(position as usize).copied().flatten()
    }

    /// Predicate whose negation is `register`, if the negation needs no instruction.
    pub(super) fn behind_not(&self, values: &Values<'_>, register: RegisterId) -> RegisterId {
        let mut register = register;
        while let Some(i) = self.absorbed_definition(values, register)
            && i.op == Op::Logic(Logic::not_predicate)
            && let Some(Operand::Register(of) | Operand::NegatedPredicate(of)) = i.operands.get(1)
        {
            register = *of;
        }
        register
    }

    /// Operand whose negative or absolute value this is, if that needs no instruction.
    pub(super) fn behind_sign<'o>(&self, values: &'o Values<'_>, operand: &'o Operand) -> &'o Operand {
        let mut operand = values.behind_negative(operand);
        while let Operand::Register(register) = operand
            && let Some(i) = self.absorbed_definition(values, *register)
            && part_of(values, i) == Some(Absorbable::Sign)
            && let Some(of) = i.operands.get(1)
        {
            operand = values.behind_negative(of);
        }
        operand
    }

    /// Base of an address.
    pub(super) fn base(&self, values: &Values<'_>, register: RegisterId) -> Base {
        let mut base = Base { register, named: register, place: None, offset: 0 };
        while let Some(i) = self.absorbed_definition(values, base.register)
            && let Some(part @ (Absorbable::Offset | Absorbable::Scale)) = part_of(values, i)
            && let Some((register, known)) = variable_part(values, i)
        {
            base.named = register;
            if part == Absorbable::Scale {
                return base;
            }
            base.register = register;
            match known {
                Constant::Bits(bits) => base.offset = base.offset.wrapping_add(bits as i64),
                Constant::Address(place) if base.place.is_none() => base.place = Some(place),
                // The sum of two variables' addresses is unknown.
                _ => base.place = Some(u32::MAX),
            }
        }
        base
    }

    fn absorbed_definition<'f>(&self, values: &Values<'f>, register: RegisterId) -> Option<&'f Instruction> {
        let position = values.single_definition(register)?;
        self.is_absorbed(position).then(|| values.instruction(position)).flatten()
    }

    /// True if all readers of the result can absorb the instruction.
    fn is_part(&self, values: &Values<'_>, i: &Instruction, position: u32, result: RegisterId) -> bool {
        let Some(part) = part_of(values, i) else { return false };
        let fits = |user: &u32| {
            values.instruction(*user).is_some_and(|reader| match part {
                Absorbable::Offset => {
                    is_base_only(reader, result) || self.passes_on(values, *user, Absorbable::Offset)
                }
                Absorbable::Scale => {
                    values.bits(result) == 32
                        && (is_base_only(reader, result) || self.passes_on(values, *user, Absorbable::Offset))
                }
                Absorbable::Sign => takes_sign(i, reader) || self.passes_on(values, *user, Absorbable::Sign),
                Absorbable::Not => !matches!(reader.op, Op::Memory(_)),
            })
        };
        values.uses(result).iter().all(fits) && self.is_stable(values, i, position, result)
    }

    fn passes_on(&self, values: &Values<'_>, position: u32, part: Absorbable) -> bool {
        self.is_absorbed(position)
            && values.instruction(position).and_then(|i| part_of(values, i)) == Some(part)
    }

    /// True if the sources of `i` are unchanged at all readers of its result.
    fn is_stable(&self, values: &Values<'_>, i: &Instruction, position: u32, result: RegisterId) -> bool {
        let inputs = values.reads(i);
        let mut readers: Vec<u32> = values.uses(result).to_vec();
        let mut seen = 0;
        while let Some(reader) = readers.get(seen).copied() {
            seen += 1;
            if !inputs.iter().all(|input| values.is_stable(*input, position, reader)) {
                return false;
            }
            if self.is_absorbed(reader)
                && let Some(further) = values.instruction(reader)
            {
                readers.extend(writes(further).into_iter().flat_map(|register| values.uses(register)));
            }
        }
        true
    }

    /// Makes the readers of the result absorb the instruction, if all can.
    fn give_away(
        &mut self,
        values: &Values<'_>,
        i: &Instruction,
        position: u32,
        result: RegisterId,
        machine: &Machine,
    ) {
        let users = values.uses(result);
        let mut taken = Vec::with_capacity(users.len());
        for user in users {
            let Some(reader) = values.instruction(*user) else { return };
            let Some(operand) = only_operand(reader, result) else { return };
            if self.is_absorbed(*user) || values.is_gone(*user) || self.taken_by(*user).is_some() {
                return;
            }
            let readers =
                Readers { count: users.len(), in_block: values.block(position) == values.block(*user) };
            let Some((class, shape)) = joined(values, i, reader, readers, machine) else { return };
            taken.push((*user, Combination { inner: position, operand, class, shape }));
        }
        if !self.is_stable(values, i, position, result) {
            return;
        }
        for (user, combined) in taken {
            self.taken[user as usize] = Some(combined);
        }
        self.absorbed[position as usize] = true;
    }
}

/// An instruction without effects besides one result, which all readers see.
fn candidate<'f>(values: &Values<'f>, position: u32) -> Option<(&'f Instruction, RegisterId)> {
    let i = values.instruction(position)?;
    if values.is_gone(position) || i.op.line().effect != Effect::Pure {
        return None;
    }
    let [result] = writes(i)[..] else { return None };
    // A clock read can be neither omitted nor delayed.
    let reads_special = i.operands.iter().any(|operand| matches!(operand, Operand::Special(_)));
    (values.single_definition(result) == Some(position) && !reads_special).then_some((i, result))
}

fn part_of(values: &Values<'_>, i: &Instruction) -> Option<Absorbable> {
    let flushes = i.has(Modifier::Ftz);
    match i.op {
        Op::Integer(Integer::add) if i.last_type().is_some_and(|ty| ty.bits() >= 32) => {
            variable_part(values, i).map(|_| Absorbable::Offset)
        }
        Op::Logic(Logic::shl) if i.last_type().is_some_and(|ty| ty.bits() == 32) => {
            let scale = matches!(i.operands.get(2), Some(Operand::Immediate(2..=4)));
            (scale && variable_part(values, i).is_some()).then_some(Absorbable::Scale)
        }
        Op::Integer(Integer::neg) if i.last_type() == Some(ScalarType::S32) => Some(Absorbable::Sign),
        Op::Float(Float::neg | Float::abs) if !flushes => Some(Absorbable::Sign),
        Op::Float(Float::neg_double | Float::abs_double | Float::neg_half) => Some(Absorbable::Sign),
        Op::Logic(Logic::not_predicate) => Some(Absorbable::Not),
        _ => None,
    }
}

/// Register operand of an instruction whose other operand is an immediate, and that operand.
fn variable_part(values: &Values<'_>, i: &Instruction) -> Option<(RegisterId, Constant)> {
    let [_, a, b] = &i.operands[..] else { return None };
    let known = |operand: &Operand| values.constant(operand).filter(|constant| *constant != Constant::Bank);
    match (a, b) {
        (Operand::Register(a), b) if known(b).is_some() => Some((*a, known(b)?)),
        (a, Operand::Register(b)) if known(a).is_some() => Some((*b, known(a)?)),
        _ => None,
    }
}

/// True if the instruction uses the register only as the base of an address.
fn is_base_only(i: &Instruction, register: RegisterId) -> bool {
    let is_base = |operand: &&Operand| matches!(operand, Operand::Address { base: AddressBase::Register(base), .. } if *base == register);
    let bases = i.operands.iter().filter(is_base).count();
    bases > 0 && crate::analyse::reads(i).iter().filter(|read| **read == register).count() == bases
}

fn takes_sign(sign: &Instruction, reader: &Instruction) -> bool {
    let same_type = sign.last_type() == reader.last_type();
    match (sign.op, reader.op) {
        (Op::Integer(_), Op::Integer(Integer::add | Integer::sub)) => {
            reader.last_type().is_some_and(|ty| ty.bits() == 32)
        }
        (
            Op::Float(Float::neg | Float::abs),
            Op::Float(Float::add | Float::sub | Float::mul | Float::min | Float::max)
            | Op::Compare(Compare::setp_float),
        ) => true,
        // FFMA supports negated sources, but no absolute values.
        (Op::Float(Float::neg), Op::Float(Float::fma | Float::mad)) => true,
        (
            Op::Float(Float::neg_double | Float::abs_double),
            Op::Float(Float::add_double | Float::sub_double | Float::mul_double)
            | Op::Compare(Compare::setp_double),
        ) => true,
        (Op::Float(Float::neg_double), Op::Float(Float::fma_double | Float::mad_double)) => true,
        (
            Op::Float(Float::neg_half),
            Op::Float(Float::add_half | Float::sub_half | Float::mul_half | Float::fma_half),
        ) => same_type,
        _ => false,
    }
}

/// Operand that is the register, if there is exactly one.
fn only_operand(i: &Instruction, register: RegisterId) -> Option<u8> {
    let whole = |operand: &Operand| match operand {
        Operand::Register(of) | Operand::NegatedPredicate(of) => *of == register,
        _ => false,
    };
    let mut places = (1..i.operands.len()).filter(|n| whole(&i.operands[*n]));
    let place = places.next()?;
    let reads = crate::analyse::reads(i).iter().filter(|read| **read == register).count();
    (reads == 1).then_some(place as u8)
}

/// Readers of a result.
#[derive(Debug, Clone, Copy)]
struct Readers {
    count: usize,
    /// Is the reader in the block of the result's definition?
    in_block: bool,
}

/// Sum that absorbs a product. A product of several instructions is not repeated, and does not move
/// into a loop.
fn product(
    i: &Instruction,
    readers: Readers,
    of_several: Shape,
    machine: &Machine,
) -> Option<(OperationClass, Shape)> {
    let shape = match expansion(i, machine) {
        Expansion::One(_) => Shape::One,
        _ if readers.count == 1 && readers.in_block => of_several,
        _ => return None,
    };
    Some((OperationClass::IntegerMultiply, shape))
}

/// Combination of `i` with the instruction that uses its result.
fn joined(
    values: &Values<'_>,
    i: &Instruction,
    reader: &Instruction,
    readers: Readers,
    machine: &Machine,
) -> Option<(OperationClass, Shape)> {
    let bits = |i: &Instruction| i.last_type().map_or(0, ScalarType::bits);
    let (from, to) = (bits(i), bits(reader));
    let known_shift =
        || matches!(values.constant(i.operands.get(2)?), Some(Constant::Bits(1..=31))).then_some(());
    let triple = readers.count == 1 && machine.three_sources;
    let is_sum = matches!(reader.op, Op::Integer(Integer::add | Integer::sub));
    match (i.op, reader.op) {
        (Op::Integer(Integer::mul_lo), _) if is_sum && from <= 32 && to <= 32 => {
            product(i, readers, Shape::Product, machine)
        }
        (Op::Integer(Integer::mul_lo), Op::Integer(Integer::add)) if from == 64 && to == 64 => {
            Some((OperationClass::IntegerMultiply, Shape::Product))
        }
        (Op::Integer(Integer::mul_wide), Op::Integer(Integer::add)) if from == 32 && to == 64 => {
            product(i, readers, machine.wide_sum, machine)
        }
        (Op::Logic(Logic::shl), Op::Integer(Integer::add)) if from == to && from >= 32 => {
            let shape = if from == 64 { Shape::Pair } else { Shape::One };
            known_shift().map(|()| (OperationClass::Integer, shape))
        }
        (Op::Integer(Integer::add | Integer::sub), _) if triple && is_sum && from == 32 && to == 32 => {
            Some((OperationClass::Integer, Shape::One))
        }
        (Op::Integer(Integer::add), Op::Integer(Integer::add)) if triple && from == 64 && to == 64 => {
            Some((OperationClass::Integer, Shape::Pair))
        }
        (
            Op::Logic(Logic::and | Logic::or | Logic::xor | Logic::not),
            Op::Logic(Logic::and | Logic::or | Logic::xor),
        ) if triple && from == 32 && to == 32 => Some((OperationClass::Integer, Shape::One)),
        (Op::Compare(_), Op::Logic(Logic::and_predicate | Logic::or_predicate)) if readers.count == 1 => {
            match expansion(i, machine) {
                Expansion::One(class) => Some((class, Shape::One)),
                _ => None,
            }
        }
        _ => None,
    }
}
