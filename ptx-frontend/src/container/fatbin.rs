//! Fat binaries: wrapper records, containers and their entries.
//!
//! ```text
//! wrapper (24 bytes, section .nvFatBinSegment)   u32 magic, u32 version 1|2, u64 → container, u64 (version 2) → array
//! container                                      u32 magic, u16 version, u16 header size, u64 size of the entries
//!   entry, entry, …                              header (64 bytes or more), payload padded to 8 bytes
//! ```
//!
//! The vendor documents none of this; the layout was read off what CUDA 11.8 to 13.5 write. All numbers are little
//! endian. Listing entries reads headers only; payloads are decompressed by [`Entry::payload`].

use std::borrow::Cow;
use std::fmt;

use super::compression::{self, Compression};
use super::error::{ContainerError, Origin, Place};
use super::region::Region;

/// Magic number of a container.
pub const CONTAINER_MAGIC: u32 = 0xba55_ed50;
/// Magic number of a wrapper record.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Length of a wrapper record in bytes.
pub const WRAPPER_SIZE: usize = 24;
/// Length of a container's own header in bytes.
pub const CONTAINER_HEADER_SIZE: usize = 16;

const CONTAINER_VERSION: u16 = 1;
const MIN_ENTRY_HEADER_SIZE: u32 = 0x40;
/// Containers and entries start at multiples of this.
const ALIGNMENT: u64 = 8;

/// Byte offsets of the fields of an entry header.
mod field {
    pub(super) const KIND: u64 = 0;
    pub(super) const HEADER_SIZE: u64 = 4;
    pub(super) const PADDED_SIZE: u64 = 8;
    pub(super) const COMPRESSED_SIZE: u64 = 16;
    /// Offset in the header of a record: u32 offset of the option string in the header, u32 length.
    pub(super) const OPTIONS: u64 = 20;
    pub(super) const VERSION_MINOR: u64 = 24;
    pub(super) const VERSION_MAJOR: u64 = 26;
    pub(super) const ARCHITECTURE: u64 = 28;
    pub(super) const IDENTIFIER_OFFSET: u64 = 32;
    pub(super) const IDENTIFIER_LENGTH: u64 = 36;
    pub(super) const FLAGS: u64 = 40;
    pub(super) const UNCOMPRESSED_SIZE: u64 = 56;
}

/// Bits of an entry's flags.
mod flag {
    pub(super) const DEBUG: u64 = 0x2;
    pub(super) const LZ4: u64 = 0x2000;
    pub(super) const ZSTD: u64 = 0x8000;
    pub(super) const ARCHITECTURE_SPECIFIC: u64 = 0x10_0000;
    pub(super) const FAMILY_SPECIFIC: u64 = 0x20_0000;
}

/// A wrapper record, which a program passes to `__cudaRegisterFatBinary`. Its addresses are those of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// 1 or 2.
    pub version: u32,
    /// Address of the container.
    pub container: u64,
    /// Version 2: address of the array, closed by a null pointer, of the containers of relocatable device code
    /// (`nvcc -rdc=true`). The array is filled in before the wrapper is registered.
    pub relocatable: Option<u64>,
}

impl Wrapper {
    /// Reads a wrapper record from the program's memory.
    pub fn parse(record: &[u8; WRAPPER_SIZE], origin: Origin) -> Result<Self, ContainerError> {
        let record = Region::new(record, origin);
        expect_magic(&record, WRAPPER_MAGIC, "fat binary wrapper")?;
        let version = record.u32(4, "wrapper version")?;
        let container = record.u64(8, "address of the container")?;
        let relocatable = match version {
            1 => None,
            2 => Some(record.u64(16, "address of the container array")?).filter(|&address| address != 0),
            other => {
                return Err(record.bad_field(4, "wrapper version", other.into(), "1 and 2 are known"));
            }
        };
        Ok(Self { version, container, relocatable })
    }
}

/// Length in bytes, header included, of the container that starts with `header`: so the owner of raw memory can make
/// the slice that [`Container::parse`] takes.
pub fn container_size(header: &[u8; CONTAINER_HEADER_SIZE], origin: Origin) -> Result<u64, ContainerError> {
    let header = Region::new(header, origin);
    let (header_size, entries_size) = container_header(&header)?;
    u64::from(header_size)
        .checked_add(entries_size)
        .ok_or_else(|| header.bad_field(8, "container size", entries_size, "the address space is smaller"))
}

