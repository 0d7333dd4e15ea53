//! Text traces of Accel-Sim: a list of kernels (`kernelslist.g`) and a file for each (`kernel-1.traceg`, also packed as `.xz` or `.gz`).
//!
//! A trace is read twice: once for the kernel's instructions, by their addresses, and once for what each warp executed.

mod addresses;
mod header;
mod list;
mod opcode;
mod parse;
mod read;
mod write;

use std::path::PathBuf;

pub use list::{Entry, LIST, is_list, read_list, write_list};
pub use read::read_kernel;
pub use write::write_kernel;

use crate::RecordingError;

/// The remedy for output of the tracer that is not sorted yet.
pub(crate) const POST_PROCESS: &str = "sort it with Accel-Sim's `post-traces-processing kernelslist`, which writes .traceg files and kernelslist.g";

/// Why a trace cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read or written.
    #[error("{}: {error}", file.display())]
    File {
        /// File.
        file: PathBuf,
        /// What the system says.
        error: std::io::Error,
    },
    /// The file is output of the tracer that is not sorted by CTA and warp.
    #[error("{}: the tracer's own output; {POST_PROCESS}", file.display())]
    Raw {
        /// File.
        file: PathBuf,
    },
    /// A line is not as it should be.
    #[error("{}, line {line}: {reason}", file.display())]
    Line {
        /// File.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// What is the matter.
        reason: String,
    },
    /// What the trace says is no whole launch.
    #[error("{}: {error}", file.display())]
    Recording {
        /// File.
        file: PathBuf,
        /// What is the matter.
        error: RecordingError,
    },
}
