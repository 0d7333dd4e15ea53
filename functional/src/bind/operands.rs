//! Operands: rows from which an op reads and to which it writes.

use ptx_frontend::analyse;
use ptx_frontend::ir::{self, AddressBase, Operand, RegisterId};
use ptx_frontend::isa::{ScalarType, SpecialRegister};

use super::variables::SymbolAddress;
use super::{BindError, Binder, Linker, ROW_BYTES};
use crate::engine::op::{Op, PREDICATE_SINK, PREDICATE_TRUE, PredicateSource};
use crate::engine::special;
use crate::ops::control;

impl Binder<'_, '_> {
    /// Declared type of a register.
    pub(crate) fn register_type(&self, register: RegisterId) -> ScalarType {
        self.source.registers[register.0 as usize]
    }

    /// Byte offset of a register's row; word number of a predicate.
    pub(crate) fn register(&self, register: RegisterId) -> u32 {
        self.registers[register.0 as usize]
    }

    /// True if any instruction reads this result; false for `_` and for dead registers.
    pub(crate) fn is_wanted(&self, result: &Operand) -> bool {
        match result {
            Operand::Register(register) => {
                let read = self.read.get_or_init(|| read_registers(&self.source));
                read[register.0 as usize]
            }
            other => *other != Operand::Discard,
        }
    }

    /// Row with `bits` in every lane: 64-bit lanes if `wide`, else 32-bit lanes.
    pub(crate) fn constant(&mut self, bits: u64, wide: bool) -> u32 {
        let Linker { constants, constant_of, .. } = &mut *self.linker;
        *constant_of.entry((bits, wide)).or_insert_with(|| constants.add(bits, wide))
    }

    /// Allocates a scratch row for the op (two rows if `wide`).
    pub(crate) fn scratch(&mut self, wide: bool) -> u32 {
        self.scratch_rows(if wide { 2 } else { 1 })
    }

    fn scratch_rows(&mut self, count: usize) -> u32 {
        let offset = (self.layout.rows() * ROW_BYTES) as u32;
        self.layout.scratch_rows += count;
        offset
    }

    /// Scratch rows for an unused 128-bit result.
    pub(crate) fn scratch_128(&mut self) -> u32 {
        self.scratch_rows(4)
    }

    /// Row of a special register. Clocks are read into a scratch row by their own op.
    pub(crate) fn special(&mut self, register: SpecialRegister) -> u32 {
        let wide = register.ty().bits() == 64;
        if !special::is_constant(register) {
            let d = self.scratch(wide);
            let run = if wide { control::clock_64 } else { control::clock_32 };
            let op = Op { d, immediate: register as u64, ..self.op(run) };
            self.push(op);
            return d;
        }
        if let Some(&(_, offset)) = self.specials.iter().find(|(known, _)| *known == register) {
            return offset;
        }
        let offset = self.scratch(wide);
        self.specials.push((register, offset));
        offset
    }

    /// Row of an operand read as `ty`. A register of another width is an error.
    pub(crate) fn source(&mut self, operand: &Operand, ty: ScalarType) -> Result<u32, BindError> {
        let wide = ty.bits() == 64;
        match operand {
            Operand::Register(register) => {
                let declared = self.register_type(*register);
                if declared == ScalarType::Pred || (declared.bits() > 32) != wide {
                    let name = &self.source.register_names[register.0 as usize];
                    return Err(self.error(format!(
                        "register {name} is .{}, but the operand must be .{}",
                        declared.name(),
                        ty.name()
                    )));
                }
                Ok(self.register(*register))
            }
            Operand::Immediate(bits) => Ok(self.constant(truncate(*bits, ty), wide)),
            Operand::Special(register) => {
                let row = self.special(*register);
                match (register.ty().bits() == 64, wide) {
                    (false, true) => {
                        let d = self.scratch(true);
                        let op = Op { d, a: row, ..self.op(crate::ops::mov::widen()) };
                        self.push(op);
                        Ok(d)
                    }
                    (true, false) => {
                        let d = self.scratch(false);
                        let op = Op { d, a: row, ..self.op(crate::ops::mov::narrow()) };
                        self.push(op);
                        Ok(d)
                    }
                    _ => Ok(row),
                }
            }
            Operand::Address { base, offset } => self.address_value(*base, *offset, wide),
            Operand::Function(function) => self.address_value(AddressBase::External(*function), 0, wide),
            Operand::Part { of, .. } => self.source(of, ty),
            other => Err(self.error(format!("{other:?} cannot be read as .{}", ty.name()))),
        }
    }

