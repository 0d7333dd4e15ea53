//! Streaming writer of frames of any size.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::{ENTRY, FileError, FrameError, Reason, Schema, TABLE, Table, TableHash};
use crate::atomic_file::{self, Durability, Unfinished};

/// Buffer size for small writes.
const BUFFER: usize = 64 << 10;

/// Writer of a frame's file under a temporary name beside the final one. Dropping an unfinished writer
/// removes the temporary file and keeps any existing file. A killed process leaves the temporary file,
/// which [`is_temporary`](crate::atomic_file::is_temporary) recognises.
///
/// Sections are written in sequence: `begin` starts a section, and subsequent writes ([`Write`]) are its
/// contents.
#[derive(Debug)]
pub struct FileWriter {
    unfinished: Unfinished,
    buffer: Vec<u8>,
    table: Table,
    /// Announced sections.
    announced: usize,
    /// Current section.
    section: Option<Contents>,
    /// Bytes written so far.
    position: u64,
    /// Error of a failed write, after which the file's contents are unknown.
    failure: Option<io::ErrorKind>,
}

#[derive(Debug)]
struct Contents {
    start: u64,
    hasher: blake3::Hasher,
}

/// Written file.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Length in bytes.
    pub length: u64,
    /// Hash that identifies the file.
    pub hash: TableHash,
}

impl FileWriter {
    /// Creates a file with `sections` sections that will be renamed to `path`. Removes abandoned files from
    /// the folder.
    pub fn create(path: &Path, sections: usize) -> Result<Self, FileError> {
        atomic_file::remove_abandoned(atomic_file::folder_of(path));
        let unfinished = Unfinished::create(path).map_err(FileError::io("write", path))?;
        let position = (TABLE + ENTRY * sections) as u64;
        // Header and table are written last.
        unfinished.file().seek(SeekFrom::Start(position)).map_err(FileError::io("write", path))?;
        Ok(Self {
            unfinished,
            buffer: Vec::with_capacity(BUFFER),
            table: Table::default(),
            announced: sections,
            section: None,
            position,
            failure: None,
        })
    }

    /// Ends the current section, if any, and begins the next.
    pub fn begin(&mut self, name: &str, schema: Schema) -> Result<(), FileError> {
        self.end_section();
        let written = self.table.names.len() + 1;
        if written > self.announced {
            let reason = Reason::Announced { announced: self.announced, written };
            return Err(self.refused(reason.at(TABLE)));
        }
        self.table.push(name, schema).map_err(|error| self.refused(error))?;
        self.section = Some(Contents { start: self.position, hasher: blake3::Hasher::new() });
        Ok(())
    }

    /// Adds to the current section. After an error, the file cannot be finished.
    pub fn append(&mut self, contents: &[u8]) -> Result<(), FileError> {
        self.write_all(contents).map_err(FileError::io("write", self.path()))
    }

    /// Returns the number of bytes so far, which is the offset of the next byte.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Returns the length of the current section so far, in bytes.
    pub fn section_length(&self) -> u64 {
        self.section.as_ref().map_or(0, |section| self.position - section.start)
    }

    /// Returns the final path.
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Ends the last section, writes the table, and renames the file.
    pub fn finish(mut self, durability: Durability) -> Result<Written, FileError> {
        self.end_section();
        let written = self.table.names.len();
        if written != self.announced {
            let reason = Reason::Announced { announced: self.announced, written };
            return Err(self.refused(reason.at(TABLE)));
        }
        let (head, hash) = self.table.head().map_err(|error| self.refused(error))?;
        let path = self.path().to_owned();
        self.write_head(&head).map_err(FileError::io("write", &path))?;
        let length = self.position;
        self.unfinished.finish(durability).map_err(FileError::io("write", &path))?;
        Ok(Written { length, hash })
    }

    fn write_head(&mut self, head: &[u8]) -> io::Result<()> {
        self.flush()?;
        let mut file = self.unfinished.file();
        file.rewind()?;
        file.write_all(head)
    }

    /// Writes the buffer and then `bytes` to the file.
    fn pass_on(&mut self, bytes: &[u8]) -> io::Result<()> {
        if let Some(kind) = self.failure {
            return Err(kind.into());
        }
        let mut file = self.unfinished.file();
        let passed = file.write_all(&self.buffer).and_then(|()| file.write_all(bytes));
        self.buffer.clear();
        self.failure = passed.as_ref().err().map(io::Error::kind);
        passed
    }

    fn end_section(&mut self) {
        if let Some(section) = self.section.take() {
            self.table.complete(self.position - section.start, &section.hasher.finalize());
        }
    }

    fn refused(&self, error: FrameError) -> FileError {
        FileError::frame(self.path())(error)
    }
}

/// Adds to the section like [`FileWriter::append`].
impl Write for FileWriter {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        if self.section.is_none() {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "no section has been begun"));
        }
        if self.buffer.len() + bytes.len() <= BUFFER {
            self.buffer.extend(bytes);
        } else {
            self.pass_on(bytes)?;
        }
        if let Some(section) = &mut self.section {
            section.hasher.update(bytes);
        }
        self.position += bytes.len() as u64;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.pass_on(&[])
    }
}
