//! Validation of decoded functions from disk: anyone with write access to the folder can store arbitrary
//! bytes with correct checksums.
//!
//! This check covers the resolver's guarantees: indices lie within their tables, operands have the kinds of
//! their positions, and modifiers fit their slots. [`crate::validate`] covers types, vectors and constants.

use crate::ir::{
    AddressBase, ExternalId, Function, Initial, Instruction, InstructionIndex, Operand, Parameter,
    RegisterId, Variable, VariableId,
};
use crate::isa::{Effect, OperandSyntax, OperandType, ScalarType, Token, TypeClass};
use crate::resolve::operand_type;

/// Maximum bytes of parameters that a header can declare.
const MOST_PARAMETER_BYTES: u32 = 1 << 20;

/// Maximum nesting of operands: vector elements may be parts.
const DEEPEST: usize = 3;

/// True if the resolver's guarantees hold.
pub fn is_sound(function: &Function) -> bool {
    let judge = Judge { function };
    function.registers.len() == function.register_names.len()
        && function.registers.iter().all(|ty| ty.class() != TypeClass::Opaque)
        && judge.parameters(&function.parameters)
        && judge.parameters(&function.returns)
        && function
            .parameters
            .iter()
            .chain(&function.returns)
            .all(|parameter| parameter.offset.saturating_add(parameter.size) <= function.parameter_bytes)
        && function.parameter_bytes <= MOST_PARAMETER_BYTES
        && function.variables.iter().all(variable)
        && function
            .prototypes
            .iter()
            .all(|prototype| judge.parameters(&prototype.parameters) && judge.parameters(&prototype.returns))
        && function.instructions.last().is_some_and(|last| !last.falls_through())
        && function.instructions.iter().all(|instruction| judge.instruction(instruction))
}

fn variable(variable: &Variable) -> bool {
    let within = |offset: u64, bytes: u64| offset.checked_add(bytes).is_some_and(|end| end <= variable.size);
    let initial = |initial: &Initial| match initial {
        Initial::Bytes { offset, bytes } => within(*offset, bytes.len() as u64),
        Initial::Address { offset, width, shift, .. } => {
            *width <= 8 && *shift < 64 && within(*offset, u64::from(*width))
        }
        Initial::Property { .. } => true,
    };
    variable.align.is_power_of_two()
        && i64::try_from(variable.size).is_ok()
        && variable.initial.iter().all(initial)
}

struct Judge<'a> {
    function: &'a Function,
}

