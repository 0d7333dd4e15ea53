//! Entries of a container: PTX or machine code for one architecture, optionally compressed.
//!
//! ```text
//! +0  u16 kind             +4  u32 header size       +8  u64 payload size, padded
//! +16 u32 compressed size  +20 u32 → options
//! +24 u16 minor version    +26 u16 major version     +28 u32 architecture
//! +32 u32 → identifier     +36 u32 length of the identifier
//! +40 u64 flags            +56 u64 uncompressed size
//! +64 strings, then the payload
//! ```
//!
//! Listing entries reads only headers; [`Entry::payload`] decompresses a payload.

use std::borrow::Cow;
use std::ffi::CStr;
use std::fmt;

use super::compression::{self, Compression};
use super::error::{ContainerError, Location};
use super::fatbin::ALIGNMENT;
use super::region::Region;

const MIN_HEADER_SIZE: u32 = 0x40;

/// Byte offsets of the fields in an entry header.
mod field {
    pub(super) const KIND: u64 = 0;
    pub(super) const HEADER_SIZE: u64 = 4;
    pub(super) const PADDED_SIZE: u64 = 8;
    pub(super) const COMPRESSED_SIZE: u64 = 16;
    /// Offset of a record in the header: u32 offset of the option string, u32 length.
    pub(super) const OPTIONS: u64 = 20;
    pub(super) const VERSION_MINOR: u64 = 24;
    pub(super) const VERSION_MAJOR: u64 = 26;
    pub(super) const ARCHITECTURE: u64 = 28;
    pub(super) const IDENTIFIER_OFFSET: u64 = 32;
    pub(super) const IDENTIFIER_LENGTH: u64 = 36;
    pub(super) const FLAGS: u64 = 40;
    pub(super) const UNCOMPRESSED_SIZE: u64 = 56;
}

/// Flag bits of an entry.
mod flag {
    pub(super) const DEBUG: u64 = 0x2;
    pub(super) const LZ4: u64 = 0x2000;
    pub(super) const ZSTD: u64 = 0x8000;
    pub(super) const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;
    pub(super) const FAMILY_SPECIFIC: u64 = 0x20_0000;
}

/// Kind of an entry's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// A cubin: an ELF file with machine code (SASS).
    Elf,
    /// Intermediate code for link-time optimisation (`nvcc -dlto`), in an undocumented format.
    LinkTimeIr,
    /// Unknown kind number.
    Unknown(u16),
}

impl EntryKind {
    fn from_number(number: u16) -> Self {
        match number {
            1 => Self::Ptx,
            2 => Self::Elf,
            8 => Self::LinkTimeIr,
            other => Self::Unknown(other),
        }
    }
}

impl fmt::Display for EntryKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Ptx => f.pad("ptx"),
            Self::Elf => f.pad("elf"),
            Self::LinkTimeIr => f.pad("lto-ir"),
            Self::Unknown(number) => f.pad(&format!("kind-{number}")),
        }
    }
}

/// Devices of the entry's compute capability and above for which its code is meant.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Portability {
    /// All such devices (`sm_90`).
    Portable,
    /// Devices of the same family (`sm_100f`).
    Family,
    /// Only the exact capability (`sm_90a`).
    Exact,
}

/// Target architecture of an entry, displayed as `sm_75`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// Ten times the compute capability: 75 for 7.5.
    pub capability: u32,
    /// Portability, the suffix of the name.
    pub portability: Portability,
}

impl fmt::Display for Architecture {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let suffix = match self.portability {
            Portability::Portable => "",
            Portability::Family => "f",
            Portability::Exact => "a",
        };
        f.pad(&format!("sm_{}{suffix}", self.capability))
    }
}

