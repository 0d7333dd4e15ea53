//! Linking of several modules into one program (`-rdc=true`, `cuLinkAddData`).
//!
//! Linking is renaming. A private name (without linkage directive) that another module also has gets a link
//! name of its own; all others keep their names. Afterwards a name is unique in the program.

use std::sync::Arc;

use rustc_hash::{FxHashMap, FxHashSet};

use crate::ir::{Function, Initial, Linkage, Space, Variable};
use crate::module::{Error, Module};
use crate::parse::FunctionKind;

/// Reason for which modules cannot be linked.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum LinkError {
    /// Two modules define a visible name.
    #[error("`{name}` is defined by {first} and by {second}")]
    DefinedTwice {
        /// Name.
        name: String,
        /// First module that defines the name.
        first: String,
        /// Other module.
        second: String,
    },
}

/// A name that a module uses and no module defines.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Unresolved {
    /// Name.
    pub name: String,
    /// First module that declares the name.
    pub module: String,
    /// True for a function, false for a variable.
    pub is_function: bool,
}

/// A linked program. Functions are parsed on demand.
#[derive(Debug)]
pub struct Program {
    modules: Vec<Arc<Module>>,
    /// Per module, names that differ from their link names.
    renamed: Vec<FxHashMap<String, String>>,
    functions: Vec<Definition>,
    /// Index among the functions of each link name.
    by_name: FxHashMap<String, usize>,
    variables: Vec<Variable>,
    unresolved: Vec<Unresolved>,
}

/// A function of the program.
#[derive(Debug)]
struct Definition {
    link_name: String,
    module: usize,
    /// Name in the module.
    name: String,
}

/// Chosen definition of a link name while modules are added.
struct Chosen {
    module: usize,
    name: String,
    linkage: Linkage,
    /// Index among the module's variables; `None` for a function.
    variable: Option<usize>,
}

impl Program {
    /// Links modules. Their order matters only for weak definitions, of which the first wins.
    pub fn link(modules: Vec<Arc<Module>>) -> Result<Program, LinkError> {
        let mut renamed = private_names(&modules);
        resolve_aliases(&modules, &mut renamed);
        let mut program = Program {
            modules,
            renamed,
            functions: Vec::new(),
            by_name: FxHashMap::default(),
            variables: Vec::new(),
            unresolved: Vec::new(),
        };
        let chosen = program.choose()?;
        program.find_unresolved(&chosen);
        for (link_name, Chosen { module, name, variable, .. }) in chosen {
            match variable {
                None => {
                    program.by_name.insert(link_name.clone(), program.functions.len());
                    program.functions.push(Definition { link_name, module, name });
                }
                Some(position) => program.add_variable(link_name, module, position),
            }
        }
        Ok(program)
    }

    /// Definition of each link name, in the order of first occurrence.
    fn choose(&self) -> Result<Vec<(String, Chosen)>, LinkError> {
        let mut chosen: Vec<(String, Chosen)> = Vec::new();
        let mut by_name: FxHashMap<String, usize> = FxHashMap::default();
        for (number, module) in self.modules.iter().enumerate() {
            for (name, linkage, variable) in definitions(module) {
                let link_name = self.link_name(number, name).to_owned();
                let new = Chosen { module: number, name: name.to_owned(), linkage, variable };
                let Some((_, old)) = by_name.get(&link_name).and_then(|known| chosen.get_mut(*known)) else {
                    by_name.insert(link_name.clone(), chosen.len());
                    chosen.push((link_name, new));
                    continue;
                };
                // Two definitions within a module are an error of that module's function.
                if old.module != number && self.replaces(old, &new)? {
                    *old = new;
                }
            }
        }
        Ok(chosen)
    }

