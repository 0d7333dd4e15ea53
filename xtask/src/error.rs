//! Why a task fails.

use std::path::{Path, PathBuf};
use std::process::ExitStatus;

pub(crate) type Result<T> = std::result::Result<T, Error>;

#[derive(Debug, thiserror::Error)]
pub(crate) enum Error {
    #[error("{path}: {source}")]
    File { path: PathBuf, source: std::io::Error },
    #[error("cannot start {program}: {source}")]
    Start { program: String, source: std::io::Error },
    #[error("{command} failed ({status})\n{output}")]
    Command { command: String, status: ExitStatus, output: String },
    #[error(transparent)]
    Catalogue(#[from] voltsim_tests::catalogue::Error),
    #[error("{count} of the CUDA programs do not compile:\n{output}")]
    Compile { count: usize, output: String },
    #[error("{program} does not print {what}")]
    Silent { program: PathBuf, what: &'static str },
    #[error("not in {folder}: {what}; README.md says what has to be there")]
    Peer { folder: PathBuf, what: &'static str },
    #[error("it ended early, the last that it printed is `{last}` ({log})")]
    EndedEarly { log: PathBuf, last: String },
    #[error("{path}:{line}: not of the form {form}")]
    Table { path: PathBuf, line: usize, form: &'static str },
    #[error("outside of what cards give: {0}")]
    Outside(String),
    #[error("the tests are not there: give a clone of the repository with --{0}")]
    NoCheckout(&'static str),
    #[error("{path} is not there: rustup component add llvm-tools")]
    NoProfileTool { path: PathBuf },
    #[error("{path} is not there: cargo xtask guided")]
    NotGuided { path: PathBuf },
    #[error("no row of `cargo xtask bench` is called `{row}`; the rows are {rows}")]
    NoSuchRow { row: String, rows: String },
    #[error("{path}: {source}")]
    List { path: PathBuf, source: Box<toml::de::Error> },
    #[error("{0} is neither a suite nor a program (SUITE/PROGRAM) of the list in tests/outside")]
    NoProgram(String),
    #[error("{path}: {reason}")]
    Ratchet { path: PathBuf, reason: String },
    #[error("links that lead nowhere:\n{0}")]
    Links(String),
    #[error("{0} failed")]
    Steps(String),
    #[error("in CI nothing may be left out: {0}")]
    Skipped(String),
}

impl Error {
    /// Says which file an input or output error is about.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