/// An entry of a container: header fields and stored payload.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// Kind of the payload.
    pub kind: EntryKind,
    /// Version, major and minor: of the PTX ISA for PTX, of the vendor's format otherwise.
    pub version: (u16, u16),
    /// Target architecture.
    pub architecture: Architecture,
    /// All flag bits, including unknown ones.
    pub flags: u64,
    /// Source file name, present in code with debug or line information.
    pub identifier: Option<Cow<'a, str>>,
    /// Options for the vendor's assembler (`-maxrregcount=32`), only in PTX entries.
    pub options: Option<Cow<'a, str>>,
    compressed_size: u32,
    uncompressed_size: u64,
    /// Position of the entry.
    place: Location,
    payload: Region<'a>,
}

impl<'a> Entry<'a> {
    /// Parses the entry at the start of `region`; returns it with its length in bytes.
    pub(super) fn parse(region: &Region<'a>) -> Result<(Self, u64), ContainerError> {
        let fixed = region.slice(0, MIN_HEADER_SIZE.into(), "entry header")?;
        let header_size = fixed.u32(field::HEADER_SIZE, "entry header size")?;
        if header_size < MIN_HEADER_SIZE || u64::from(header_size) % ALIGNMENT != 0 {
            let rule = "it must be a multiple of 8 and at least 0x40";
            return Err(fixed.bad_field(field::HEADER_SIZE, "entry header size", header_size.into(), rule));
        }
        let header = region.slice(0, header_size.into(), "entry header")?;
        let padded_size = header.u64(field::PADDED_SIZE, "payload size")?;
        if padded_size % ALIGNMENT != 0 {
            let rule = "it must be a multiple of 8";
            return Err(header.bad_field(field::PADDED_SIZE, "payload size", padded_size, rule));
        }
        let padded = region.slice(header_size.into(), padded_size, "payload")?;
        let compressed_size = header.u32(field::COMPRESSED_SIZE, "compressed size")?;
        if u64::from(compressed_size) > padded_size {
            let rule = "it must not exceed the payload size";
            return Err(header.bad_field(
                field::COMPRESSED_SIZE,
                "compressed size",
                compressed_size.into(),
                rule,
            ));
        }
        let payload = match compressed_size {
            0 => padded,
            size => padded.slice(0, size.into(), "compressed payload")?,
        };
        let kind = EntryKind::from_number(header.u16(field::KIND, "entry kind")?);
        let flags = header.u64(field::FLAGS, "entry flags")?;
        let entry = Self {
            kind,
            version: (
                header.u16(field::VERSION_MAJOR, "major version")?,
                header.u16(field::VERSION_MINOR, "minor version")?,
            ),
            architecture: architecture(header.u32(field::ARCHITECTURE, "architecture")?, flags),
            flags,
            identifier: identifier(&header)?,
            options: if kind == EntryKind::Ptx { options(&header)? } else { None },
            compressed_size,
            uncompressed_size: header.u64(field::UNCOMPRESSED_SIZE, "uncompressed size")?,
            place: header.place(0),
            payload,
        };
        Ok((entry, u64::from(header_size).saturating_add(padded_size)))
    }

    /// Position of the entry.
    pub fn place(&self) -> &Location {
        &self.place
    }

    /// Encoding of the payload.
    pub fn compression(&self) -> Result<Compression, ContainerError> {
        let methods = self.flags & (flag::LZ4 | flag::ZSTD);
        match (methods, self.compressed_size) {
            (flag::LZ4, _) => Ok(Compression::Lz4),
            (flag::ZSTD, _) => Ok(Compression::Zstd),
            (0, 0) => Ok(Compression::None),
            _ => Err(ContainerError::UnknownCompression { place: self.place.clone(), flags: self.flags }),
        }
    }

    /// True if compiled with device debug information (`nvcc -G`).
    pub fn is_debug(&self) -> bool {
        self.flags & flag::DEBUG != 0
    }

    /// Stored length of the payload in bytes, including the padding of an uncompressed one.
    pub fn stored_size(&self) -> u64 {
        self.payload.len()
    }

    /// Uncompressed length of the payload in bytes, as claimed by the header.
    pub fn uncompressed_size(&self) -> u64 {
        if self.compressed_size == 0 { self.payload.len() } else { self.uncompressed_size }
    }

