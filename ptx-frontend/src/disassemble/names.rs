//! Names for the disassembly: the source's own, or made unique because scopes are gone.

use std::collections::BTreeMap;

use rustc_hash::FxHashSet;

use crate::ir::{ExternalId, Function, Operand, RegisterId};
use crate::source::narrow;

/// Names in a function.
pub(super) struct Names<'a> {
    function: &'a Function,
    /// Unique names; `None` for the names of the source.
    unique: Option<Unique>,
}

struct Unique {
    registers: Vec<String>,
    /// Parameters, then results.
    formals: Vec<String>,
    variables: Vec<String>,
}

/// An unused name like `name`, which is then marked as used.
fn take(taken: &mut FxHashSet<String>, name: &str) -> String {
    let name = name.replace('.', "$");
    let candidates = (0u64..).map(|n| if n == 0 { name.clone() } else { format!("{name}${n}") });
    let free = candidates.into_iter().find(|candidate| !taken.contains(candidate)).unwrap_or(name.clone());
    taken.insert(free.clone());
    free
}

/// Vector registers that calls name as a whole: first element and number of elements.
pub(super) fn vectors(function: &Function) -> BTreeMap<RegisterId, u32> {
    let operands = function.instructions.iter().flat_map(|instruction| &instruction.operands);
    let lists = operands.filter_map(|operand| match operand {
        Operand::Parameters(list) => Some(list),
        _ => None,
    });
    lists
        .flatten()
        .filter_map(|value| match value {
            Operand::Vector(elements) => match elements.first() {
                Some(Operand::Register(first)) => Some((*first, narrow(elements.len()))),
                _ => None,
            },
            _ => None,
        })
        .collect()
}

/// Name of a vector register, from the name of an element.
pub(super) fn of_vector(element: &str) -> &str {
    element.rsplit_once('.').map_or(element, |(vector, _)| vector)
}

/// Names the registers of a parameter or vector.
fn name_elements(registers: &mut [String], first: RegisterId, elements: u32, name: &str) {
    for (element, register) in (first.0..first.0.saturating_add(elements)).enumerate() {
        let letter = ["x", "y", "z", "w"].get(element).unwrap_or(&"");
        if let Some(slot) = registers.get_mut(register as usize) {
            *slot = if elements == 1 { name.to_owned() } else { format!("{name}.{letter}") };
        }
    }
}

impl<'a> Names<'a> {
    /// Names of the source. Different things in different scopes may share a name.
    pub(super) fn of_source(function: &'a Function) -> Names<'a> {
        Names { function, unique: None }
    }

    /// Names that are unique in the function.
    pub(super) fn unique(function: &'a Function) -> Names<'a> {
        let mut taken: FxHashSet<String> =
            function.externals.iter().map(|external| external.name.clone()).collect();
        let mut registers = vec![String::new(); function.registers.len()];
        let mut formals = Vec::new();
        for formal in function.parameters.iter().chain(&function.returns) {
            let name = take(&mut taken, &formal.name);
            if let Some(first) = formal.register {
                name_elements(&mut registers, first, formal.elements(), &name);
            }
            formals.push(name);
        }
        for (first, lanes) in vectors(function) {
            let is_unnamed = registers.get(first.0 as usize).is_some_and(String::is_empty);
            let own = function.register_names.get(first.0 as usize).filter(|_| is_unnamed);
            if let Some(own) = own {
                let name = take(&mut taken, of_vector(own));
                name_elements(&mut registers, first, lanes, &name);
            }
        }
        for (slot, name) in registers.iter_mut().zip(&function.register_names) {
            if slot.is_empty() {
                *slot = take(&mut taken, name);
            }
        }
        let variables = function.variables.iter().map(|variable| take(&mut taken, &variable.name)).collect();
        Names { function, unique: Some(Unique { registers, formals, variables }) }
    }

    pub(super) fn register(&self, position: usize) -> String {
        let names = self.unique.as_ref().map_or(&self.function.register_names, |unique| &unique.registers);
        names.get(position).cloned().unwrap_or_default()
    }

    /// A parameter, or a result, numbered after the parameters.
    pub(super) fn formal(&self, position: usize) -> String {
        match &self.unique {
            Some(unique) => unique.formals.get(position).cloned().unwrap_or_default(),
            None => {
                let mut formals = self.function.parameters.iter().chain(&self.function.returns);
                formals.nth(position).map(|formal| formal.name.clone()).unwrap_or_default()
            }
        }
    }

    pub(super) fn variable(&self, position: usize) -> String {
        match &self.unique {
            Some(unique) => unique.variables.get(position).cloned().unwrap_or_default(),
            None => {
                let variable = self.function.variables.get(position);
                variable.map(|variable| variable.name.clone()).unwrap_or_default()
            }
        }
    }

    pub(super) fn external(&self, id: ExternalId) -> String {
        let external = self.function.externals.get(id.0 as usize);
        external.map(|external| external.name.clone()).unwrap_or_default()
    }
}
