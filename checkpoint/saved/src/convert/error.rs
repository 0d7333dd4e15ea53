//! Errors of conversion.

use std::path::PathBuf;

use crate::file::SavedError;

/// Reason why a saved run cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// The old file is unreadable, or the new one cannot be written.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// A section is too old.
    #[error("section {section} has version {found}; conversion starts at version {oldest}")]
    TooOld {
        /// The section.
        section: &'static str,
        /// Version found.
        found: u32,
        /// Oldest convertible version.
        oldest: u32,
    },
    /// A launch was in flight.
    #[error(
        "launch {number} of kernel {kernel} has begun: only the build that made the file knows its registers and code positions"
    )]
    Begun {
        /// Name of the kernel.
        kernel: String,
        /// Launch number.
        number: u64,
    },
    /// The timing-model state has another version.
    #[error(
        "the timing-model state of device {device} has version {found}; this build reads version {wanted}"
    )]
    Model {
        /// Number of the device.
        device: u64,
        /// Version found.
        found: u32,
        /// Version of this build.
        wanted: u32,
    },
    /// The timing-model state holds no state that this build reads.
    #[error("the timing-model state of device {device}: {reason}")]
    ModelState {
        /// Number of the device.
        device: u64,
        /// Reason, which names the unit if another version of its state is there.
        reason: String,
    },
    /// The new file is the old one.
    #[error("the new file would overwrite the old one")]
    SameFile,
    /// A folder without checkpoints.
    #[error("the folder holds no checkpoint (*.vck)")]
    NoSeries,
    /// A file of a folder failed.
    #[error("{}: {error}", file.display())]
    InSeries {
        /// The file.
        file: PathBuf,
        /// Error of the file.
        error: Box<ConvertError>,
    },
}

impl ConvertError {
    /// Remedy for the user.
    pub fn remedy(&self) -> &'static str {
        match self {
            // A version older than this build's would have been converted.
            ConvertError::Saved(error) => error.remedy(),
            ConvertError::TooOld { .. } => "Resume it with the Voltsim that made it, or make it again",
            ConvertError::Begun { .. } => {
                "Save the run again before that launch (--checkpoint kernel=N), or resume the file with the Voltsim that made it"
            }
            ConvertError::Model { found, wanted, .. } if found > wanted => {
                "Use the Voltsim that wrote it, or add --cold, which empties caches and starts statistics at the point"
            }
            ConvertError::Model { .. } | ConvertError::ModelState { .. } => {
                "Add --cold, which empties caches and starts statistics at the point, or resume the file with the Voltsim that made it"
            }
            ConvertError::SameFile => "Give the new file another name",
            ConvertError::NoSeries => "Name a checkpoint, or the folder of --checkpoint-every",
            ConvertError::InSeries { error, .. } => error.remedy(),
        }
    }
}
