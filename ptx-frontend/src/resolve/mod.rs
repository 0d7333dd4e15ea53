//! Resolution: from the syntax tree to the typed form. Names become indices, and opcodes become lines of
//! the op table.

mod call;
mod declaration;
mod error;
mod form;
mod immediate;
mod initialiser;
mod names;
mod offset;
mod operand;
mod property;

use rustc_hash::FxHashMap;

pub use error::{At, ResolveError, VariableError};
pub use form::operand_type;
pub use names::{Global, Surroundings};
pub(crate) use operand::coordinate_type;

use crate::ir::{
    ExternalId, Function, Guard, Instruction, InstructionIndex, Linkage, Parameter, Prototype, RegisterId,
    SourceLocation, Space, Variable, VariableId,
};
use crate::isa::{Op, OperandType, ScalarType, forms_of};
use crate::parse::grammar;
use crate::parse::tree::{self, Declaration, Formal, Header, SourcePlace, Statement, Word};
use crate::source::{Source, narrow};
use declaration::{Meaning, ParameterArea, Storage};
use form::Candidates;
use names::{Entity, Labels, Member, NameEntry, Range, Scopes};

type Result<T> = std::result::Result<T, At<ResolveError>>;

/// Maximum errors reported for a function.
const MOST_ERRORS: usize = 100;

/// Resolves a function: its header and the statements of its body.
pub fn function(
    source: &Source,
    surroundings: &dyn Surroundings,
    is_kernel: bool,
    header: &Header<'_>,
    statements: &[Statement<'_>],
    end_of_body: u32,
) -> std::result::Result<Function, Vec<At<ResolveError>>> {
    let (labels, twice) = Labels::collect(statements);
    let mut resolver = Resolver {
        source,
        surroundings,
        statements,
        function: Function { name: header.name.text.to_owned(), is_kernel, ..Function::default() },
        scopes: Scopes::new(),
        labels,
        externals: FxHashMap::default(),
        candidates: FxHashMap::default(),
        models: Vec::new(),
        variable_names: FxHashMap::default(),
        location: SourceLocation::default(),
        inlined: FxHashMap::default(),
        calls: FxHashMap::default(),
        starts: Vec::new(),
        before: Vec::new(),
        errors: Vec::new(),
    };
    for (at, name) in twice {
        resolver.errors.push(ResolveError::DeclaredTwice { name: name.to_owned() }.at(at));
    }
    resolver.header(header);
    for statement in statements {
        if let Err(error) = resolver.statement(statement) {
            resolver.errors.push(error);
        }
        if resolver.errors.len() >= MOST_ERRORS {
            // The remaining statements may depend on the rest.
            return Err(resolver.errors);
        }
    }
    if resolver.scopes.any_open() {
        resolver.errors.push(ResolveError::Unbalanced { mark: '{' }.at(end_of_body));
    }
    resolver.end_with_return(end_of_body);
    if resolver.errors.is_empty() { Ok(resolver.function) } else { Err(resolver.errors) }
}

/// Results and parameters in a function's header.
pub fn prototype(header: &Header<'_>) -> Result<Prototype> {
    let mut area = ParameterArea::of_device_function();
    let mut list = |formals: &[Formal<'_>]| -> Result<Vec<Parameter>> {
        formals
            .iter()
            .map(|formal| match area.place(formal) {
                Ok((parameter, _)) => Ok(parameter),
                Err((at, error)) => Err(error.at(at)),
            })
            .collect()
    };
    let parameters = list(&header.parameters)?;
    let returns = list(&header.returns)?;
    declaration::check_results(&returns).map_err(|error| error.at(header.name.at))?;
    Ok(Prototype { returns, parameters })
}

/// Variables of a declaration at module scope: `text` without comments, from byte `base` of the module.
pub fn variables(text: &str, base: u32) -> std::result::Result<Vec<Variable>, At<VariableError>> {
    let in_syntax = |error: grammar::SyntaxError| At { at: error.at(), error: VariableError::Syntax(error) };
    let place = |at: usize| base.saturating_add(narrow(at));
    let head_end = text.find('=').unwrap_or(text.len());
    let head = text.get(..head_end).unwrap_or("");
    let mut declaration = grammar::variable_head(head, base).map_err(in_syntax)?;
    let mut at = head_end;
    while at < text.len() {
        // After `=`: one initialiser, optionally followed by a comma and more names.
        let from = at + 1;
        let end = from + initialiser_length(text.get(from..).unwrap_or(""));
        if let Some(last) = declaration.declarators.last_mut() {
            last.initialiser = Some(Word { text: text.get(from..end).unwrap_or(""), at: place(from) });
        }
        let Some(comma) = text.get(end..).and_then(|rest| rest.find(',')) else { break };
        let from = end + comma + 1;
        let next = text.get(from..).and_then(|rest| rest.find('=')).map_or(text.len(), |i| from + i);
        let names = text.get(from..next).unwrap_or("");
        declaration.declarators.extend(grammar::variable_next(names, place(from)).map_err(in_syntax)?);
        at = next;
    }
    let meaning = declaration::meaning(&declaration.specifiers)
        .map_err(|(at, error)| At { at, error: VariableError::Resolve(error) })?;
    let mut variables = Vec::new();
    for declarator in &declaration.declarators {
        let at = declarator.name.at;
        let fail = |error: VariableError| At { at, error };
        let Some(Storage::Memory(space)) = meaning.storage else {
            let name = declarator.name.text.to_owned();
            return Err(fail(ResolveError::Incomplete { name, missing: "state space" }.into()));
        };
        variables
            .push(declaration::variable(&meaning, space, declarator).map_err(|error| fail(error.into()))?);
    }
    Ok(variables)
}

/// Bytes up to the comma after an initialiser, or all.
fn initialiser_length(text: &str) -> usize {
    let mut depth = 0usize;
    for (at, byte) in text.bytes().enumerate() {
        match byte {
            b'{' | b'(' => depth += 1,
            b'}' | b')' => depth = depth.saturating_sub(1),
            b',' if depth == 0 => return at,
            _ => {}
        }
    }
    text.len()
}

struct Resolver<'a> {
    source: &'a Source,
    surroundings: &'a dyn Surroundings,
    statements: &'a [Statement<'a>],
    function: Function,
    scopes: Scopes<'a>,
    labels: Labels<'a>,
    externals: FxHashMap<&'a str, ExternalId>,
    /// Candidate forms of the opcodes so far.
    candidates: FxHashMap<&'a str, std::rc::Rc<Candidates>>,
    /// Variables that have ranges.
    models: Vec<Variable>,
    /// Number of declarations of each variable name.
    variable_names: FxHashMap<&'a str, u32>,
    location: SourceLocation,
    /// For each position of `.loc`, the index as in [`SourceLocation::inlined`].
    inlined: FxHashMap<SourcePlace, u32>,
    /// Index of each call in [`Function::inlined_at`].
    calls: FxHashMap<SourceLocation, u32>,
    /// For each instruction of the text, its first instruction in the function.
    starts: Vec<u32>,
    /// Instructions that precede the current one.
    before: Vec<Instruction>,
    errors: Vec<At<ResolveError>>,
}

