//! Stretches to contents.

use super::{Content, ContentError, Reason, STRETCH, Stretch, schema, table, table_schema};
use crate::codec;
use crate::compression::Unpacker;
use crate::frame::File;

/// Bytes of a table that is decoded: one of 1.5 TB of contents.
const LIMIT: usize = 1 << 30;

/// The contents that a file holds. Each stretch is compared with its hash when it is read.
#[derive(Debug)]
pub struct Contents {
    stretches: Vec<Stretch>,
    /// Where the section with the stretches begins in the file, in bytes.
    start: usize,
}

impl Contents {
    /// The table of the contents called `name`, with every number checked.
    pub fn open(file: &File, name: &str) -> Result<Self, ContentError> {
        let section = file.place(name, schema())?;
        let described = table(name);
        let bytes = file.section(&described, table_schema())?;
        let damaged = |reason| ContentError::Damaged {
            path: file.path().to_owned(),
            offset: file.offset(&described).unwrap_or_default(),
            reason,
        };
        let stretches: Vec<Stretch> =
            codec::decode::<LIMIT, _>(&bytes).map_err(|error| damaged(Reason::Table(error)))?;
        let mut end = 0;
        for (number, stretch) in stretches.iter().enumerate() {
            let lengths = (1..=STRETCH as u32).contains(&stretch.length) && stretch.stored <= stretch.length;
            if stretch.offset != end || !lengths {
                return Err(damaged(Reason::Place(number)));
            }
            end += u64::from(stretch.stored);
        }
        if end != section.len() as u64 {
            return Err(damaged(Reason::Place(stretches.len())));
        }
        Ok(Self { stretches, start: section.start })
    }

    /// The hashes of a content's stretches.
    pub fn hashes<'a>(&'a self, content: &'a Content) -> impl Iterator<Item = &'a [u8; blake3::OUT_LEN]> {
        content.stretches.iter().filter_map(|&number| Some(&self.stretches.get(number as usize)?.hash))
    }

    /// A content, from the file that the table was read from.
    pub fn read(&self, file: &File, content: &Content) -> Result<Vec<u8>, ContentError> {
        let damaged = |at: u64, reason| ContentError::Damaged {
            path: file.path().to_owned(),
            offset: self.start.saturating_add(at as usize),
            reason,
        };
        let mut stretches = Vec::with_capacity(content.stretches.len());
        for &number in &content.stretches {
            let stretch = self.stretches.get(number as usize);
            stretches.push((number, stretch.ok_or_else(|| damaged(0, Reason::Missing(number)))?));
        }
        let found = stretches.iter().map(|(_, stretch)| u64::from(stretch.length)).sum();
        if found != content.length {
            return Err(damaged(0, Reason::Length { found, expected: content.length }));
        }
        let mut unpacker = Unpacker::default();
        let mut bytes = Vec::with_capacity(found as usize);
        let mut stored = Vec::new();
        for (number, stretch) in stretches {
            let wrong = |reason| damaged(stretch.offset, reason);
            let from = self.start.saturating_add(stretch.offset as usize);
            file.read(from..from.saturating_add(stretch.stored as usize), &mut stored)?;
            if blake3::hash(&stored) != stretch.stored_hash {
                return Err(wrong(Reason::Hash(number)));
            }
            match stretch.stored == stretch.length {
                true => bytes.extend(&stored),
                false => {
                    let unpacked = unpacker.unpack(&stored, stretch.length as usize);
                    bytes.extend(unpacked.map_err(|error| wrong(error.into()))?);
                }
            }
        }
        Ok(bytes)
    }
}
