//! Blocks to records.

use std::path::Path;

use super::{BLOCK, HEAD, JournalError, Reason, block_hash, schema};
use crate::compression::Unpacker;
use crate::frame::{File, FileError, Schema};

/// The records of a journal, in their order. Each block is compared with its hash when it is reached; after an error
/// there are no more records.
pub struct JournalReader<'a> {
    path: &'a Path,
    /// Blocks that have not been reached.
    rest: &'a [u8],
    /// Where they begin in the file, in bytes.
    offset: usize,
    blocks: u64,
    unpacker: Unpacker,
    /// The part of the stream that is in the block that was reached last.
    open: Vec<u8>,
    /// Bytes of it that have been read.
    read: usize,
}

impl<'a> JournalReader<'a> {
    /// The journal that is the section called `name`.
    pub fn open(file: &'a File, name: &str) -> Result<Self, JournalError> {
        Self::open_as(file, name, schema())
    }

    /// The same, of records that are told by the [schema](super::schema_of).
    pub fn open_as(file: &'a File, name: &str, schema: Schema) -> Result<Self, JournalError> {
        let section = file.frame()?.unchecked(name, schema).map_err(FileError::frame(file.path()))?;
        Ok(Self {
            path: file.path(),
            rest: section.bytes,
            offset: section.offset,
            blocks: 0,
            unpacker: Unpacker::default(),
            open: Vec::new(),
            read: 0,
        })
    }

    fn record(&mut self) -> Result<Option<Vec<u8>>, Reason> {
        let mut length = Vec::new();
        self.take(size_of::<u64>() as u64, &mut length)?;
        if length.is_empty() {
            return Ok(None);
        }
        let length = u64::from_le_bytes(length.try_into().map_err(|_| Reason::Record)?);
        let mut record = Vec::new();
        self.take(length, &mut record)?;
        if record.len() as u64 == length { Ok(Some(record)) } else { Err(Reason::Record) }
    }

    /// Moves the next `length` bytes of the stream to `bytes`, or all that there are. Takes no memory for more.
    fn take(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), Reason> {
        let mut missing = length;
        while missing > 0 {
            if self.read == self.open.len() {
                if self.rest.is_empty() {
                    break;
                }
                self.next_block()?;
            }
            let open = &self.open[self.read..];
            let piece =
                &open[..usize::try_from(missing).map_or(open.len(), |missing| missing.min(open.len()))];
            bytes.extend(piece);
            self.read += piece.len();
            missing -= piece.len() as u64;
        }
        Ok(())
    }

    fn next_block(&mut self) -> Result<(), Reason> {
        let (head, behind) = self.rest.split_first_chunk::<HEAD>().ok_or(Reason::Truncated)?;
        let (hash, behind) = behind.split_first_chunk::<{ blake3::OUT_LEN }>().ok_or(Reason::Truncated)?;
        let [number, lengths] = [&head[..8], &head[8..]].map(word);
        let (length, stored_length) = (lengths as u32, (lengths >> 32) as u32);
        let (stored, rest) = behind.split_at_checked(stored_length as usize).ok_or(Reason::Truncated)?;
        if block_hash(head, stored) != *hash {
            return Err(Reason::Hash(self.blocks));
        }
        if number != self.blocks {
            return Err(Reason::Order { found: number, expected: self.blocks });
        }
        if length == 0 || length as usize > BLOCK || stored_length > length {
            return Err(Reason::Length { length, stored: stored_length });
        }
        let compressed = stored_length < length;
        let stream = if compressed { self.unpacker.unpack(stored, length as usize)? } else { stored };
        self.open.clear();
        self.open.extend(stream);
        self.read = 0;
        self.offset += self.rest.len() - rest.len();
        self.rest = rest;
        self.blocks += 1;
        Ok(())
    }
}

/// Eight bytes as a number.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Iterator for JournalReader<'_> {
    type Item = Result<Vec<u8>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record();
        if record.is_err() {
            self.rest = &[];
            self.open.clear();
            self.read = 0;
        }
        let damaged =
            |reason| JournalError::Damaged { path: self.path.to_owned(), offset: self.offset, reason };
        record.map_err(damaged).transpose()
    }
}
