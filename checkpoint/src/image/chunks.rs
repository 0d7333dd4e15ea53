//! Table of an image's chunks.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use super::{ImageError, PAGE, Reason, section};
use crate::codec;
use crate::frame::{File, Schema};

/// Pages of a full chunk. Larger chunks compress hardly better. Smaller chunks cost less decompression if
/// only some pages of an earlier file are needed.
pub const CHUNK_PAGES: usize = 128;

/// Limit of a decoded table in bytes, for 10 TB of pages.
const LIMIT: usize = 1 << 31;

/// Hash of a page. Pages with equal hashes are treated as equal.
pub type PageHash = [u8; 16];

pub fn page_hash(page: &[u8]) -> PageHash {
    let mut hash = PageHash::default();
    hash.copy_from_slice(&blake3::hash(page).as_bytes()[..size_of::<PageHash>()]);
    hash
}

pub fn pages_schema() -> Schema {
    Schema::of("pages of memory in chunks, version 1")
}

pub fn hashes_schema() -> Schema {
    Schema::of("16 bytes of BLAKE3 for each page, version 1")
}

pub fn chunks_schema() -> Schema {
    Schema::of("chunks: offset, length, pages, compressed, BLAKE3; version 1")
}

/// Pages that are stored together.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Chunk {
    /// Offset in the section, in bytes.
    pub offset: u64,
    /// Stored length in bytes.
    pub length: u64,
    /// Number of pages.
    pub pages: u32,
    /// Compression flag.
    pub compressed: bool,
    /// Hash of the stored bytes.
    pub hash: [u8; blake3::OUT_LEN],
}

impl Chunk {
    /// Returns the number of bytes of the pages.
    pub fn size(&self) -> usize {
        self.pages as usize * PAGE
    }
}

/// Chunks of a file.
#[derive(Debug)]
pub struct Chunks {
    /// Table.
    pub table: Vec<Chunk>,
    /// [Hashes](PageHash) of the pages in order.
    pub hashes: Vec<u8>,
    /// Offset of the section in the file, in bytes.
    pub start: usize,
}

impl Chunks {
    /// Reads and checks the chunks of an image in a file.
    pub fn read(file: &File, name: &str) -> Result<Self, ImageError> {
        let pages = file.place(&section(name, "pages"), pages_schema())?;
        let hashes = file.section(&section(name, "hashes"), hashes_schema())?;
        let described = section(name, "chunks");
        let bytes = file.section(&described, chunks_schema())?;
        let wrong = |reason| ImageError::description(file, described.clone(), reason);
        let table =
            codec::decode::<LIMIT, Vec<Chunk>>(&bytes).map_err(|error| wrong(Reason::Codec(error)))?;
        let mut gap = Vec::new();
        for (index, place) in check(&table, &pages, &hashes).map_err(wrong)? {
            file.read(place, &mut gap)?;
            if gap.iter().any(|&byte| byte != 0) {
                return Err(wrong(impossible(index, OTHER_DATA)));
            }
        }
        Ok(Self { table, hashes, start: pages.start })
    }
}

const OTHER_DATA: &str = "other data precede it";

fn impossible(index: usize, reason: &'static str) -> Reason {
    Reason::Entry { what: "chunk", index, reason }
}

/// Checks that chunks are consecutive, with gaps of less than a page. Returns the gaps, which must be zero,
/// with the index of the following chunk.
fn check(table: &[Chunk], pages: &Range<usize>, hashes: &[u8]) -> Result<Vec<(usize, Range<usize>)>, Reason> {
    let (mut end, mut gaps) = (0, Vec::new());
    for (index, chunk) in table.iter().enumerate() {
        let wrong = |reason| Err(impossible(index, reason));
        if chunk.pages == 0 || chunk.pages as usize > CHUNK_PAGES {
            return wrong("it has no pages, or too many");
        }
        let size = chunk.size() as u64;
        let aligned = (pages.start as u64).wrapping_add(chunk.offset).is_multiple_of(PAGE as u64);
        match chunk.compressed {
            true if chunk.length >= size => return wrong("it is larger than its pages"),
            false if chunk.length != size => return wrong("its length is not that of its pages"),
            false if !aligned => return wrong("it does not begin at a multiple of a page"),
            _ => {}
        }
        let offset = usize::try_from(chunk.offset).ok();
        let Some(offset) = offset.filter(|offset| (end..=pages.len()).contains(offset)) else {
            return wrong("it is outside of the pages or overlaps the previous chunk");
        };
        if offset - end >= PAGE {
            return wrong(OTHER_DATA);
        }
        if offset > end {
            gaps.push((index, pages.start + end..pages.start + offset));
        }
        if chunk.length > (pages.len() - offset) as u64 {
            return wrong("it ends after the pages");
        }
        end = offset + chunk.length as usize;
    }
    let held = table.iter().map(|chunk| chunk.pages as usize).sum::<usize>();
    let lengths = [(pages.len(), end), (hashes.len(), held * size_of::<PageHash>())];
    match lengths.into_iter().find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(Reason::Length { found, expected }),
        None => Ok(gaps),
    }
}
