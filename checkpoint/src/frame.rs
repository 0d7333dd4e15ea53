//! A file of named sections in which no damage goes unnoticed.
//!
//! All numbers are little-endian. The file ends with its last section; there are no gaps.
//!
//! | offset | bytes | |
//! |---|---|---|
//! | 0 | 8 | `VOLTSIM\0` |
//! | 8 | 4 | format version |
//! | 12 | 4 | number of sections, *n* |
//! | 16 | 32 | BLAKE3 of bytes 0 to 15 and of the section table |
//! | 48 | 80 *n* | section table: name (32 bytes of UTF-8, padded with zeros), schema (8), length (8), BLAKE3 of the contents (32) |
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

/// The version of the layout above.
pub const FORMAT: u32 = 1;

const MAGIC: [u8; 8] = *b"VOLTSIM\0";
const HASH: usize = blake3::OUT_LEN;
/// Magic, format, number of sections.
const HEAD: usize = 16;
const TABLE: usize = HEAD + HASH;
const NAME: usize = 32;
const ENTRY: usize = NAME + 8 + 8 + HASH;

/// Which definition of a section's contents they follow; a reader of another definition refuses them.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Schema(u64);

impl Schema {
    /// The schema with this description: the name and version of a type, or the text that defines it.
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

/// Why a file is not a frame, or a frame could not be made.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("at byte {offset}: {reason}")]
pub struct FrameError {
    /// Where in the file, in bytes from its start.
    pub offset: usize,
    /// What is wrong there.
    pub reason: Reason,
}

/// What the user can do about a damaged file.
pub(crate) const DAMAGED: &str = "the file is damaged: use another copy, or write it again";

impl FrameError {
    /// What the user can do.
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

/// What is wrong with a frame.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum Reason {
    /// The file is shorter than its contents say.
    #[error("the file ends after {available} of {needed} bytes")]
    Truncated {
        /// Bytes needed from the offset on.
        needed: u64,
        /// Bytes there are.
        available: usize,
    },
    /// The file was shortened after it was opened.
    #[error("the file ends before the {needed} bytes that were there when it was opened")]
    Changed {
        /// Bytes needed from the offset on.
        needed: usize,
    },
    /// The operating system cannot read the file.
    #[error("the file cannot be read: {0}")]
    Unreadable(io::ErrorKind),
    /// The file goes on after its last section.
    #[error("{0} bytes follow the last section")]
    TrailingBytes(usize),
    /// Not a file of ours.
    #[error("no VOLTSIM signature")]
    Magic,
    /// A file of an older or newer program.
    #[error("format version {0}, not {FORMAT}")]
    Format(u32),
    /// The head or the section table is damaged.
    #[error("the section table does not match its hash")]
    TableHash,
    /// A section's contents are damaged.
    #[error("section {0} does not match its hash")]
    SectionHash(String),
    /// No section has that name.
    #[error("there is no section {0}")]
    Missing(String),
    /// Two sections have the same name.
    #[error("section {0} occurs twice")]
    Duplicate(String),
    /// A name that is empty, longer than 32 bytes, not UTF-8 or has a zero in it.
    #[error("a section cannot be called {0:?}")]
    Name(String),
    /// The section follows another definition.
    #[error(
        "section {name} has schema {found}, not {expected}: another version of Voltsim wrote it; save with this one, or use that one"
    )]
    Schema {
        /// The section.
        name: String,
        /// The reader's schema.
        expected: Schema,
        /// The file's schema.
        found: Schema,
    },
    /// More than 2³² sections.
    #[error("{0} sections are too many")]
    Count(usize),
    /// More or fewer sections than the table has room for.
    #[error("{written} sections instead of {announced}")]
    Announced {
        /// Sections the table has room for.
        announced: usize,
        /// Sections that were written, or begun.
        written: usize,
    },
}

impl Reason {
    fn at(self, offset: usize) -> FrameError {
        FrameError { offset, reason: self }
    }
}

/// One section to write.
#[derive(Clone, Copy, Debug)]
pub struct Section<'a> {
    /// Up to 32 bytes, unique in the file.
    pub name: &'a str,
    /// The definition the contents follow.
    pub schema: Schema,
    /// The contents.
    pub contents: &'a [u8],
}

/// The file with these sections.
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

/// A section table as it is made: an entry's name and schema first, its length and hash when the contents are known.
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

    /// All that stands before the contents, and the hash of it.
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

/// The hash of a frame's section table, and so of everything in the file: no two files have the same.
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

/// The checked head and section table of a frame: which sections the file has, and where.
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
    /// Reads the index of a file of `length` bytes from its first bytes: as many as
    /// [`Index::length_of`] says, or all that the file has.
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

    /// Bytes of head and table, as the first bytes of a file announce them; those of the head if
    /// they announce nothing.
    fn length_of(head: &[u8]) -> u64 {
        let count = head.get(12..HEAD).and_then(|count| count.try_into().ok()).map(u32::from_le_bytes);
        TABLE as u64 + table_length(count.unwrap_or(0))
    }

    /// The hash of the section table: it tells this file from every other.
    pub fn hash(&self) -> TableHash {
        self.hash
    }

    /// The names of the sections, in their order in the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The length of a section, in bytes.
    pub fn length(&self, name: &str) -> Option<usize> {
        self.named(name).map(|entry| entry.range.len())
    }

    /// The definition that a section follows.
    pub fn schema(&self, name: &str) -> Option<Schema> {
        self.named(name).map(|entry| entry.schema)
    }

    /// Where a section's contents begin in the file, in bytes.
    pub fn offset(&self, name: &str) -> Option<usize> {
        self.named(name).map(|entry| entry.range.start)
    }

    /// Where a section that follows `schema` lies in the file, in bytes.
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

/// A frame in memory whose head and section table have been checked; each section's contents are
/// checked when they are asked for.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    file: &'a [u8],
    index: Index,
}

impl<'a> Frame<'a> {
    /// Checks everything but the sections' contents.
    pub fn read(file: &'a [u8]) -> Result<Self, FrameError> {
        Ok(Self { file, index: Index::read(file, file.len())? })
    }

    /// The undamaged contents of a section that follows `schema`.
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
    /// Reads an entry of the table and passes over its contents.
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

    /// Compares the hash of its contents with what it should be.
    fn check(&self, found: blake3::Hash) -> Result<(), FrameError> {
        match found == self.hash {
            true => Ok(()),
            false => Err(Reason::SectionHash(self.name.clone()).at(self.range.start)),
        }
    }
}

/// A place in a file of which the beginning is in memory.
#[derive(Clone, Copy)]
struct Cursor<'a> {
    beginning: &'a [u8],
    /// Bytes of the file.
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
