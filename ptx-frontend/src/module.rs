//! A module: PTX text whose functions are parsed on first use.

use std::sync::{Arc, OnceLock};

use rustc_hash::{FxHashMap, FxHashSet};

use crate::cache::{FunctionCache, FunctionText};
use crate::diagnostic::{Diagnostic, Problem};
use crate::ir::{Function, Linkage, Parameter, Prototype, Variable};
use crate::isa::{Architecture, Target};
use crate::parse::comment::blank_comments;
use crate::parse::{FunctionItem, FunctionKind, Outline, grammar};
use crate::resolve::{self, At, Global, ResolveError, Surroundings};
use crate::source::{Source, Span, TooLong};
use crate::validate::{self, HeaderError};

/// Reason for which a module or function cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Error {
    /// Text that is too long.
    #[error(transparent)]
    TooLong(#[from] TooLong),
    /// Text that is no PTX module.
    #[error("{0}")]
    NotAModule(Box<Diagnostic>),
    /// Unknown function.
    #[error("module {module} has no function `{name}`")]
    NoSuchFunction {
        /// Module name.
        module: String,
        /// Function name.
        name: String,
    },
    /// Function that is declared here and defined in another module.
    #[error("module {module} declares `{name}` but does not define it")]
    NotDefined {
        /// Module name.
        module: String,
        /// Function name.
        name: String,
    },
    /// Function with two definitions.
    #[error("module {module} defines `{name}` twice")]
    DefinedTwice {
        /// Module name.
        module: String,
        /// Function name.
        name: String,
    },
    /// Function with errors.
    #[error("`{name}` cannot run: {}", listed(problems))]
    Invalid {
        /// Function name.
        name: String,
        /// Errors in text order; at least one.
        problems: Vec<Diagnostic>,
    },
}

fn listed(problems: &[Diagnostic]) -> String {
    let shown: Vec<String> = problems.iter().take(5).map(ToString::to_string).collect();
    let more = problems.len().saturating_sub(shown.len());
    let rest = if more > 0 { format!("\nand {more} more") } else { String::new() };
    format!("{}{rest}", shown.join("\n"))
}

type Decoded = OnceLock<Result<Arc<Function>, Error>>;

/// Maximum functions kept when the module is judged.
const MOST_KEPT: usize = 256;

impl Error {
    /// True if the text has an unsupported PTX version.
    pub fn is_unsupported_version(&self) -> bool {
        matches!(self, Error::NotAModule(diagnostic)
            if matches!(diagnostic.problem, Problem::Header(HeaderError::Version { .. })))
    }

    /// Error of a text that is no module, in the assembler's words; `input` names the text.
    pub fn log(&self, input: &str) -> String {
        let (line, message) = match self {
            Error::NotAModule(diagnostic) => (diagnostic.place.line, diagnostic.problem.to_string()),
            other => (1, other.to_string()),
        };
        format!(
            "ptxas {input}, line {line}; fatal   : {message}\nptxas fatal   : Ptx assembly aborted due to errors"
        )
    }
}

/// A PTX module.
#[derive(Debug)]
pub struct Module {
    source: Source,
    outline: Outline,
    /// Index in the outline of each function's definition, or else its declaration.
    by_name: FxHashMap<String, usize>,
    globals: FxHashMap<String, Global>,
    variables: Vec<Variable>,
    problems: Vec<Diagnostic>,
    /// Function of each `.alias`.
    aliases: FxHashMap<String, String>,
    /// Functions defined more than once.
    twice: FxHashSet<String>,
    /// True if no function has several results.
    uses_abi: bool,
    /// Decoded function per outline index.
    decoded: Vec<Decoded>,
    /// Prototype per outline index.
    prototypes: Vec<OnceLock<Option<Arc<Prototype>>>>,
    cache: Option<Arc<FunctionCache>>,
}

