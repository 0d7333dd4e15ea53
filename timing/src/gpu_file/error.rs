//! Errors of GPU files, with file, line, key and value.

use std::fmt::{self, Write as _};
use std::iter::repeat;

/// Position of a value.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Place {
    /// File, or the option that gave the value.
    pub file: String,
    /// Line, from 1; `None` for an option.
    pub line: Option<usize>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.file)?;
        self.line.map_or(Ok(()), |line| write!(f, ", line {line}"))
    }
}

/// An error of a GPU's file.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum SpecificationError {
    /// Invalid TOML.
    #[error("{place}: `{text}`: {message}")]
    Malformed {
        /// Position.
        place: Place,
        /// The line's text.
        text: String,
        /// The parser's message.
        message: String,
    },
    /// Unknown key.
    #[error("{place}: `{key} = {value}`: unknown key{}", near(closest))]
    Unknown {
        /// Position.
        place: Place,
        /// `section.name`.
        key: String,
        /// Value as written.
        value: String,
        /// Known key closest in spelling.
        closest: Option<String>,
    },
    /// Missing key.
    #[error("{file}: `{key}` is missing")]
    Missing {
        /// File.
        file: String,
        /// `section.name`.
        key: String,
    },
    /// A value without its unit, of the wrong type or unit, or in contradiction to other values.
    #[error("{place}: {}: {reason}", together(values))]
    Wrong {
        /// Position.
        place: Place,
        /// The key (`section.name`) with its value, then the keys that it contradicts.
        values: Vec<(String, String)>,
        /// Violated rule.
        reason: String,
    },
    /// Unreadable file.
    #[error("{file}: {reason}")]
    Unreadable {
        /// File.
        file: String,
        /// The system's message.
        reason: String,
    },
    /// Invalid `--set`.
    #[error("{0}")]
    Change(String),
    /// Unknown GPU.
    #[error("there is no GPU `{name}`; there are {known}, and files ending in .toml")]
    NoGpu {
        /// Name as given.
        name: String,
        /// Names of the built-in GPUs.
        known: String,
    },
    /// A GPU that has no `[timing]`.
    #[error("{file}: the GPU has no [timing], so launches cannot be timed on it")]
    NoTiming {
        /// File.
        file: String,
    },
    /// Missing base, or too long a chain of bases.
    #[error("{file}: base `{base}`: {reason}")]
    Base {
        /// File.
        file: String,
        /// Name of the base.
        base: String,
        /// Violated rule.
        reason: String,
    },
}

impl SpecificationError {
    /// The user's next step.
    pub fn remedy(&self) -> String {
        let SpecificationError::NoTiming { file } = self else {
            return "`voltsim gpus` lists the GPUs, `voltsim explain` the keys".to_owned();
        };
        let name = file.strip_suffix(".toml").filter(|name| super::files::spelt(name).is_some());
        format!(
            "`--device {}` tells the program that it runs on this GPU; `voltsim gpus` lists the GPUs with timing",
            name.unwrap_or(file)
        )
    }
}

fn near(closest: &Option<String>) -> String {
    closest.as_ref().map(|key| format!("; did you mean `{key}`?")).unwrap_or_default()
}

fn together(values: &[(String, String)]) -> String {
    let mut text = String::new();
    for ((key, value), between) in values.iter().zip(["", " with "].into_iter().chain(repeat(", "))) {
        let _ = write!(text, "{between}`{key} = {value}`");
    }
    text
}
