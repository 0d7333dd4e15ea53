//! Recordings: the file, what is in it, who writes it, who replays it.

mod file;
mod recorder;
mod replay;
mod script;

pub use recorder::Recorder;
pub(crate) use replay::CtaBlock;
pub use replay::Recording;
pub(crate) use script::{CtaScript, Cursor, Step, WarpScript};

/// Why a recording cannot be made or read.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum RecordingError {
    /// It is no recording.
    #[error("this is no recording of ours")]
    Magic,
    /// It is a recording of another version of the program.
    #[error("the recording has format {found}, and this program reads {}", file::VERSION)]
    Version {
        /// Its version.
        found: u32,
    },
    /// It ends before it should, or goes on after its end.
    #[error("at byte {offset}: the recording is cut short or has something behind its end")]
    Length {
        /// Where, in bytes from the start.
        offset: usize,
    },
    /// A part does not match its checksum.
    #[error("at byte {offset}: the recording is damaged")]
    Damaged {
        /// Where the part begins, in bytes from the start.
        offset: usize,
    },
    /// A part cannot be written or read.
    #[error("{part}: {reason}")]
    Codec {
        /// Which.
        part: String,
        /// Why.
        reason: String,
    },
    /// A CTA is not there, or is there twice.
    #[error("CTA {cta} was recorded {times} times")]
    Cta {
        /// Its number.
        cta: u64,
        /// How often it is there.
        times: u32,
    },
    /// A CTA is not what its kernel says.
    #[error("CTA {cta}: {reason}")]
    Inconsistent {
        /// Its number.
        cta: u64,
        /// What does not fit.
        reason: String,
    },
}
