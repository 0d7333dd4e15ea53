//! Validation of the typed form: refuses what the vendor's assembler refuses, with the instruction's
//! position.

mod architecture;
mod call;
mod constants;
mod directives;
mod error;
mod header;
mod together;
mod types;

pub use directives::{DirectiveError, directives};
pub use error::{Invalid, ValidationError};
pub use header::{HeaderError, header};

use crate::disassemble;
use crate::ir::{AddressBase, Function, Instruction, InstructionIndex, Operand, RegisterId, Space};
use crate::isa::{
    Architecture, Effect, Fragment, Geometry, Modifier, OpLine, OperandSyntax, OperandType, Requirement,
    ScalarType, Target, Token,
};
use crate::resolve::{Global, Surroundings, coordinate_type, operand_type};
use crate::source::narrow;

/// Requirement of 256-bit vectors.
const WIDEST_VECTOR: Requirement =
    Requirement { ptx: (8, 8), target: Target { number: 100, specific: false } };

/// Maximum errors reported for a function.
const MOST_ERRORS: usize = 100;

/// Validates a function; errors are in code order.
pub fn function(function: &Function, surroundings: &dyn Surroundings) -> Vec<Invalid> {
    let mut errors = Vec::new();
    let architecture = surroundings.architecture();
    for (position, instruction) in function.instructions.iter().enumerate() {
        let line = instruction.op.line();
        let check = Check { function, surroundings, architecture, instruction, line };
        if let Err(error) = check.instruction() {
            errors.push(Invalid { instruction: InstructionIndex(narrow(position)), error });
        }
        if errors.len() >= MOST_ERRORS {
            break;
        }
    }
    errors
}

type Result<T = ()> = std::result::Result<T, ValidationError>;

struct Check<'a> {
    function: &'a Function,
    surroundings: &'a dyn Surroundings,
    architecture: Architecture,
    instruction: &'a Instruction,
    line: &'static OpLine,
}

