//! File format of named, hashed sections, which detects any damage.
//!
//! All numbers are little-endian. The file ends with its last section; there are no gaps.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `VOLTSIM\0` |
//! | 8 | 4 | format version |
//! | 12 | 4 | number of sections, *n* |
//! | 16 | 32 | BLAKE3 of bytes 0 to 15 and of the section table |
//! | 48 | 80 *n* | table: name (32, UTF-8 and zeros), schema (8), length (8), BLAKE3 of the contents (32) |
//! | 48 + 80 *n* | | contents of the sections, in the table's order |

mod file;
mod writer;

use std::collections::BTreeSet;
use std::fmt;
use std::io;
use std::ops::{Deref, Range};

use serde::{Deserialize, Serialize};
use thiserror::Error;

pub use file::{File, FileError};
pub use writer::{FileWriter, Written};

/// Version of the layout.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"VOLTSIM\0";
const HASH: usize = blake3::OUT_LEN;
/// Magic, format, number of sections.
const HEAD: usize = 16;
const TABLE: usize = HEAD + HASH;
const NAME: usize = 32;
const ENTRY: usize = NAME + 8 + 8 + HASH;

/// Hash of a definition of section contents. Readers refuse sections with other schemas.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schema(u64);

impl Schema {
    /// Returns the schema of a description: the name and version of a type, or its defining text.
    pub fn of(description: &str) -> Self {
        let mut head = [0; 8];
        blake3::Hasher::new().update(description.as_bytes()).finalize_xof().fill(&mut head);
        Self(u64::from_le_bytes(head))
    }
}

impl fmt::Display for Schema {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:016x}", self.0)
    }
}

/// Error of reading or creating a frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("at byte {offset}: {reason}")]
pub struct FrameError {
    /// Offset in the file, in bytes.
    pub offset: usize,
    /// Reason.
    pub reason: Reason,
}

/// Advice for damaged files.
pub(crate) const DAMAGED: &str = "the file is damaged: use another copy, or write it again";

impl FrameError {
    /// Returns advice for the user.
    pub fn remedy(&self) -> Option<&'static str> {
        match self.reason {
            Reason::Magic => Some("give a file that this program wrote"),
            Reason::Format(_) | Reason::Schema { .. } => {
                Some("use the version of the program that wrote the file, or write it again with this one")
            }
            Reason::Truncated { .. }
            | Reason::TrailingBytes(_)
            | Reason::TableHash
            | Reason::SectionHash(_) => Some(DAMAGED),
            Reason::Changed { .. } => Some(
                "the file was changed in place while it was in use: write it again, and replace files by renaming",
            ),
            _ => None,
        }
    }
}

/// Reason of a frame error.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The file is shorter than declared.
    #[error("the file ends after {available} of {needed} bytes")]
    Truncated {
        /// Bytes needed from the offset on.
        needed: u64,
        /// Available bytes.
        available: usize,
    },
    /// The file became shorter after it was opened.
    #[error("the file ends before the {needed} bytes that were there when it was opened")]
    Changed {
        /// Bytes needed from the offset on.
        needed: usize,
    },
    /// The operating system cannot read the file.
    #[error("the file cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// Bytes follow the last section.
    #[error("{0} bytes follow the last section")]
    TrailingBytes(usize),
    /// The file has another format.
    #[error("no VOLTSIM signature")]
    Magic,
    /// The file has an older or newer format version.
    #[error("expected format version {FORMAT}, found {0}")]
    Format(u32),
    /// The header or the section table is damaged.
    #[error("the section table does not match its hash")]
    TableHash,
    /// A section is damaged.
    #[error("section {0} does not match its hash")]
    SectionHash(String),
    /// The section does not exist.
    #[error("section {0} does not exist")]
    Missing(String),
    /// Two sections have the same name.
    #[error("section {0} occurs twice")]
    Duplicate(String),
    /// The name is empty, longer than 32 bytes, not UTF-8, or contains a zero byte.
    #[error("{0:?} is not a valid section name")]
    Name(String),
    /// The section has another schema.
    #[error(
        "section {name} has schema {found}, not {expected}: another version of Voltsim wrote it; save again with this version, or use the other"
    )]
    Schema {
        /// Section.
        name: String,
        /// The reader's schema.
        expected: Schema,
        /// The file's schema.
        found: Schema,
    },
    /// More than 2³² sections.
    #[error("{0} sections exceed the limit")]
    Count(usize),
    /// The number of sections differs from the announced number.
    #[error("expected {announced} sections, found {written}")]
    Announced {
        /// Announced sections.
        announced: usize,
        /// Sections that were begun or written.
        written: usize,
    },
}

