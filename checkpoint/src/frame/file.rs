//! Frames in files, read section by section.

use std::fs;
use std::io::{self, Write};
use std::ops::{Deref, Range};
use std::os::unix::fs::FileExt;
use std::path::{Path, PathBuf};

use thiserror::Error;

use super::{FrameError, Index, Reason, Schema, TABLE};
use crate::atomic_file::{Durability, Unfinished};

/// Bytes per copy when reading a whole file.
const PIECE: usize = 1 << 20;

/// Error of writing or reading a frame's file.
#[derive(Debug, Error)]
pub enum FileError {
    /// The operating system reported an error.
    #[error("cannot {action} {}: {error}", path.display())]
    Io {
        /// Failed action, such as "write" or "open".
        action: &'static str,
        /// File.
        path: PathBuf,
        /// Cause.
        #[source]
        error: io::Error,
    },
    /// The file is damaged or has another format, or its sections differ from the announced ones.
    #[error("{}: {error}", path.display())]
    Frame {
        /// File.
        path: PathBuf,
        /// Offset and reason.
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

    /// Returns advice for the user.
    pub fn remedy(&self) -> Option<&'static str> {
        use io::ErrorKind;
        match self {
            Self::Io { error, .. } => match error.kind() {
                ErrorKind::StorageFull | ErrorKind::QuotaExceeded => {
                    Some("free space, or write to a folder on another disk; the previous file is unchanged")
                }
                ErrorKind::FileTooLarge => {
                    Some("raise the limit of file sizes (ulimit -f); the previous file is unchanged")
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

/// Frame's file, open for reading.
///
/// Keeps the header and table from opening. Contents are copied from the file and then verified against
/// their hashes, and only verified bytes are returned. Thus concurrent truncation or overwriting by other
/// programs is an error or has no effect.
#[derive(Debug)]
pub struct File {
    path: PathBuf,
    file: fs::File,
    /// Header and table.
    beginning: Vec<u8>,
    index: Index,
}

impl File {
    /// Opens the file at `path` and verifies its header and table.
    pub fn open(path: &Path) -> Result<Self, FileError> {
        // Opening another kind of file, such as a pipe, could block forever.
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

    /// Returns the verified contents of a section with schema `schema`.
    pub fn section(&self, name: &str, schema: Schema) -> Result<Vec<u8>, FileError> {
        let entry = self.index.find(name, schema).map_err(FileError::frame(&self.path))?;
        let mut contents = Vec::new();
        self.read(entry.range.clone(), &mut contents)?;
        entry.check(blake3::hash(&contents)).map_err(FileError::frame(&self.path))?;
        Ok(contents)
    }

    /// Returns the byte range of a section with schema `schema`, whose parts have their own hashes.
    pub fn place(&self, name: &str, schema: Schema) -> Result<Range<usize>, FileError> {
        self.index.place(name, schema).map_err(FileError::frame(&self.path))
    }

    /// Copies bytes of the file, which the caller must verify against a hash.
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

    /// Verifies the whole file against its hashes.
    pub fn check(&self) -> Result<(), FileError> {
        self.each_piece(|_| Ok(()))
    }

    /// Writes a copy of the file, which appears at `path` once complete and verified.
    pub fn copy_to(&self, path: &Path, durability: Durability) -> Result<(), FileError> {
        let writing = |error| FileError::io("write", path)(error);
        let unfinished = Unfinished::create(path).map_err(writing)?;
        let mut copy = unfinished.file();
        copy.write_all(&self.beginning).map_err(writing)?;
        self.each_piece(|piece| copy.write_all(piece).map_err(writing))?;
        unfinished.finish(durability).map_err(writing)
    }

    /// Passes the sections on in pieces in file order, and verifies the hash at each section's end.
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

    /// Returns the path at which the file was opened.
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
