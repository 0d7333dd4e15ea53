//! Meanings of names: scopes of registers and variables, labels, names of the module.

use std::sync::Arc;

use rustc_hash::FxHashMap;
use serde::{Deserialize, Serialize};

use super::error::ResolveError;
use crate::ir::{InstructionIndex, Prototype, RegisterId, Space, VariableId};
use crate::isa::{Architecture, ScalarType};
use crate::parse::tree::Statement;

/// Queries of a function to its module.
pub trait Surroundings {
    /// Declaration of `name` in the module.
    fn lookup(&self, name: &str) -> Option<Global>;

    /// Results and parameters of a function in the module.
    fn prototype(&self, name: &str) -> Option<Arc<Prototype>>;

    /// True if the module's functions follow the platform's calling convention. One function with several
    /// results disables it for all.
    fn uses_abi(&self) -> bool;

    /// Architecture of the module.
    fn architecture(&self) -> Architecture;
}

/// A name at module scope.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Global {
    /// A function.
    Function,
    /// A variable.
    Variable {
        /// Bytes per element.
        element: u32,
        /// State space.
        space: Space,
    },
}

/// Meaning of a name inside a function.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Entity {
    /// A register, or the first register of a vector.
    Registers {
        first: RegisterId,
        lanes: u32,
    },
    Variable(VariableId),
    /// Parameter by index.
    Parameter(u32),
    /// Result by index.
    Return(u32),
    /// A variable of another module, declared `.extern` in the function.
    Outside {
        element: u32,
    },
}

/// `%r<n>`: many registers or variables declared at once, created at their first use.
#[derive(Debug, Clone, Copy)]
pub(super) struct Range {
    pub(super) each: Member,
    pub(super) count: u64,
}

/// Meaning of each name in a range.
#[derive(Debug, Clone, Copy)]
pub(super) enum Member {
    Registers {
        ty: ScalarType,
        lanes: u32,
    },
    /// A variable like the model at this index.
    Variable {
        model: usize,
    },
}

#[derive(Debug, Default)]
struct Scope<'a> {
    names: FxHashMap<&'a str, Entity>,
    ranges: FxHashMap<&'a str, Range>,
    /// Number of the scope in the order of opening braces.
    number: u32,
}

/// Declaration of a name.
pub(super) enum NameEntry {
    Entity(Entity),
    /// The name is in a range of this scope and not created yet.
    Unnumbered {
        depth: usize,
        range: Range,
    },
}

/// Scopes around a statement, innermost last.
#[derive(Debug)]
pub(super) struct Scopes<'a> {
    stack: Vec<Scope<'a>>,
    opened: u32,
}

/// Splits `%r12` into (`%r`, 12).
fn split_number(name: &str) -> Option<(&str, u64)> {
    let digits = name.bytes().rev().take_while(u8::is_ascii_digit).count();
    let (prefix, number) = name.split_at_checked(name.len() - digits)?;
    let padded = number.len() > 1 && number.starts_with('0');
    number.parse().ok().filter(|_| !padded).map(|number| (prefix, number))
}

