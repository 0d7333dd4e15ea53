//! Binding of calls: transfer of arguments and results.

use ptx_frontend::ir::{AddressBase, Instruction, Operand, RegisterId};
use ptx_frontend::isa::ScalarType;

use super::{BindError, Binder, FramePlace};
use crate::engine::call;
use crate::engine::device_functions;
use crate::engine::op::Op;
use crate::engine::program::{CallSite, ParameterPlace};

impl Binder<'_, '_> {
    /// Binds `call (results), function, (arguments), targets`.
    pub(crate) fn bind_call(&mut self, i: &Instruction) -> Result<(), BindError> {
        let results = self.call_places(&i.operands[0])?;
        let arguments = self.call_places(&i.operands[2])?;
        let number = self.linker.call_sites.len();
        match &i.operands[1] {
            Operand::Function(external) => {
                let name = self.source.externals[external.0 as usize].name.clone();
                let replacement = device_functions::replacement(&name);
                let defined = self.linker.by_name.get(&name).copied().filter(|_| replacement.is_none());
                if let Some(function) = defined {
                    self.linker.call_sites.push(CallSite { function: Some(function), arguments, results });
                    self.linker.needs_stack = true;
                    let op = Op { immediate: number as u64, ..self.op(call::call) };
                    self.push(op);
                } else if let Some(run) = replacement.or_else(|| device_functions::function(&name)) {
                    if device_functions::reaches_others(&name) {
                        self.note_order();
                    }
                    self.linker.call_sites.push(CallSite { function: None, arguments, results });
                    let op = Op { immediate: number as u64, ..self.op(run) };
                    self.push(op);
                } else {
                    return Err(BindError::Unresolved { function: self.source.name.clone(), symbol: name });
                }
            }
            Operand::Register(register) => {
                self.linker.call_sites.push(CallSite { function: None, arguments, results });
                self.linker.needs_stack = true;
                let a = self.source(&Operand::Register(*register), ScalarType::U64)?;
                let op = Op { a, immediate: number as u64, ..self.op(call::call) };
                self.push(op);
                self.push_meeting_point();
            }
            other => return Err(self.error(format!("{other:?} cannot be called"))),
        }
        Ok(())
    }

    fn call_places(&mut self, operand: &Operand) -> Result<Vec<ParameterPlace>, BindError> {
        let list: &[Operand] = match operand {
            Operand::Absent => &[],
            Operand::Parameters(list) => list,
            other => return Err(self.error(format!("{other:?} is not a list of parameters"))),
        };
        list.iter().map(|operand| self.call_place(operand)).collect()
    }

    fn call_place(&mut self, operand: &Operand) -> Result<ParameterPlace, BindError> {
        match operand {
            Operand::Address { base: AddressBase::Variable(variable), offset: 0 } => {
                match self.frame_place(AddressBase::Variable(*variable))? {
                    FramePlace::Local(offset) => {
                        let size = self.source.variables[variable.0 as usize].size as u32;
                        Ok(ParameterPlace::in_memory(offset, size))
                    }
                    _ => Err(self.error("the argument is not in .param space")),
                }
            }
            Operand::Register(register) => Ok(self.registers_place(&[*register])),
            Operand::Vector(elements) => {
                let register = |element: &Operand| match element {
                    Operand::Register(register) => Ok(*register),
                    other => Err(self.error(format!("{other:?} cannot be an argument or result"))),
                };
                let registers = elements.iter().map(register).collect::<Result<Vec<_>, _>>()?;
                Ok(self.registers_place(&registers))
            }
            Operand::Immediate(bits) => {
                let row = self.constant(*bits, true);
                Ok(ParameterPlace::in_registers(std::iter::once((row, ScalarType::B64))))
            }
            Operand::Discard => Ok(ParameterPlace { size: 0, pieces: Vec::new() }),
            other => Err(self.error(format!("{other:?} cannot be an argument or result"))),
        }
    }

    fn registers_place(&self, registers: &[RegisterId]) -> ParameterPlace {
        let places =
            registers.iter().map(|register| (self.register(*register), self.register_type(*register)));
        ParameterPlace::in_registers(places)
    }
}
