//! Writing of journals.

use std::fs::File;
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::path::PathBuf;

use super::{BLOCK, HEAD, JournalError, JournalReader, block_hash, schema};
use crate::atomic_file;
use crate::compression::Packer;
use crate::frame::{FileError, FileWriter, Schema};

/// Limit of blocks in memory, in bytes.
const KEPT: usize = 8 << 20;

/// Writer of a journal. Some megabytes are in memory; the rest is in an unnamed temporary file, which
/// vanishes with the journal or the process.
pub struct JournalWriter {
    pub(super) folder: PathBuf,
    /// Stream bytes that are not in a block yet.
    pub(super) open: Vec<u8>,
    /// Blocks in memory.
    kept: Vec<u8>,
    spill: Option<File>,
    /// Bytes in the temporary file.
    spilled: u64,
    blocks: u64,
    records: u64,
    packer: Packer,
}

impl JournalWriter {
    /// Creates an empty journal. The temporary file is created in `folder` on demand.
    pub fn new(folder: impl Into<PathBuf>) -> Self {
        Self {
            folder: folder.into(),
            open: Vec::new(),
            kept: Vec::new(),
            spill: None,
            spilled: 0,
            blocks: 0,
            records: 0,
            packer: Packer::new(),
        }
    }

    /// Adds a record, even on error: it stays in memory, and later records retry the write to the temporary
    /// file.
    pub fn push(&mut self, record: &[u8]) -> Result<(), JournalError> {
        self.records += 1;
        let length = self.stream(&(record.len() as u64).to_le_bytes());
        let streamed = length.and(self.stream(record));
        Ok(streamed.map_err(FileError::io("write a temporary file in", &self.folder))?)
    }

    /// Returns the number of records.
    pub fn records(&self) -> u64 {
        self.records
    }

    /// Returns the number of bytes of the complete blocks.
    pub fn length(&self) -> u64 {
        self.spilled + self.kept.len() as u64
    }

    /// Reads the records so far.
    pub fn read(&self) -> JournalReader<'_> {
        JournalReader::of_writer(self)
    }

    /// Copies bytes of blocks.
    pub(super) fn read_blocks(&self, bytes: Range<usize>, to: &mut Vec<u8>) -> Result<(), FileError> {
        to.resize(bytes.len(), 0);
        let spilled = usize::try_from(self.spilled).unwrap_or(usize::MAX);
        let copied = match (&self.spill, bytes.start.checked_sub(spilled)) {
            (Some(spill), None) => spill.read_exact_at(to, bytes.start as u64),
            (_, start) => {
                let start = start.unwrap_or(bytes.start);
                let kept = self.kept.get(start..start.saturating_add(bytes.len()));
                let kept = kept.ok_or_else(|| io::Error::from(io::ErrorKind::UnexpectedEof));
                kept.map(|kept| to.copy_from_slice(kept))
            }
        };
        copied.map_err(FileError::io("read a temporary file in", &self.folder))
    }

    /// Adds the current journal to a file as the section called `name`. More records can follow.
    pub fn write_to(&mut self, writer: &mut FileWriter, name: &str) -> Result<(), JournalError> {
        self.write_as(writer, name, schema())
    }

    /// Adds the journal with the [schema](super::schema_of) of its records.
    pub fn write_as(
        &mut self,
        writer: &mut FileWriter,
        name: &str,
        schema: Schema,
    ) -> Result<(), JournalError> {
        if !self.open.is_empty() {
            self.close_block();
        }
        writer.begin(name, schema)?;
        if let Some(spill) = &self.spill {
            let mut piece = vec![0; BLOCK];
            let mut copied = 0;
            while copied < self.spilled {
                let length = usize::try_from(self.spilled - copied).map_or(BLOCK, |rest| rest.min(BLOCK));
                let piece = &mut piece[..length];
                let unreadable = FileError::io("read a temporary file in", &self.folder);
                spill.read_exact_at(piece, copied).map_err(unreadable)?;
                writer.append(piece)?;
                copied += length as u64;
            }
        }
        Ok(writer.append(&self.kept)?)
    }

    /// Adds `bytes` to the stream, even if blocks cannot be written.
    fn stream(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        let mut spilled = Ok(());
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(BLOCK - self.open.len()));
            self.open.extend(piece);
            if self.open.len() == BLOCK {
                self.close_block();
                if self.kept.len() >= KEPT {
                    spilled = spilled.and(self.spill());
                }
            }
            bytes = rest;
        }
        spilled
    }

    fn close_block(&mut self) {
        let packed = self.packer.pack(&self.open);
        let stored = packed.as_ref().unwrap_or(&self.open);
        let mut head = [0; HEAD];
        head[..8].copy_from_slice(&self.blocks.to_le_bytes());
        head[8..12].copy_from_slice(&(self.open.len() as u32).to_le_bytes());
        head[12..].copy_from_slice(&(stored.len() as u32).to_le_bytes());
        self.kept.extend(head);
        self.kept.extend(block_hash(&head, stored).as_bytes());
        self.kept.extend(stored);
        self.open.clear();
        self.blocks += 1;
    }

    /// Writes the blocks in memory to the temporary file. On failure, they stay in memory.
    fn spill(&mut self) -> io::Result<()> {
        let spill = match &mut self.spill {
            Some(spill) => spill,
            none => none.insert(atomic_file::nameless(&self.folder)?),
        };
        spill.write_all_at(&self.kept, self.spilled)?;
        self.spilled += self.kept.len() as u64;
        self.kept.clear();
        Ok(())
    }
}