impl<'a> Scopes<'a> {
    pub(super) fn new() -> Scopes<'a> {
        Scopes { stack: vec![Scope::default()], opened: 0 }
    }

    pub(super) fn open(&mut self) {
        self.opened += 1;
        self.stack.push(Scope { number: self.opened, ..Scope::default() });
    }

    /// Closes the innermost scope; false if none is open.
    pub(super) fn close(&mut self) -> bool {
        let inner = self.stack.len() > 1;
        if inner {
            self.stack.pop();
        }
        inner
    }

    pub(super) fn any_open(&self) -> bool {
        self.stack.len() > 1
    }

    /// Numbers of the scopes, innermost first.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + '_ {
        self.stack.iter().rev().map(|scope| scope.number)
    }

    pub(super) fn declare(&mut self, name: &'a str, entity: Entity) -> Result<(), ResolveError> {
        let Some(scope) = self.stack.last_mut() else { return Ok(()) };
        let in_range = split_number(name)
            .and_then(|(prefix, number)| scope.ranges.get(prefix).map(|range| number < range.count))
            .unwrap_or(false);
        if in_range || scope.names.insert(name, entity).is_some() {
            return Err(ResolveError::DeclaredTwice { name: name.to_owned() });
        }
        Ok(())
    }

    pub(super) fn declare_range(&mut self, prefix: &'a str, range: Range) -> Result<(), ResolveError> {
        let Some(scope) = self.stack.last_mut() else { return Ok(()) };
        if scope.ranges.insert(prefix, range).is_some() {
            return Err(ResolveError::DeclaredTwice { name: prefix.to_owned() });
        }
        Ok(())
    }

    pub(super) fn find(&self, name: &str) -> Option<NameEntry> {
        let numbered = split_number(name);
        for (depth, scope) in self.stack.iter().enumerate().rev() {
            if let Some(entity) = scope.names.get(name) {
                return Some(NameEntry::Entity(*entity));
            }
            if let Some((prefix, number)) = numbered
                && let Some(range) = scope.ranges.get(prefix).filter(|range| number < range.count)
            {
                return Some(NameEntry::Unnumbered { depth, range: *range });
            }
        }
        None
    }

    /// Records the meaning of a name that [`Scopes::find`] returned as unnumbered.
    pub(super) fn number(&mut self, depth: usize, name: &'a str, entity: Entity) {
        if let Some(scope) = self.stack.get_mut(depth) {
            scope.names.insert(name, entity);
        }
    }
}

/// Target of a label.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LabelTarget {
    /// Instruction after the label.
    Instruction(InstructionIndex),
    /// A `.branchtargets`, `.calltargets` or `.callprototype`, by its index among the statements.
    Statement(usize),
}

/// Labels of a function, by scope.
#[derive(Debug, Default)]
pub(super) struct Labels<'a> {
    by_scope: FxHashMap<(u32, &'a str), LabelTarget>,
}

impl<'a> Labels<'a> {
    /// Collects the labels, and the positions of duplicates within a scope.
    pub(super) fn collect(statements: &[Statement<'a>]) -> (Labels<'a>, Vec<(u32, &'a str)>) {
        let mut labels = Labels::default();
        let mut twice = Vec::new();
        let (mut scopes, mut opened, mut instructions) = (vec![0], 0, 0);
        for (position, statement) in statements.iter().enumerate() {
            match statement {
                Statement::Open => {
                    opened += 1;
                    scopes.push(opened);
                }
                Statement::Close(_) => {
                    scopes.pop();
                }
                Statement::Instruction(_) => instructions += 1,
                Statement::Label(name) => {
                    let target = match statements.get(position + 1) {
                        Some(
                            Statement::BranchTargets(_) | Statement::CallTargets(_) | Statement::Prototype(_),
                        ) => LabelTarget::Statement(position + 1),
                        _ => LabelTarget::Instruction(InstructionIndex(instructions)),
                    };
                    let scope = scopes.last().copied().unwrap_or(0);
                    if labels.by_scope.insert((scope, name.text), target).is_some() {
                        twice.push((name.at, name.text));
                    }
                }
                _ => {}
            }
        }
        (labels, twice)
    }

    /// Label `name` as seen from `scopes` (innermost first).
    pub(super) fn find(&self, mut scopes: impl Iterator<Item = u32>, name: &'a str) -> Option<LabelTarget> {
        scopes.find_map(|scope| self.by_scope.get(&(scope, name)).copied())
    }

    /// Instructions after labels.
    pub(super) fn instruction_targets(&self) -> impl Iterator<Item = InstructionIndex> + '_ {
        self.by_scope.values().filter_map(|target| match target {
            LabelTarget::Instruction(index) => Some(*index),
            LabelTarget::Statement(_) => None,
        })
    }
}