    /// Payload, decompressed if necessary. An uncompressed payload keeps its padding.
    pub fn payload(&self) -> Result<Cow<'a, [u8]>, ContainerError> {
        let stored = self.payload.bytes;
        let place = self.payload.place(0);
        match self.compression()? {
            Compression::None => Ok(Cow::Borrowed(stored)),
            Compression::Lz4 => {
                compression::decompress_lz4(stored, self.uncompressed_size, &place).map(Cow::Owned)
            }
            Compression::Zstd => {
                compression::decompress_zstd(stored, self.uncompressed_size, &place).map(Cow::Owned)
            }
        }
    }

    /// PTX text without surrounding newlines and NULs; lines count from its first one. Invalid UTF-8 (in
    /// comments and file names) becomes U+FFFD.
    pub fn ptx(&self) -> Result<Cow<'a, str>, ContainerError> {
        self.expect_kind(EntryKind::Ptx, "PTX")?;
        Ok(match self.payload()? {
            Cow::Borrowed(bytes) => padded_text(bytes),
            Cow::Owned(bytes) => Cow::Owned(owned_padded_text(bytes)),
        })
    }

    /// Fails unless the entry has kind `wanted`, called `name`.
    pub(super) fn expect_kind(&self, wanted: EntryKind, name: &'static str) -> Result<(), ContainerError> {
        if self.kind == wanted {
            return Ok(());
        }
        Err(ContainerError::WrongKind {
            place: self.place.clone(),
            found: self.kind.to_string(),
            wanted: name,
        })
    }
}

fn architecture(capability: u32, flags: u64) -> Architecture {
    let portability = if flags & flag::ARCHITECTURE_SPECIFIC != 0 {
        Portability::Exact
    } else if flags & flag::FAMILY_SPECIFIC != 0 {
        Portability::Family
    } else {
        Portability::Portable
    };
    Architecture { capability, portability }
}

fn identifier<'a>(header: &Region<'a>) -> Result<Option<Cow<'a, str>>, ContainerError> {
    let offset = header.u32(field::IDENTIFIER_OFFSET, "identifier offset")?;
    let length = header.u32(field::IDENTIFIER_LENGTH, "identifier length")?;
    header_string(header, offset, length, "identifier")
}

fn options<'a>(header: &Region<'a>) -> Result<Option<Cow<'a, str>>, ContainerError> {
    let record = header.u32(field::OPTIONS, "offset of the option record")?;
    if record == 0 {
        return Ok(None);
    }
    let record = header.slice(record.into(), 8, "option record")?;
    let offset = record.u32(0, "option string offset")?;
    let length = record.u32(4, "option string length")?;
    header_string(header, offset, length, "option string")
}

/// A string in the entry's header; `None` if empty.
fn header_string<'a>(
    header: &Region<'a>,
    offset: u32,
    length: u32,
    what: &'static str,
) -> Result<Option<Cow<'a, str>>, ContainerError> {
    if length == 0 {
        return Ok(None);
    }
    let bytes = header.slice(offset.into(), length.into(), what)?.bytes;
    Ok(Some(padded_text(bytes)).filter(|text| !text.is_empty()))
}

/// Text without surrounding white space, up to the first NUL.
fn padded_text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(until_nul(bytes).trim_ascii())
}

/// [`padded_text`] in place, for texts of hundreds of megabytes.
fn owned_padded_text(mut bytes: Vec<u8>) -> String {
    let text = until_nul(&bytes);
    let end = text.trim_ascii_end().len();
    let start = end - text[..end].trim_ascii_start().len();
    bytes.truncate(end);
    bytes.drain(..start);
    String::from_utf8(bytes).unwrap_or_else(|error| String::from_utf8_lossy(error.as_bytes()).into_owned())
}

/// Bytes before the first NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    CStr::from_bytes_until_nul(bytes).map_or(bytes, CStr::to_bytes)
}
