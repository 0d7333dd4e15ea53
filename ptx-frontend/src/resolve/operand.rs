//! Operands: registers, constants, special registers, addresses, vectors, call lists, labels.

use super::error::ResolveError;
use super::form::operand_type;
use super::immediate::convert;
use super::names::{Entity, Global, LabelTarget};
use super::{Resolver, Result, prototype};
use crate::ir::{AddressBase, External, ExternalId, InstructionIndex, Operand, Prototype, RegisterId};
use crate::isa::{
    Geometry, Memory, Op, OperandSyntax, OperandType, ScalarType, SpecialRegister, Token, WordPart,
};
use crate::parse::constant::Constant;
use crate::parse::tree::{self, OperandKind, Reference, Statement, Word};
use crate::source::narrow;

/// Operand position and its requirements.
#[derive(Clone, Copy)]
pub(super) struct OperandSlot {
    /// Type of the value; for vectors, of an element.
    ty: Option<ScalarType>,
    written: bool,
    vector: Elements,
    /// True if a register may have an offset (`r + 1`), as outside of braces.
    offset: bool,
}

impl OperandSlot {
    /// Position of a constant.
    pub(super) fn constant(ty: ScalarType) -> OperandSlot {
        OperandSlot { ty: Some(ty), written: false, vector: Elements::None, offset: false }
    }
}

/// Use of `{…}` in a position.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Elements {
    /// Not allowed.
    None,
    /// Each element has the type of the position.
    Whole,
    /// Elements are equal parts of the value (`mov`).
    Parts,
}

impl<'a> Resolver<'a> {
    /// One operand per position of the form.
    pub(super) fn operands(
        &mut self,
        op: Op,
        tokens: &[Option<Token>],
        assignment: &[Option<usize>],
        instruction: &'a tree::Instruction<'a>,
    ) -> Result<Vec<Operand>> {
        let places = &op.line().parsed().operands;
        let prototype = self.prototype_of_call(places, assignment, instruction)?;
        let mut operands = Vec::with_capacity(places.len());
        for (place, taken) in places.iter().zip(assignment) {
            let given = taken.and_then(|taken| instruction.operands.get(taken));
            operands.push(match given {
                None => Operand::Absent,
                Some(given) => self.operand(op, place, tokens, given, prototype.as_deref())?,
            });
        }
        Ok(operands)
    }

    fn operand(
        &mut self,
        op: Op,
        place: &OperandSyntax,
        tokens: &[Option<Token>],
        given: &'a tree::Operand<'a>,
        prototype: Option<&Prototype>,
    ) -> Result<Operand> {
        match (place.ty, &given.kind) {
            (OperandType::Label, OperandKind::Reference(name)) => Ok(Operand::Label(self.label(name.name)?)),
            (OperandType::Declaration, OperandKind::Reference(name)) => self.named_list(name.name),
            (OperandType::Function, OperandKind::Reference(name)) => self.function_operand(name),
            (OperandType::Parameters, OperandKind::Parameters(list)) => {
                self.call_list(place.written, list, prototype)
            }
            (OperandType::Texture | OperandType::Surface, OperandKind::Address(inner)) => {
                self.texel(place, tokens, inner, given.at)
            }
            (OperandType::Tensor, OperandKind::Address(inner)) => self.tensor(inner, given.at),
            (_, OperandKind::Address(inner)) => self.bracketed(inner, given.at),
            (_, OperandKind::Reference(name)) if place.address => self.address(name),
            _ => {
                let vector = match place.ty {
                    ty if ty.has_elements() => Elements::Whole,
                    _ if op == Op::Memory(Memory::mov) => Elements::Parts,
                    _ => Elements::None,
                };
                let slot = OperandSlot {
                    ty: operand_type(place, tokens),
                    written: place.written,
                    vector,
                    offset: !place.written,
                };
                match &given.kind {
                    OperandKind::Reference(name) if place.part.is_some() && name.selector.is_some() => {
                        self.part(place, slot, name, false)
                    }
                    OperandKind::Minus(name) => self.part(place, slot, name, true),
                    _ => self.value(slot, given),
                }
            }
        }
    }

