//! Why a captured launch cannot be read or written.

use std::io;
use std::path::PathBuf;
use voltsim_checkpoint::contents::ContentError;
use voltsim_checkpoint::frame::FileError;
use voltsim_checkpoint::journal::JournalError;

/// What is wrong with a capture, with the file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A file or folder cannot be read.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A file or folder cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// The folder of a launch exists already.
    #[error("{} exists already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no manifest.
    #[error("{} is no captured launch, or an unfinished one: it has no {}", path.display(), crate::MANIFEST)]
    NotACapture {
        /// The folder.
        path: PathBuf,
    },
    /// The folder was written by another version.
    #[error("{} has format {found}; this is a reader of format {expected}", path.display())]
    Format {
        /// The manifest.
        path: PathBuf,
        /// The format it names.
        found: u32,
        /// The format that this code reads.
        expected: u32,
    },
    /// The manifest is not as it should be.
    #[error("{}: {message}", path.display())]
    Malformed {
        /// The manifest.
        path: PathBuf,
        /// What is wrong.
        message: String,
    },
    /// A file has other contents than the manifest says.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// How.
        reason: String,
    },
    /// A kernel stream cannot be read or written.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// What is wrong with the file of a kernel stream.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// The file as such.
    #[error(transparent)]
    File(#[from] FileError),
    /// Texts and memory.
    #[error(transparent)]
    Contents(#[from] ContentError),
    /// Launches and copies.
    #[error(transparent)]
    Entries(#[from] JournalError),
}

macro_rules! of_stream {
    ($($error:ty),*) => {
        $(impl From<$error> for Error {
            fn from(error: $error) -> Error {
                Error::Stream(error.into())
            }
        })*
    };
}

of_stream!(FileError, ContentError, JournalError);

impl Error {
    /// What the user can do, as an imperative sentence without a full stop.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Read { .. } => "Check the path and its permissions, or copy the whole folder again",
            Error::Write { .. } => "Check the path, its permissions and the room on the disk",
            Error::Exists { .. } => "Remove it, or name another folder",
            Error::NotACapture { .. } => {
                "Name the folder of one launch, such as DIR/0001-kernel, or capture again"
            }
            Error::Format { .. } => "Use the version of voltsim that made it, or capture again",
            Error::Malformed { .. } => "Correct the file, or capture again",
            Error::Damaged { .. } => "Copy the folder again, or capture again",
            Error::Stream(error) => {
                error.remedy().unwrap_or("Check the path, and that it is a kernel stream")
            }
        }
    }
}

impl StreamError {
    fn remedy(&self) -> Option<&'static str> {
        match self {
            StreamError::File(error) => error.remedy(),
            StreamError::Contents(error) => error.remedy(),
            StreamError::Entries(error) => error.remedy(),
        }
    }
}
