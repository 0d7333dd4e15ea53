//! Recordings: file format, content, recorder and replay.

mod file;
mod recorder;
mod replay;
mod script;

pub use recorder::Recorder;
pub(crate) use replay::CtaBlock;
pub use replay::Recording;
pub(crate) use script::{CtaScript, Cursor, Step, WarpScript};

/// An error of a recording.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// The file is no recording.
    #[error("the file is not a Voltsim recording")]
    Magic,
    /// The recording has another format version.
    #[error("the recording has format {found}; this program reads {}: record again", file::VERSION)]
    Version {
        /// Version found.
        found: u32,
    },
    /// The file is truncated or has bytes after its end.
    #[error("at byte {offset}: the recording is truncated or has bytes after its end")]
    Length {
        /// Position in bytes.
        offset: usize,
    },
    /// A block does not match its checksum.
    #[error("at byte {offset}: the recording is damaged")]
    Damaged {
        /// Position of the block in bytes.
        offset: usize,
    },
    /// A part does not encode or decode.
    #[error("{part}: {reason}")]
    Codec {
        /// Name of the part.
        part: String,
        /// Reason.
        reason: String,
    },
    /// A CTA is missing or occurs twice.
    #[error("CTA {cta} was recorded {times} times")]
    Cta {
        /// Number of the CTA.
        cta: u64,
        /// Occurrences.
        times: u32,
    },
    /// A CTA contradicts its kernel.
    #[error("CTA {cta}: {reason}")]
    Inconsistent {
        /// Number of the CTA.
        cta: u64,
        /// Contradiction.
        reason: String,
    },
}
