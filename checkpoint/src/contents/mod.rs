//! Contents of any length in a [frame](crate::frame), each stretch of 64 KB stored once, however often it comes again.
//!
//! Two sections: the stretches, one behind the other, compressed where that pays; and a table that says where each is and
//! what its hash is. A content is known by the [numbers](Content) of its stretches. Contents are read in any order, and no
//! more of the file than they take.

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

/// Bytes of a stretch; the last of a content is shorter.
pub const STRETCH: usize = 64 << 10;
/// Sections that contents take.
pub const SECTIONS: usize = 2;

fn schema() -> Schema {
    Schema::of("contents in stretches of 64 KB, version 1")
}

fn table_schema() -> Schema {
    Schema::of(
        "stretches: offset, stored length, length, BLAKE3 of what it has and of what is stored; version 2",
    )
}

/// The name of the section with the table.
fn table(name: &str) -> String {
    format!("{name}.table")
}

/// What was stored: its length, and its stretches in order.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Content {
    /// Bytes.
    pub length: u64,
    /// Positions in the table.
    pub stretches: Vec<u32>,
}

/// Where a stretch is.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct Stretch {
    /// Where it begins in the section, in bytes.
    offset: u64,
    /// Bytes it takes there: fewer than it has if it is compressed.
    stored: u32,
    /// Bytes it has.
    length: u32,
    /// Hash of those that it has: the same content is stored once.
    hash: [u8; blake3::OUT_LEN],
    /// Hash of those that it takes: damage may leave what they decompress to as it was, and is noticed all the same.
    stored_hash: [u8; blake3::OUT_LEN],
}

/// Why contents could not be written or read.
#[derive(Debug, Error)]
pub enum ContentError {
    /// The file could not be written or read, or the table is damaged.
    #[error(transparent)]
    File(#[from] FileError),
    /// The table cannot be encoded.
    #[error(transparent)]
    Encode(CodecError),
    /// A stretch, or the table, is not as it must be.
    #[error("{}: contents at byte {offset}: {reason}", path.display())]
    Damaged {
        /// The file.
        path: PathBuf,
        /// Where in the file, in bytes.
        offset: usize,
        /// What is wrong.
        reason: Reason,
    },
}

impl ContentError {
    /// What the user can do.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::File(error) => error.remedy(),
            Self::Damaged { .. } => Some(frame::DAMAGED),
            Self::Encode(_) => None,
        }
    }
}

/// What is wrong with contents.
#[derive(Debug, Error)]
pub enum Reason {
    /// The table cannot be decoded.
    #[error("the table: {0}")]
    Table(#[from] CodecError),
    /// A stretch lies outside of the section, or has lengths that cannot be.
    #[error("stretch {0} cannot be where the table has it")]
    Place(usize),
    /// There is no such stretch.
    #[error("there is no stretch {0}")]
    Missing(u32),
    /// A stretch does not hold what it should.
    #[error("stretch {0} does not match its hash")]
    Hash(u32),
    /// A stretch cannot be decompressed.
    #[error(transparent)]
    Compression(#[from] CompressionError),
    /// The stretches of a content are not as long as the content.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// Bytes of the stretches.
        found: u64,
        /// Bytes of the content.
        expected: u64,
    },
}