impl Reason {
    fn at(self, offset: usize) -> FrameError {
        FrameError { offset, reason: self }
    }
}

/// Section to write.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Unique name of up to 32 bytes.
    pub name: &'a str,
    /// Schema of the contents.
    pub schema: Schema,
    /// Contents.
    pub contents: &'a [u8],
}

/// Returns a file with these sections.
pub fn write(sections: &[Section<'_>]) -> Result<Vec<u8>, FrameError> {
    let mut table = Table::default();
    for section in sections {
        table.push(section.name, section.schema)?;
        table.complete(section.contents.len() as u64, &blake3::hash(section.contents));
    }
    let (mut file, _) = table.head()?;
    file.reserve(sections.iter().map(|section| section.contents.len()).sum());
    for section in sections {
        file.extend(section.contents);
    }
    Ok(file)
}

/// Section table under construction. Name and schema of an entry precede its length and hash.
#[derive(Debug, Default)]
struct Table {
    bytes: Vec<u8>,
    names: BTreeSet<String>,
}

impl Table {
    fn push(&mut self, name: &str, schema: Schema) -> Result<(), FrameError> {
        let offset = TABLE + self.bytes.len();
        let field = padded(name).ok_or_else(|| Reason::Name(name.to_owned()).at(offset))?;
        if !self.names.insert(name.to_owned()) {
            return Err(Reason::Duplicate(name.to_owned()).at(offset));
        }
        self.bytes.extend(field);
        self.bytes.extend(schema.0.to_le_bytes());
        Ok(())
    }

    fn complete(&mut self, length: u64, hash: &blake3::Hash) {
        self.bytes.extend(length.to_le_bytes());
        self.bytes.extend(hash.as_bytes());
    }

    /// Returns the bytes before the contents, and their hash.
    fn head(&self) -> Result<(Vec<u8>, TableHash), FrameError> {
        let count = u32::try_from(self.names.len()).map_err(|_| Reason::Count(self.names.len()).at(12))?;
        let mut file = Vec::with_capacity(TABLE + self.bytes.len());
        file.extend(MAGIC);
        file.extend(FORMAT.to_le_bytes());
        file.extend(count.to_le_bytes());
        let hash = table_hash(&file, &self.bytes);
        file.extend(hash.as_bytes());
        file.extend(&self.bytes);
        Ok((file, TableHash(*hash.as_bytes())))
    }
}

/// Hash of a frame's section table, which identifies the whole file.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct TableHash([u8; HASH]);

impl fmt::Display for TableHash {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

fn table_hash(head: &[u8], table: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(head).update(table).finalize()
}

fn padded(name: &str) -> Option<[u8; NAME]> {
    let mut field = [0; NAME];
    field.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    (!name.is_empty() && !name.contains('\0')).then_some(field)
}

/// Verified header and section table of a frame.
#[derive(Clone, Debug)]
pub struct Index {
    hash: TableHash,
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    schema: Schema,
    hash: blake3::Hash,
    range: Range<usize>,
}

impl Index {
    /// Reads the index of a file of `length` bytes from its first bytes: [`Index::length_of`] bytes, or the
    /// whole file.
    fn read(beginning: &[u8], length: usize) -> Result<Self, FrameError> {
        let mut cursor = Cursor { beginning, length, offset: 0 };
        if cursor.array::<8>()? != MAGIC {
            return Err(Reason::Magic.at(0));
        }
        let format = u32::from_le_bytes(cursor.array()?);
        if format != FORMAT {
            return Err(Reason::Format(format).at(8));
        }
        let count = u32::from_le_bytes(cursor.array()?);
        let hash = blake3::Hash::from_bytes(cursor.array()?);
        let table = cursor.take(table_length(count))?;
        let head = beginning.get(..HEAD).unwrap_or_default();
        if table_hash(head, table) != hash {
            return Err(Reason::TableHash.at(HEAD));
        }
        let mut entries = Vec::with_capacity(table.len() / ENTRY);
        let mut names = BTreeSet::new();
        for index in 0..table.len() / ENTRY {
            let offset = TABLE + index * ENTRY;
            let entry = Entry::read(&mut Cursor { offset, ..cursor }, &mut cursor)?;
            if !names.insert(entry.name.clone()) {
                return Err(Reason::Duplicate(entry.name).at(offset));
            }
            entries.push(entry);
        }
        match length - cursor.offset {
            0 => Ok(Self { hash: TableHash(*hash.as_bytes()), entries }),
            rest => Err(Reason::TrailingBytes(rest).at(cursor.offset)),
        }
    }

    /// Returns the length of header and table, as announced by a file's first bytes, or the header's
    /// length.
    fn length_of(head: &[u8]) -> u64 {
        let count = head.get(12..HEAD).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
        TABLE as u64 + table_length(count.unwrap_or(0))
    }

    /// Returns the hash of the section table, which identifies the file.
    pub fn hash(&self) -> TableHash {
        self.hash
    }

    /// Returns the names of the sections in file order.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// Returns the length of a section in bytes.
    pub fn length(&self, name: &str) -> Option<usize> {
        self.named(name).map(|entry| entry.range.len())
    }

    /// Returns the schema of a section.
    pub fn schema(&self, name: &str) -> Option<Schema> {
        self.named(name).map(|entry| entry.schema)
    }

    /// Returns the offset of a section's contents in the file, in bytes.
    pub fn offset(&self, name: &str) -> Option<usize> {
        self.named(name).map(|entry| entry.range.start)
    }

    /// Returns the byte range in the file of a section with schema `schema`.
    pub fn place(&self, name: &str, schema: Schema) -> Result<Range<usize>, FrameError> {
        self.find(name, schema).map(|entry| entry.range.clone())
    }

    fn named(&self, name: &str) -> Option<&Entry> {
        self.entries.iter().find(|entry| entry.name == name)
    }

    fn find(&self, name: &str, schema: Schema) -> Result<&Entry, FrameError> {
        let entry = self.entries.iter().enumerate().find(|(_, entry)| entry.name == name);
        let (index, entry) = entry.ok_or_else(|| Reason::Missing(name.to_owned()).at(TABLE))?;
        if entry.schema != schema {
            let reason = Reason::Schema { name: name.to_owned(), expected: schema, found: entry.schema };
            return Err(reason.at(TABLE + index * ENTRY + NAME));
        }
        Ok(entry)
    }
}

fn table_length(sections: u32) -> u64 {
    u64::from(sections) * ENTRY as u64
}

/// Frame in memory with verified header and section table. Each section is verified when requested.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    file: &'a [u8],
    index: Index,
}

impl<'a> Frame<'a> {
    /// Verifies everything except the sections' contents.
    pub fn read(file: &'a [u8]) -> Result<Self, FrameError> {
        Ok(Self { file, index: Index::read(file, file.len())? })
    }

    /// Returns the verified contents of a section with schema `schema`.
    pub fn section(&self, name: &str, schema: Schema) -> Result<&'a [u8], FrameError> {
        let entry = self.find(name, schema)?;
        let contents = self.file.get(entry.range.clone()).unwrap_or_default();
        entry.check(blake3::hash(contents)).map(|()| contents)
    }
}

