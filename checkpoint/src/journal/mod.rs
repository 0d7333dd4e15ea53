//! Journals: unlimited sequences of records, written and read in order.
//!
//! A journal is one section of a [frame]. Each record consists of its length (8 bytes, little-endian) and
//! its bytes. The records form a stream of blocks of up to 1 MB:
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | block index |
//! | 8 | 4 | length in the stream |
//! | 12 | 4 | stored length, smaller if compressed |
//! | 16 | 32 | BLAKE3 of bytes 0 to 15 and of the stored bytes |
//! | 48 | | stored bytes |

mod reader;
mod writer;

use std::path::PathBuf;

use thiserror::Error;

pub use reader::JournalReader;
pub use writer::JournalWriter;

use crate::compression::CompressionError;
use crate::frame::{self, FileError, Schema};

/// Stream bytes of a full block.
const BLOCK: usize = 1 << 20;
/// Index and lengths.
const HEAD: usize = 16;

const BLOCKS: &str = "journal: records in blocks, version 1";

/// Returns the schema of a journal with unspecified records.
pub fn schema() -> Schema {
    Schema::of(BLOCKS)
}

/// Returns the schema of a journal with records of this definition: the name and version of a type.
pub fn schema_of(records: &str) -> Schema {
    Schema::of(&format!("{BLOCKS}; {records}"))
}

fn block_hash(head: &[u8; HEAD], stored: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(head).update(stored).finalize()
}

/// Error of writing or reading a journal.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file could not be written or read, or has no journal of that name.
    #[error(transparent)]
    File(#[from] FileError),
    /// The journal is damaged.
    #[error("{}: journal at byte {offset}: {reason}", path.display())]
    Damaged {
        /// File.
        path: PathBuf,
        /// Offset in the file, in bytes.
        offset: usize,
        /// Reason.
        reason: Reason,
    },
}

impl JournalError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Damaged { .. } => Some(frame::DAMAGED),
        }
    }
}

/// Damage of a journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The journal ends within a block.
    #[error("it ends within a block")]
    Truncated,
    /// A block does not match its hash.
    #[error("block {0} does not match its hash")]
    Hash(u64),
    /// Blocks are out of order.
    #[error("expected block {expected}, found block {found}")]
    Order {
        /// Index of the block.
        found: u64,
        /// Expected index.
        expected: u64,
    },
    /// A block has impossible lengths.
    #[error("a block has {length} bytes but a stored length of {stored}")]
    Length {
        /// Stream bytes.
        length: u32,
        /// Stored bytes.
        stored: u32,
    },
    /// A block cannot be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The last record is incomplete.
    #[error("the last record is incomplete")]
    Record,
}
