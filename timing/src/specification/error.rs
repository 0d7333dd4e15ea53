//! What is wrong with a GPU's file: file, line, key and value.

use std::fmt::{self, Write as _};
use std::iter::repeat;

/// Where a value stands.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File, or the option of the command that gave the value.
    pub file: String,
    /// Line, from 1; none in an option.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// What is wrong with a GPU's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecificationError {
    /// It is no TOML.
    #[error("{place}: `{text}`: {message}")]
    Malformed {
        /// Where.
        place: Place,
        /// The line as it stands there.
        text: String,
        /// What the reader says.
        message: String,
    },
    /// A key that no unit knows.
    #[error("{place}: `{key} = {value}`: no unit has such a key{}", near(closest))]
    Unknown {
        /// Where.
        place: Place,
        /// `section.name`.
        key: String,
        /// What stands there.
        value: String,
        /// The key that is spelt most alike.
        closest: Option<String>,
    },
    /// A key that is needed and not there.
    #[error("{file}: `{key}` is missing")]
    Missing {
        /// File.
        file: String,
        /// `section.name`.
        key: String,
    },
    /// A value without its unit, of another kind, in another unit, or one that makes no sense beside others.
    #[error("{place}: {}: {reason}", together(values))]
    Wrong {
        /// Where.
        place: Place,
        /// Key (`section.name`) and what stands there, and then those of others that it makes no sense beside.
        values: Vec<(String, String)>,
        /// What is the matter.
        reason: String,
    },
    /// A file that cannot be read.
    #[error("{file}: {reason}")]
    Unreadable {
        /// File.
        file: String,
        /// Why.
        reason: String,
    },
    /// A change of a value that cannot be made.
    #[error("{0}")]
    Change(String),
    /// A base that is not there, or files that build on one another without end.
    #[error("{file}: base `{base}`: {reason}")]
    Base {
        /// File.
        file: String,
        /// The base.
        base: String,
        /// What is the matter.
        reason: String,
    },
}

fn near(closest: &Option<String>) -> String {
    closest.as_ref().map(|key| format!("; is `{key}` meant?")).unwrap_or_default()
}

fn together(values: &[(String, String)]) -> String {
    let mut text = String::new();
    for ((key, value), between) in values.iter().zip(["", " with "].into_iter().chain(repeat(", "))) {
        let _ = write!(text, "{between}`{key} = {value}`");
    }
    text
}
