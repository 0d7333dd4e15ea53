//! Deduplicated contents of any length in a [frame], in chunks of 64 KB.
//!
//! Two sections hold the chunks, compressed if that saves space, and a table with the position and hash of
//! each. A [`Content`] lists its chunks' indices. Contents can be read in any order, and reading one
//! touches only its part of the file.

mod reader;
mod writer;

use std::path::PathBuf;

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use reader::Contents;
pub use writer::ContentsWriter;

use crate::codec::CodecError;
use crate::compression::CompressionError;
use crate::frame::{self, FileError, Schema};

/// Bytes of a chunk, except a content's last.
pub const CHUNK: usize = 64 << 10;
/// Number of sections for contents.
pub const SECTIONS: usize = 2;

fn schema() -> Schema {
    Schema::of("contents in stretches of 64 KB, version 1")
}

fn table_schema() -> Schema {
    Schema::of(
        "stretches: offset, stored length, length, BLAKE3 of what it has and of what is stored; version 2",
    )
}

/// Returns the name of the table's section.
fn table(name: &str) -> String {
    format!("{name}.table")
}

/// Stored content: its length and its chunks in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content {
    /// Length in bytes.
    pub length: u64,
    /// Indices in the table.
    #[serde(rename = "stretches")]
    pub chunks: Vec<u32>,
}

/// Table entry of a chunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct ContentChunk {
    /// Offset in the section, in bytes.
    offset: u64,
    /// Stored length in bytes, less than `length` if compressed.
    stored: u32,
    /// Length in bytes.
    length: u32,
    /// Hash of the decompressed bytes, for deduplication.
    hash: [u8; blake3::OUT_LEN],
    /// Hash of the stored bytes. Some damage does not change the decompressed bytes, but is detected by
    /// this hash.
    stored_hash: [u8; blake3::OUT_LEN],
}

/// Error of writing or reading contents.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The file could not be written or read, or the table is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// The table cannot be encoded.
    #[error(transparent)]
    Encode(CodecError),
    /// A chunk or the table is damaged.
    #[error("{}: contents at byte {offset}: {reason}", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// Offset in the file, in bytes.
        offset: usize,
        /// Damage.
        reason: Reason,
    },
}

impl ContentError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Damaged { .. } => Some(frame::DAMAGED),
            Self::Encode(_) => None,
        }
    }
}

/// Damage of contents.
#[derive(Debug, Error)]
pub enum Reason {
    /// The table cannot be decoded.
    #[error("the table: {0}")]
    Table(#[from] CodecError),
    /// A chunk lies outside of the section, or has impossible lengths.
    #[error("chunk {0} has an impossible position")]
    Place(usize),
    /// The chunk does not exist.
    #[error("there is no chunk {0}")]
    Missing(u32),
    /// A chunk does not match its hash.
    #[error("chunk {0} does not match its hash")]
    Hash(u32),
    /// A chunk cannot be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The chunks of a content do not add up to its length.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// Bytes of the chunks.
        found: u64,
        /// Bytes of the content.
        expected: u64,
    },
}
