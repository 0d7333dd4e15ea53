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

use std::collections::BTreeSet;
use std::fmt;
use std::ops::Range;

use thiserror::Error;

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
    #[error("section {name} has schema {found}, not {expected}")]
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
    let count = u32::try_from(sections.len()).map_err(|_| Reason::Count(sections.len()).at(12))?;
    let mut table = Vec::with_capacity(ENTRY * sections.len());
    let mut names = BTreeSet::new();
    for section in sections {
        let offset = TABLE + table.len();
        if !names.insert(section.name) {
            return Err(Reason::Duplicate(section.name.to_owned()).at(offset));
        }
        table.extend(padded(section.name).ok_or_else(|| Reason::Name(section.name.to_owned()).at(offset))?);
        table.extend(section.schema.0.to_le_bytes());
        table.extend((section.contents.len() as u64).to_le_bytes());
        table.extend(blake3::hash(section.contents).as_bytes());
    }
    let mut file =
        Vec::with_capacity(TABLE + table.len() + sections.iter().map(|s| s.contents.len()).sum::<usize>());
    file.extend(MAGIC);
    file.extend(FORMAT.to_le_bytes());
    file.extend(count.to_le_bytes());
    let hash = table_hash(&file, &table);
    file.extend(hash.as_bytes());
    file.extend(table);
    for section in sections {
        file.extend(section.contents);
    }
    Ok(file)
}

fn table_hash(head: &[u8], table: &[u8]) -> blake3::Hash {
    blake3::Hasher::new().update(head).update(table).finalize()
}

fn padded(name: &str) -> Option<[u8; NAME]> {
    let mut field = [0; NAME];
    field.get_mut(..name.len())?.copy_from_slice(name.as_bytes());
    (!name.is_empty() && !name.contains('\0')).then_some(field)
}

/// A file whose head and section table have been checked; each section's contents are checked when they are asked for.
#[derive(Clone, Debug)]
pub struct Frame<'a> {
    file: &'a [u8],
    entries: Vec<Entry>,
}

#[derive(Clone, Debug)]
struct Entry {
    name: String,
    schema: Schema,
    hash: blake3::Hash,
    range: Range<usize>,
}

impl<'a> Frame<'a> {
    /// Checks everything but the sections' contents.
    pub fn read(file: &'a [u8]) -> Result<Self, FrameError> {
        let mut cursor = Cursor { file, offset: 0 };
        if cursor.array::<8>()? != MAGIC {
            return Err(Reason::Magic.at(0));
        }
        let format = u32::from_le_bytes(cursor.array()?);
        if format != FORMAT {
            return Err(Reason::Format(format).at(8));
        }
        let count = u32::from_le_bytes(cursor.array()?);
        let hash = blake3::Hash::from_bytes(cursor.array()?);
        let table = cursor.take(u64::from(count) * ENTRY as u64)?;
        let head = file.get(..HEAD).unwrap_or_default();
        if table_hash(head, table) != hash {
            return Err(Reason::TableHash.at(HEAD));
        }
        let mut entries = Vec::with_capacity(table.len() / ENTRY);
        let mut names = BTreeSet::new();
        for index in 0..table.len() / ENTRY {
            let offset = TABLE + index * ENTRY;
            let entry = Entry::read(&mut Cursor { file, offset }, &mut cursor)?;
            if !names.insert(entry.name.clone()) {
                return Err(Reason::Duplicate(entry.name).at(offset));
            }
            entries.push(entry);
        }
        match file.len() - cursor.offset {
            0 => Ok(Self { file, entries }),
            rest => Err(Reason::TrailingBytes(rest).at(cursor.offset)),
        }
    }

    /// The names of the sections, in their order in the file.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.iter().map(|entry| entry.name.as_str())
    }

    /// The undamaged contents of a section that follows `schema`.
    pub fn section(&self, name: &str, schema: Schema) -> Result<&'a [u8], FrameError> {
        let entry = self.entries.iter().enumerate().find(|(_, entry)| entry.name == name);
        let (index, entry) = entry.ok_or_else(|| Reason::Missing(name.to_owned()).at(TABLE))?;
        let Entry { schema: found, hash, range, .. } = entry;
        if *found != schema {
            let reason = Reason::Schema { name: name.to_owned(), expected: schema, found: *found };
            return Err(reason.at(TABLE + index * ENTRY + NAME));
        }
        let contents = self.file.get(range.clone()).unwrap_or_default();
        if blake3::hash(contents) != *hash {
            return Err(Reason::SectionHash(name.to_owned()).at(range.start));
        }
        Ok(contents)
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
        contents.take(length)?;
        Ok(Self { name, schema, hash, range: start..contents.offset })
    }
}

struct Cursor<'a> {
    file: &'a [u8],
    offset: usize,
}

impl<'a> Cursor<'a> {
    fn take(&mut self, length: u64) -> Result<&'a [u8], FrameError> {
        let rest = self.file.get(self.offset..).unwrap_or_default();
        let taken = usize::try_from(length).ok().and_then(|length| rest.get(..length));
        let taken = taken
            .ok_or_else(|| Reason::Truncated { needed: length, available: rest.len() }.at(self.offset))?;
        self.offset += taken.len();
        Ok(taken)
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N], FrameError> {
        let start = self.offset;
        let bytes = self.take(N as u64)?;
        bytes.try_into().map_err(|_| Reason::Truncated { needed: N as u64, available: bytes.len() }.at(start))
    }
}