    /// Value that is read or written.
    pub(super) fn value(&mut self, slot: OperandSlot, given: &'a tree::Operand<'a>) -> Result<Operand> {
        match &given.kind {
            OperandKind::Constant(constant) => self.constant(slot.ty, *constant, given.at),
            OperandKind::Parameters(inner) => match inner.as_slice() {
                [only] => self.value(slot, only),
                _ => Err(wrong("(…)", "a value").at(given.at)),
            },
            OperandKind::Reference(name) if name.name.text == "_" => Ok(Operand::Discard),
            OperandKind::Reference(name) => self.reference(slot, name),
            OperandKind::Negated(name) => match self.reference(slot, name)? {
                Operand::Register(register) => Ok(Operand::NegatedPredicate(register)),
                _ => Err(wrong(name.name.text, "a predicate register").at(name.name.at)),
            },
            OperandKind::Vector(elements) if slot.vector != Elements::None => {
                let ty = match slot.vector {
                    Elements::Parts => slot.ty.and_then(|ty| part_of(ty, elements.len())),
                    _ => slot.ty,
                };
                let element = OperandSlot { ty, vector: Elements::None, offset: false, ..slot };
                let elements = elements.iter().map(|inner| self.value(element, inner));
                Ok(Operand::Vector(elements.collect::<Result<_>>()?))
            }
            OperandKind::Minus(name) => Err(wrong("-", "a value").at(name.name.at)),
            OperandKind::Vector(_) => Err(wrong("{…}", "a single value").at(given.at)),
            OperandKind::Address(_) => Err(wrong("[…]", "a value").at(given.at)),
        }
    }

    /// Part of a word: `a.b2`, `-a.b2`, `-a`.
    fn part(
        &mut self,
        place: &OperandSyntax,
        slot: OperandSlot,
        name: &Reference<'a>,
        minus: bool,
    ) -> Result<Operand> {
        let part = name.selector.and_then(WordPart::from_name);
        if part.is_some_and(|part| !place.part.is_some_and(|syntax| part.fits(syntax))) {
            let selector = name.selector.unwrap_or("").to_owned();
            return Err(
                ResolveError::NoSelector { name: name.name.text.to_owned(), selector }.at(name.name.at)
            );
        }
        let whole = Reference { selector: name.selector.filter(|_| part.is_none()), ..*name };
        let of = self.reference(slot, &whole)?;
        Ok(if part.is_some() || minus { Operand::Part { of: Box::new(of), part, minus } } else { of })
    }

    fn constant(&self, ty: Option<ScalarType>, constant: Constant, at: u32) -> Result<Operand> {
        let ty = ty.ok_or_else(|| wrong("a constant", "a name").at(at))?;
        convert(constant, ty).map(Operand::Immediate).map_err(|error| error.at(at))
    }

    fn reference(&mut self, slot: OperandSlot, name: &Reference<'a>) -> Result<Operand> {
        if let Some(special) = special_register(name) {
            return if slot.written {
                Err(wrong(special.name(), "a register that can be written").at(name.name.at))
            } else {
                Ok(Operand::Special(special))
            };
        }
        if let Some(Entity::Registers { first, lanes }) = self.find(name.name.text) {
            return self.register(slot, name, first, lanes);
        }
        if let Some(elements) =
            special_vector(name).filter(|_| slot.vector == Elements::Whole && !slot.written)
        {
            return Ok(Operand::Vector(elements));
        }
        if slot.written {
            return Err(match self.find(name.name.text) {
                Some(_) => wrong(name.name.text, "a register").at(name.name.at),
                None => undeclared(name.name),
            });
        }
        if let Some((Global::Function, id)) = self.global(name.name)? {
            return Ok(Operand::Function(id));
        }
        self.address(name)
    }

