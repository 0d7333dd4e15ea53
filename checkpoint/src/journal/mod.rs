//! Journals: records that are added while a program runs and read in the same order, however many they are.
//!
//! A journal is one section of a [frame]. Its records, each a length (8 bytes, little-endian) and that many
//! bytes, are one stream, which is cut into blocks of up to 1 MB. A block is
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | its number, from 0 |
//! | 8 | 4 | length of its part of the stream |
//! | 12 | 4 | length as it is stored: compressed if it is shorter |
//! | 16 | 32 | BLAKE3 of bytes 0 to 15 and of what is stored |
//! | 48 | | what is stored |

mod reader;
mod writer;

use std::path::PathBuf;

use thiserror::Error;

pub use reader::JournalReader;
pub use writer::JournalWriter;

use crate::compression::CompressionError;
use crate::frame::{self, FileError, Schema};

/// Bytes of the stream in a full block.
const BLOCK: usize = 1 << 20;
/// Number and lengths.
const HEAD: usize = 16;

const BLOCKS: &str = "journal: records in blocks, version 1";

/// The schema of a journal that tells nothing of its records.
pub fn schema() -> Schema {
    Schema::of(BLOCKS)
}

/// The schema of a journal whose records follow this definition: the name and version of a type.
pub fn schema_of(records: &str) -> Schema {
    Schema::of(&format!("{BLOCKS}; {records}"))
}

fn block_hash(head: &[u8; HEAD], stored: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(head).update(stored).finalize()
}

/// Why a journal could not be written or read.
#[derive(Debug, Error)]
pub enum JournalError {
    /// A file could not be written or read, or has no journal of that name.
    #[error(transparent)]
    File(#[from] FileError),
    /// The journal is damaged.
    #[error("{}: journal at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: usize,
        /// What is wrong there.
        reason: Reason,
    },
}

impl JournalError {
    /// What the user can do.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Damaged { .. } => Some(frame::DAMAGED),
        }
    }
}

/// What is wrong with a journal.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// It ends within a block.
    #[error("it ends within a block")]
    Truncated,
    /// A block does not match its hash.
    #[error("block {0} does not match its hash")]
    Hash(u64),
    /// Blocks are not in their order.
    #[error("block {found} instead of {expected}")]
    Order {
        /// The block that is there.
        found: u64,
        /// The block that should be.
        expected: u64,
    },
    /// A block has lengths that cannot be.
    #[error("a block of {length} bytes, stored in {stored}")]
    Length {
        /// Bytes of the stream.
        length: u32,
        /// Bytes as stored.
        stored: u32,
    },
    /// A block does not hold what it should.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The last record is not whole.
    #[error("the last record is not whole")]
    Record,
}
