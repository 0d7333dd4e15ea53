//! Accel-Sim text traces: a kernel list (`kernelslist.g`) and a file per kernel (`kernel-1.traceg`,
//! optionally compressed as `.xz` or `.gz`).
//!
//! The reader passes over a trace twice: first for the kernel's code by address, then for the
//! instructions of each warp.

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

/// Remedy for unsorted tracer output.
pub(crate) const POST_PROCESS: &str = "sort it with Accel-Sim's `post-traces-processing kernelslist`, which writes .traceg files and kernelslist.g";

/// An error of a trace.
#[derive(Debug, thiserror::Error)]
pub enum TraceError {
    /// The file cannot be read or written.
    #[error("{}: {error}", file.display())]
    File {
        /// File.
        file: PathBuf,
        /// The system's error.
        error: std::io::Error,
    },
    /// Tracer output not sorted by CTA and warp.
    #[error("{}: raw output of the tracer; {POST_PROCESS}", file.display())]
    Raw {
        /// File.
        file: PathBuf,
    },
    /// Malformed line.
    #[error("{}, line {line}: {reason}", file.display())]
    Line {
        /// File.
        file: PathBuf,
        /// Line, from 1.
        line: usize,
        /// Violated rule.
        reason: String,
    },
    /// The trace holds no complete launch.
    #[error("{}: {error}", file.display())]
    Recording {
        /// File.
        file: PathBuf,
        /// Violated rule.
        error: RecordingError,
    },
}
