//! Errors with their place in the PTX text, and how they are shown.

use std::fmt;

use crate::ir::{Function, Place};
use crate::parse::grammar::SyntaxError;
use crate::parse::outline::OutlineError;
use crate::resolve::{At, ResolveError, VariableError};
use crate::source::Source;
use crate::validate::{HeaderError, Invalid, ValidationError};

/// What is wrong with a piece of PTX.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// The module's top level.
    #[error(transparent)]
    Outline(#[from] OutlineError),
    /// The directives at the module's start.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// The shape of a function or declaration.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Names, forms, operands, sizes.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Types, ranges, spaces.
    #[error(transparent)]
    Validation(#[from] ValidationError),
}

impl Problem {
    /// What the reader can do about it, if there is something to say.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Problem::Resolve(error) => error.remedy(),
            Problem::Outline(_) | Problem::Header(_) | Problem::Syntax(_) | Problem::Validation(_) => None,
        }
    }
}

/// A problem and its place. Displays as `file:line:column: message`, the line of text, and a caret under the place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the source.
    pub file: String,
    /// The place.
    pub place: Place,
    /// The line of text.
    pub text: String,
    /// What is wrong.
    pub problem: Problem,
}

/// Bytes of a line that are shown; a table's initialiser can be one line of megabytes.
const LONGEST_LINE: usize = 200;

impl Diagnostic {
    pub(crate) fn new(source: &Source, at: u32, problem: Problem) -> Diagnostic {
        Diagnostic::at_place(source, source.place(at), problem)
    }

    fn at_place(source: &Source, place: Place, problem: Problem) -> Diagnostic {
        let line = source.line(place.line);
        let mut end = line.len().min(LONGEST_LINE);
        while !line.is_char_boundary(end) {
            end -= 1;
        }
        let text = line.get(..end).unwrap_or("").to_owned();
        Diagnostic { file: source.name().to_owned(), place, text, problem }
    }

    pub(crate) fn syntax(source: &Source, error: SyntaxError) -> Diagnostic {
        Diagnostic::new(source, error.at(), error.into())
    }

    pub(crate) fn resolve(source: &Source, error: At<ResolveError>) -> Diagnostic {
        Diagnostic::new(source, error.at, error.error.into())
    }

    pub(crate) fn validate(source: &Source, function: &Function, error: Invalid) -> Diagnostic {
        let instruction = function.instructions.get(error.instruction.0 as usize);
        let place = instruction.map(|instruction| instruction.place).unwrap_or_default();
        Diagnostic::at_place(source, place, error.error.into())
    }

    pub(crate) fn variable(source: &Source, error: At<VariableError>) -> Diagnostic {
        match error.error {
            VariableError::Syntax(inner) => Diagnostic::new(source, error.at, inner.into()),
            VariableError::Resolve(inner) => Diagnostic::new(source, error.at, inner.into()),
        }
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Place { line, column } = self.place;
        write!(f, "{}:{line}:{column}: {}", self.file, self.problem)?;
        write!(f, "\n    {}", self.text.replace('\t', " "))?;
        let before = (column as usize).saturating_sub(1);
        if before <= self.text.len() {
            write!(f, "\n    {}^", " ".repeat(before))?;
        }
        if let Some(remedy) = self.problem.remedy() {
            write!(f, "\n    {remedy}")?;
        }
        Ok(())
    }
}