impl Judge<'_> {
    fn register(&self, RegisterId(number): RegisterId) -> bool {
        (number as usize) < self.function.registers.len()
    }

    fn predicate(&self, RegisterId(number): RegisterId) -> bool {
        self.function.registers.get(number as usize) == Some(&ScalarType::Pred)
    }

    fn variable(&self, VariableId(number): VariableId) -> bool {
        (number as usize) < self.function.variables.len()
    }

    fn external(&self, ExternalId(number): ExternalId) -> bool {
        (number as usize) < self.function.externals.len()
    }

    fn target(&self, InstructionIndex(number): InstructionIndex) -> bool {
        (number as usize) < self.function.instructions.len()
    }

    fn parameters(&self, parameters: &[Parameter]) -> bool {
        parameters.iter().all(|parameter| {
            parameter.align.is_power_of_two()
                && parameter.offset.checked_add(parameter.size).is_some_and(|end| end <= MOST_PARAMETER_BYTES)
                && parameter.register.is_none_or(|register| self.register(register))
        })
    }

    fn instruction(&self, instruction: &Instruction) -> bool {
        let syntax = instruction.op.line().parsed();
        let given: Vec<Token> = instruction.tokens.iter().flatten().copied().collect();
        let fits = syntax.fit(&given).is_some_and(|filled| filled == instruction.tokens);
        let guard = instruction.guard.is_none_or(|guard| self.predicate(guard.register));
        let mut places = instruction.operands.iter().zip(&syntax.operands);
        fits && guard
            && instruction.operands.len() == syntax.operands.len()
            && places.all(|(operand, place)| self.operand(instruction, operand, place))
    }

    fn operand(&self, instruction: &Instruction, operand: &Operand, place: &OperandSyntax) -> bool {
        match (place.ty, operand) {
            (_, Operand::Absent) => place.optional,
            (OperandType::Label, Operand::Label(target)) => self.target(*target),
            (OperandType::Declaration, Operand::BranchTargets(targets)) => {
                instruction.op.line().effect == Effect::Branch
                    && targets.iter().all(|target| self.target(*target))
            }
            (OperandType::Declaration, Operand::CallTargets(targets)) => {
                instruction.op.line().effect == Effect::Call
                    && targets.iter().all(|target| self.external(*target))
            }
            (OperandType::Declaration, Operand::Prototype(number)) => {
                instruction.op.line().effect == Effect::Call
                    && (*number as usize) < self.function.prototypes.len()
            }
            (OperandType::Function, Operand::Function(function)) => self.external(*function),
            (OperandType::Function, Operand::Register(register)) => self.register(*register),
            (OperandType::Parameters, Operand::Parameters(list)) => {
                list.iter().all(|given| self.value(given, None, false, DEEPEST))
            }
            (OperandType::Texture | OperandType::Surface | OperandType::Tensor, Operand::Texel { .. }) => {
                self.texel(operand)
            }
            (
                OperandType::Label
                | OperandType::Declaration
                | OperandType::Function
                | OperandType::Parameters
                | OperandType::Texture
                | OperandType::Surface
                | OperandType::Tensor,
                _,
            ) => false,
            (_, Operand::Address { .. }) if place.address => self.address(operand),
            _ if place.address => false,
            (_, Operand::Part { of, part, minus }) => {
                part.is_none_or(|part| place.part.is_some_and(|syntax| part.fits(syntax)))
                    && (place.minus || !minus)
                    && self.value(of, None, place.written, 1)
            }
            _ => self.value(operand, operand_type(place, &instruction.tokens), place.written, DEEPEST),
        }
    }

    fn texel(&self, operand: &Operand) -> bool {
        let Operand::Texel { handle, sampler, coordinates } = operand else { return false };
        self.address(handle)
            && (**sampler == Operand::Absent || self.address(sampler))
            && coordinates.iter().all(|coordinate| self.value(coordinate, None, false, 1))
    }

    fn address(&self, operand: &Operand) -> bool {
        let Operand::Address { base, .. } = operand else { return false };
        match *base {
            AddressBase::Register(register) => self.register(register),
            AddressBase::Variable(variable) => self.variable(variable),
            AddressBase::Parameter(number) => (number as usize) < self.function.parameters.len(),
            AddressBase::Return(number) => (number as usize) < self.function.returns.len(),
            AddressBase::External(external) => self.external(external),
            AddressBase::Absolute => true,
        }
    }

    /// Checks a value of this type, if the position has one; `depth` bounds the nesting.
    fn value(&self, operand: &Operand, ty: Option<ScalarType>, written: bool, depth: usize) -> bool {
        let Some(inner) = depth.checked_sub(1) else { return false };
        match operand {
            Operand::Register(register) => self.register(*register),
            Operand::NegatedPredicate(register) => self.predicate(*register),
            Operand::Discard => true,
            Operand::Vector(elements) => {
                elements.iter().all(|element| self.value(element, None, written, inner))
            }
            Operand::Immediate(bits) => !written && ty.is_none_or(|ty| is_canonical(*bits, ty)),
            Operand::Special(_) => !written,
            Operand::Address { .. } => !written && self.address(operand),
            Operand::Function(function) => !written && self.external(*function),
            Operand::Absent
            | Operand::Part { .. }
            | Operand::Texel { .. }
            | Operand::Label(_)
            | Operand::Parameters(_)
            | Operand::BranchTargets(_)
            | Operand::CallTargets(_)
            | Operand::Prototype(_) => false,
        }
    }
}

/// True if `bits` are the canonical form of a constant of this type, as in [`Operand::Immediate`].
fn is_canonical(bits: u64, ty: ScalarType) -> bool {
    match ty.bits() {
        0 => true,
        _ if ty == ScalarType::Pred => bits <= 1,
        width if width >= 64 => true,
        width => {
            let high = bits >> (width - 1);
            bits >> width == 0 || ty.class() == TypeClass::Signed && high == u64::MAX >> (width - 1)
        }
    }
}