impl Module {
    /// Opens a module. Functions are found but not parsed; variables are parsed. Errors in variable
    /// declarations are kept in [`Module::problems`] and affect the functions that use them.
    pub fn parse(source: impl Into<Arc<str>>, name: &str) -> Result<Module, Error> {
        let source = Source::new(name, source)?;
        let outline = Outline::of(source.text()).map_err(|error| {
            Error::NotAModule(Box::new(Diagnostic::new(&source, error.at(), error.into())))
        })?;
        validate::header(&outline, source.text())
            .map_err(|(at, error)| Error::NotAModule(Box::new(Diagnostic::new(&source, at, error.into()))))?;
        let decoded = outline.functions.iter().map(|_| OnceLock::new()).collect();
        let prototypes = outline.functions.iter().map(|_| OnceLock::new()).collect();
        let mut module = Module {
            source,
            outline,
            by_name: FxHashMap::default(),
            globals: FxHashMap::default(),
            variables: Vec::new(),
            problems: Vec::new(),
            aliases: FxHashMap::default(),
            twice: FxHashSet::default(),
            uses_abi: true,
            decoded,
            prototypes,
            cache: None,
        };
        module.index_functions();
        module.uses_abi = !module.outline.functions.iter().any(|item| module.has_several_results(item));
        module.read_aliases();
        module.read_variables();
        Ok(module)
    }

    /// Makes the module take decoded functions from a cache.
    pub fn with_cache(self, cache: Arc<FunctionCache>) -> Module {
        Module { cache: Some(cache), ..self }
    }

    fn index_functions(&mut self) {
        let text = self.source.text();
        for (position, item) in self.outline.functions.iter().enumerate() {
            let name = item.name.of(text);
            self.globals.insert(name.to_owned(), Global::Function);
            let known = self.by_name.get(name).and_then(|known| self.outline.functions.get(*known));
            match known {
                Some(known) if known.body.is_some() && item.body.is_some() => {
                    self.twice.insert(name.to_owned());
                }
                Some(known) if known.body.is_some() => {}
                _ => {
                    self.by_name.insert(name.to_owned(), position);
                }
            }
        }
    }

    /// True if the function's header lists several results. Only a header with a comma before the name is
    /// parsed.
    fn has_several_results(&self, item: &FunctionItem) -> bool {
        let text = self.source.text();
        let before_name = text.get(item.header.start as usize..item.name.start as usize);
        before_name.is_some_and(|text| text.contains(','))
            && self.read_prototype(item).is_some_and(|prototype| prototype.returns.len() > 1)
    }

    /// Reads `.alias` directives. An invalid directive is a problem of the module, and its name stays
    /// undefined.
    fn read_aliases(&mut self) {
        for span in self.outline.aliases.clone() {
            let text = blank_comments(span.of(self.source.text()));
            let pair = text.strip_prefix(".alias").and_then(|rest| rest.split_once(','));
            let (alias, aliasee) = pair.map_or((text.trim(), ""), |(alias, of)| (alias.trim(), of.trim()));
            match self.alias_rule(alias, aliasee) {
                None => {
                    self.aliases.insert(alias.to_owned(), aliasee.to_owned());
                }
                Some(rule) => {
                    self.globals.remove(alias);
                    let error = ResolveError::Declaration { name: alias.to_owned(), rule };
                    self.problems.push(Diagnostic::resolve(&self.source, error.at(span.start)));
                }
            }
        }
    }