impl<'a> Resolver<'a> {
    fn header(&mut self, header: &Header<'a>) {
        let kernel = self.function.is_kernel;
        let mut area = if kernel { ParameterArea::of_kernel() } else { ParameterArea::of_device_function() };
        for (position, formal) in header.parameters.iter().enumerate() {
            if let Some(parameter) = self.formal(&mut area, formal, Entity::Parameter(narrow(position))) {
                self.function.parameters.push(parameter);
            }
        }
        for (position, formal) in header.returns.iter().enumerate() {
            if let Some(parameter) = self.formal(&mut area, formal, Entity::Return(narrow(position))) {
                self.function.returns.push(parameter);
            }
        }
        self.function.parameter_bytes = area.bytes;
        if let Err(error) = declaration::check_results(&self.function.returns) {
            self.errors.push(error.at(header.name.at));
        }
        (self.function.bounds, self.function.no_return) = declaration::performance(&header.performance);
    }

    fn formal(&mut self, area: &mut ParameterArea, formal: &Formal<'a>, entity: Entity) -> Option<Parameter> {
        let (mut parameter, meaning) = match area.place(formal) {
            Ok(placed) => placed,
            Err((at, error)) => {
                self.errors.push(error.at(at));
                return None;
            }
        };
        let mut entity = entity;
        if meaning.storage == Some(Storage::Register) {
            let first = self.add_registers(parameter.ty, meaning.lanes, &parameter.name);
            parameter.register = Some(first);
            entity = Entity::Registers { first, lanes: meaning.lanes };
        }
        let name = formal.declarator.as_ref().map(|declarator| declarator.name);
        if let Some(name) = name.filter(|name| name.text != "_")
            && let Err(error) = self.scopes.declare(name.text, entity)
        {
            self.errors.push(error.at(name.at));
        }
        Some(parameter)
    }

