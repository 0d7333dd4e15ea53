//! Classification of inputs that may contain device code.

use std::borrow::Cow;
use std::path::Path;
use std::sync::Arc;

use object::elf;

use super::cubin;
use super::elf::HostFile;
use super::entry::until_nul;
use super::error::{ContainerError, Origin};
use super::fatbin::{CONTAINER_MAGIC, Containers};
use super::linked::{LINKED_MAGIC, Linked};
use super::region::Region;

/// Kind of an input.
#[derive(Debug)]
pub enum Image<'a> {
    /// Consecutive containers: a `.fatbin` file, or the argument of `cuModuleLoadFatBinary`.
    FatBinary(Containers<'a>),
    /// Machine code for a device.
    Cubin(&'a [u8]),
    /// A host executable, shared library or object file.
    Host(Box<HostFile<'a>>),
    /// PTX texts in place of machine code, from Voltsim's linker and assembler.
    Linked(Linked<'a>),
    /// PTX text, up to its first NUL.
    Ptx(Cow<'a, str>),
}

impl<'a> Image<'a> {
    /// Classifies `bytes` and parses the headers. PTX text may end with NULs. For images without a length,
    /// the caller measures: text up to its NUL, a container with
    /// [`container_size`](super::fatbin::container_size), a cubin with
    /// [`elf_size`](super::cubin::elf_size).
    pub fn from_bytes(bytes: &'a [u8], origin: Origin) -> Result<Self, ContainerError> {
        let region = Region::new(bytes, origin.clone());
        if bytes.starts_with(&CONTAINER_MAGIC.to_le_bytes()) {
            Ok(Self::FatBinary(Containers::new(bytes, origin)))
        } else if bytes.starts_with(&elf::ELFMAG) {
            match cubin::is_cubin(bytes) {
                true => Ok(Self::Cubin(bytes)),
                false => Ok(Self::Host(Box::new(HostFile::from_region(region)?))),
            }
        } else if bytes.starts_with(LINKED_MAGIC) {
            Linked::parse(bytes, origin).map(Self::Linked)
        } else if is_ptx(bytes) {
            Ok(Self::Ptx(String::from_utf8_lossy(until_nul(bytes))))
        } else {
            Err(ContainerError::UnknownImage {
                place: region.place(0),
                first_bytes: bytes.iter().copied().take(8).collect(),
            })
        }
    }
}

/// True if the text starts with `.version`, after white space and comments.
fn is_ptx(bytes: &[u8]) -> bool {
    let mut rest = bytes;
    loop {
        rest = rest.trim_ascii_start();
        let comment_end: &[u8] = match rest {
            [b'/', b'/', ..] => b"\n",
            [b'/', b'*', ..] => b"*/",
            _ => return rest.starts_with(b".version"),
        };
        let skipped = rest.get(2..).unwrap_or_default();
        match skipped.windows(comment_end.len()).position(|window| window == comment_end) {
            Some(end) => rest = skipped.get(end + comment_end.len()..).unwrap_or_default(),
            None => return false,
        }
    }
}

/// A file read into memory.
#[derive(Debug)]
pub struct ImageFile {
    bytes: Vec<u8>,
    origin: Origin,
}

impl ImageFile {
    /// Reads the file at `path`.
    pub fn open(path: &Path) -> Result<Self, ContainerError> {
        let bytes = std::fs::read(path)
            .map_err(|source| ContainerError::Read { path: path.to_owned(), source: Arc::new(source) })?;
        Ok(Self { bytes, origin: Origin::file(path) })
    }

    /// Classifies the file.
    pub fn image(&self) -> Result<Image<'_>, ContainerError> {
        Image::from_bytes(&self.bytes, self.origin.clone())
    }
}
