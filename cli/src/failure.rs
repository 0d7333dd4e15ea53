//! What a command reports when it cannot do its work.

use std::fmt;
use std::io;
use std::path::Path;

use ptx_frontend::container::ContainerError;

/// Exit status of `voltsim` itself when a command fails; clap uses the same for a wrong command line.
pub(crate) const EXIT_STATUS: u8 = 2;

/// A failed command: what went wrong and where, and what the user can do about it.
#[derive(Debug)]
pub(crate) struct Failure {
    message: String,
    remedy: Option<String>,
    closed_output: bool,
}

impl Failure {
    /// `message` names the file, the place in it and what is wrong.
    pub(crate) fn new(message: impl fmt::Display) -> Self {
        Self { message: message.to_string(), remedy: None, closed_output: false }
    }

    /// A failure that concerns `file`, which `message` does not name.
    pub(crate) fn in_file(file: &Path, message: impl fmt::Display) -> Self {
        Self::new(format_args!("{}: {message}", file.display()))
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

    /// True when the reader of our standard output has gone away (`voltsim … | head`), which is no error.
    pub(crate) fn is_closed_output(&self) -> bool {
        self.closed_output
    }
}

impl fmt::Display for Failure {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)?;
        match &self.remedy {
            Some(remedy) => write!(f, "\n  remedy: {remedy}"),
            None => Ok(()),
        }
    }
}

/// `?` on an I/O error is for writing the report; every other one is made with [`Failure::in_file`].
impl From<io::Error> for Failure {
    fn from(error: io::Error) -> Self {
        let closed_output = error.kind() == io::ErrorKind::BrokenPipe;
        Self { closed_output, ..Self::new(format_args!("standard output: {error}")) }
    }
}