    /// Row of a result of type `ty`.
    pub(crate) fn result(&mut self, operand: &Operand, ty: ScalarType) -> Result<u32, BindError> {
        match operand {
            Operand::Register(register) => {
                let declared = self.register_type(*register);
                if declared == ScalarType::Pred || (declared.bits() > 32) != (ty.bits() == 64) {
                    let name = &self.source.register_names[register.0 as usize];
                    return Err(self.error(format!(
                        "register {name} is .{} and cannot hold a .{}",
                        declared.name(),
                        ty.name()
                    )));
                }
                Ok(self.register(*register))
            }
            Operand::Discard | Operand::Absent => Ok(self.scratch(ty.bits() == 64)),
            Operand::Part { of, .. } => self.result(of, ty),
            other => Err(self.error(format!("{other:?} cannot be written"))),
        }
    }

    /// Predicate operand that is read.
    pub(crate) fn predicate_source(&self, operand: &Operand) -> Result<PredicateSource, BindError> {
        match operand {
            Operand::Register(register) if self.register_type(*register) == ScalarType::Pred => {
                Ok(PredicateSource::new(self.register(*register), false))
            }
            Operand::NegatedPredicate(register) if self.register_type(*register) == ScalarType::Pred => {
                Ok(PredicateSource::new(self.register(*register), true))
            }
            Operand::Immediate(bits) => Ok(PredicateSource::new(PREDICATE_TRUE, *bits == 0)),
            Operand::Absent => Ok(PredicateSource::TRUE),
            other => Err(self.error(format!("{other:?} is not a predicate"))),
        }
    }

    /// Word number of a predicate result.
    pub(crate) fn predicate_result(&self, operand: &Operand) -> Result<u32, BindError> {
        match operand {
            Operand::Register(register) if self.register_type(*register) == ScalarType::Pred => {
                Ok(self.register(*register))
            }
            Operand::Discard | Operand::Absent => Ok(PREDICATE_SINK),
            other => Err(self.error(format!("{other:?} cannot take a predicate"))),
        }
    }

    /// Row of the address `base + offset`; a bare name means its address.
    pub(crate) fn address_value(
        &mut self,
        base: AddressBase,
        offset: i64,
        wide: bool,
    ) -> Result<u32, BindError> {
        match base {
            AddressBase::Register(register) => {
                let a = self.register(register);
                let is_wide = self.register_type(register).bits() == 64;
                if offset == 0 && is_wide == wide {
                    return Ok(a);
                }
                let b = self.constant(offset as u64, is_wide);
                let d = self.scratch(is_wide);
                let run = crate::ops::integer::add_rows(is_wide);
                let op = Op { d, a, b, ..self.op(run) };
                self.push(op);
                Ok(d)
            }
            AddressBase::Absolute => Ok(self.constant(truncate_address(offset as u64, wide), wide)),
            AddressBase::Variable(_) | AddressBase::Parameter(_) | AddressBase::Return(_) => {
                match self.frame_place(base)? {
                    super::variables::FramePlace::Fixed(address) => {
                        let value = address.wrapping_add(offset as u64);
                        Ok(self.constant(truncate_address(value, wide), wide))
                    }
                    super::variables::FramePlace::Local(at) => {
                        let d = self.scratch(wide);
                        let value = u64::from(at).wrapping_add(offset as u64);
                        let run = if wide { control::local_address_64 } else { control::local_address_32 };
                        let op = Op { d, immediate: value, ..self.op(run) };
                        self.push(op);
                        Ok(d)
                    }
                    super::variables::FramePlace::KernelParameter(at) => {
                        self.linker.needs_parameter_address = true;
                        let d = self.scratch(wide);
                        let value = u64::from(at).wrapping_add(offset as u64);
                        let op = Op { d, immediate: value, ..self.op(control::parameter_address) };
                        self.push(op);
                        Ok(d)
                    }
                }
            }
            AddressBase::External(external) => {
                let value = match self.external(external)? {
                    SymbolAddress::Global(address) => address,
                    SymbolAddress::Function(address) => {
                        self.take_address(external);
                        address
                    }
                    SymbolAddress::Shared { .. } => u64::from(self.shared_external(external)?),
                };
                let value = value.wrapping_add(offset as u64);
                Ok(self.constant(truncate_address(value, wide), wide))
            }
        }
    }
}

/// For each register, whether an instruction or the function's return reads it.
fn read_registers(source: &ir::Function) -> Vec<bool> {
    let mut read = vec![false; source.registers.len()];
    let by_instructions = source.instructions.iter().flat_map(analyse::reads);
    for register in by_instructions.chain(source.returns.iter().flat_map(ir::Parameter::registers)) {
        read[register.0 as usize] = true;
    }
    read
}

/// Bits of an immediate in a register of type `ty`.
pub(crate) fn truncate(bits: u64, ty: ScalarType) -> u64 {
    match ty.bits() {
        64 => bits,
        width => bits & ((1u64 << width) - 1),
    }
}

fn truncate_address(address: u64, wide: bool) -> u64 {
    if wide { address } else { address & 0xffff_ffff }
}
