//! Errors with their position in the PTX text, and their display.

use std::fmt;

use crate::ir::{Function, TextPosition};
use crate::parse::grammar::SyntaxError;
use crate::parse::outline::OutlineError;
use crate::resolve::{At, ResolveError, VariableError};
use crate::source::Source;
use crate::validate::{HeaderError, Invalid, ValidationError};

/// Error in a piece of PTX, by stage.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum Problem {
    /// Error in the module's top level.
    #[error(transparent)]
    Outline(#[from] OutlineError),
    /// Error in the directives at the module's start.
    #[error(transparent)]
    Header(#[from] HeaderError),
    /// Syntax error in a function or declaration.
    #[error(transparent)]
    Syntax(#[from] SyntaxError),
    /// Error in names, forms, operands, sizes.
    #[error(transparent)]
    Resolve(#[from] ResolveError),
    /// Error in types, ranges, spaces.
    #[error(transparent)]
    Validation(#[from] ValidationError),
}

impl Problem {
    /// Advice to the user, if there is any.
    pub fn remedy(&self) -> Option<String> {
        match self {
            Problem::Resolve(error) => error.remedy(),
            Problem::Outline(_) | Problem::Header(_) | Problem::Syntax(_) | Problem::Validation(_) => None,
        }
    }
}

/// A problem and its position. Displays as `file:line:column: message`, the line of text, and a caret.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Diagnostic {
    /// Name of the source.
    pub file: String,
    /// Position.
    pub place: TextPosition,
    /// Line of text.
    pub text: String,
    /// Problem.
    pub problem: Problem,
}

/// Maximum displayed bytes of a line; a table's initialiser can be a line of megabytes.
const LONGEST_LINE: usize = 200;

impl Diagnostic {
    pub(crate) fn new(source: &Source, at: u32, problem: Problem) -> Diagnostic {
        Diagnostic::at_place(source, source.place(at), problem)
    }

    fn at_place(source: &Source, place: TextPosition, problem: Problem) -> Diagnostic {
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
        let TextPosition { line, column } = self.place;
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
