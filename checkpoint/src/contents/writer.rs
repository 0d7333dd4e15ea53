//! Writing of deduplicated contents.

use std::collections::HashMap;
use std::io::Write;

use super::{CHUNK, Content, ContentChunk, ContentError, schema, table, table_schema};
use crate::codec;
use crate::compression::Packer;
use crate::frame::{FileError, FileWriter};

/// Writer of contents to the most recently begun section of a file.
pub struct ContentsWriter {
    name: String,
    known: HashMap<[u8; blake3::OUT_LEN], u32>,
    chunks: Vec<ContentChunk>,
    packer: Packer,
}

impl ContentsWriter {
    /// Begins the section called `name`.
    pub fn begin(file: &mut FileWriter, name: &str) -> Result<Self, FileError> {
        file.begin(name, schema())?;
        Ok(Self { name: name.to_owned(), known: HashMap::new(), chunks: Vec::new(), packer: Packer::new() })
    }

    /// Stores the new chunks of `bytes`.
    pub fn add(&mut self, file: &mut FileWriter, bytes: &[u8]) -> Result<Content, FileError> {
        let mut chunks = Vec::with_capacity(bytes.len().div_ceil(CHUNK));
        for chunk in bytes.chunks(CHUNK) {
            chunks.push(self.store_chunk(file, chunk)?);
        }
        Ok(Content { length: bytes.len() as u64, chunks })
    }

    fn store_chunk(&mut self, file: &mut FileWriter, bytes: &[u8]) -> Result<u32, FileError> {
        let hash = *blake3::hash(bytes).as_bytes();
        if let Some(&known) = self.known.get(&hash) {
            return Ok(known);
        }
        let packed = self.packer.pack(bytes);
        let stored = packed.as_deref().unwrap_or(bytes);
        let offset = file.section_length();
        file.write_all(stored).map_err(FileError::io("write", file.path()))?;
        let number = self.chunks.len() as u32;
        let stored_hash = if packed.is_some() { *blake3::hash(stored).as_bytes() } else { hash };
        let (stored, length) = (stored.len() as u32, bytes.len() as u32);
        self.chunks.push(ContentChunk { offset, stored, length, hash, stored_hash });
        self.known.insert(hash, number);
        Ok(number)
    }

    /// Adds the table's section.
    pub fn finish(self, file: &mut FileWriter) -> Result<(), ContentError> {
        let encoded = codec::encode(&self.chunks).map_err(ContentError::Encode)?;
        file.begin(&table(&self.name), table_schema())?;
        Ok(file.append(&encoded)?)
    }
}
