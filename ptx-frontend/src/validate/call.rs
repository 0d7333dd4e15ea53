//! Checks of calls against the declarations of their callees.

use super::{Check, Result, ValidationError};
use crate::ir::{Function, Operand, Parameter, Prototype, Space};
use crate::isa::{Effect, ScalarType};

/// Callee with its parameters and results.
struct Callee<'a> {
    name: &'a str,
    prototype: Prototype,
}

impl Check<'_> {
    /// Checks that a call matches the callee's declaration.
    pub(super) fn call(&self) -> Result {
        if self.line.effect != Effect::Call {
            return Ok(());
        }
        let [results, called, arguments, list] = self.instruction.operands.as_slice() else { return Ok(()) };
        let Some(callee) = self.callee(called, list)? else { return Ok(()) };
        self.convention(called, &callee)?;
        self.values("result", results, &callee, &callee.prototype.returns)?;
        self.values("argument", arguments, &callee, &callee.prototype.parameters)
    }

    /// The callee; `None` for an undeclared function.
    fn callee(&self, called: &Operand, list: &Operand) -> Result<Option<Callee<'_>>> {
        let of_function = |id: &crate::ir::ExternalId| {
            let name = self.function.externals.get(id.0 as usize)?.name.as_str();
            Some(Callee { name, prototype: (*self.surroundings.prototype(name)?).clone() })
        };
        match (called, list) {
            (Operand::Function(id), _) => Ok(of_function(id)),
            (_, Operand::Prototype(number)) => {
                let prototype = self.function.prototypes.get(*number as usize).cloned();
                Ok(prototype.map(|prototype| Callee { name: ".callprototype", prototype }))
            }
            (_, Operand::CallTargets(targets)) => Ok(targets.first().and_then(of_function)),
            _ => Err(ValidationError::Together {
                what: "a call through a register",
                rule: "only with a .callprototype or .calltargets",
            }),
        }
    }

    /// Checks the platform's calling convention, which has no predicates and no typed 8-bit and 16-bit
    /// integers. A module without the convention has neither recursion nor calls through registers.
    fn convention(&self, called: &Operand, callee: &Callee<'_>) -> Result {
        let Prototype { returns, parameters } = &callee.prototype;
        if self.surroundings.uses_abi() && returns.len() <= 1 {
            let outside = |formal: &&Parameter| {
                let ty = formal.ty;
                ty == ScalarType::Pred || ty.is_integer() && ty.bits() <= 16 && formal.elements() == 1
            };
            return match returns.iter().chain(parameters).find(outside) {
                Some(formal) => {
                    Err(ValidationError::Convention { function: callee.name.to_owned(), ty: formal.ty })
                }
                None => Ok(()),
            };
        }
        let rule = "not in a module with a function of several results";
        if !matches!(called, Operand::Function(_)) {
            return Err(ValidationError::Together { what: "a call through a register", rule });
        }
        if callee.name == self.function.name {
            return Err(ValidationError::Together { what: "recursion", rule });
        }
        Ok(())
    }

    fn values(
        &self,
        what: &'static str,
        given: &Operand,
        callee: &Callee<'_>,
        formals: &[Parameter],
    ) -> Result {
        let list = match given {
            Operand::Parameters(list) => list.as_slice(),
            _ => &[],
        };
        if list.len() != formals.len() {
            let (given, declared) = (list.len(), formals.len());
            let what = if what == "result" { "results" } else { "arguments" };
            return Err(ValidationError::Call { function: callee.name.to_owned(), what, given, declared });
        }
        for (position, (operand, formal)) in list.iter().zip(formals).enumerate() {
            if !self.passes(operand, formal) {
                return Err(ValidationError::Passed {
                    what,
                    number: position + 1,
                    function: callee.name.to_owned(),
                    given: self.described(operand),
                    declared: described(formal.ty, formal.elements(), formal.in_register, formal.align),
                });
            }
        }
        Ok(())
    }

    /// True if the operand can pass the parameter or receive the result.
    fn passes(&self, operand: &Operand, formal: &Parameter) -> bool {
        let is_scalar = formal.elements() == 1;
        match operand {
            Operand::Register(register) => {
                is_scalar && formal.ty.accepts_register(self.register_type(*register))
            }
            Operand::Vector(elements) => {
                let bytes = |operand: &Operand| match operand {
                    Operand::Register(register) => self.register_type(*register).bytes(),
                    _ => 0,
                };
                elements.iter().map(bytes).sum::<u32>() == formal.size
            }
            Operand::Address { base: crate::ir::AddressBase::Variable(id), .. } => {
                let variable = self.function.variables.get(id.0 as usize);
                variable.is_some_and(|variable| {
                    // A last parameter of unknown length accepts any number of values.
                    if formal.size == 0 {
                        return variable.space == Space::Param && variable.align == formal.align;
                    }
                    let is_same_shape = variable.space == Space::Param
                        && variable.size == u64::from(formal.size)
                        && variable.align == formal.align;
                    let of_one_type = variable.size != u64::from(variable.ty.bytes())
                        || !is_scalar
                        || formal.ty.accepts_register(variable.ty);
                    is_same_shape && of_one_type
                })
            }
            Operand::Immediate(_) => is_scalar && formal.ty != ScalarType::Pred,
            Operand::Discard => true,
            _ => false,
        }
    }

    fn described(&self, operand: &Operand) -> String {
        match operand {
            Operand::Register(register) => described(self.register_type(*register), 1, true, 0),
            Operand::Vector(elements) => match elements.first() {
                Some(Operand::Register(register)) => {
                    described(self.register_type(*register), elements.len() as u32, true, 0)
                }
                _ => "a vector".to_owned(),
            },
            Operand::Address { base: crate::ir::AddressBase::Variable(id), .. } => {
                variable(self.function, id.0).unwrap_or_else(|| "an address".to_owned())
            }
            Operand::Immediate(_) => "a constant".to_owned(),
            _ => "no register, constant or .param variable".to_owned(),
        }
    }
}

fn variable(function: &Function, number: u32) -> Option<String> {
    let variable = function.variables.get(number as usize)?;
    let elements = variable.size.checked_div(variable.ty.bytes().into())?;
    Some(described(variable.ty, elements as u32, false, variable.align))
}

/// `.reg .v2 .u32`, `.param .align 8 .b8[12]`.
fn described(ty: ScalarType, elements: u32, in_register: bool, align: u32) -> String {
    match (in_register, elements) {
        (true, 1) => format!(".reg .{}", ty.name()),
        (true, _) => format!(".reg .v{elements} .{}", ty.name()),
        (false, 1) => format!(".param .{}", ty.name()),
        (false, _) => format!(".param .align {align} .{}[{elements}]", ty.name()),
    }
}