    /// Violated rule of `.alias alias, aliasee`, if any.
    fn alias_rule(&self, alias: &str, aliasee: &str) -> Option<&'static str> {
        let item = |name: &str| self.outline.functions.get(*self.by_name.get(name)?);
        let Some(declared) = item(alias) else {
            return Some("is an alias and must be declared as a function");
        };
        let Some(defined) = item(aliasee).filter(|item| item.body.is_some()) else {
            return Some("refers to a function that the module does not define");
        };
        if [declared, defined].iter().any(|item| item.kind == FunctionKind::Kernel) {
            return Some("is or refers to a kernel; kernels cannot have aliases");
        }
        if declared.body.is_some() {
            return Some("is an alias and cannot have a body");
        }
        if defined.linkage == Linkage::Weak {
            return Some("refers to a .weak function, which cannot have aliases");
        }
        let shape = |list: &[Parameter]| -> Vec<_> {
            list.iter().map(|it| (it.ty, it.size, it.align, it.in_register)).collect()
        };
        let shapes = |item| {
            let prototype = self.read_prototype(item)?;
            Some((shape(&prototype.returns), shape(&prototype.parameters)))
        };
        (shapes(declared) != shapes(defined))
            .then_some("has other parameters than the function that it refers to")
    }

    /// `.alias` directives: alias and function, unordered.
    pub fn aliases(&self) -> impl Iterator<Item = (&str, &str)> {
        self.aliases.iter().map(|(alias, aliasee)| (alias.as_str(), aliasee.as_str()))
    }

    /// Linkage of an alias.
    pub(crate) fn alias_linkage(&self, alias: &str) -> Option<Linkage> {
        Some(self.outline.functions.get(*self.by_name.get(alias)?)?.linkage)
    }

    fn read_prototype(&self, item: &FunctionItem) -> Option<Prototype> {
        let header = blank_comments(item.header.of(self.source.text()));
        let header = grammar::header(&header, item.header.start).ok()?;
        resolve::prototype(&header).ok()
    }

    fn read_variables(&mut self) {
        let mut defined = FxHashSet::default();
        for span in &self.outline.variables {
            let text = blank_comments(span.of(self.source.text()));
            match resolve::variables(&text, span.start) {
                Ok(variables) => {
                    for variable in variables {
                        let global = Global::Variable { element: variable.ty.bytes(), space: variable.space };
                        self.globals.insert(variable.name.clone(), global);
                        let is_final = matches!(variable.linkage, Linkage::Internal | Linkage::Visible);
                        if is_final && !defined.insert(variable.name.clone()) {
                            let error = ResolveError::DeclaredTwice { name: variable.name.clone() };
                            self.problems.push(Diagnostic::resolve(&self.source, error.at(span.start)));
                        }
                        self.variables.push(variable);
                    }
                }
                Err(error) => self.problems.push(Diagnostic::variable(&self.source, error)),
            }
        }
    }

    /// Name given to [`Module::parse`].
    pub fn name(&self) -> &str {
        self.source.name()
    }

    /// PTX text.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Top-level items.
    pub fn outline(&self) -> &Outline {
        &self.outline
    }

    /// Names of the kernels, in text order.
    pub fn kernels(&self) -> impl Iterator<Item = &str> {
        let kernels = self.outline.functions.iter();
        kernels
            .filter(|item| item.kind == FunctionKind::Kernel && item.body.is_some())
            .map(|item| item.name.of(self.source.text()))
    }

    /// Names of all declared or defined functions, in text order, without duplicates.
    pub fn functions(&self) -> impl Iterator<Item = &str> {
        let named = self.outline.functions.iter().map(|item| item.name.of(self.source.text()));
        named
            .enumerate()
            .filter(|(position, name)| self.by_name.get(*name) == Some(position))
            .map(|(_, name)| name)
    }

    /// Position of a function in the text: its definition, or else its declaration.
    pub fn function_item(&self, name: &str) -> Option<&FunctionItem> {
        self.item(name).map(|(_, item)| item)
    }

    /// Linkage of a function, and whether the module defines it.
    pub fn function_linkage(&self, name: &str) -> Option<(Linkage, bool)> {
        self.item(name).map(|(_, item)| (item.linkage, item.body.is_some()))
    }

    /// Variables at module scope.
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Errors in variable declarations.
    pub fn problems(&self) -> &[Diagnostic] {
        &self.problems
    }

    /// Source file that `.file` gives this number, as in [`crate::ir::SourceLocation::file`].
    pub fn source_file(&self, number: u32) -> Option<&str> {
        self.outline.files.iter().find_map(|span| {
            let directive = span.of(self.source.text()).strip_prefix(".file")?.trim_start();
            let (found, rest) = directive.split_once(char::is_whitespace)?;
            let name = rest.trim_start().strip_prefix('"')?.split('"').next()?;
            (found.parse() == Ok(number)).then_some(name)
        })
    }

    fn item(&self, name: &str) -> Option<(usize, &FunctionItem)> {
        let name = self.aliases.get(name).map_or(name, String::as_str);
        let position = *self.by_name.get(name)?;
        self.outline.functions.get(position).map(|item| (position, item))
    }

    /// A function, parsed and checked at the first call from any thread.
    pub fn function(&self, name: &str) -> Result<Arc<Function>, Error> {
        let missing = || Error::NoSuchFunction { module: self.name().to_owned(), name: name.to_owned() };
        let (position, item) = self.item(name).ok_or_else(missing)?;
        let cell = self.decoded.get(position).ok_or_else(missing)?;
        cell.get_or_init(|| self.decode(name, item)).clone()
    }

    /// [`Module::function`] for callers that only need the judgement: functions of large modules are not
    /// kept.
    pub(crate) fn checked(&self, name: &str) -> Result<Arc<Function>, Error> {
        match self.item(name) {
            Some((position, item)) if self.outline.functions.len() > MOST_KEPT => {
                match self.decoded.get(position).and_then(OnceLock::get) {
                    Some(known) => known.clone(),
                    None => self.decode(name, item),
                }
            }
            _ => self.function(name),
        }
    }

    fn decode(&self, name: &str, item: &FunctionItem) -> Result<Arc<Function>, Error> {
        let (module, name) = (self.name().to_owned(), name.to_owned());
        let Some(body) = item.body else { return Err(Error::NotDefined { module, name }) };
        if self.twice.contains(&name) {
            return Err(Error::DefinedTwice { module, name });
        }
        let text = self.source.text();
        let text = FunctionText {
            name: item.name.of(text),
            is_kernel: item.kind == FunctionKind::Kernel,
            header: item.header.of(text),
            body: body.of(text),
            place: self.source.place(item.header.start),
            architecture: self.architecture(),
            uses_abi: self.uses_abi,
        };
        if let Some(function) = self.cache.as_ref().and_then(|cache| cache.load(text, self)) {
            return Ok(Arc::new(function));
        }
        let function = self.decode_body(item, body).map_err(|problems| Error::Invalid { name, problems })?;
        if let Some(cache) = &self.cache {
            cache.store(text, &function, self);
        }
        Ok(Arc::new(function))
    }

    /// A name may be undeclared because of an error in its declaration, which is then reported too.
    fn with_causes(&self, errors: Vec<At<ResolveError>>) -> Vec<Diagnostic> {
        let undeclared = errors.iter().any(|at| matches!(at.error, ResolveError::Undeclared { .. }));
        let causes = if undeclared { self.problems.as_slice() } else { &[] };
        let errors = errors.into_iter().map(|error| Diagnostic::resolve(&self.source, error));
        errors.chain(causes.iter().cloned()).collect()
    }

    fn decode_body(&self, item: &FunctionItem, body: Span) -> Result<Function, Vec<Diagnostic>> {
        let text = self.source.text();
        let in_syntax = |error| vec![Diagnostic::syntax(&self.source, error)];
        let (header, code) = (blank_comments(item.header.of(text)), blank_comments(body.of(text)));
        let header = grammar::header(&header, item.header.start).map_err(in_syntax)?;
        let statements = grammar::body(&code, body.start).map_err(in_syntax)?;
        let is_kernel = item.kind == FunctionKind::Kernel;
        let function = resolve::function(&self.source, self, is_kernel, &header, &statements, body.end)
            .map_err(|errors| self.with_causes(errors))?;
        let errors = validate::function(&function, self);
        if errors.is_empty() {
            return Ok(function);
        }
        let diagnostic = |error| Diagnostic::validate(&self.source, &function, error);
        Err(errors.into_iter().map(diagnostic).collect())
    }
}

impl Surroundings for Module {
    fn lookup(&self, name: &str) -> Option<Global> {
        self.globals.get(name).copied()
    }

    fn uses_abi(&self) -> bool {
        self.uses_abi
    }

    fn architecture(&self) -> Architecture {
        let text = self.source.text();
        let list = self.outline.target.map_or("", |span| span.of(text));
        let name = list.split(',').find_map(|word| word.trim().strip_prefix("sm_"));
        Architecture { ptx: self.outline.version, target: name.and_then(Target::from_name) }
    }

    fn prototype(&self, name: &str) -> Option<Arc<Prototype>> {
        let (position, item) = self.item(name)?;
        let read = || self.read_prototype(item).map(Arc::new);
        self.prototypes.get(position)?.get_or_init(read).clone()
    }
}