impl Check<'_> {
    fn instruction(&self) -> Result {
        if let Some(guard) = self.instruction.guard {
            let found = self.register_type(guard.register);
            if found != ScalarType::Pred {
                return Err(ValidationError::Guard { name: self.name(guard.register), found });
            }
        }
        let syntax = self.line.parsed();
        for (operand, place) in self.instruction.operands.iter().zip(&syntax.operands) {
            self.operand(operand, place)?;
        }
        self.exists()?;
        self.together()?;
        self.constants()?;
        self.store_target()?;
        self.call()
    }

    fn register_type(&self, register: RegisterId) -> ScalarType {
        self.function.registers.get(register.0 as usize).copied().unwrap_or(ScalarType::B32)
    }

    fn name(&self, register: RegisterId) -> String {
        self.function.register_names.get(register.0 as usize).cloned().unwrap_or_default()
    }

    /// True for loads, stores and conversions, which accept registers wider than the named type, except
    /// asynchronous stores and conversions of bfloats.
    fn takes_wider(&self) -> bool {
        let has = |token| self.instruction.tokens.contains(&Some(token));
        match self.line.parsed().mnemonic {
            "cvt" => !has(Token::Type(ScalarType::Bf16)),
            "st" => !has(Token::Modifier(Modifier::Async)),
            mnemonic => matches!(mnemonic, "ld" | "ldu" | "suld" | "sust"),
        }
    }

    fn operand(&self, operand: &Operand, place: &OperandSyntax) -> Result {
        if let Operand::Texel { handle, sampler, coordinates } = operand {
            self.address(handle, place)?;
            self.address(sampler, place)?;
            return self.coordinates(coordinates, place);
        }
        let Some(needed) = operand_type(place, &self.instruction.tokens) else { return Ok(()) };
        if place.address {
            return self.address(operand, place);
        }
        if matches!(place.ty, OperandType::Vector | OperandType::Results) {
            return self.vector(operand, needed, place.written);
        }
        if place.ty == OperandType::Quad {
            return self.elements(operand, 4, needed, place.written);
        }
        if matches!(place.ty, OperandType::Offsets | OperandType::Gradient) {
            return self.directions(operand, needed);
        }
        if place.ty == OperandType::PixelOffsets {
            let geometry = Geometry::among(&self.instruction.tokens);
            let spatial = geometry.map_or(1, |geometry| geometry.dimensions.saturating_sub(2));
            return self.elements(operand, spatial, needed, false);
        }
        if matches!(place.ty, OperandType::Scale | OperandType::Selector) {
            let count = if place.ty == OperandType::Scale { 1 } else { 2 };
            return self.elements(operand, count, needed, false);
        }
        if place.ty == OperandType::Fragment {
            return self.fragment(operand, needed, place);
        }
        match operand {
            Operand::Vector(parts) => self.packing(parts, needed, place.written),
            _ => self.value(operand, needed, place.written),
        }
    }

    fn value(&self, operand: &Operand, needed: ScalarType, written: bool) -> Result {
        match operand {
            Operand::Register(register) | Operand::NegatedPredicate(register) => {
                let found = self.register_type(*register);
                if types::register_fits(needed, found, self.takes_wider()) {
                    Ok(())
                } else {
                    Err(types::mismatch(format!("`{}`", self.name(*register)), found, needed))
                }
            }
            Operand::Part { of, .. } => self.value(of, needed, written),
            Operand::Special(special) if !types::special_fits(needed, *special, self.takes_wider()) => {
                Err(types::mismatch(format!("`{}`", special.name()), special.ty(), needed))
            }
            Operand::Special(special) => self.special(*special),
            Operand::Address { .. } | Operand::Function(_) if !types::holds_address(needed) => {
                Err(types::mismatch("an address".to_owned(), ScalarType::U64, needed))
            }
            Operand::Discard if !written => Err(ValidationError::DiscardRead),
            _ => Ok(()),
        }
    }

    /// Checks the operand of a vector load or store, with as many elements as `.v2 .v4 .v8` name.
    fn vector(&self, operand: &Operand, element: ScalarType, written: bool) -> Result {
        let needed = self.instruction.vector_length();
        let bits = needed * element.bits() as usize;
        // Elements of 32 or 64 bits, in global memory.
        let widest = matches!(self.space(), None | Some(Space::Global))
            && matches!(self.line.parsed().mnemonic, "ld" | "st")
            && element.bits() < 128;
        let most = if widest { 256 } else { 128 };
        if needed > 1 && bits > most {
            return Err(ValidationError::VectorWidth { bits, most });
        }
        if bits > 128 {
            self.needs(WIDEST_VECTOR, || disassemble::opcode(self.instruction), self.line.section)?;
        }
        match operand {
            // A 256-bit store leaves memory unchanged for elements `_`.
            Operand::Vector(elements) if bits == 256 && !written && elements.len() == needed => {
                let mut given = elements.iter().filter(|element| **element != Operand::Discard).peekable();
                match given.peek() {
                    Some(_) => given.try_for_each(|operand| self.value(operand, element, written)),
                    None => Err(ValidationError::DiscardRead),
                }
            }
            _ => self.elements(operand, needed, element, written),
        }
    }

    /// Checks `needed` elements; a single one may omit the braces.
    fn elements(&self, operand: &Operand, needed: usize, element: ScalarType, written: bool) -> Result {
        match operand {
            Operand::Vector(elements) if elements.len() == needed => {
                elements.iter().try_for_each(|operand| self.value(operand, element, written))
            }
            Operand::Vector(elements) => Err(ValidationError::VectorLength { found: elements.len(), needed }),
            _ if needed == 1 => self.value(operand, element, written),
            _ => Err(ValidationError::VectorLength { found: 1, needed }),
        }
    }

    /// Checks the coordinates of a texture or surface.
    fn coordinates(&self, coordinates: &[Operand], place: &OperandSyntax) -> Result {
        let tokens = &self.instruction.tokens;
        let Some(geometry) = Geometry::among(tokens) else { return Ok(()) };
        if place.ty == OperandType::Tensor {
            return self.tensor_coordinates(coordinates, geometry.dimensions);
        }
        let coordinate = coordinate_type(place, tokens);
        if geometry.cube && coordinate != ScalarType::F32 {
            return Err(ValidationError::Coordinates { what: "a cube", needed: ScalarType::F32 });
        }
        if geometry.multisample && coordinate != ScalarType::S32 {
            return Err(ValidationError::Coordinates { what: "samples", needed: ScalarType::S32 });
        }
        let mut typed = coordinates.iter().zip(geometry.types(coordinate));
        typed.try_for_each(|(operand, ty)| self.value(operand, ty, false))
    }

    /// Checks one coordinate per dimension; a column and four rows for a gathering or scattering copy.
    fn tensor_coordinates(&self, coordinates: &[Operand], dimensions: usize) -> Result {
        let several = self.instruction.has(Modifier::Gather4) || self.instruction.has(Modifier::Scatter4);
        let needed = if several { 5 } else { dimensions };
        if coordinates.len() != needed {
            return Err(ValidationError::VectorLength { found: coordinates.len(), needed });
        }
        coordinates.iter().try_for_each(|operand| self.value(operand, ScalarType::S32, false))
    }

    /// Checks one value per direction of a texture's layer, padded to the next power of two.
    fn directions(&self, operand: &Operand, element: ScalarType) -> Result {
        if *operand == Operand::Absent {
            return Ok(());
        }
        let geometry = Geometry::among(&self.instruction.tokens);
        let needed = geometry.map_or(1, |geometry| geometry.dimensions.next_power_of_two());
        self.elements(operand, needed, element, false)
    }

    /// Checks the registers of a matrix, whose number follows from shape and types.
    fn fragment(&self, operand: &Operand, register: ScalarType, place: &OperandSyntax) -> Result {
        let Operand::Vector(registers) = operand else { return Err(ValidationError::NotAFragment) };
        let mnemonic = self.line.parsed().mnemonic;
        let fragment = Fragment::of(mnemonic, place.name, &self.instruction.tokens);
        let needed = fragment.map_or(0, |fragment| fragment.registers as usize);
        if registers.len() != needed {
            return Err(ValidationError::VectorLength { found: registers.len(), needed });
        }
        registers.iter().try_for_each(|operand| self.value(operand, register, place.written))
    }

    /// Checks `{a, b}` in a `mov`: parts that make up the whole.
    fn packing(&self, parts: &[Operand], whole: ScalarType, written: bool) -> Result {
        let count = narrow(parts.len()).max(1);
        let mut bits = 0u32;
        for part in parts {
            bits = bits.saturating_add(match part {
                Operand::Register(register) => self.register_type(*register).bits(),
                Operand::Special(special) => special.ty().bits(),
                Operand::Discard if !written => return Err(ValidationError::DiscardRead),
                _ => whole.bits() / count,
            });
        }
        if bits == whole.bits() && matches!(parts.len(), 2 | 4 | 8) {
            Ok(())
        } else {
            Err(ValidationError::Packing { parts: bits, whole: whole.bits() })
        }
    }

    /// State space named by the instruction, if any; the first of several.
    fn space(&self) -> Option<Space> {
        self.spaces().next()
    }

    /// State space named by the instruction for an address: the n-th of several for the n-th address.
    fn space_of(&self, place: &OperandSyntax) -> Option<Space> {
        let places = self.line.parsed().operands.iter().filter(|other| other.address);
        let position = places.take_while(|other| other.name != place.name).count();
        self.spaces().nth(position).or(self.space())
    }

    fn spaces(&self) -> impl Iterator<Item = Space> + '_ {
        let space = |token: &Option<Token>| match token {
            Some(Token::Modifier(Modifier::Global)) => Some(Space::Global),
            Some(Token::Modifier(Modifier::Const)) => Some(Space::Const),
            Some(Token::Modifier(Modifier::Shared | Modifier::SharedCta | Modifier::SharedCluster)) => {
                Some(Space::Shared)
            }
            Some(Token::Modifier(Modifier::Local)) => Some(Space::Local),
            Some(Token::Modifier(Modifier::Param | Modifier::ParamEntry | Modifier::ParamFunc)) => {
                Some(Space::Param)
            }
            _ => None,
        };
        self.instruction.tokens.iter().filter_map(space)
    }

    fn address(&self, operand: &Operand, place: &OperandSyntax) -> Result {
        let Operand::Address { base, .. } = operand else { return Ok(()) };
        let found = match *base {
            AddressBase::Register(register) => {
                let found = self.register_type(register);
                let name = || self.name(register);
                return if types::holds_address(found) {
                    Ok(())
                } else {
                    Err(ValidationError::AddressRegister { name: name(), found })
                };
            }
            AddressBase::Variable(id) => {
                self.function.variables.get(id.0 as usize).map(|variable| (&variable.name, variable.space))
            }
            AddressBase::Parameter(position) => {
                let parameter = self.function.parameters.get(position as usize);
                parameter.map(|parameter| (&parameter.name, Space::Param))
            }
            AddressBase::Return(position) => {
                let parameter = self.function.returns.get(position as usize);
                parameter.map(|parameter| (&parameter.name, Space::Param))
            }
            AddressBase::External(id) => {
                let external = self.function.externals.get(id.0 as usize);
                external.and_then(|external| match self.surroundings.lookup(&external.name)? {
                    Global::Variable { space, .. } => Some((&external.name, space)),
                    Global::Function => None,
                })
            }
            AddressBase::Absolute => None,
        };
        match (found, self.space_of(place)) {
            (Some((name, found)), Some(needed)) if found != needed => {
                Err(ValidationError::Space { name: name.clone(), found, needed })
            }
            _ => Ok(()),
        }
    }

    /// Checks that a store does not target constant memory or kernel parameters.
    fn store_target(&self) -> Result {
        if !matches!(self.line.effect, Effect::Store | Effect::Atomic) {
            return Ok(());
        }
        if self.space() == Some(Space::Const) {
            return Err(ValidationError::ReadOnly { what: "constant memory" });
        }
        let parameter = self
            .instruction
            .operands
            .iter()
            .any(|operand| matches!(operand, Operand::Address { base: AddressBase::Parameter(_), .. }));
        if parameter && self.function.is_kernel {
            return Err(ValidationError::ReadOnly { what: "a kernel's parameter" });
        }
        Ok(())
    }
}