    /// Creates adjacent registers; those of a vector are named `v.x`, `v.y` ….
    fn add_registers(&mut self, ty: ScalarType, lanes: u32, name: &str) -> RegisterId {
        let first = RegisterId(narrow(self.function.registers.len()));
        for lane in 0..lanes {
            self.function.registers.push(ty);
            let letter = ["x", "y", "z", "w", "4", "5", "6", "7"].get(lane as usize).unwrap_or(&"");
            let name = if lanes == 1 { name.to_owned() } else { format!("{name}.{letter}") };
            self.function.register_names.push(name);
        }
        first
    }

    /// Sets the source position of the following code.
    fn locate(&mut self, at: SourcePlace, inlined_at: Option<SourcePlace>) {
        let inlined = inlined_at.map_or(0, |call| {
            let known = self.inlined.get(&call).copied().unwrap_or(0);
            let outer = SourceLocation { file: call.file, line: call.line, inlined: known };
            *self.calls.entry(outer).or_insert_with(|| {
                self.function.inlined_at.push(outer);
                narrow(self.function.inlined_at.len())
            })
        });
        self.inlined.insert(at, inlined);
        self.location = SourceLocation { file: at.file, line: at.line, inlined };
    }

    fn statement(&mut self, statement: &'a Statement<'a>) -> Result<()> {
        match statement {
            Statement::Open => self.scopes.open(),
            Statement::Close(at) => {
                if !self.scopes.close() {
                    return Err(ResolveError::Unbalanced { mark: '}' }.at(*at));
                }
            }
            Statement::Location { at, inlined_at } => self.locate(*at, *inlined_at),
            Statement::Declaration(declaration) => return self.declaration(declaration),
            Statement::Instruction(instruction) => {
                self.starts.push(narrow(self.function.instructions.len()));
                self.before.clear();
                let resolved = self.instruction(instruction)?;
                for earlier in &mut self.before {
                    (earlier.guard, earlier.place) = (resolved.guard, resolved.place);
                }
                self.function.instructions.append(&mut self.before);
                self.function.instructions.push(resolved);
            }
            // Looked up at their uses.
            Statement::Label(_)
            | Statement::Prototype(_)
            | Statement::BranchTargets(_)
            | Statement::CallTargets(_) => {}
        }
        Ok(())
    }

    fn declaration(&mut self, declaration: &'a Declaration<'a>) -> Result<()> {
        let meaning = declaration::meaning(&declaration.specifiers).map_err(|(at, error)| error.at(at))?;
        for declarator in &declaration.declarators {
            let name = declarator.name;
            let done = match meaning.storage {
                Some(Storage::Register) => self.registers(&meaning, declarator),
                Some(Storage::Memory(space)) => self.variable(&meaning, space, declarator),
                None => {
                    let name = name.text.to_owned();
                    Err(ResolveError::Incomplete { name, missing: "state space" })
                }
            };
            done.map_err(|error| error.at(name.at))?;
        }
        Ok(())
    }

    fn registers(
        &mut self,
        meaning: &Meaning,
        declarator: &tree::Declarator<'a>,
    ) -> std::result::Result<(), ResolveError> {
        let name = declarator.name.text;
        let (ty, lanes) = (meaning.ty_of(name)?, meaning.lanes);
        meaning.check_space(name)?;
        if declarator.initialiser.is_some() {
            return Err(declaration::forbidden(name, declaration::UNINITIALISED_SPACE));
        }
        if !declarator.dimensions.is_empty() {
            return Err(declaration::forbidden(name, declaration::ARRAY_OF_REGISTERS));
        }
        if let Some(count) = declarator.count {
            return self.scopes.declare_range(name, Range { each: Member::Registers { ty, lanes }, count });
        }
        let first = self.add_registers(ty, lanes, name);
        self.scopes.declare(name, Entity::Registers { first, lanes })
    }

    fn variable(
        &mut self,
        meaning: &Meaning,
        space: Space,
        declarator: &'a tree::Declarator<'a>,
    ) -> std::result::Result<(), ResolveError> {
        let name = declarator.name.text;
        let variable = declaration::variable(meaning, space, declarator)?;
        if let Some(count) = declarator.count {
            let model = self.models.len();
            self.models.push(variable);
            return self.scopes.declare_range(name, Range { each: Member::Variable { model }, count });
        }
        if variable.linkage == Linkage::Extern {
            return self.scopes.declare(name, Entity::Outside { element: variable.ty.bytes() });
        }
        let entity = self.add_variable(name, variable);
        self.scopes.declare(name, entity)
    }

