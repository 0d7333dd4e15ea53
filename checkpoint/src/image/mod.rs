//! Images of memory: the nonzero pages of address ranges, deduplicated.
//!
//! An image consists of four sections of a [frame], named after it:
//!
//! | section | contents |
//! |---|---|
//! | `NAME.pages` | chunks of up to 128 pages, compressed, or as they are at a multiple of 4096 bytes |
//! | `NAME.hashes` | 16 bytes of BLAKE3 for each page of `NAME.pages`, in order |
//! | `NAME.chunks` | position and hash of each chunk |
//! | `NAME.map` | address ranges, the pages at each address, and the earlier files that hold some of them |
//!
//! Zero pages are not stored. Pages of an earlier file ([`Series`]) are referenced by the file's name in
//! the same folder and its hash. The frame's hashes verify `NAME.hashes`, `NAME.chunks` and `NAME.map`;
//! each chunk is verified by its own hash when used.

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
pub use save::{ReadMemory, Region, Saved, save};
pub use series::Series;

use crate::codec::CodecError;
use crate::compression::CompressionError;
use crate::frame::{self, File, FileError, TableHash};

/// Bytes of a page.
pub const PAGE: usize = 4096;
/// Number of sections of an image.
pub const SECTIONS: usize = 4;

/// Error of saving or restoring memory.
#[derive(Debug, Error)]
pub enum ImageError {
    /// The file could not be written or read, or its sections are damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// The description of the image cannot be encoded.
    #[error(transparent)]
    Encode(CodecError),
    /// The ranges to save are invalid.
    #[error("region {index}: {reason}")]
    Region {
        /// Index of the range.
        index: usize,
        /// Reason.
        reason: &'static str,
    },
    /// Memory could not be read.
    #[error("cannot read memory at {address:#x}: {error}")]
    Memory {
        /// Address.
        address: u64,
        /// Cause.
        #[source]
        error: io::Error,
    },
    /// The sink refused a page.
    #[error("cannot restore memory at {address:#x}: {error}")]
    Sink {
        /// Address.
        address: u64,
        /// Cause.
        #[source]
        error: io::Error,
    },
    /// An image's description of itself is inconsistent.
    #[error("{}: {section} at byte {offset}: {reason}", path.display())]
    Description {
        /// File.
        path: PathBuf,
        /// Section.
        section: String,
        /// Offset of the section in the file, in bytes.
        offset: usize,
        /// Reason.
        reason: Reason,
    },
    /// Pages are damaged.
    #[error("{}: pages at byte {offset}: {reason}", path.display())]
    Chunk {
        /// File.
        path: PathBuf,
        /// Offset in the file, in bytes.
        offset: u64,
        /// Reason.
        reason: ChunkReason,
    },
    /// A file cannot be part of a series.
    #[error("{} cannot be in the series: {reason}", path.display())]
    Series {
        /// File.
        path: PathBuf,
        /// Reason.
        reason: &'static str,
    },
    /// An earlier file with some of the pages is missing.
    #[error("{} holds pages of {name} but cannot be opened: {error}", base.display())]
    BaseMissing {
        /// Earlier file.
        base: PathBuf,
        /// Image.
        name: String,
        /// Cause.
        #[source]
        error: FileError,
    },
    /// An earlier file with some of the pages was replaced.
    #[error("{} was replaced since pages of {name} were stored there: expected hash {expected}, found {found}", base.display())]
    BaseReplaced {
        /// Earlier file.
        base: PathBuf,
        /// Image.
        name: String,
        /// Hash of the existing file.
        found: TableHash,
        /// Expected hash.
        expected: TableHash,
    },
}

impl ImageError {
    fn description(file: &File, section: String, reason: Reason) -> Self {
        let offset = file.offset(&section).unwrap_or_default();
        Self::Description { path: file.path().to_owned(), section, offset, reason }
    }

    /// Returns advice for the user.
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

/// Inconsistency of an image's description.
#[derive(Debug, Error)]
pub enum Reason {
    /// The description cannot be decoded.
    #[error(transparent)]
    Codec(#[from] CodecError),
    /// An entry is impossible.
    #[error("{what} {index}: {reason}")]
    Entry {
        /// Kind of entry: "chunk", "region", "run" or "base".
        what: &'static str,
        /// Index of the entry.
        index: usize,
        /// Reason.
        reason: &'static str,
    },
    /// The number of pages or hashes does not match the chunks.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// Actual bytes.
        found: usize,
        /// Expected bytes.
        expected: usize,
    },
}

/// Damage of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum ChunkReason {
    /// The bytes do not match the hash.
    #[error("they do not match their hash")]
    Hash,
    /// The chunk cannot be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
}

/// Returns the name of an image's section.
fn section(name: &str, part: &str) -> String {
    format!("{name}.{part}")
}