/// Checks a container's header; gives the length of the header and that of the entries in bytes.
fn container_header(region: &Region<'_>) -> Result<(u16, u64), ContainerError> {
    expect_magic(region, CONTAINER_MAGIC, "fat binary container")?;
    let version = region.u16(4, "container version")?;
    if version != CONTAINER_VERSION {
        return Err(region.bad_field(4, "container version", version.into(), "only 1 is known"));
    }
    let header_size = region.u16(6, "container header size")?;
    if usize::from(header_size) < CONTAINER_HEADER_SIZE || u64::from(header_size) % ALIGNMENT != 0 {
        let rule = "it must be a multiple of 8 and at least 16";
        return Err(region.bad_field(6, "container header size", header_size.into(), rule));
    }
    Ok((header_size, region.u64(8, "container size")?))
}

fn expect_magic(region: &Region<'_>, expected: u32, what: &'static str) -> Result<(), ContainerError> {
    let found = region.u32(0, what)?;
    if found == expected {
        Ok(())
    } else {
        Err(ContainerError::Magic { place: region.place(0), what, found, expected })
    }
}

/// A container: entries of several kinds and architectures, made from one source file. Often empty.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    whole: Region<'a>,
    entries: Region<'a>,
}

impl<'a> Container<'a> {
    /// Reads the container at the start of `bytes`; what follows it is ignored.
    pub fn parse(bytes: &'a [u8], origin: Origin) -> Result<Self, ContainerError> {
        Self::parse_region(&Region::new(bytes, origin))
    }

    fn parse_region(region: &Region<'a>) -> Result<Self, ContainerError> {
        let (header_size, entries_size) = container_header(region)?;
        let header_size = u64::from(header_size);
        let entries = region.slice(header_size, entries_size, "content of the container")?;
        let whole = region.slice(0, header_size.saturating_add(entries_size), "container")?;
        Ok(Self { whole, entries })
    }

    /// Where the container starts.
    pub fn place(&self) -> Place {
        self.whole.place(0)
    }

    /// The container's bytes, header included.
    pub fn bytes(&self) -> &'a [u8] {
        self.whole.bytes
    }

    /// The entries in their order. A damaged header ends the iteration with an error, since nothing tells where the
    /// next entry starts.
    pub fn entries(&self) -> Entries<'a> {
        Entries { rest: Some(self.entries.clone()) }
    }
}

/// Iterator over containers that stand one after the other, with zero bytes between them: the content of a `.fatbin`
/// file and of the ELF sections `.nv_fatbin` and `__nv_relfatbin`. An error ends the iteration.
#[derive(Clone, Debug)]
pub struct Containers<'a> {
    rest: Option<Result<Region<'a>, ContainerError>>,
}

impl<'a> Containers<'a> {
    /// Iterates over the containers in `bytes`.
    pub fn new(bytes: &'a [u8], origin: Origin) -> Self {
        Self::in_region(Ok(Region::new(bytes, origin)))
    }

    /// Iterates over the containers in `region`; an error in its place is the only item.
    pub(super) fn in_region(region: Result<Region<'a>, ContainerError>) -> Self {
        Self { rest: Some(region) }
    }

    fn step(region: Region<'a>) -> Result<Option<(Container<'a>, Region<'a>)>, ContainerError> {
        let Some(padding) = region.bytes.iter().position(|&byte| byte != 0) else {
            return Ok(None);
        };
        let region = after(&region, padding as u64)?;
        let container = Container::parse_region(&region)?;
        let rest = after(&region, container.whole.len())?;
        Ok(Some((container, rest)))
    }
}

impl<'a> Iterator for Containers<'a> {
    type Item = Result<Container<'a>, ContainerError>;

    fn next(&mut self) -> Option<Self::Item> {
        let found = self.rest.take()?.and_then(Self::step).transpose()?;
        Some(found.map(|(container, rest)| {
            self.rest = Some(Ok(rest));
            container
        }))
    }
}

/// The part of `region` from `offset` on.
fn after<'a>(region: &Region<'a>, offset: u64) -> Result<Region<'a>, ContainerError> {
    region.slice(offset, region.len().saturating_sub(offset), "the rest")
}

/// Iterator over a container's entries; see [`Container::entries`].
#[derive(Clone, Debug)]
pub struct Entries<'a> {
    rest: Option<Region<'a>>,
}

impl<'a> Iterator for Entries<'a> {
    type Item = Result<Entry<'a>, ContainerError>;

    fn next(&mut self) -> Option<Self::Item> {
        let region = self.rest.take().filter(|region| !region.bytes.is_empty())?;
        let parsed = Entry::parse(&region).and_then(|(entry, size)| Ok((entry, after(&region, size)?)));
        Some(parsed.map(|(entry, rest)| {
            self.rest = Some(rest);
            entry
        }))
    }
}

