//! Frames in files, of which only the parts that are used are read.

use std::fs;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{FrameError, Index, Reason, Schema, TABLE};
use crate::atomic_file::{Durability, Unfinished};

/// Bytes that are copied at a time where a whole file is read.
const PIECE: usize = 1 << 20;

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

/// A frame's file that is open for reading.
///
/// Head and table are kept from when the file was opened. Contents are copied from the file before
/// they are compared with their hashes, and nothing else is given out: a file that another program
/// shortens or writes over meanwhile is an error, or has no effect.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: fs::File,
    /// Head and table as they stand in the file.
    beginning: Vec<u8>,
    index: Index,
}

impl File {
    /// Opens the file at `path` and checks its head and its table.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        // Opening something else, such as a pipe, could wait for ever.
        let metadata = fs::metadata(path).map_err(FileError::io("open", path))?;
        if !metadata.is_file() {
            return Err(FileError::io("open", path)(io::Error::other("not a file")));
        }
        let file = fs::File::open(path).map_err(FileError::io("open", path))?;
        let length = file.metadata().map_err(FileError::io("open", path))?.len();
        let mut beginning = vec![0; usize::try_from(length).map_or(TABLE, |length| length.min(TABLE))];
        let read = |beginning: &mut Vec<u8>, from: usize| {
            file.read_exact_at(&mut beginning[from..], from as u64).map_err(FileError::io("read", path))
        };
        read(&mut beginning, 0)?;
        let wanted = Index::length_of(&beginning).min(length);
        beginning.resize(usize::try_from(wanted).unwrap_or(TABLE), 0);
        read(&mut beginning, TABLE.min(wanted as usize))?;
        let length = usize::try_from(length).unwrap_or(usize::MAX);
        let index = Index::read(&beginning, length).map_err(FileError::frame(path))?;
        Ok(Self { path: path.to_owned(), file, beginning, index })
    }

    /// The undamaged contents of a section that follows `schema`.
    pub fn section(&self, name: &str, schema: Schema) -> Result<Vec<u8>, FileError> {
        let entry = self.index.find(name, schema).map_err(FileError::frame(&self.path))?;
        let mut contents = Vec::new();
        self.read(entry.range.clone(), &mut contents)?;
        entry.check(blake3::hash(&contents)).map_err(FileError::frame(&self.path))?;
        Ok(contents)
    }

    /// Where a section that follows `schema` lies, in bytes. Its parts have hashes of their own.
    pub fn place(&self, name: &str, schema: Schema) -> Result<Range<usize>, FileError> {
        self.index.place(name, schema).map_err(FileError::frame(&self.path))
    }

    /// Copies bytes of the file, which must be compared with a hash afterwards.
    pub fn read(&self, bytes: Range<usize>, to: &mut Vec<u8>) -> Result<(), FileError> {
        to.resize(bytes.len(), 0);
        self.read_exact(bytes.start, to)
    }

    fn read_exact(&self, offset: usize, bytes: &mut [u8]) -> Result<(), FileError> {
        self.file.read_exact_at(bytes, offset as u64).map_err(|error| {
            let reason = match error.kind() {
                io::ErrorKind::UnexpectedEof => Reason::Changed { needed: bytes.len() },
                kind => Reason::Unreadable(kind),
            };
            FileError::frame(&self.path)(reason.at(offset))
        })
    }

    /// Compares the whole file with its hashes.
    pub fn check(&self) -> Result<(), FileError> {
        self.each_piece(|_| Ok(()))
    }

    /// Writes a copy of the file, which appears at `path` when it is whole and matches its hashes.
    pub fn copy_to(&self, path: &Path, durability: Durability) -> Result<(), FileError> {
        let writing = |error| FileError::io("write", path)(error);
        let unfinished = Unfinished::create(path).map_err(writing)?;
        let mut copy = unfinished.file();
        copy.write_all(&self.beginning).map_err(writing)?;
        self.each_piece(|piece| copy.write_all(piece).map_err(writing))?;
        unfinished.finish(durability).map_err(writing)
    }

    /// Gives out the sections piece by piece, in their order, each compared with its hash when it is
    /// over.
    fn each_piece(&self, mut piece: impl FnMut(&[u8]) -> Result<(), FileError>) -> Result<(), FileError> {
        let mut bytes = vec![0; PIECE];
        for entry in &self.index.entries {
            let mut hasher = blake3::Hasher::new();
            for start in entry.range.clone().step_by(PIECE) {
                let bytes = &mut bytes[..PIECE.min(entry.range.end - start)];
                self.read_exact(start, bytes)?;
                hasher.update(bytes);
                piece(bytes)?;
            }
            entry.check(hasher.finalize()).map_err(FileError::frame(&self.path))?;
        }
        Ok(())
    }

    /// Where the file is, or was when it was opened.
    pub fn path(&self) -> &Path {
        &self.path
    }
}

impl Deref for File {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}
