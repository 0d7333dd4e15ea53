//! Reading of journals.

use std::ops::Range;
use std::path::Path;

use super::{BLOCK, HEAD, JournalError, JournalWriter, Reason, block_hash, schema};
use crate::compression::Unpacker;
use crate::frame::{File, FileError, Schema};

/// Bytes of a block before the stored bytes: header and hash.
const BEFORE: usize = HEAD + blake3::OUT_LEN;

/// Iterator over the records of a journal. Each block is verified when reached. An error ends the
/// iteration.
pub struct JournalReader<'a> {
    source: Source<'a>,
    /// Byte range of the unread blocks in the source.
    rest: Range<usize>,
    blocks: u64,
    /// Header and hash of a block.
    block: Vec<u8>,
    /// Stored bytes of a block.
    stored: Vec<u8>,
    unpacker: Unpacker,
    /// Stream bytes of the current block.
    open: Vec<u8>,
    /// Bytes of `open` that have been read.
    read: usize,
}

/// Source of blocks.
enum Source<'a> {
    File(&'a File),
    /// Journal under construction, whose last part is not in a block. The flag is set until that part is
    /// reached.
    Writer(&'a JournalWriter, bool),
}

impl<'a> JournalReader<'a> {
    /// Opens the journal in the section called `name`.
    pub fn open(file: &'a File, name: &str) -> Result<Self, JournalError> {
        Self::open_as(file, name, schema())
    }

    /// Opens a journal whose records have a [schema](super::schema_of).
    pub fn open_as(file: &'a File, name: &str, schema: Schema) -> Result<Self, JournalError> {
        Ok(Self::of(Source::File(file), file.place(name, schema)?))
    }

    /// Reads the records of a journal under construction.
    pub(super) fn of_writer(writer: &'a JournalWriter) -> Self {
        let length = usize::try_from(writer.length()).unwrap_or(usize::MAX);
        Self::of(Source::Writer(writer, true), 0..length)
    }

    fn of(source: Source<'a>, rest: Range<usize>) -> Self {
        Self {
            source,
            rest,
            blocks: 0,
            block: Vec::new(),
            stored: Vec::new(),
            unpacker: Unpacker::default(),
            open: Vec::new(),
            read: 0,
        }
    }

    fn record(&mut self) -> Result<Option<Vec<u8>>, Stopped> {
        let mut length = Vec::new();
        self.take(size_of::<u64>() as u64, &mut length)?;
        if length.is_empty() {
            return Ok(None);
        }
        let length = u64::from_le_bytes(length.try_into().map_err(|_| Reason::Record)?);
        let mut record = Vec::new();
        self.take(length, &mut record)?;
        if record.len() as u64 == length { Ok(Some(record)) } else { Err(Reason::Record.into()) }
    }

    /// Moves the next `length` stream bytes to `bytes`, or as many as there are. Allocates no more than
    /// that.
    fn take(&mut self, length: u64, bytes: &mut Vec<u8>) -> Result<(), Stopped> {
        let mut missing = length;
        while missing > 0 {
            if self.read == self.open.len() {
                match &mut self.source {
                    _ if !self.rest.is_empty() => self.next_block()?,
                    Source::Writer(writer, is_left @ true) => {
                        *is_left = false;
                        self.open.clone_from(&writer.open);
                        self.read = 0;
                    }
                    _ => break,
                }
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

    fn next_block(&mut self) -> Result<(), Stopped> {
        let start = self.rest.start;
        let behind = self.within(start, BEFORE)?;
        self.source.read(start..behind, &mut self.block)?;
        let stored_length = word(self.block.get(12..HEAD).unwrap_or_default()) as u32;
        let end = self.within(behind, stored_length as usize)?;
        self.source.read(behind..end, &mut self.stored)?;
        let (head, hash) = self.block.split_first_chunk::<HEAD>().ok_or(Reason::Truncated)?;
        if block_hash(head, &self.stored).as_bytes() != hash {
            return Err(Reason::Hash(self.blocks).into());
        }
        let (number, length) = (word(&head[..8]), word(&head[8..12]) as u32);
        if number != self.blocks {
            return Err(Reason::Order { found: number, expected: self.blocks }.into());
        }
        if length == 0 || length as usize > BLOCK || stored_length > length {
            return Err(Reason::Length { length, stored: stored_length }.into());
        }
        self.open.clear();
        match stored_length < length {
            true => {
                let unpacked = self.unpacker.unpack(&self.stored, length as usize);
                self.open.extend(unpacked.map_err(Reason::from)?);
            }
            false => self.open.extend(&self.stored),
        }
        self.read = 0;
        self.rest.start = end;
        self.blocks += 1;
        Ok(())
    }

    /// Returns the end of a range of the journal, in bytes of the file.
    fn within(&self, start: usize, length: usize) -> Result<usize, Reason> {
        start.checked_add(length).filter(|end| *end <= self.rest.end).ok_or(Reason::Truncated)
    }
}

impl Source<'_> {
    fn read(&self, bytes: Range<usize>, to: &mut Vec<u8>) -> Result<(), FileError> {
        match self {
            Source::File(file) => file.read(bytes, to),
            Source::Writer(writer, _) => writer.read_blocks(bytes, to),
        }
    }

    fn path(&self) -> &Path {
        match self {
            Source::File(file) => file.path(),
            Source::Writer(writer, _) => &writer.folder,
        }
    }
}

/// Reason for the end of the iteration.
enum Stopped {
    Damaged(Reason),
    File(FileError),
}

impl From<Reason> for Stopped {
    fn from(reason: Reason) -> Self {
        Self::Damaged(reason)
    }
}

impl From<FileError> for Stopped {
    fn from(error: FileError) -> Self {
        Self::File(error)
    }
}

/// Returns eight bytes as an integer.
fn word(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte))
}

impl Iterator for JournalReader<'_> {
    type Item = Result<Vec<u8>, JournalError>;

    fn next(&mut self) -> Option<Self::Item> {
        let record = self.record();
        let offset = self.rest.start;
        if record.is_err() {
            self.rest.start = self.rest.end;
            if let Source::Writer(_, is_left) = &mut self.source {
                *is_left = false;
            }
            self.open.clear();
            self.read = 0;
        }
        let stopped = |stopped| match stopped {
            Stopped::File(error) => error.into(),
            Stopped::Damaged(reason) => {
                JournalError::Damaged { path: self.source.path().to_owned(), offset, reason }
            }
        };
        record.map_err(stopped).transpose()
    }
}
