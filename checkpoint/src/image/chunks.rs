//! The table of an image's chunks.

use serde::{Deserialize, Serialize};

use super::{ImageError, PAGE, Reason, section};
use crate::frame::{File, FileError, Frame, Schema};
use crate::{codec, frame};

/// Pages of a full chunk. Larger ones compress hardly better; smaller ones leave less to decompress where only some
/// pages of a file of before are used.
pub const CHUNK_PAGES: usize = 128;

/// Bytes of a table that is decoded: one of 10 TB of pages.
const LIMIT: usize = 1 << 31;

/// A page's content: two contents with the same hash are taken for the same.
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
    /// Where it begins in the section, in bytes.
    pub offset: u64,
    /// Bytes it takes.
    pub length: u64,
    /// Pages it holds.
    pub pages: u32,
    /// Whether it is compressed.
    pub compressed: bool,
    /// Hash of the bytes it takes.
    pub hash: [u8; blake3::OUT_LEN],
}

impl Chunk {
    /// Bytes of the pages.
    pub fn size(&self) -> usize {
        self.pages as usize * PAGE
    }
}

/// The pages that a file holds.
#[derive(Debug)]
pub struct Chunks {
    /// Where they are.
    pub table: Vec<Chunk>,
    /// Where the section begins in the file, in bytes.
    pub start: usize,
}

impl Chunks {
    /// Those of an image in a file, with every number checked.
    pub fn read(file: &File, frame: &Frame<'_>, name: &str) -> Result<Self, ImageError> {
        let refused = |error| FileError::frame(file.path())(error);
        let pages = frame.unchecked(&section(name, "pages"), pages_schema()).map_err(refused)?;
        let hashes = frame.section(&section(name, "hashes"), hashes_schema()).map_err(refused)?;
        let described = section(name, "chunks");
        let bytes = frame.section(&described, chunks_schema()).map_err(refused)?;
        let table = codec::decode::<LIMIT, Vec<Chunk>>(bytes).map_err(Reason::Codec);
        let table = table.and_then(|table| check(&table, &pages, hashes).map(|()| table));
        let table = table.map_err(|reason| ImageError::description(file, frame, described, reason))?;
        Ok(Self { table, start: pages.offset })
    }
}

/// Chunks lie one behind the other, with nothing but zeros up to the next multiple of a page between them.
fn check(table: &[Chunk], section: &frame::Unchecked<'_>, hashes: &[u8]) -> Result<(), Reason> {
    let mut end = 0;
    for (index, chunk) in table.iter().enumerate() {
        let wrong = |reason| Err(Reason::Entry { what: "chunk", index, reason });
        if chunk.pages == 0 || chunk.pages as usize > CHUNK_PAGES {
            return wrong("it has no pages, or too many");
        }
        let size = chunk.size() as u64;
        let aligned = (section.offset as u64).wrapping_add(chunk.offset).is_multiple_of(PAGE as u64);
        match chunk.compressed {
            true if chunk.length >= size => return wrong("it is larger than its pages"),
            false if chunk.length != size => return wrong("its length is not that of its pages"),
            false if !aligned => return wrong("it does not begin at a multiple of a page"),
            _ => {}
        }
        let gap = usize::try_from(chunk.offset).ok().and_then(|offset| section.bytes.get(end..offset));
        match gap {
            None => return wrong("it is outside of the pages or within the chunk before it"),
            Some(gap) if gap.len() >= PAGE || gap.iter().any(|&byte| byte != 0) => {
                return wrong("other data stand before it");
            }
            Some(gap) => end += gap.len(),
        }
        let rest = (section.bytes.len() - end) as u64;
        if chunk.length > rest {
            return wrong("it ends behind the pages");
        }
        end += chunk.length as usize;
    }
    let pages = table.iter().map(|chunk| chunk.pages as usize).sum::<usize>();
    let lengths = [(section.bytes.len(), end), (hashes.len(), pages * size_of::<PageHash>())];
    match lengths.into_iter().find(|(found, expected)| found != expected) {
        Some((found, expected)) => Err(Reason::Length { found, expected }),
        None => Ok(()),
    }
}
