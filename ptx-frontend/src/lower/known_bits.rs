//! Known low bits of registers, from which the alignment of addresses follows.
//!
//! A register's known bits are those on which all its definitions agree.

use std::collections::HashSet;

use crate::analyse::writes;
use crate::ir::{AddressBase, Function, Instruction, Operand, Parameter, RegisterId, Space};
use crate::isa::{Convert, Integer, Logic, Memory, Modifier, Op, ScalarType};

/// Addresses of a function's shared variables, as known to the caller of the lowering.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SharedAddresses {
    /// Address of each variable of the function; `None` for variables in other spaces.
    pub variables: Vec<Option<u64>>,
    /// Address of each external name of the function.
    pub externals: Vec<Option<u64>>,
}

impl SharedAddresses {
    /// Addresses for a kernel whose own variables are the only ones.
    pub fn declared(function: &Function) -> SharedAddresses {
        let mut end: u64 = 0;
        let variables = function.variables.iter().map(|variable| {
            (variable.space == Space::Shared).then(|| {
                let address = end.next_multiple_of(u64::from(variable.align.max(1)));
                end = address.saturating_add(variable.size);
                address
            })
        });
        SharedAddresses { variables: variables.collect(), externals: vec![None; function.externals.len()] }
    }

    fn of(&self, base: AddressBase) -> Option<u64> {
        match base {
            AddressBase::Variable(variable) => self.variables.get(variable.0 as usize).copied().flatten(),
            AddressBase::External(external) => self.externals.get(external.0 as usize).copied().flatten(),
            AddressBase::Absolute => Some(0),
            _ => None,
        }
    }
}

/// A value whose lowest `known` bits are `bits`; all other bits of `bits` are zero.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct KnownBits {
    bits: u64,
    known: u32,
}

impl KnownBits {
    const UNKNOWN: KnownBits = KnownBits { bits: 0, known: 0 };

    fn new(bits: u64, known: u32) -> KnownBits {
        let known = known.min(u64::BITS);
        let mask = if known == u64::BITS { u64::MAX } else { (1 << known) - 1 };
        KnownBits { bits: bits & mask, known }
    }

    fn constant(bits: u64) -> KnownBits {
        KnownBits { bits, known: u64::BITS }
    }

    /// Value modulo `modulus`, a power of two, if known.
    pub(super) fn modulo(self, modulus: u64) -> Option<u64> {
        (modulus.trailing_zeros() <= self.known).then(|| self.bits & (modulus - 1))
    }

    /// Bits common to both values.
    fn either(self, other: KnownBits) -> KnownBits {
        let same = (self.bits ^ other.bits).trailing_zeros();
        KnownBits::new(self.bits, self.known.min(other.known).min(same))
    }

    /// Bits that remain in a width of `bits`.
    fn within(self, bits: u32) -> KnownBits {
        KnownBits::new(self.bits, self.known.min(bits))
    }

    pub(super) fn plus(self, other: KnownBits) -> KnownBits {
        KnownBits::new(self.bits.wrapping_add(other.bits), self.known.min(other.known))
    }

    /// Sum with a number.
    pub(super) fn plus_number(self, number: i64) -> KnownBits {
        self.plus(KnownBits::constant(number as u64))
    }

    fn negative(self) -> KnownBits {
        KnownBits::new(self.bits.wrapping_neg(), self.known)
    }

    fn times(self, other: KnownBits) -> KnownBits {
        let (of_one, of_other) = (self.bits.trailing_zeros(), other.bits.trailing_zeros());
        let known = (self.known + of_other).min(other.known + of_one).min(self.known + other.known);
        KnownBits::new(self.bits.wrapping_mul(other.bits), known)
    }

    fn shifted_left(self, by: u32) -> KnownBits {
        match by < u64::BITS {
            true => KnownBits::new(self.bits << by, self.known.saturating_add(by)),
            false => KnownBits::constant(0),
        }
    }

