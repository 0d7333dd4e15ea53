//! Call sites: where arguments come from and results go.

use ptx_frontend::ir::{AddressBase, Instruction, Operand};

use super::{BindError, Binder, FramePlace};
use crate::engine::call;
use crate::engine::native;
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
                let replacement = native::replacement(&name);
                let defined = self.linker.by_name.get(&name).copied().filter(|_| replacement.is_none());
                if let Some(function) = defined {
                    self.linker.call_sites.push(CallSite { function: Some(function), arguments, results });
                    self.linker.needs_stack = true;
                    let op = Op { immediate: number as u64, ..self.op(call::call) };
                    self.push(op);
                } else if let Some(run) = replacement.or_else(|| native::function(&name)) {
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
                let a = self.source(&Operand::Register(*register), ptx_frontend::isa::ScalarType::U64)?;
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
                        Ok(ParameterPlace { offset, size, register: None })
                    }
                    _ => Err(self.error("an argument that is not in .param space")),
                }
            }
            Operand::Address { base: AddressBase::Parameter(number), offset: 0 }
                if !self.source.is_kernel =>
            {
                let parameter = &self.source.parameters[*number as usize];
                Ok(ParameterPlace { offset: parameter.offset, size: parameter.size, register: None })
            }
            Operand::Address { base: AddressBase::Return(number), offset: 0 } => {
                let result = &self.source.returns[*number as usize];
                Ok(ParameterPlace { offset: result.offset, size: result.size, register: None })
            }
            Operand::Register(register) => {
                let bits = self.register_type(*register).bits();
                let row = self.register(*register);
                Ok(ParameterPlace { offset: 0, size: bits.div_ceil(8), register: Some((row, bits > 32)) })
            }
            Operand::Immediate(bits) => {
                let row = self.constant(*bits, true);
                Ok(ParameterPlace { offset: 0, size: 8, register: Some((row, true)) })
            }
            other => Err(self.error(format!("{other:?} cannot be an argument or result"))),
        }
    }
}
