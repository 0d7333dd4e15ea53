//! Operand `r + 1` in a value position: an addition into a separate register, before the instruction.

use super::error::ResolveError;
use super::immediate::convert;
use super::operand::wrong;
use super::{Resolver, Result, form};
use crate::ir::{Instruction, InstructionIndex, Operand, RegisterId};
use crate::isa::{Convert, Integer, Op, ScalarType, TypeClass};
use crate::parse::constant::Constant;
use crate::parse::tree::Word;

impl<'a> Resolver<'a> {
    /// Register with `offset` added: a new one unless `offset` is 0.
    pub(super) fn with_offset(
        &mut self,
        register: RegisterId,
        offset: i64,
        name: Word<'a>,
    ) -> Result<RegisterId> {
        if offset == 0 {
            return Ok(register);
        }
        let declared = self.function.registers.get(register.0 as usize).copied();
        let integer = declared.filter(|ty| ty.is_integer() || ty.class() == TypeClass::Bits);
        let (opcode, ty) = match integer.map_or(0, ScalarType::bits) {
            8 | 16 => ("add.u16", ScalarType::U16),
            32 => ("add.u32", ScalarType::U32),
            64 => ("add.u64", ScalarType::U64),
            _ => return Err(wrong(name.text, "an integer register before an offset").at(name.at)),
        };
        let constant = convert(Constant::Signed(offset), ty).map_err(|error| error.at(name.at))?;
        // Instructions that accept an 8-bit register also accept a wider one.
        let narrow = declared.filter(|ty| ty.bits() == 8);
        let result_type = if narrow.is_some() { ScalarType::B16 } else { declared.unwrap_or(ty) };
        let result = self.add_registers(result_type, 1, &format!("{}$offset", name.text));
        let mut source = register;
        if narrow.is_some() {
            let widened = vec![Operand::Register(result), Operand::Register(register)];
            self.put_before(Op::Convert(Convert::integer_to_integer), "cvt.u16.u8", widened)
                .map_err(|error| error.at(name.at))?;
            source = result;
        }
        let operands =
            vec![Operand::Register(result), Operand::Register(source), Operand::Immediate(constant)];
        self.put_before(Op::Integer(Integer::add), opcode, operands).map_err(|error| error.at(name.at))?;
        Ok(result)
    }

    /// Adds an instruction before the current one, with its guard and position.
    fn put_before(
        &mut self,
        op: Op,
        opcode: &str,
        operands: Vec<Operand>,
    ) -> std::result::Result<(), ResolveError> {
        let candidates = form::candidates(opcode)?;
        let fitting = candidates.into_iter().find(|(line, _)| line.op == op);
        if let Some((_, tokens)) = fitting {
            self.before.push(Instruction {
                op,
                tokens,
                guard: None,
                operands,
                place: Default::default(),
                location: self.location,
            });
        }
        Ok(())
    }

    /// Converts labels from instruction indices of the text to those of the function.
    pub(super) fn move_labels(&mut self) {
        let end = self.function.instructions.len() as u32;
        if end as usize == self.starts.len() {
            return;
        }
        let starts = std::mem::take(&mut self.starts);
        let moved = |label: &mut InstructionIndex| {
            label.0 = starts.get(label.0 as usize).copied().unwrap_or(end);
        };
        for operand in self.function.instructions.iter_mut().flat_map(|i| &mut i.operands) {
            match operand {
                Operand::Label(label) => moved(label),
                Operand::BranchTargets(labels) => labels.iter_mut().for_each(moved),
                _ => {}
            }
        }
    }
}