    fn register(
        &mut self,
        slot: OperandSlot,
        name: &Reference<'a>,
        first: RegisterId,
        lanes: u32,
    ) -> Result<Operand> {
        let nth = |lane: u32| RegisterId(first.0 + lane);
        let has_offset = name.offset.is_some();
        if has_offset && (!slot.offset || name.selector.is_some()) || name.index.is_some() {
            return Err(wrong(name.name.text, "a register without an offset").at(name.name.at));
        }
        let offset = name.offset.unwrap_or(0);
        match name.selector {
            None if lanes == 1 => Ok(Operand::Register(self.with_offset(first, offset, name.name)?)),
            None if slot.vector != Elements::None => {
                // An offset applies to the first element, as in the machine code of ptxas.
                let head = self.with_offset(first, offset, name.name)?;
                let elements = std::iter::once(head).chain((1..lanes).map(nth));
                Ok(Operand::Vector(elements.map(Operand::Register).collect()))
            }
            None => Err(wrong(name.name.text, "a single register").at(name.name.at)),
            Some(selector) => {
                let lane = match selector {
                    "x" | "r" => 0,
                    "y" | "g" => 1,
                    "z" | "b" => 2,
                    "w" | "a" => 3,
                    _ => u32::MAX,
                };
                if lanes > 1 && lane < lanes {
                    return Ok(Operand::Register(nth(lane)));
                }
                let (name, selector, at) = (name.name.text.to_owned(), selector.to_owned(), name.name.at);
                Err(ResolveError::NoSelector { name, selector }.at(at))
            }
        }
    }

