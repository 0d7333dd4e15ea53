//! Failures of commands: message, place and remedy.

use std::fmt;
use std::io;
use std::path::Path;

use ptx_frontend::container::ContainerError;
use warp_stream::kernel_name::readable;

/// Exit status of `voltsim` itself when a command fails; clap uses the same for a wrong command
/// line.
pub(crate) const EXIT_STATUS: u8 = 2;

/// An error of the system.
struct SystemError {
    /// As the standard library says it.
    said: &'static str,
    /// As a message says it.
    told: &'static str,
    remedy: &'static str,
}

const SYSTEM: &[SystemError] = &[
    SystemError {
        said: "No such file or directory (os error 2)",
        told: "there is no such file or folder",
        remedy: "check the path",
    },
    SystemError {
        said: "Permission denied (os error 13)",
        told: "permission denied",
        remedy: "check the permissions of the path",
    },
    SystemError { said: "Is a directory (os error 21)", told: "this is a folder", remedy: "name a file" },
    SystemError {
        said: "Not a directory (os error 20)",
        told: "a part of the path is a file, and no folder",
        remedy: "check the path",
    },
    SystemError {
        said: "No space left on device (os error 28)",
        told: "the disk is full",
        remedy: "make room, or name a file on another disk",
    },
];

/// A text without the system's numbers of errors.
fn without_numbers(text: &str) -> String {
    let mut parts = text.split(" (os error ");
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(')').map_or(part, |(_, behind)| behind))
}

/// A failed command: what went wrong and where, and what the user can do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    remedy: Option<String>,
    closed_output: bool,
    status: u8,
}

impl Failure {
    /// `message` names the file, the place in it and what is wrong.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), remedy: None, closed_output: false, status: EXIT_STATUS }
    }

    /// A failure that concerns `file`, which `message` does not name.
    pub(crate) fn in_file(file: &Path, message: impl fmt::Display) -> Self {
        Self::new(format_args!("{}: {message}", file.display()))
    }

    /// The remedy: the one given, or that of an error of the system.
    fn remedy_or_usual(&self) -> Option<&str> {
        let usual =
            || SYSTEM.iter().find(|error| self.message.contains(error.said)).map(|error| error.remedy);
        self.remedy.as_deref().or_else(usual)
    }

    /// An input of the container stage that cannot be read.
    pub(crate) fn unreadable(error: ContainerError) -> Self {
        let remedy = match &error {
            ContainerError::Read { .. } => "check the path and its permissions",
            ContainerError::UnknownImage { .. } => {
                "give a Linux executable, shared library or object file, a fat binary, a cubin or PTX text"
            }
            _ => "the file is damaged or cut short; build or copy it again",
        };
        Self::new(error).remedy(remedy)
    }

    /// All the `damage` met in an input; none when there was none.
    pub(crate) fn damaged(damage: Vec<ContainerError>) -> Option<Self> {
        let mut failures = damage.into_iter().map(Self::unreadable);
        let first = failures.next()?;
        let messages = std::iter::once(first.message.clone()).chain(failures.map(|failure| failure.message));
        Some(Self { message: messages.collect::<Vec<_>>().join("\n"), ..first })
    }

    /// Adds what the user can do, as an imperative sentence without a full stop.
    pub(crate) fn remedy(mut self, remedy: impl Into<String>) -> Self {
        self.remedy = Some(remedy.into());
        self
    }

    /// Gives the process another exit status.
    pub(crate) fn with_status(self, status: u8) -> Self {
        Self { status, ..self }
    }

    /// The process's exit status.
    pub(crate) fn status(&self) -> u8 {
        self.status
    }

    /// True when the reader of our standard output has gone away (`voltsim … | head`), which is no
    /// error.
    pub(crate) fn is_closed_output(&self) -> bool {
        self.closed_output
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let told = |text: String, error: &SystemError| text.replace(error.said, error.told);
        f.write_str(&readable(&without_numbers(&SYSTEM.iter().fold(self.message.clone(), told))))?;
        match self.remedy_or_usual() {
            Some(remedy) => write!(f, "\n  remedy: {remedy}"),
            None => Ok(()),
        }
    }
}

/// `?` on an I/O error is for writing the report; every other one is made with
/// [`Failure::in_file`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let closed_output = error.kind() == io::ErrorKind::BrokenPipe;
        Self { closed_output, ..Self::new(format_args!("standard output: {error}")) }
    }
}
