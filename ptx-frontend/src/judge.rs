//! Judgement of a whole module, as by the vendor's assembler: all functions are checked, not only launched
//! ones.

use std::collections::HashSet;
use std::fmt::Write as _;
use std::sync::Arc;

use crate::ir::{External, Function, Space};
use crate::isa::{Requirement, ScalarType, Target};
use crate::module::{Error, Module};
use crate::parse::comment::blank_comments;
use crate::resolve::{ResolveError, Surroundings as _};
use crate::validate::directives;
use crate::{Diagnostic, diagnostic::Problem};

/// Limit of constant memory for a module's variables in bytes (PTX manual 5.1.3).
const CONSTANT_BYTES: u64 = 64 << 10;

/// Limit of shared memory for a kernel's static variables on any device, in bytes.
const SHARED_BYTES: u64 = 48 << 10;

/// Limits of a kernel's parameters in bytes: the usual one, and that of modules that meet
/// [`MANY_PARAMETERS`] (PTX manual 5.1.6.2).
const PARAMETER_BYTES: (u32, u32) = (4352, 32764);

/// Requirement of the larger limit.
const MANY_PARAMETERS: Requirement =
    Requirement { ptx: (8, 1), target: Target { number: 70, specific: false } };

/// Maximum number of errors kept per module.
const MOST_ERRORS: usize = 100;

/// A message about a line of the text.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub struct Remark {
    /// Line, from 1.
    pub line: u32,
    /// Message.
    pub message: String,
}

/// Judgement of a module's text.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Judgement {
    /// Errors in text order: no driver loads such a module.
    pub errors: Vec<Remark>,
    /// Legal instructions that Voltsim does not support: a driver loads the module, but launches of such
    /// kernels fail.
    pub missing: Vec<Remark>,
}

impl Judgement {
    /// Errors in the assembler's words, for the log of a program that passed the text as `input`.
    pub fn log(&self, input: &str) -> String {
        let mut log = String::new();
        for Remark { line, message } in &self.errors {
            let _ = writeln!(log, "ptxas {input}, line {line}; error   : {message}");
        }
        if !self.errors.is_empty() {
            log.push_str("ptxas fatal   : Ptx assembly aborted due to errors");
        }
        log
    }

    fn add(&mut self, problem: &Diagnostic) {
        let is_missing = matches!(problem.problem, Problem::Resolve(ResolveError::Unsupported { .. }));
        let kept = if is_missing { &mut self.missing } else { &mut self.errors };
        if kept.len() < MOST_ERRORS {
            kept.push(Remark { line: problem.place.line, message: problem.problem.to_string() });
        }
    }

    fn add_at(&mut self, line: u32, message: String) {
        if self.errors.len() < MOST_ERRORS {
            self.errors.push(Remark { line, message });
        }
    }
}

impl Module {
    fn most_parameter_bytes(&self) -> u32 {
        if self.architecture().has(MANY_PARAMETERS) { PARAMETER_BYTES.1 } else { PARAMETER_BYTES.0 }
    }

    /// Bytes of the static shared variables that a kernel and the functions it calls use.
    fn shared_bytes(&self, kernel: &Arc<Function>) -> u64 {
        let (mut seen, mut rest) = (HashSet::new(), vec![kernel.clone()]);
        let mut bytes = 0_u64;
        while let Some(function) = rest.pop() {
            let own = function.variables.iter().filter(|variable| variable.space == Space::Shared);
            bytes = own.fold(bytes, |bytes, variable| bytes.saturating_add(variable.size));
            for External { name } in &function.externals {
                if !seen.insert(name.clone()) {
                    continue;
                }
                match self.variables().iter().find(|variable| variable.name == *name) {
                    Some(used) if used.space == Space::Shared => bytes = bytes.saturating_add(used.size),
                    Some(_) => {}
                    None => rest.extend(self.checked(name).ok()),
                }
            }
        }
        bytes
    }

    /// Judges the whole text.
    pub fn judge(&self) -> Judgement {
        let mut judgement = Judgement::default();
        for (is_there, directive) in
            [(self.outline().version.is_some(), ".version"), (self.outline().target.is_some(), ".target")]
        {
            if !is_there {
                judgement.add_at(1, format!("Missing {directive} directive at start of file"));
            }
        }
        self.problems().iter().for_each(|problem| judgement.add(problem));
        for (at, error) in directives(&blank_comments(self.source().text()), self.architecture()) {
            judgement.add_at(self.source().place(at).line, error.to_string());
        }
        let constants = self.variables().iter().filter(|variable| variable.space == Space::Const);
        let constants = constants.filter(|variable| !is_reference(variable.ty));
        let bytes = constants.fold(0_u64, |bytes, variable| bytes.saturating_add(variable.size));
        if bytes > CONSTANT_BYTES {
            let limits = format!("({bytes:#x} bytes, {CONSTANT_BYTES:#x} max)");
            judgement.add_at(1, format!("File uses too much global constant data {limits}"));
        }
        let text = self.source().text();
        for item in self.outline().functions.iter().filter(|item| item.body.is_some()) {
            let name = item.name.of(text);
            let line = self.source().place(item.header.start).line;
            match self.checked(name) {
                Ok(function) => {
                    let bytes = if function.is_kernel { self.shared_bytes(&function) } else { 0 };
                    if bytes > SHARED_BYTES {
                        let limits = format!("({bytes:#x} bytes, {SHARED_BYTES:#x} max)");
                        let message = format!("Entry function '{name}' uses too much shared data {limits}");
                        judgement.add_at(line, message);
                    }
                    let (bytes, most) = (function.parameter_bytes, self.most_parameter_bytes());
                    if function.is_kernel && bytes > most {
                        let limits = format!("({bytes:#x} bytes, {most:#x} max)");
                        let message =
                            format!("Entry function '{name}' uses too much parameter space {limits}");
                        judgement.add_at(line, message);
                    }
                }
                Err(Error::Invalid { problems, .. }) => {
                    problems.iter().for_each(|found| judgement.add(found))
                }
                Err(other) => judgement.add_at(line, other.to_string()),
            }
        }
        judgement.errors.sort();
        judgement.errors.dedup();
        judgement.missing.sort();
        judgement
    }
}

/// True for reference types, whose variables take no constant memory.
fn is_reference(ty: ScalarType) -> bool {
    matches!(ty, ScalarType::Texref | ScalarType::Samplerref | ScalarType::Surfref)
}