    /// Creates a variable; a name that recurs in another scope gets a suffix.
    fn add_variable(&mut self, name: &'a str, mut variable: Variable) -> Entity {
        let uses = self.variable_names.entry(name).or_insert(0);
        *uses += 1;
        if *uses > 1 {
            variable.name = format!("{name}${}", *uses - 1);
        }
        let id = VariableId(narrow(self.function.variables.len()));
        self.function.variables.push(variable);
        Entity::Variable(id)
    }

    /// Meaning of a name; registers and variables of ranges are created here.
    fn find(&mut self, name: &'a str) -> Option<Entity> {
        match self.scopes.find(name)? {
            NameEntry::Entity(entity) => Some(entity),
            NameEntry::Unnumbered { depth, range } => {
                let entity = match range.each {
                    Member::Registers { ty, lanes } => {
                        Entity::Registers { first: self.add_registers(ty, lanes, name), lanes }
                    }
                    Member::Variable { model } => {
                        let model = self.models.get(model)?;
                        let variable = Variable { name: name.to_owned(), ..model.clone() };
                        self.add_variable(name, variable)
                    }
                };
                self.scopes.number(depth, name, entity);
                Some(entity)
            }
        }
    }

    fn candidates(&mut self, opcode: Word<'a>) -> Result<std::rc::Rc<Candidates>> {
        if let Some(known) = self.candidates.get(opcode.text) {
            return Ok(known.clone());
        }
        let found = form::candidates(opcode.text).map_err(|error| error.at(opcode.at))?;
        let found = std::rc::Rc::new(found);
        self.candidates.insert(opcode.text, found.clone());
        Ok(found)
    }

    fn instruction(&mut self, instruction: &'a tree::Instruction<'a>) -> Result<Instruction> {
        let opcode = instruction.opcode;
        let candidates = self.candidates(opcode)?;
        let guard = match instruction.guard {
            Some((name, negated)) => Some(Guard { register: self.scalar_register(name)?, negated }),
            None => None,
        };
        let mut fitting: Vec<_> = candidates
            .iter()
            .filter_map(|(line, tokens)| {
                let assignment = form::assign(&line.parsed().operands, &instruction.operands)?;
                Some((line.op, tokens, assignment))
            })
            .collect();
        let meant = if fitting.len() > 1 {
            fitting.iter().position(|(op, _, taken)| self.predicates_fit(*op, taken, instruction))
        } else {
            None
        };
        let fitting = (!fitting.is_empty()).then(|| fitting.swap_remove(meant.unwrap_or(0)));
        let Some((op, tokens, assignment)) = fitting else {
            let forms = candidates.iter().flat_map(|(line, _)| line.syntaxes()).collect();
            let opcode_text = opcode.text.split_whitespace().collect();
            return Err(ResolveError::Operands { opcode: opcode_text, forms }.at(opcode.at));
        };
        let operands = self.operands(op, tokens, &assignment, instruction)?;
        Ok(Instruction {
            op,
            tokens: tokens.clone(),
            guard,
            operands,
            place: self.source.place(opcode.at),
            location: self.location,
        })
    }

    /// True if predicate registers are used exactly for predicate operands, which distinguishes otherwise
    /// equal forms.
    fn predicates_fit(
        &mut self,
        op: Op,
        assignment: &[Option<usize>],
        instruction: &'a tree::Instruction<'a>,
    ) -> bool {
        op.line().parsed().operands.iter().zip(assignment).all(|(place, taken)| {
            let given = taken.and_then(|taken| instruction.operands.get(taken));
            let Some(tree::OperandKind::Reference(name)) = given.map(|given| &given.kind) else {
                return true;
            };
            let Some(Entity::Registers { first, lanes: 1 }) = self.find(name.name.text) else { return true };
            let is_predicate = self.function.registers.get(first.0 as usize) == Some(&ScalarType::Pred);
            place.address || is_predicate == (place.ty == OperandType::Fixed(ScalarType::Pred))
        })
    }

    /// Ensures that a function's code ends with an instruction that does not fall through.
    fn end_with_return(&mut self, end_of_body: u32) {
        let length = narrow(self.starts.len());
        let label_at_end = self.labels.instruction_targets().any(|target| target == InstructionIndex(length));
        let ends = self.function.instructions.last().is_some_and(|last| !last.falls_through());
        self.move_labels();
        if ends && !label_at_end {
            return;
        }
        if let Some(line) = forms_of("ret").first() {
            self.function.instructions.push(Instruction {
                op: line.op,
                tokens: Vec::new(),
                guard: None,
                operands: Vec::new(),
                place: self.source.place(end_of_body),
                location: self.location,
            });
        }
    }
}