    /// True if `new` replaces `old`; an error if both are final.
    fn replaces(&self, old: &Chosen, new: &Chosen) -> Result<bool, LinkError> {
        let size = |chosen: &Chosen| {
            let variables = self.modules.get(chosen.module).map_or(&[][..], |module| module.variables());
            variables.get(chosen.variable.unwrap_or(usize::MAX)).map(|variable| variable.size)
        };
        match (old.linkage, new.linkage) {
            (Linkage::Common, Linkage::Common) => Ok(size(new) > size(old)),
            (Linkage::Common, _) => Ok(new.linkage != Linkage::Weak),
            (Linkage::Weak, _) => Ok(new.linkage != Linkage::Weak),
            (_, Linkage::Weak | Linkage::Common) => Ok(false),
            _ => {
                let module = |number: usize| self.modules.get(number).map_or("", |module| module.name());
                Err(LinkError::DefinedTwice {
                    name: new.name.clone(),
                    first: module(old.module).to_owned(),
                    second: module(new.module).to_owned(),
                })
            }
        }
    }

    fn add_variable(&mut self, link_name: String, module: usize, position: usize) {
        let source = self.modules.get(module).and_then(|module| module.variables().get(position));
        let Some(mut variable) = source.cloned() else { return };
        variable.name = link_name;
        for initial in &mut variable.initial {
            if let Initial::Address { symbol, .. } = initial {
                *symbol = self.link_name(module, symbol).to_owned();
            }
        }
        self.variables.push(variable);
    }

    fn find_unresolved(&mut self, chosen: &[(String, Chosen)]) {
        let mut known: FxHashSet<&str> = chosen.iter().map(|(name, _)| name.as_str()).collect();
        for (module, renamed) in self.modules.iter().zip(&self.renamed) {
            for (name, is_function) in declarations(module) {
                if known.insert(renamed.get(name).map_or(name, String::as_str)) {
                    let module = module.name().to_owned();
                    self.unresolved.push(Unresolved { name: name.to_owned(), module, is_function });
                }
            }
        }
    }

    /// Link name of a module's name.
    fn link_name<'a>(&'a self, module: usize, name: &'a str) -> &'a str {
        self.renamed.get(module).and_then(|names| names.get(name)).map_or(name, String::as_str)
    }

    /// Modules in the given order.
    pub fn modules(&self) -> &[Arc<Module>] {
        &self.modules
    }

    /// Variables of the program under their link names, including shared variables of unknown length
    /// (`.extern .shared x[]`).
    pub fn variables(&self) -> &[Variable] {
        &self.variables
    }

    /// Declared but undefined names: mostly functions of the run-time system.
    pub fn unresolved(&self) -> &[Unresolved] {
        &self.unresolved
    }

    /// Link names and kinds of the defined functions, module by module in text order.
    pub fn functions(&self) -> impl Iterator<Item = (&str, FunctionKind)> {
        self.functions.iter().filter_map(|definition| {
            let item = self.modules.get(definition.module)?.function_item(&definition.name)?;
            Some((definition.link_name.as_str(), item.kind))
        })
    }

    fn definition(&self, link_name: &str) -> Option<&Definition> {
        self.functions.get(*self.by_name.get(link_name)?)
    }

    /// True if a function with this link name is defined.
    pub fn defines(&self, link_name: &str) -> bool {
        self.by_name.contains_key(link_name)
    }

    /// Kind of the function with this link name, if defined.
    pub fn kind(&self, link_name: &str) -> Option<FunctionKind> {
        let definition = self.definition(link_name)?;
        let item = self.modules.get(definition.module)?.function_item(&definition.name)?;
        Some(item.kind)
    }

    /// Module that defines a function.
    pub fn module_of(&self, link_name: &str) -> Option<&Arc<Module>> {
        self.modules.get(self.definition(link_name)?.module)
    }

    /// True if the module declares something that another module defines.
    pub fn needs_others(&self, module: &Module) -> bool {
        let is_variable = |name: &str| self.variables.iter().any(|variable| variable.name == name);
        let number = self.modules.iter().position(|own| std::ptr::eq(Arc::as_ptr(own), module));
        declarations(module).any(|(name, _)| {
            let name = number.map_or(name, |number| self.link_name(number, name));
            self.defines(name) || is_variable(name)
        })
    }

