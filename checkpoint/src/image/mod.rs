//! Images of memory: the pages of address ranges that hold anything, each content once.
//!
//! An image is four sections of a [frame], called after it:
//!
//! | section | contents |
//! |---|---|
//! | `NAME.pages` | chunks: up to 128 pages each, compressed, or as they are at a multiple of 4096 bytes in the file |
//! | `NAME.hashes` | 16 bytes of BLAKE3 for each page in `NAME.pages`, in their order |
//! | `NAME.chunks` | where each chunk is, and its hash |
//! | `NAME.map` | the ranges; which pages stand at which addresses; the files of before that hold some of them |
//!
//! A page of zeros stands nowhere. Pages that a file of before holds are referred to ([`Series`]): by the file's name, which
//! lies in the same folder, and by its hash. `NAME.hashes`, `NAME.chunks` and `NAME.map` are checked by the frame's hashes, each
//! chunk by its own when it is used.

mod chunks;
mod copy;
mod map;
mod restore;
mod save;
mod series;

use std::io;
use std::path::PathBuf;

use thiserror::Error;

pub use copy::{bases, copy};
pub use map::Base;
pub use restore::{Image, Sink};
pub use save::{Memory, Region, Saved, save};
pub use series::Series;

use crate::codec::CodecError;
use crate::compression::CompressionError;
use crate::frame::{self, File, FileError, TableHash};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Sections of an image.
pub const SECTIONS: usize = 4;

/// Why memory could not be saved or restored.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The file could not be written or read, or its sections are damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// The description of the image cannot be encoded.
    #[error(transparent)]
    Encode(CodecError),
    /// The ranges to save are not as they must be.
    #[error("region {index}: {reason}")]
    Region {
        /// Which.
        index: usize,
        /// What is wrong with it.
        reason: &'static str,
    },
    /// Memory could not be read.
    #[error("cannot read memory at {address:#x}: {error}")]
    Memory {
        /// Where.
        address: u64,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// The sink did not take what stands at an address.
    #[error("cannot restore memory at {address:#x}: {error}")]
    Sink {
        /// Where.
        address: u64,
        /// Why not.
        #[source]
        error: io::Error,
    },
    /// An image's description of itself makes no sense.
    #[error("{}: {section} at byte {offset}: {reason}", path.display())]
    Description {
        /// The file.
        path: PathBuf,
        /// The section.
        section: String,
        /// Where it begins in the file, in bytes.
        offset: usize,
        /// What is wrong with it.
        reason: Reason,
    },
    /// Pages are damaged.
    #[error("{}: pages at byte {offset}: {reason}", path.display())]
    Chunk {
        /// The file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: u64,
        /// What is wrong with them.
        reason: ChunkReason,
    },
    /// A file cannot be one of a series.
    #[error("{} cannot be in the series: {reason}", path.display())]
    Series {
        /// The file.
        path: PathBuf,
        /// Why not.
        reason: &'static str,
    },
    /// A file of before that holds some of the pages is missing.
    #[error("{} holds pages of {name} and cannot be opened: {error}", base.display())]
    BaseMissing {
        /// The file of before.
        base: PathBuf,
        /// The image.
        name: String,
        /// Why not.
        #[source]
        error: FileError,
    },
    /// A file of before that holds some of the pages is another than it was.
    #[error("{} is another file than the one that pages of {name} are in: it has hash {found}, not {expected}", base.display())]
    BaseReplaced {
        /// The file of before.
        base: PathBuf,
        /// The image.
        name: String,
        /// The hash of the file that is there.
        found: TableHash,
        /// The hash of the file that was there.
        expected: TableHash,
    },
}

impl ImageError {
    fn description(file: &File, section: String, reason: Reason) -> Self {
        let offset = file.offset(&section).unwrap_or_default();
        Self::Description { path: file.path().to_owned(), section, offset, reason }
    }

    /// What the user can do.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Description { .. } | Self::Chunk { .. } => Some(frame::DAMAGED),
            Self::Series { .. } | Self::BaseMissing { .. } | Self::BaseReplaced { .. } => {
                Some("keep all files of a series in one folder, under the names they were written with")
            }
            Self::Encode(_) | Self::Region { .. } | Self::Memory { .. } | Self::Sink { .. } => None,
        }
    }
}

/// What is wrong with an image's description of itself.
#[derive(Debug, Error)]
pub enum Reason {
    /// It cannot be decoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// An entry is impossible.
    #[error("{what} {index}: {reason}")]
    Entry {
        /// "chunk", "region", "run", "base".
        what: &'static str,
        /// Which, from 0.
        index: usize,
        /// Why.
        reason: &'static str,
    },
    /// The pages or their hashes are more or fewer than the chunks say.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// Bytes it has.
        found: usize,
        /// Bytes it should have.
        expected: usize,
    },
}

/// What is wrong with a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChunkReason {
    /// It is damaged.
    #[error("they do not match their hash")]
    Hash,
    /// It does not hold what it should.
    #[error(transparent)]
    Compression(#[from] CompressionError),
}

/// The name of an image's section.
fn section(name: &str, part: &str) -> String {
    format!("{name}.{part}")
}