    /// Address: `[a]`, `[a+4]`, `[16]`.
    fn bracketed(&mut self, inner: &'a [tree::Operand<'a>], at: u32) -> Result<Operand> {
        match inner {
            [only] => match &only.kind {
                OperandKind::Reference(name) => self.address(name),
                OperandKind::Constant(constant) => {
                    let offset = convert(*constant, ScalarType::B64).map_err(|error| error.at(only.at))?;
                    Ok(Operand::Address { base: AddressBase::Absolute, offset: offset.cast_signed() })
                }
                _ => Err(wrong("[…]", "an address").at(at)),
            },
            _ => Err(wrong("[…, …]", "an address").at(at)),
        }
    }

    /// Texture location: `[handle, {x, y}]`, `[handle, sampler, {x, y}]`.
    fn texel(
        &mut self,
        place: &OperandSyntax,
        tokens: &[Option<Token>],
        inner: &'a [tree::Operand<'a>],
        at: u32,
    ) -> Result<Operand> {
        let (handle, sampler, coordinates) = match inner {
            [handle, coordinates] => (handle, None, coordinates),
            [handle, sampler, coordinates] if place.ty == OperandType::Texture => {
                (handle, Some(sampler), coordinates)
            }
            _ => return Err(wrong("[…]", "a handle and coordinates").at(at)),
        };
        let mut reference = |given: &'a tree::Operand<'a>| match &given.kind {
            OperandKind::Reference(name) => self.address(name),
            _ => Err(wrong("[…, …]", "the name of a texture, sampler or surface").at(given.at)),
        };
        let handle = reference(handle)?;
        let sampler = sampler.map(reference).transpose()?.unwrap_or(Operand::Absent);
        let coordinates = self.coordinates(place, tokens, coordinates)?;
        Ok(Operand::Texel { handle: Box::new(handle), sampler: Box::new(sampler), coordinates })
    }

    /// Tensor location: `[map, {x, y}]`.
    fn tensor(&mut self, inner: &'a [tree::Operand<'a>], at: u32) -> Result<Operand> {
        let [map, coordinates] = inner else {
            return Err(wrong("[…]", "a tensor map and coordinates").at(at));
        };
        let handle = match &map.kind {
            OperandKind::Reference(name) => self.address(name)?,
            _ => return Err(wrong("[…, …]", "the address of a tensor map").at(map.at)),
        };
        let slot = OperandSlot { vector: Elements::Whole, ..OperandSlot::constant(ScalarType::S32) };
        let coordinates = match self.value(slot, coordinates)? {
            Operand::Vector(elements) => elements,
            single => vec![single],
        };
        Ok(Operand::Texel { handle: Box::new(handle), sampler: Box::new(Operand::Absent), coordinates })
    }

    /// Used elements of a coordinate vector.
    fn coordinates(
        &mut self,
        place: &OperandSyntax,
        tokens: &[Option<Token>],
        given: &'a tree::Operand<'a>,
    ) -> Result<Vec<Operand>> {
        let geometry = Geometry::among(tokens).ok_or_else(|| wrong("[…]", "a geometry").at(given.at))?;
        let slot = OperandSlot::constant;
        let types = geometry.types(coordinate_type(place, tokens));
        let elements = match &given.kind {
            OperandKind::Vector(elements) => {
                // Compilers of CUDA 2 to 4 pad all coordinates to four elements.
                let least = geometry.elements().next_power_of_two();
                if elements.len() < least || !matches!(elements.len(), 1 | 2 | 4) {
                    return Err(wrong("{…}", "as many coordinates as the geometry has").at(given.at));
                }
                let padding = std::iter::repeat(coordinate_type(place, tokens));
                let typed = elements.iter().zip(types.into_iter().chain(padding));
                let all: Result<Vec<Operand>> =
                    typed.map(|(element, ty)| self.value(slot(ty), element)).collect();
                all.map(|elements| elements.into_iter().take(geometry.elements()).collect())
            }
            _ => {
                let slot = OperandSlot { vector: Elements::Whole, ..slot(coordinate_type(place, tokens)) };
                match self.value(slot, given)? {
                    Operand::Vector(elements) => Ok(elements.into_iter().take(geometry.elements()).collect()),
                    single => Ok(vec![single]),
                }
            }
        };
        let elements: Vec<Operand> = elements?;
        if elements.len() == geometry.elements() {
            Ok(elements)
        } else {
            Err(wrong("a coordinate", "as many coordinates as the geometry has").at(given.at))
        }
    }

    fn address(&mut self, name: &Reference<'a>) -> Result<Operand> {
        let place = name.name;
        if let Some(selector) = name.selector {
            let (name, selector) = (place.text.to_owned(), selector.to_owned());
            return Err(ResolveError::NoSelector { name, selector }.at(place.at));
        }
        let (base, element) = match self.find(place.text) {
            Some(Entity::Registers { first, lanes: 1 }) => (AddressBase::Register(first), None),
            Some(Entity::Registers { .. }) => {
                return Err(wrong(place.text, "a single register").at(place.at));
            }
            Some(Entity::Variable(id)) => {
                let variable = self.function.variables.get(id.0 as usize);
                (AddressBase::Variable(id), variable.map(|variable| variable.ty.bytes()))
            }
            Some(Entity::Parameter(position)) => {
                let parameter = self.function.parameters.get(position as usize);
                (AddressBase::Parameter(position), parameter.map(|parameter| parameter.ty.bytes()))
            }
            Some(Entity::Return(position)) => (AddressBase::Return(position), None),
            Some(Entity::Outside { element }) => {
                (AddressBase::External(self.external(place.text)), Some(element))
            }
            None => match self.global(place)? {
                Some((Global::Variable { element, .. }, id)) => (AddressBase::External(id), Some(element)),
                Some((Global::Function, id)) => (AddressBase::External(id), None),
                None => return Err(undeclared(place)),
            },
        };
        let scaled = match (name.index, element) {
            (None, _) => 0,
            (Some(index), Some(element)) => index.wrapping_mul(i64::from(element)),
            (Some(_), None) => return Err(wrong(place.text, "an array").at(place.at)),
        };
        Ok(Operand::Address { base, offset: scaled.wrapping_add(name.offset.unwrap_or(0)) })
    }

    /// Declaration in the module of a name that the function does not declare.
    fn global(&mut self, name: Word<'a>) -> Result<Option<(Global, ExternalId)>> {
        if self.scopes.find(name.text).is_some() {
            return Ok(None);
        }
        let global = self.surroundings.lookup(name.text).ok_or_else(|| undeclared(name))?;
        Ok(Some((global, self.external(name.text))))
    }

    fn external(&mut self, name: &'a str) -> ExternalId {
        let next = ExternalId(narrow(self.function.externals.len()));
        let id = *self.externals.entry(name).or_insert(next);
        if id == next {
            self.function.externals.push(External { name: name.to_owned() });
        }
        id
    }

    /// Register called `name`.
    pub(super) fn scalar_register(&mut self, name: Word<'a>) -> Result<RegisterId> {
        match self.find(name.text) {
            Some(Entity::Registers { first, lanes: 1 }) => Ok(first),
            Some(_) => Err(wrong(name.text, "a register").at(name.at)),
            None => Err(undeclared(name)),
        }
    }

    pub(super) fn label_target(&self, name: Word<'a>) -> Option<LabelTarget> {
        self.labels.find(self.scopes.numbers(), name.text)
    }

    fn label(&self, name: Word<'a>) -> Result<InstructionIndex> {
        match self.label_target(name) {
            Some(LabelTarget::Instruction(index)) => Ok(index),
            _ => Err(ResolveError::NoLabel { name: name.text.to_owned() }.at(name.at)),
        }
    }

    /// `.branchtargets`, `.calltargets` or `.callprototype` by name.
    fn named_list(&mut self, name: Word<'a>) -> Result<Operand> {
        let statement = match self.label_target(name) {
            Some(LabelTarget::Statement(position)) => self.statements.get(position),
            _ => None,
        };
        match statement {
            Some(Statement::BranchTargets(targets)) => {
                let labels = targets.iter().map(|target| self.label(*target));
                Ok(Operand::BranchTargets(labels.collect::<Result<_>>()?))
            }
            Some(Statement::CallTargets(targets)) => {
                let functions = targets.iter().map(|target| self.called_function(*target));
                Ok(Operand::CallTargets(functions.collect::<Result<_>>()?))
            }
            Some(Statement::Prototype(header)) => {
                let prototype = prototype(header)?;
                let known = self.function.prototypes.iter().position(|other| *other == prototype);
                let index = known.unwrap_or_else(|| {
                    self.function.prototypes.push(prototype);
                    self.function.prototypes.len() - 1
                });
                Ok(Operand::Prototype(narrow(index)))
            }
            _ => Err(ResolveError::NotADeclaration {
                name: name.text.to_owned(),
                expected: ".branchtargets, .calltargets or .callprototype",
            }
            .at(name.at)),
        }
    }

    fn function_operand(&mut self, name: &Reference<'a>) -> Result<Operand> {
        match self.find(name.name.text) {
            Some(Entity::Registers { first, lanes: 1 }) => Ok(Operand::Register(first)),
            Some(_) => Err(wrong(name.name.text, "a function").at(name.name.at)),
            None => self.called_function(name.name).map(Operand::Function),
        }
    }

    fn called_function(&mut self, name: Word<'a>) -> Result<ExternalId> {
        match self.global(name)? {
            Some((Global::Function, id)) => Ok(id),
            _ => Err(wrong(name.text, "a function").at(name.at)),
        }
    }
}

