//! Coverage of instruction forms, written at exit to the file `VOLTSIM_COVERAGE` for `voltsim
//! coverage`.

use crate::host::environment::options;
use crate::host::output_files;
use crate::session::ending::End;
use crate::session::state::Session;
use functional::coverage::Coverage;
use std::fmt::Write as _;
use std::io::Write as _;
use std::path::Path;
use std::sync::{Arc, OnceLock};

/// First line of the file.
const HEAD: &str = "# voltsim coverage 1: line of the op table, opcode, warps that executed it";

/// State of coverage.
pub(crate) struct CoverageState {
    executed: OnceLock<Option<Arc<Coverage>>>,
}

impl CoverageState {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { executed: OnceLock::new() }
    }
}

/// The process's coverage, if requested.
pub(crate) fn coverage(session: &'static Session) -> Option<Arc<Coverage>> {
    session.coverage.executed.get_or_init(|| file().map(|_| Arc::default())).clone()
}

fn file() -> Option<&'static Path> {
    options().coverage.as_deref()
}

/// Tells whether coverage is requested.
pub(crate) fn is_wanted() -> bool {
    file().is_some()
}

/// Writes the file.
pub(crate) fn write(session: &'static Session, end: End) {
    let (Some(path), Some(coverage)) = (file(), coverage(session)) else { return };
    let mut text = format!("{HEAD}\n");
    for (form, count) in coverage.executed() {
        let _ = writeln!(text, "{}\t{}\t{count}", form.line, form.opcode);
    }
    if let Some(cause) = end.cause() {
        let _ = writeln!(text, "# partial: ended by {cause}");
    }
    output_files::write("VOLTSIM_COVERAGE", Path::new(&path), |output| output.write_all(text.as_bytes()));
}