    /// Function by link name, with link names inside. `None` if no module defines it.
    pub fn function(&self, link_name: &str) -> Option<Result<Arc<Function>, Error>> {
        let definition = self.definition(link_name)?;
        let function = self.modules.get(definition.module)?.function(&definition.name);
        Some(function.map(|function| self.with_link_names(definition.module, link_name, function)))
    }

    fn with_link_names(&self, module: usize, link_name: &str, function: Arc<Function>) -> Arc<Function> {
        let Some(names) = self.renamed.get(module).filter(|names| !names.is_empty()) else { return function };
        let affected = function.externals.iter().any(|external| names.contains_key(&external.name));
        if !affected && function.name == link_name {
            return function;
        }
        let mut function = (*function).clone();
        function.name = link_name.to_owned();
        for external in &mut function.externals {
            external.name = self.link_name(module, &external.name).to_owned();
        }
        Arc::new(function)
    }
}

/// Functions and variables that a module defines. Shared variables of unknown length count as definitions.
fn definitions(module: &Module) -> impl Iterator<Item = (&str, Linkage, Option<usize>)> {
    let functions = module.functions().filter_map(|name| {
        let item = module.function_item(name)?;
        item.body.is_some().then_some((name, item.linkage, None))
    });
    let variables = module.variables().iter().enumerate().filter_map(|(position, variable)| {
        let open = variable.space == Space::Shared && variable.linkage == Linkage::Extern;
        // Every module may declare the variable, always for the same memory.
        let linkage = if open { Linkage::Common } else { variable.linkage };
        (linkage != Linkage::Extern).then_some((variable.name.as_str(), linkage, Some(position)))
    });
    functions.chain(variables)
}

/// Names that a module declares but does not define, and whether each is a function.
fn declarations(module: &Module) -> impl Iterator<Item = (&str, bool)> {
    let functions = module.functions().filter(|name| {
        let item = module.function_item(name);
        item.is_some_and(|item| item.body.is_none())
    });
    let variables = module
        .variables()
        .iter()
        .filter(|variable| variable.linkage == Linkage::Extern && variable.space != Space::Shared);
    functions.map(|name| (name, true)).chain(variables.map(|variable| (variable.name.as_str(), false)))
}

/// Gives aliases the link names of their functions, in their own module and, for visible aliases, in
/// modules that declare them.
fn resolve_aliases(modules: &[Arc<Module>], renamed: &mut [FxHashMap<String, String>]) {
    let mut visible = Vec::new();
    for (module, names) in modules.iter().zip(&mut *renamed) {
        for (alias, aliasee) in module.aliases() {
            let target = names.get(aliasee).cloned().unwrap_or_else(|| aliasee.to_owned());
            if module.alias_linkage(alias).is_some_and(|linkage| linkage != Linkage::Internal) {
                visible.push((alias, target.clone()));
            }
            names.insert(alias.to_owned(), target);
        }
    }
    for (module, names) in modules.iter().zip(renamed) {
        for (alias, target) in &visible {
            let declares = module.function_item(alias).is_some_and(|item| item.body.is_none());
            if declares {
                names.entry((*alias).to_owned()).or_insert_with(|| target.clone());
            }
        }
    }
}

/// Link names of private names that another module also has. The first of several private ones keeps its
/// name, unless a visible definition has it.
fn private_names(modules: &[Arc<Module>]) -> Vec<FxHashMap<String, String>> {
    let mut taken: FxHashSet<&str> = FxHashSet::default();
    for module in modules {
        let visible = definitions(module).filter(|(_, linkage, _)| *linkage != Linkage::Internal);
        taken.extend(visible.map(|(name, ..)| name));
    }
    let mut renamed = Vec::with_capacity(modules.len());
    for (number, module) in modules.iter().enumerate() {
        let private = definitions(module).filter(|(_, linkage, _)| *linkage == Linkage::Internal);
        let clashing = private.map(|(name, ..)| name).filter(|name| !taken.insert(name));
        // PTX names cannot contain this character.
        renamed.push(clashing.map(|name| (name.to_owned(), format!("{name}@{number}"))).collect());
    }
    renamed
}
