//! Disassembly: from the typed form to equivalent PTX text, for logs, graphs and tests.

mod declaration;
mod names;

use std::fmt::Write;

pub use declaration::variable;

use crate::ir::{
    AddressBase, Function, Guard, Instruction, InstructionIndex, Operand, Parameter, Prototype, RegisterId,
    Variable,
};
use crate::isa::{Geometry, OperandSyntax, ScalarType, Token};
use crate::module::{Error, Module};
use crate::resolve::{Surroundings, coordinate_type, operand_type};
use declaration::{formals, linkage};
use names::Names;

/// Text of a whole module: declarations of all functions, variables, definitions. Fails if a function has
/// errors.
pub fn module(module: &Module) -> Result<String, Error> {
    let mut text = String::new();
    let (major, minor) = module.outline().version.unwrap_or((8, 0));
    let target = module.outline().target.map_or("sm_70", |span| span.of(module.source().text()));
    let _ = writeln!(text, ".version {major}.{minor}\n.target {target}\n.address_size 64\n");
    let mut names: Vec<&str> = module.functions().collect();
    names.sort_by_key(|name| module.function_item(name).is_some_and(|item| item.body.is_some()));
    for name in &names {
        let Some(item) = module.function_item(name) else { continue };
        let prototype = module.prototype(name).unwrap_or_default();
        let kind = if item.kind == crate::parse::FunctionKind::Kernel { ".entry" } else { ".func" };
        let header = header(kind, name, &prototype.returns, &prototype.parameters);
        let _ = writeln!(text, "{}{header};", linkage(item.linkage));
    }
    let aliases: std::collections::BTreeMap<&str, &str> = module.aliases().collect();
    for item in module.variables() {
        let _ = writeln!(text, "{}", variable(item));
    }
    for name in names.iter().filter(|name| !aliases.contains_key(**name)) {
        match module.function_item(name) {
            Some(item) if item.body.is_some() => {
                let decoded = module.function(name)?;
                let _ = writeln!(text, "\n{}{}", linkage(item.linkage), function(&decoded, module));
            }
            _ => {}
        }
    }
    for (alias, aliasee) in aliases {
        let _ = writeln!(text, "\n.alias {alias}, {aliasee};");
    }
    Ok(text)
}

/// Text of a function, without its linkage.
pub fn function(function: &Function, surroundings: &dyn Surroundings) -> String {
    let printer = Printer { function, surroundings: Some(surroundings), names: Names::unique(function) };
    printer.function()
}

/// Text of an instruction, with the names of the source. A label is shown as `$L` and its instruction's
/// number.
pub fn instruction(function: &Function, index: InstructionIndex) -> String {
    let printer = Printer { function, surroundings: None, names: Names::of_source(function) };
    match function.instructions.get(index.0 as usize) {
        Some(instruction) => printer.instruction(instruction, index),
        None => String::new(),
    }
}

/// Opcode of an instruction with modifiers and types: `add.s32`.
pub fn opcode(instruction: &Instruction) -> String {
    let mut text = instruction.op.line().parsed().mnemonic.to_owned();
    for token in instruction.tokens.iter().flatten() {
        let name = match token {
            Token::Type(ty) => ty.name(),
            Token::Modifier(modifier) => modifier.name(),
        };
        let _ = write!(text, ".{name}");
    }
    text
}

fn header(kind: &str, name: &str, returns: &[Parameter], parameters: &[Parameter]) -> String {
    let returns = if returns.is_empty() { String::new() } else { format!("{} ", formals(returns)) };
    format!("{kind} {returns}{name} {}", formals(parameters))
}

/// Text of a value with these bits and this type.
fn constant(bits: u64, ty: Option<ScalarType>) -> String {
    match ty {
        Some(ScalarType::F32 | ScalarType::Tf32) => format!("0f{bits:08X}"),
        Some(ScalarType::F64) => format!("0d{bits:016X}"),
        Some(ty) if ty.is_signed() => bits.cast_signed().to_string(),
        _ => bits.to_string(),
    }
}

struct Printer<'a> {
    function: &'a Function,
    surroundings: Option<&'a dyn Surroundings>,
    names: Names<'a>,
}

