//! Contents to stretches.

use std::collections::HashMap;
use std::io::Write;

use super::{Content, ContentError, STRETCH, Stretch, schema, table, table_schema};
use crate::codec;
use crate::compression::Packer;
use crate::frame::{FileError, FileWriter};

/// Contents that are being written, to the section of a file that was begun last.
pub struct ContentsWriter {
    name: String,
    known: HashMap<[u8; blake3::OUT_LEN], u32>,
    stretches: Vec<Stretch>,
    packer: Packer,
}

impl ContentsWriter {
    /// Begins the section called `name`.
    pub fn begin(file: &mut FileWriter, name: &str) -> Result<Self, FileError> {
        file.begin(name, schema())?;
        Ok(Self {
            name: name.to_owned(),
            known: HashMap::new(),
            stretches: Vec::new(),
            packer: Packer::new(),
        })
    }

    /// Stores what is not stored yet of `bytes`.
    pub fn add(&mut self, file: &mut FileWriter, bytes: &[u8]) -> Result<Content, FileError> {
        let mut stretches = Vec::with_capacity(bytes.len().div_ceil(STRETCH));
        for stretch in bytes.chunks(STRETCH) {
            stretches.push(self.stretch(file, stretch)?);
        }
        Ok(Content { length: bytes.len() as u64, stretches })
    }

    fn stretch(&mut self, file: &mut FileWriter, bytes: &[u8]) -> Result<u32, FileError> {
        let hash = *blake3::hash(bytes).as_bytes();
        if let Some(&known) = self.known.get(&hash) {
            return Ok(known);
        }
        let packed = self.packer.pack(bytes);
        let stored = packed.as_deref().unwrap_or(bytes);
        let offset = file.section_length();
        file.write_all(stored).map_err(FileError::io("write", file.path()))?;
        let number = self.stretches.len() as u32;
        let stored_hash = if packed.is_some() { *blake3::hash(stored).as_bytes() } else { hash };
        let (stored, length) = (stored.len() as u32, bytes.len() as u32);
        self.stretches.push(Stretch { offset, stored, length, hash, stored_hash });
        self.known.insert(hash, number);
        Ok(number)
    }

    /// Adds the section with the table.
    pub fn finish(self, file: &mut FileWriter) -> Result<(), ContentError> {
        let encoded = codec::encode(&self.stretches).map_err(ContentError::Encode)?;
        file.begin(&table(&self.name), table_schema())?;
        Ok(file.append(&encoded)?)
    }
}
