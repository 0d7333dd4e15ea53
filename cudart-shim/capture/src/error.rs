//! Errors of captured launches.

use std::io;
use std::path::PathBuf;
use voltsim_checkpoint::contents::ContentError;
use voltsim_checkpoint::frame::FileError;
use voltsim_checkpoint::journal::JournalError;

/// An error of a capture, with its file.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// Unreadable file or folder.
    #[error("cannot read {}: {error}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// File or folder that cannot be written.
    #[error("cannot write {}: {error}", path.display())]
    Write {
        /// The file.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The launch's folder already exists.
    #[error("{} exists already", path.display())]
    Exists {
        /// The folder.
        path: PathBuf,
    },
    /// The folder has no manifest.
    #[error("{} is not a finished captured launch: {} is missing", path.display(), crate::MANIFEST)]
    NotACapture {
        /// The folder.
        path: PathBuf,
    },
    /// Written by another version.
    #[error("{} has format {found}; this version reads format {expected}", path.display())]
    Format {
        /// The manifest.
        path: PathBuf,
        /// Format found.
        found: u32,
        /// Format supported.
        expected: u32,
    },
    /// Malformed manifest.
    #[error("{}: {message}", path.display())]
    Malformed {
        /// The manifest.
        path: PathBuf,
        /// Violated rule.
        message: String,
    },
    /// Contents differ from the manifest.
    #[error("{} is damaged: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Difference.
        reason: String,
    },
    /// Error of a kernel stream.
    #[error(transparent)]
    Stream(#[from] StreamError),
}

/// An error of a kernel stream's file.
#[derive(Debug, thiserror::Error)]
pub enum StreamError {
    /// Error of the file itself.
    #[error(transparent)]
    File(#[from] FileError),
    /// Error of texts or memory.
    #[error(transparent)]
    Contents(#[from] ContentError),
    /// Error of launches or copies.
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
    /// Remedy, as an imperative sentence without a full stop.
    pub fn remedy(&self) -> &'static str {
        match self {
            Error::Read { .. } => "Check the path and its permissions, or copy the whole folder again",
            Error::Write { .. } => "Check the path, its permissions and the free disk space",
            Error::Exists { .. } => "Remove it, or name another folder",
            Error::NotACapture { .. } => {
                "Name the folder of one launch, such as DIR/0001-kernel, or capture again"
            }
            Error::Format { .. } => "Use the version of voltsim that made it, or capture again",
            Error::Malformed { .. } => "Correct the file, or capture again",
            Error::Damaged { .. } => "Copy the folder again, or capture again",
            Error::Stream(error) => error.remedy().unwrap_or("Check that the path names a kernel stream"),
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