impl Printer<'_> {
    fn function(&self) -> String {
        let function = self.function;
        let kind = if function.is_kernel { ".entry" } else { ".func" };
        let renamed = |list: &[Parameter], first: usize| -> Vec<Parameter> {
            let numbered = list.iter().enumerate();
            numbered
                .map(|(n, parameter)| Parameter { name: self.names.formal(first + n), ..parameter.clone() })
                .collect()
        };
        let returns = renamed(&function.returns, function.parameters.len());
        let parameters = renamed(&function.parameters, 0);
        let mut text = header(kind, &function.name, &returns, &parameters);
        text.push_str(&declaration::performance(function));
        text.push_str("\n{\n");
        self.declare(&mut text);
        let labels = self.labels();
        for (position, instruction) in function.instructions.iter().enumerate() {
            let index = InstructionIndex(crate::source::narrow(position));
            if labels.contains(&index) {
                let _ = writeln!(text, "$L{}:", index.0);
            }
            if let Some(list) = self.list_of(instruction, index) {
                let _ = writeln!(text, "\t{list}");
            }
            let _ = writeln!(text, "\t{}", self.instruction(instruction, index));
        }
        text.push_str("}\n");
        text
    }

    /// Declares registers in numeric order, variables, prototypes.
    fn declare(&self, text: &mut String) {
        let formals = self.function.parameters.iter().chain(&self.function.returns);
        let of_header = formals.map(|formal| formal.registers().count()).sum();
        let vectors = names::vectors(self.function);
        let mut next = of_header;
        for (position, ty) in self.function.registers.iter().enumerate().skip(of_header) {
            if position < next {
                continue;
            }
            let name = self.names.register(position);
            let lanes = vectors.get(&RegisterId(crate::source::narrow(position))).copied().unwrap_or(1);
            next = position + lanes as usize;
            let _ = match lanes {
                1 => writeln!(text, "\t.reg .{} {name};", ty.name()),
                _ => writeln!(text, "\t.reg .v{lanes} .{} {};", ty.name(), names::of_vector(&name)),
            };
        }
        for (position, item) in self.function.variables.iter().enumerate() {
            let renamed = Variable { name: self.names.variable(position), ..item.clone() };
            let _ = writeln!(text, "\t{}", variable(&renamed));
        }
        for (position, Prototype { returns, parameters }) in self.function.prototypes.iter().enumerate() {
            let returns = if returns.is_empty() { String::new() } else { anonymous(returns) + " " };
            let _ = writeln!(text, "\t$P{position}: .callprototype {returns}_ {};", anonymous(parameters));
        }
    }

    /// Instructions that need a label.
    fn labels(&self) -> std::collections::HashSet<InstructionIndex> {
        let operands = self.function.instructions.iter().flat_map(|instruction| &instruction.operands);
        operands
            .flat_map(|operand| match operand {
                Operand::Label(target) => vec![*target],
                Operand::BranchTargets(targets) => targets.clone(),
                _ => Vec::new(),
            })
            .collect()
    }

    /// The `.branchtargets` or `.calltargets` directive that an instruction needs before it.
    fn list_of(&self, instruction: &Instruction, index: InstructionIndex) -> Option<String> {
        instruction.operands.iter().find_map(|operand| match operand {
            Operand::BranchTargets(targets) => {
                let labels: Vec<_> = targets.iter().map(|target| format!("$L{}", target.0)).collect();
                Some(format!("$T{}: .branchtargets {};", index.0, labels.join(", ")))
            }
            Operand::CallTargets(targets) => {
                let names: Vec<_> = targets.iter().map(|target| self.names.external(*target)).collect();
                Some(format!("$T{}: .calltargets {};", index.0, names.join(", ")))
            }
            _ => None,
        })
    }

    fn instruction(&self, instruction: &Instruction, index: InstructionIndex) -> String {
        let syntax = instruction.op.line().parsed();
        let mut text = String::new();
        if let Some(Guard { register, negated }) = instruction.guard {
            let name = self.names.register(register.0 as usize);
            let _ = write!(text, "@{}{name} ", if negated { "!" } else { "" });
        }
        text.push_str(&opcode(instruction));
        let mut first = true;
        for (position, (operand, place)) in instruction.operands.iter().zip(&syntax.operands).enumerate() {
            if *operand == Operand::Absent {
                continue;
            }
            text.push_str(match (first, place.after_bar) {
                (true, _) => " ",
                (false, true) => "|",
                (false, false) => ", ",
            });
            first = false;
            text.push_str(&self.place(instruction, index, position, operand, place));
        }
        text.push(';');
        text
    }

    fn place(
        &self,
        instruction: &Instruction,
        index: InstructionIndex,
        position: usize,
        operand: &Operand,
        place: &OperandSyntax,
    ) -> String {
        match operand {
            Operand::Address { .. } if place.address => format!("[{}]", self.value(operand, None)),
            Operand::Texel { handle, sampler, coordinates } => {
                self.texel(instruction, place, (handle, sampler), coordinates)
            }
            Operand::Parameters(list) => self.call_list(instruction, position, list),
            Operand::BranchTargets(_) | Operand::CallTargets(_) => format!("$T{}", index.0),
            Operand::Prototype(number) => format!("$P{number}"),
            // The parts of a packed value are untyped.
            Operand::Vector(_) if !place.ty.has_elements() => self.value(operand, None),
            _ => self.value(operand, operand_type(place, &instruction.tokens)),
        }
    }

    /// Text `[handle, sampler, {x, y}]`; unused elements repeat the last one.
    fn texel(
        &self,
        instruction: &Instruction,
        place: &OperandSyntax,
        (handle, sampler): (&Operand, &Operand),
        coordinates: &[Operand],
    ) -> String {
        let coordinate = coordinate_type(place, &instruction.tokens);
        let types = Geometry::among(&instruction.tokens).map(|geometry| geometry.types(coordinate));
        let typed = coordinates.iter().zip(types.into_iter().flatten());
        let mut values: Vec<String> = typed.map(|(element, ty)| self.value(element, Some(ty))).collect();
        let last = values.last().cloned().unwrap_or_default();
        values.resize(values.len().next_power_of_two(), last);
        let sampler = match sampler {
            Operand::Absent => String::new(),
            named => format!("{}, ", self.value(named, None)),
        };
        format!("[{}, {sampler}{{{}}}]", self.value(handle, None), values.join(", "))
    }

    fn call_list(&self, instruction: &Instruction, position: usize, list: &[Operand]) -> String {
        let called = instruction.operands.iter().find_map(|operand| match operand {
            Operand::Function(id) => Some(self.names.external(*id)),
            _ => None,
        });
        let prototype = called.and_then(|name| self.surroundings?.prototype(&name));
        let ty = |n: usize| {
            let formals =
                if position == 0 { &[][..] } else { prototype.as_ref().map_or(&[][..], |p| &p.parameters) };
            formals.get(n).map(|formal| formal.ty)
        };
        let value = |(n, operand): (usize, &Operand)| match operand {
            // The list names a vector register by its own name.
            Operand::Vector(elements) => {
                let first = elements.first().map_or(String::new(), |first| self.value(first, None));
                names::of_vector(&first).to_owned()
            }
            _ => self.value(operand, ty(n)),
        };
        let values: Vec<_> = list.iter().enumerate().map(value).collect();
        format!("({})", values.join(", "))
    }

    fn value(&self, operand: &Operand, ty: Option<ScalarType>) -> String {
        match operand {
            Operand::Absent => String::new(),
            Operand::Discard => "_".to_owned(),
            Operand::Register(register) => self.names.register(register.0 as usize),
            Operand::NegatedPredicate(register) => format!("!{}", self.names.register(register.0 as usize)),
            Operand::Part { of, part, minus } => {
                let part = part.map_or(String::new(), |part| format!(".{}", part.name()));
                format!("{}{}{part}", if *minus { "-" } else { "" }, self.value(of, ty))
            }
            Operand::Immediate(bits) => constant(*bits, ty),
            Operand::Special(special) => special.name().to_owned(),
            Operand::Address { base, offset } => self.address(*base, *offset),
            Operand::Texel { .. } => String::new(),
            Operand::Vector(elements) | Operand::Parameters(elements) => {
                let values: Vec<_> = elements.iter().map(|element| self.value(element, ty)).collect();
                format!("{{{}}}", values.join(", "))
            }
            Operand::Label(target) => format!("$L{}", target.0),
            Operand::Function(id) => self.names.external(*id),
            Operand::BranchTargets(_) | Operand::CallTargets(_) | Operand::Prototype(_) => String::new(),
        }
    }

    fn address(&self, base: AddressBase, offset: i64) -> String {
        let name = match base {
            AddressBase::Register(register) => self.names.register(register.0 as usize),
            AddressBase::Variable(id) => self.names.variable(id.0 as usize),
            AddressBase::Parameter(position) => self.names.formal(position as usize),
            AddressBase::Return(position) => {
                self.names.formal(self.function.parameters.len() + position as usize)
            }
            AddressBase::External(id) => self.names.external(id),
            AddressBase::Absolute => return offset.to_string(),
        };
        match offset {
            0 => name,
            _ => format!("{name}{offset:+}"),
        }
    }
}

/// Parameters of a prototype, without names.
fn anonymous(list: &[Parameter]) -> String {
    let unnamed: Vec<Parameter> =
        list.iter().map(|parameter| Parameter { name: "_".to_owned(), ..parameter.clone() }).collect();
    formals(&unnamed)
}