/// Type of a position's coordinates.
pub fn coordinate_type(place: &OperandSyntax, tokens: &[Option<Token>]) -> ScalarType {
    let last = tokens.iter().rev().find_map(|token| match token {
        Some(Token::Type(ty)) => Some(*ty),
        _ => None,
    });
    last.filter(|_| place.ty == OperandType::Texture).unwrap_or(ScalarType::S32)
}

pub(super) fn wrong(text: &str, expected: &'static str) -> ResolveError {
    ResolveError::WrongOperand { text: text.to_owned(), expected }
}

pub(super) fn undeclared(name: Word<'_>) -> super::At<ResolveError> {
    ResolveError::Undeclared { name: name.text.to_owned() }.at(name.at)
}

/// Untyped type of one of `parts` equal parts of a value.
fn part_of(ty: ScalarType, parts: usize) -> Option<ScalarType> {
    match (ty.bits() as usize).checked_div(parts) {
        Some(64) => Some(ScalarType::B64),
        Some(32) => Some(ScalarType::B32),
        Some(16) => Some(ScalarType::B16),
        Some(8) => Some(ScalarType::B8),
        _ => None,
    }
}

/// Elements of `%tid` and similar vectors: x, y, z, and a fourth element 0.
fn special_vector(name: &Reference<'_>) -> Option<Vec<Operand>> {
    let part =
        |letter| SpecialRegister::from_name(&format!("{}.{letter}", name.name.text)).map(Operand::Special);
    Some(vec![part("x")?, part("y")?, part("z")?, Operand::Immediate(0)])
}

fn special_register(name: &Reference<'_>) -> Option<SpecialRegister> {
    if !name.name.text.starts_with('%') || name.offset.is_some() || name.index.is_some() {
        return None;
    }
    match name.selector {
        None => SpecialRegister::from_name(name.name.text),
        Some(selector) => {
            let element = match selector {
                "r" => "x",
                "g" => "y",
                "b" => "z",
                "a" => "w",
                other => other,
            };
            SpecialRegister::from_name(&format!("{}.{element}", name.name.text))
        }
    }
}