/// What an entry's payload is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EntryKind {
    /// PTX text.
    Ptx,
    /// A cubin: an ELF file with machine code (SASS).
    Elf,
    /// Intermediate code for link-time optimisation (`nvcc -dlto`), in a form known to the vendor alone.
    LinkTimeIr,
    /// Another number.
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

/// On which devices of its compute capability and above an entry's code is meant to run.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Portability {
    /// On all (`sm_90`).
    Portable,
    /// On those of the same family (`sm_100f`).
    Family,
    /// On no other (`sm_90a`).
    Exact,
}

/// The architecture an entry was made for; displayed as `sm_75`, `sm_90a`, `sm_100f`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Architecture {
    /// Ten times the compute capability: 75 for 7.5.
    pub capability: u32,
    /// Suffix of the name.
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

/// One entry of a container: its header's fields and the payload as stored.
#[derive(Clone, Debug)]
pub struct Entry<'a> {
    /// What the payload is.
    pub kind: EntryKind,
    /// Version, major and minor: of the PTX ISA for PTX, of the vendor's format for other kinds.
    pub version: (u16, u16),
    /// The architecture the code was made for.
    pub architecture: Architecture,
    /// All flag bits, including those without a meaning here.
    pub flags: u64,
    /// Name of the source file, kept when compiled with debug or line information.
    pub identifier: Option<Cow<'a, str>>,
    /// Options for the vendor's assembler, PTX entries only (`-maxrregcount=32`).
    pub options: Option<Cow<'a, str>>,
    compressed_size: u32,
    uncompressed_size: u64,
    /// Where the entry starts.
    place: Place,
    payload: Region<'a>,
}

impl<'a> Entry<'a> {
    /// Reads the entry at the start of `region`; gives it with its length in bytes.
    fn parse(region: &Region<'a>) -> Result<(Self, u64), ContainerError> {
        let fixed = region.slice(0, MIN_ENTRY_HEADER_SIZE.into(), "entry header")?;
        let header_size = fixed.u32(field::HEADER_SIZE, "entry header size")?;
        if header_size < MIN_ENTRY_HEADER_SIZE || u64::from(header_size) % ALIGNMENT != 0 {
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

    /// Where the entry starts.
    pub fn place(&self) -> &Place {
        &self.place
    }

    /// How the payload is stored.
    pub fn compression(&self) -> Result<Compression, ContainerError> {
        let methods = self.flags & (flag::LZ4 | flag::ZSTD);
        match (methods, self.compressed_size) {
            (flag::LZ4, _) => Ok(Compression::Lz4),
            (flag::ZSTD, _) => Ok(Compression::Zstd),
            (0, 0) => Ok(Compression::None),
            _ => Err(ContainerError::UnknownCompression { place: self.place.clone(), flags: self.flags }),
        }
    }

    /// True when compiled with device debug information (`nvcc -G`).
    pub fn is_debug(&self) -> bool {
        self.flags & flag::DEBUG != 0
    }

    /// Length of the payload in the container in bytes; padding counts when the payload is not compressed.
    pub fn stored_size(&self) -> u64 {
        self.payload.len()
    }

    /// Length of the payload in bytes after decompression, as the header claims.
    pub fn uncompressed_size(&self) -> u64 {
        if self.compressed_size == 0 { self.payload.len() } else { self.uncompressed_size }
    }

    /// The payload, decompressed if need be. A payload that is not compressed keeps its padding.
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

    /// The PTX text without the newlines and NULs around it; lines are counted from its first one. Bytes that are not UTF-8 (in comments and file names) become U+FFFD.
    pub fn ptx(&self) -> Result<Cow<'a, str>, ContainerError> {
        self.expect_kind(EntryKind::Ptx, "PTX")?;
        Ok(match self.payload()? {
            Cow::Borrowed(bytes) => padded_text(bytes),
            Cow::Owned(bytes) => Cow::Owned(padded_text(&bytes).into_owned()),
        })
    }

    /// Fails unless the entry is of kind `wanted`, called `name`.
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

/// A string stored in the entry's header; none when empty.
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

/// Text without the white space around it and without what follows the first NUL.
fn padded_text(bytes: &[u8]) -> Cow<'_, str> {
    String::from_utf8_lossy(until_nul(bytes).trim_ascii())
}

/// The bytes before the first NUL.
pub(super) fn until_nul(bytes: &[u8]) -> &[u8] {
    bytes.split(|&byte| byte == 0).next().unwrap_or_default()
}
