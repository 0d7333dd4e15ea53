//! Operands of calls: passed values and results.

use std::sync::Arc;

use super::names::{Entity, LabelTarget};
use super::operand::{OperandSlot, undeclared, wrong};
use super::{Resolver, Result, prototype};
use crate::ir::{AddressBase, Operand, Prototype, RegisterId, Space};
use crate::isa::{OperandSyntax, OperandType, ScalarType};
use crate::parse::tree::{self, OperandKind, Reference, Statement};

impl<'a> Resolver<'a> {
    /// Prototype of the called function, or of a call through a register.
    pub(super) fn prototype_of_call(
        &mut self,
        places: &[OperandSyntax],
        assignment: &[Option<usize>],
        instruction: &'a tree::Instruction<'a>,
    ) -> Result<Option<Arc<Prototype>>> {
        let named = |ty: OperandType| {
            let mut filled = places.iter().zip(assignment).filter(|(place, _)| place.ty == ty);
            let given = filled.find_map(|(_, taken)| instruction.operands.get((*taken)?))?;
            match &given.kind {
                OperandKind::Reference(name) => Some(name.name),
                _ => None,
            }
        };
        let Some(function) = named(OperandType::Function) else { return Ok(None) };
        if let Some(of_function) = self.surroundings.prototype(function.text) {
            return Ok(Some(of_function));
        }
        let statement = named(OperandType::Declaration).and_then(|list| match self.label_target(list) {
            Some(LabelTarget::Statement(position)) => self.statements.get(position),
            _ => None,
        });
        match statement {
            Some(Statement::Prototype(header)) => prototype(header).map(|found| Some(Arc::new(found))),
            Some(Statement::CallTargets(targets)) => {
                Ok(targets.first().and_then(|target| self.surroundings.prototype(target.text)))
            }
            _ => Ok(None),
        }
    }

    /// List `(a, b)` of a call. A constant takes the type of the callee's parameter.
    pub(super) fn call_list(
        &mut self,
        written: bool,
        list: &'a [tree::Operand<'a>],
        prototype: Option<&Prototype>,
    ) -> Result<Operand> {
        let formals = prototype.map_or(&[][..], |prototype| &prototype.parameters);
        let mut operands = Vec::with_capacity(list.len());
        for (position, given) in list.iter().enumerate() {
            operands.push(match &given.kind {
                OperandKind::Reference(name) if name.name.text == "_" && written => Operand::Discard,
                OperandKind::Reference(name) => self.passed(name)?,
                OperandKind::Constant(_) | OperandKind::Parameters(_) if !written => {
                    let ty = formals.get(position).map_or(ScalarType::B64, |formal| formal.ty);
                    self.value(OperandSlot::constant(ty), given)?
                }
                _ => return Err(wrong("(…)", expected(written)).at(given.at)),
            });
        }
        Ok(Operand::Parameters(operands))
    }

    /// A register, vector register or `.param` variable, as a whole.
    fn passed(&mut self, name: &Reference<'a>) -> Result<Operand> {
        let (text, at) = (name.name.text, name.name.at);
        if name.selector.is_some() || name.index.is_some() || name.offset.is_some() {
            return Err(wrong(text, "a whole register or .param variable").at(at));
        }
        match self.find(text) {
            Some(Entity::Registers { first, lanes: 1 }) => Ok(Operand::Register(first)),
            Some(Entity::Registers { first, lanes }) => {
                let elements = (first.0..first.0 + lanes).map(|id| Operand::Register(RegisterId(id)));
                Ok(Operand::Vector(elements.collect()))
            }
            Some(Entity::Variable(id)) => match self.function.variables.get(id.0 as usize) {
                Some(variable) if variable.space == Space::Param => {
                    Ok(Operand::Address { base: AddressBase::Variable(id), offset: 0 })
                }
                _ => Err(wrong(text, "a register or .param variable").at(at)),
            },
            Some(Entity::Parameter(_) | Entity::Return(_)) => {
                Err(wrong(text, "a .param variable of the function's body").at(at))
            }
            Some(Entity::Outside { .. }) => Err(wrong(text, "a register or .param variable").at(at)),
            None => match self.surroundings.lookup(text) {
                Some(_) => Err(wrong(text, "a register or .param variable").at(at)),
                None => Err(undeclared(name.name)),
            },
        }
    }
}

/// Operands that a call's list accepts.
fn expected(written: bool) -> &'static str {
    if written {
        "a register or .param variable for the result"
    } else {
        "a register, constant or .param variable"
    }
}