impl Deref for Frame<'_> {
    type Target = Index;

    fn deref(&self) -> &Index {
        &self.index
    }
}

impl Entry {
    /// Reads an entry of the table and skips its contents.
    fn read(table: &mut Cursor<'_>, contents: &mut Cursor<'_>) -> Result<Self, FrameError> {
        let offset = table.offset;
        let field = table.array::<NAME>()?;
        let name = String::from_utf8_lossy(&field).trim_end_matches('\0').to_owned();
        if padded(&name) != Some(field) {
            return Err(Reason::Name(name).at(offset));
        }
        let schema = Schema(u64::from_le_bytes(table.array()?));
        let length = u64::from_le_bytes(table.array()?);
        let hash = blake3::Hash::from_bytes(table.array()?);
        let start = contents.offset;
        contents.pass(length)?;
        Ok(Self { name, schema, hash, range: start..contents.offset })
    }

    /// Compares the hash of the contents with the expected one.
    fn check(&self, found: blake3::Hash) -> Result<(), FrameError> {
        match found == self.hash {
            true => Ok(()),
            false => Err(Reason::SectionHash(self.name.clone()).at(self.range.start)),
        }
    }
}

/// Position in a file whose beginning is in memory.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    beginning: &'a [u8],
    /// Length of the file in bytes.
    length: usize,
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn pass(&mut self, length: u64) -> Result<(), FrameError> {
        let available = self.length.saturating_sub(self.offset);
        match usize::try_from(length).ok().filter(|length| *length <= available) {
            Some(length) => self.offset += length,
            None => return Err(Reason::Truncated { needed: length, available }.at(self.offset)),
        }
        Ok(())
    }

    fn take(&mut self, length: u64) -> Result<&'a [u8], FrameError> {
        let start = self.offset;
        self.pass(length)?;
        let taken = self.beginning.get(start..self.offset);
        taken.ok_or_else(|| Reason::Changed { needed: self.offset - start }.at(start))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let start = self.offset;
        let bytes = self.take(N as u64)?;
        bytes.try_into().map_err(|_| Reason::Truncated { needed: N as u64, available: bytes.len() }.at(start))
    }
}
