//! Reading of deduplicated contents.

use super::{CHUNK, Content, ContentChunk, ContentError, Reason, schema, table, table_schema};
use crate::codec;
use crate::compression::Unpacker;
use crate::frame::File;

/// Limit of a decoded table in bytes, for 1.5 TB of contents.
const LIMIT: usize = 1 << 30;

/// Contents of a file. Each chunk is verified against its hash when read.
#[derive(Debug)]
pub struct Contents {
    chunks: Vec<ContentChunk>,
    /// Offset of the chunks' section in the file, in bytes.
    start: usize,
}

impl Contents {
    /// Reads and checks the table of the contents called `name`.
    pub fn open(file: &File, name: &str) -> Result<Self, ContentError> {
        let section = file.place(name, schema())?;
        let described = table(name);
        let bytes = file.section(&described, table_schema())?;
        let damaged = |reason| ContentError::Damaged {
            path: file.path().to_owned(),
            offset: file.offset(&described).unwrap_or_default(),
            reason,
        };
        let chunks: Vec<ContentChunk> =
            codec::decode::<LIMIT, _>(&bytes).map_err(|error| damaged(Reason::Table(error)))?;
        let mut end = 0;
        for (number, chunk) in chunks.iter().enumerate() {
            let lengths = (1..=CHUNK as u32).contains(&chunk.length) && chunk.stored <= chunk.length;
            if chunk.offset != end || !lengths {
                return Err(damaged(Reason::Place(number)));
            }
            end += u64::from(chunk.stored);
        }
        if end != section.len() as u64 {
            return Err(damaged(Reason::Place(chunks.len())));
        }
        Ok(Self { chunks, start: section.start })
    }

    /// Returns the hashes of a content's chunks.
    pub fn hashes<'a>(&'a self, content: &'a Content) -> impl Iterator<Item = &'a [u8; blake3::OUT_LEN]> {
        content.chunks.iter().filter_map(|&number| Some(&self.chunks.get(number as usize)?.hash))
    }

    /// Reads a content from the file of the table.
    pub fn read(&self, file: &File, content: &Content) -> Result<Vec<u8>, ContentError> {
        let damaged = |at: u64, reason| ContentError::Damaged {
            path: file.path().to_owned(),
            offset: self.start.saturating_add(at as usize),
            reason,
        };
        let mut chunks = Vec::with_capacity(content.chunks.len());
        for &number in &content.chunks {
            let chunk = self.chunks.get(number as usize);
            chunks.push((number, chunk.ok_or_else(|| damaged(0, Reason::Missing(number)))?));
        }
        let found = chunks.iter().map(|(_, chunk)| u64::from(chunk.length)).sum();
        if found != content.length {
            return Err(damaged(0, Reason::Length { found, expected: content.length }));
        }
        let mut unpacker = Unpacker::default();
        let mut bytes = Vec::with_capacity(found as usize);
        let mut stored = Vec::new();
        for (number, chunk) in chunks {
            let wrong = |reason| damaged(chunk.offset, reason);
            let from = self.start.saturating_add(chunk.offset as usize);
            file.read(from..from.saturating_add(chunk.stored as usize), &mut stored)?;
            if blake3::hash(&stored) != chunk.stored_hash {
                return Err(wrong(Reason::Hash(number)));
            }
            match chunk.stored == chunk.length {
                true => bytes.extend(&stored),
                false => {
                    let unpacked = unpacker.unpack(&stored, chunk.length as usize);
                    bytes.extend(unpacked.map_err(|error| wrong(error.into()))?);
                }
            }
        }
        Ok(bytes)
    }
}
