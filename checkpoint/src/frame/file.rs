//! Frames in files that are mapped, so that only what is used is read.

use std::fs;
use std::io;
use std::ops::Deref;
use std::path::{Path, PathBuf};

use memmap2::Mmap;
use thiserror::Error;

use super::{Frame, FrameError, Schema};

/// Why a frame's file could not be written or read.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system refused.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// What was tried: "write", "open".
        action: &'static str,
        /// The file.
        path: PathBuf,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// The file is damaged or of another program, or its sections are not as announced.
    #[error("{}: {error}", path.display())]
    Frame {
        /// The file.
        path: PathBuf,
        /// Where and why.
        #[source]
        error: FrameError,
    },
}

impl FileError {
    pub(crate) fn io(action: &'static str, path: &Path) -> impl FnOnce(io::Error) -> Self {
        move |error| Self::Io { action, path: path.to_owned(), error }
    }

    pub(crate) fn frame(path: &Path) -> impl FnOnce(FrameError) -> Self {
        move |error| Self::Frame { path: path.to_owned(), error }
    }

    /// What the user can do.
    pub fn remedy(&self) -> Option<&'static str> {
        use io::ErrorKind;
        match self {
            Self::Io { error, .. } => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => Some(
                    "free space, or write to a folder on another disk; the file of before is still there",
                ),
                ErrorKind::FileTooLarge => {
                    Some("raise the limit of file sizes (ulimit -f); the file of before is still there")
                }
                ErrorKind::NotFound => Some("check the path"),
                ErrorKind::PermissionDenied | ErrorKind::ReadOnlyFilesystem => {
                    Some("check the permissions of the file and its folder")
                }
                _ => None,
            },
            Self::Frame { error, .. } => error.remedy(),
        }
    }
}

/// A frame's file, mapped read-only.
///
/// Files that [`FileWriter`](super::FileWriter) and [`atomic_file`](crate::atomic_file) write are replaced, never
/// changed, so a mapped one stays as it is when a new one takes its name. A file that another program shortens or
/// writes over while it is mapped is outside of this contract: what is changed is found by the hashes where it is
/// changed before they are compared, and access behind a new, earlier end kills the process with SIGBUS.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: fs::File,
    map: Mmap,
}

impl File {
    /// Maps the file at `path`, whatever it holds.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        // Opening something else, such as a pipe, could wait for ever.
        let metadata = fs::metadata(path).map_err(FileError::io("open", path))?;
        if !metadata.is_file() {
            return Err(FileError::io("open", path)(io::Error::other("not a file")));
        }
        let file = fs::File::open(path).map_err(FileError::io("open", path))?;
        // SAFETY: the map is read-only and owned by `Self`, which gives it out for no longer than it lives. That nobody
        // changes the file is the contract above.
        let map = unsafe { Mmap::map(&file) }.map_err(FileError::io("map", path))?;
        Ok(Self { path: path.to_owned(), file, map })
    }

    /// The frame in the file.
    pub fn frame(&self) -> Result<Frame<'_>, FileError> {
        Frame::read(&self.map).map_err(FileError::frame(&self.path))
    }

    /// The undamaged contents of a section that follows `schema`.
    pub fn section(&self, name: &str, schema: Schema) -> Result<&[u8], FileError> {
        self.frame()?.section(name, schema).map_err(FileError::frame(&self.path))
    }

    /// Compares the whole file with its hashes.
    pub fn check(&self) -> Result<(), FileError> {
        self.frame()?.check().map_err(FileError::frame(&self.path))
    }

    /// Where the file is, or was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// The open file, for mapping parts of it elsewhere.
    pub fn file(&self) -> &fs::File {
        &self.file
    }
}

impl Deref for File {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        &self.map
    }
}