    fn shifted_right(self, by: u32) -> KnownBits {
        match by < self.known {
            true => KnownBits::new(self.bits >> by, self.known - by),
            false => KnownBits::UNKNOWN,
        }
    }

    /// Low bits of `and`, or of `or` if `deciding` is set: an operand bit equal to `deciding` determines
    /// the result's.
    fn combined(self, other: KnownBits, deciding: bool) -> KnownBits {
        let bit = |of: KnownBits, n: u32| (n < of.known).then_some(of.bits >> n & 1 == 1);
        let settled = |n: &u32| {
            let (one, other) = (bit(self, *n), bit(other, *n));
            one == Some(deciding) || other == Some(deciding) || (one.is_some() && other.is_some())
        };
        let known = (0..u64::BITS).take_while(settled).count() as u32;
        let bits = if deciding { self.bits | other.bits } else { self.bits & other.bits };
        KnownBits::new(bits, known)
    }
}

/// Known low bits of all registers of a function.
#[derive(Debug)]
pub(super) struct AllKnownBits<'f> {
    addresses: &'f SharedAddresses,
    /// Known low bits of each register; `None` before a definition was seen.
    registers: Vec<Option<KnownBits>>,
}

impl<'f> AllKnownBits<'f> {
    pub(super) fn of(function: &Function, addresses: &'f SharedAddresses) -> AllKnownBits<'f> {
        // Values of undefined registers and of callers are unknown.
        let mut registers = vec![Some(KnownBits::UNKNOWN); function.registers.len()];
        let given: HashSet<RegisterId> = function.parameters.iter().flat_map(Parameter::registers).collect();
        let written = function.instructions.iter().flat_map(writes);
        for register in written.filter(|register| !given.contains(register)) {
            if let Some(slot) = registers.get_mut(register.0 as usize) {
                *slot = None;
            }
        }
        let mut all = AllKnownBits { addresses, registers };
        // Knowledge about a register only decreases.
        while function.instructions.iter().fold(false, |changed, i| all.see(function, i) | changed) {}
        all
    }

    /// Address relative to `base`, without its offset.
    pub(super) fn address(&self, base: AddressBase) -> KnownBits {
        match base {
            AddressBase::Register(register) => self.register(register),
            base => self.addresses.of(base).map_or(KnownBits::UNKNOWN, KnownBits::constant),
        }
    }

    fn register(&self, register: RegisterId) -> KnownBits {
        self.registers.get(register.0 as usize).copied().flatten().unwrap_or(KnownBits::UNKNOWN)
    }

    /// Merges the result of an instruction; returns true if knowledge decreased.
    fn see(&mut self, function: &Function, i: &Instruction) -> bool {
        let mut changed = false;
        let written = writes(i);
        let is_one = written.len() == 1;
        for register in written {
            let bits = match function.registers.get(register.0 as usize) {
                Some(ScalarType::Pred) | None => continue,
                Some(ty) => ty.bits(),
            };
            // Parts of a value are unknown.
            let result = if is_one { self.result(i) } else { Some(KnownBits::UNKNOWN) };
            let Some(value) = result.map(|value| value.within(bits)) else { continue };
            if let Some(slot) = self.registers.get_mut(register.0 as usize) {
                let merged = slot.map_or(value, |old| old.either(value));
                changed |= *slot != Some(merged);
                *slot = Some(merged);
            }
        }
        changed
    }

    /// Result of an instruction; `None` if a source was not seen yet.
    fn result(&self, i: &Instruction) -> Option<KnownBits> {
        let bits = i.last_type().map_or(u64::BITS, ScalarType::bits);
        let value = |n: usize| match i.operands.get(n) {
            Some(Operand::Immediate(bits)) => Some(KnownBits::constant(*bits)),
            Some(Operand::Register(register)) => match self.registers.get(register.0 as usize) {
                Some(known) => *known,
                None => Some(KnownBits::UNKNOWN),
            },
            Some(Operand::Address { base, offset }) => Some(self.address(*base).plus_number(*offset)),
            _ => Some(KnownBits::UNKNOWN),
        };
        let amount = |n: usize| match i.operands.get(n) {
            Some(Operand::Immediate(amount)) => u32::try_from(*amount).ok().filter(|amount| *amount < bits),
            _ => None,
        };
        if i.has(Modifier::Sat) {
            return Some(KnownBits::UNKNOWN);
        }
        Some(match i.op {
            Op::Memory(Memory::mov) => value(1)?,
            Op::Integer(Integer::add) => value(1)?.plus(value(2)?),
            Op::Integer(Integer::sub) => value(1)?.plus(value(2)?.negative()),
            Op::Integer(Integer::neg) => value(1)?.negative(),
            Op::Integer(Integer::mul_lo) => value(1)?.times(value(2)?),
            Op::Integer(Integer::mad_lo) => value(1)?.times(value(2)?).plus(value(3)?),
            Op::Integer(Integer::mul_wide) => value(1)?.within(bits).times(value(2)?.within(bits)),
            Op::Integer(Integer::mad_wide) => {
                value(1)?.within(bits).times(value(2)?.within(bits)).plus(value(3)?)
            }
            Op::Logic(Logic::and) => value(1)?.combined(value(2)?, false),
            Op::Logic(Logic::or) => value(1)?.combined(value(2)?, true),
            Op::Logic(Logic::shl) => match amount(2) {
                Some(by) => value(1)?.shifted_left(by),
                None => KnownBits::UNKNOWN,
            },
            Op::Logic(Logic::shr) => match amount(2) {
                Some(by) => value(1)?.within(bits).shifted_right(by),
                None => KnownBits::UNKNOWN,
            },
            Op::Compare(crate::isa::Compare::selp) => value(1)?.either(value(2)?),
            Op::Convert(Convert::integer_to_integer) => {
                let from = i.ty(1).map_or(0, ScalarType::bits);
                value(1)?.within(from.min(i.ty(0).map_or(0, ScalarType::bits)))
            }
            _ => KnownBits::UNKNOWN,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// All 8-bit values with these low bits.
    fn values(of: KnownBits) -> impl Iterator<Item = u64> {
        (0..256).filter(move |value| value & ((1 << of.known) - 1) == of.bits)
    }

    fn holds(of: KnownBits, value: u64) -> bool {
        KnownBits::new(value, of.known.min(8)) == KnownBits::new(of.bits, of.known.min(8))
    }

    #[test]
    fn known_result_bits_hold_for_all_operand_values() {
        let all: Vec<KnownBits> =
            (0..4).flat_map(|known| (0..1 << known).map(move |bits| KnownBits { bits, known })).collect();
        for a in &all {
            for b in &all {
                let results = [
                    a.plus(*b),
                    a.times(*b),
                    a.combined(*b, false),
                    a.combined(*b, true),
                    a.either(*b),
                    a.negative(),
                    a.shifted_left(2),
                    a.shifted_right(2),
                ];
                for x in values(*a).step_by(3) {
                    for y in values(*b).step_by(5) {
                        let exact = [x + y, x * y, x & y, x | y, x, x.wrapping_neg(), x << 2, x >> 2];
                        for (n, (result, exact)) in results.iter().zip(exact).enumerate() {
                            assert!(holds(*result, exact), "{n}: {a:?} {b:?} {x} {y}");
                        }
                    }
                }
            }
        }
    }

    #[test]
    fn products_keep_the_alignment_of_both_factors() {
        let of_four = KnownBits { bits: 0, known: 2 };
        assert_eq!(of_four.times(KnownBits::constant(12)).modulo(16), Some(0));
        assert_eq!(of_four.plus_number(8).modulo(4), Some(0));
        assert_eq!(of_four.modulo(8), None);
    }
}
