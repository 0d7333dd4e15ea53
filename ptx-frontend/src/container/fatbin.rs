//! Fat binaries: wrapper records and containers; [`super::entry`] reads their entries.
//!
//! ```text
//! wrapper            u32 magic, u32 version 1|2, u64 → container, u64 (version 2) → array
//! container          u32 magic, u16 version, u16 header size, u64 size of the entries
//!   entry, entry, …  header (64 bytes or more), payload padded to 8 bytes
//! ```
//!
//! A wrapper has 24 bytes and lies in the section `.nvFatBinSegment`.
//!
//! The vendor documents none of this; the layout was inferred from the output of CUDA 11.8 to 13.5. All
//! numbers are little endian.

use super::entry::Entry;
use super::error::{ContainerError, Location, Origin};
use super::region::Region;

/// Magic number of a container.
pub const CONTAINER_MAGIC: u32 = 0xba55_ed50;
/// Magic number of a wrapper record.
pub const WRAPPER_MAGIC: u32 = 0x4662_43b1;
/// Bytes of a wrapper record.
pub const WRAPPER_SIZE: usize = 24;
/// Bytes of a container's header.
pub const CONTAINER_HEADER_SIZE: usize = 16;

const CONTAINER_VERSION: u16 = 1;
/// Alignment of containers and entries in bytes.
pub(super) const ALIGNMENT: u64 = 8;

/// Wrapper record that a program passes to `__cudaRegisterFatBinary`, with addresses of the program.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Wrapper {
    /// Version, 1 or 2.
    pub version: u32,
    /// Address of the container.
    pub container: u64,
    /// Version 2: address of the null-terminated array of containers with relocatable device code (`nvcc
    /// -rdc=true`). The array is filled before the wrapper is registered.
    pub relocatable: Option<u64>,
}

impl Wrapper {
    /// Parses a wrapper record from the program's memory.
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

/// Length in bytes, including the header, of the container that starts with `header`. Owners of raw memory
/// need it to make the slice for [`Container::parse`].
pub fn container_size(header: &[u8; CONTAINER_HEADER_SIZE], origin: Origin) -> Result<u64, ContainerError> {
    let header = Region::new(header, origin);
    let (header_size, entries_size) = container_header(&header)?;
    u64::from(header_size)
        .checked_add(entries_size)
        .ok_or_else(|| header.bad_field(8, "container size", entries_size, "the address space is smaller"))
}

/// Checks a container's header; returns the lengths of header and entries in bytes.
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

/// A container: entries of several kinds and architectures from one source file. Often empty.
#[derive(Clone, Debug)]
pub struct Container<'a> {
    whole: Region<'a>,
    entries: Region<'a>,
}

impl<'a> Container<'a> {
    /// Parses the container at the start of `bytes`; later bytes are ignored.
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

    /// Position of the container.
    pub fn place(&self) -> Location {
        self.whole.place(0)
    }

    /// Bytes of the container, including its header.
    pub fn bytes(&self) -> &'a [u8] {
        self.whole.bytes
    }

    /// Entries in order. A damaged header ends the iteration with an error, because the start of the next
    /// entry is then unknown.
    pub fn entries(&self) -> Entries<'a> {
        Entries { rest: Some(self.entries.clone()) }
    }
}

/// Iterator over consecutive containers with zero bytes in between: the content of a `.fatbin` file and of
/// the ELF sections `.nv_fatbin` and `__nv_relfatbin`. An error ends the iteration.
#[derive(Clone, Debug)]
pub struct Containers<'a> {
    rest: Option<Result<Region<'a>, ContainerError>>,
}

impl<'a> Containers<'a> {
    /// Iterates over the containers in `bytes`.
    pub fn new(bytes: &'a [u8], origin: Origin) -> Self {
        Self::in_region(Ok(Region::new(bytes, origin)))
    }

    /// Iterates over the containers in `region`; an error becomes the only item.
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

/// Part of `region` from `offset` on.
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
