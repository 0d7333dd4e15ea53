//! Frames of any size: sections go to the file as they are made, and the file has its name when it is whole.

use std::io::{self, Seek, SeekFrom, Write};
use std::path::Path;

use super::{ENTRY, FileError, FrameError, Reason, Schema, TABLE, Table, TableHash};
use crate::atomic_file::{self, Durability, Unfinished};

/// What small pieces are gathered to before they are written.
const BUFFER: usize = 64 << 10;

/// A frame's file that is being written, under a temporary name beside its own. If it is dropped before it is finished,
/// it is removed, and what has the name stays. A process that is killed leaves the temporary file, which
/// [`is_temporary`](crate::atomic_file::is_temporary) knows.
///
/// Sections are written one after the other: each is begun, and what is written then ([`Write`]) is its contents.
#[derive(Debug)]
pub struct FileWriter {
    unfinished: Unfinished,
    buffer: Vec<u8>,
    table: Table,
    /// Sections the table has room for.
    announced: usize,
    /// The section that is being written.
    section: Option<Contents>,
    /// Bytes of the file so far.
    position: u64,
    /// Why a write failed: nobody knows what is in the file since.
    failure: Option<io::ErrorKind>,
}

#[derive(Debug)]
struct Contents {
    start: u64,
    hasher: blake3::Hasher,
}

/// A file that has been written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Written {
    /// Its length in bytes.
    pub length: u64,
    /// What tells it from every other file.
    pub hash: TableHash,
}

impl FileWriter {
    /// A file of `sections` sections that will have the name `path`. Removes what killed writers left in the folder an
    /// hour ago or more.
    pub fn create(path: &Path, sections: usize) -> Result<Self, FileError> {
        atomic_file::remove_abandoned(atomic_file::folder_of(path));
        let unfinished = Unfinished::create(path).map_err(FileError::io("write", path))?;
        let position = (TABLE + ENTRY * sections) as u64;
        // Head and table are written when they are known.
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

    /// Ends the section before, if there is one, and begins the next.
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

    /// Adds to the section that was begun last. After an error the file cannot be finished.
    pub fn append(&mut self, contents: &[u8]) -> Result<(), FileError> {
        self.write_all(contents).map_err(FileError::io("write", self.path()))
    }

    /// Bytes of the file so far: where in the file the next byte will stand.
    pub fn position(&self) -> u64 {
        self.position
    }

    /// Bytes of the section that is being written so far.
    pub fn section_length(&self) -> u64 {
        self.section.as_ref().map_or(0, |section| self.position - section.start)
    }

    /// The path the file will have.
    pub fn path(&self) -> &Path {
        self.unfinished.path()
    }

    /// Ends the last section, writes the table, and gives the file its name.
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

    /// Passes bytes on to the file, those of the buffer first.
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

/// Adds to the section, as [`FileWriter::append`] does.
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
