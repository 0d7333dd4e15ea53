//! Errors of tasks.

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
    #[error("{program} did not print {what}")]
    Silent { program: PathBuf, what: &'static str },
    #[error("{folder} lacks {what}; README.md lists the requirements")]
    Peer { folder: PathBuf, what: &'static str },
    #[error("the run ended early; its last line is `{last}` ({log})")]
    EndedEarly { log: PathBuf, last: String },
    #[error("{path}:{line}: not of the form {form}")]
    Table { path: PathBuf, line: usize, form: &'static str },
    #[error("outside the range measured on cards: {0}")]
    Outside(String),
    #[error("the tests are missing: name a clone of the repository with --{0}")]
    NoCheckout(&'static str),
    #[error("{path} is missing: run `rustup component add llvm-tools`")]
    NoProfileTool { path: PathBuf },
    #[error("{path} is missing: run `cargo xtask guided`")]
    NotGuided { path: PathBuf },
    #[error("`cargo xtask bench` has no row `{row}`; the rows are {rows}")]
    NoSuchRow { row: String, rows: String },
    #[error("{path}: {source}")]
    List { path: PathBuf, source: Box<toml::de::Error> },
    #[error("{0} is neither a suite nor a program (SUITE/PROGRAM) of the list in tests/outside")]
    NoProgram(String),
    #[error("{0} is no program of `examples` or `tests/programs`")]
    NoCudaProgram(String),
    #[error("{path}: {reason}")]
    Ratchet { path: PathBuf, reason: String },
    #[error("cargo metadata: {0}")]
    Metadata(String),
    #[error("{artefact}: {reason}")]
    Artefact { artefact: PathBuf, reason: String },
    #[error("broken links:\n{0}")]
    Links(String),
    #[error("{path}: {reason}")]
    Set { path: PathBuf, reason: String },
    #[error("{why}; the last line of the run is `{last}`")]
    Row { why: String, last: String },
    #[error("no measurements of the card `{0}`; the cards are {1}")]
    NoCard(String, String),
    #[error("worse by more than a point:\n{0}")]
    Worse(String),
    #[error(transparent)]
    Libraries(#[from] library_folder::Error),
    #[error("{0} failed")]
    Steps(String),
    #[error("CI must not skip: {0}")]
    Skipped(String),
}

impl Error {
    /// Adds the file's name to an input or output error.
    pub(crate) fn file(path: &Path) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.to_owned();
        move |source| Self::File { path, source }
    }
}
