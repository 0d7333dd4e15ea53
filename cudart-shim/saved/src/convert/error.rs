//! Why a saved run cannot be converted.

use std::path::PathBuf;

use crate::file::SavedError;

/// Why a saved run cannot be converted.
#[derive(Debug, thiserror::Error)]
pub enum ConvertError {
    /// It cannot be read, or the new one not be written.
    #[error(transparent)]
    Saved(#[from] SavedError),
    /// A section is of a version from which no way leads forward.
    #[error("section {section} has version {found}, and those before {oldest} are not brought forward")]
    TooOld {
        /// The section.
        section: &'static str,
        /// Its version.
        found: u32,
        /// The oldest that is.
        oldest: u32,
    },
    /// A launch was under way.
    #[error(
        "launch {number}, kernel {kernel}, has begun: registers and places in its code are those of the build that has made the file"
    )]
    Begun {
        /// Its kernel.
        kernel: String,
        /// Its number in the run.
        number: u64,
    },
    /// The state of the timing model is of another version.
    #[error(
        "the state of the timing model of device {device} has version {found}, and this build of Voltsim has {wanted}"
    )]
    Model {
        /// The device.
        device: u64,
        /// Its version.
        found: u32,
        /// This build's.
        wanted: u32,
    },
    /// The new file is the old one.
    #[error("the new file would take the place of the old one")]
    SameFile,
    /// A folder without files of a series.
    #[error("there is no checkpoint (*.vck) in the folder")]
    NoSeries,
    /// A file of a folder.
    #[error("{}: {error}", file.display())]
    InSeries {
        /// The file.
        file: PathBuf,
        /// Why not.
        error: Box<ConvertError>,
    },
}

impl ConvertError {
    /// What the user can do.
    pub fn remedy(&self) -> &'static str {
        match self {
            // What is older than what is wanted would have been brought forward.
            ConvertError::Saved(error) => error.remedy(),
            ConvertError::TooOld { .. } => "Resume it with the Voltsim that has made it, or make it anew",
            ConvertError::Begun { .. } => {
                "Save the run anew before that launch (--checkpoint kernel=N), or resume the file with the Voltsim that has made it"
            }
            ConvertError::Model { found, wanted, .. } if found > wanted => {
                "Use the Voltsim that has written it, or add --cold: caches are empty then, and statistics begin at the point"
            }
            ConvertError::Model { .. } => {
                "Add --cold: caches are empty then, and statistics begin at the point; or resume the file with the Voltsim that has made it"
            }
            ConvertError::SameFile => "Give the new file another name",
            ConvertError::NoSeries => {
                "Give a checkpoint, or the folder that --checkpoint-every has written to"
            }
            ConvertError::InSeries { error, .. } => error.remedy(),
        }
    }
}
