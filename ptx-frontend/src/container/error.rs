//! Errors of the container stage, with their position in the input.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compression::Compression;

/// Origin of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file; offsets count from its first byte.
    File(Arc<Path>),
    /// An image that the program registered (`__cudaRegisterFatBinary`); offsets count from its container.
    RegisteredImage,
    /// An image passed to a module loading function (`cuModuleLoadData` and others).
    ModuleImage,
}

impl Origin {
    /// Origin of the file at `path`.
    pub fn file(path: impl Into<PathBuf>) -> Self {
        Self::File(path.into().into())
    }
}

impl fmt::Display for Origin {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::File(path) => write!(f, "{}", path.display()),
            Self::RegisteredImage => f.write_str("registered image"),
            Self::ModuleImage => f.write_str("module image"),
        }
    }
}

/// Position in an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Location {
    /// Input.
    pub origin: Origin,
    /// Byte offset in the input.
    pub offset: u64,
}

impl fmt::Display for Location {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {:#x}", self.origin, self.offset)
    }
}

/// Error in a container, an entry, an ELF file or the file that contains them.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The input ends prematurely.
    #[error("{place}: {what} needs {needed} bytes, but only {available} follow")]
    Truncated {
        /// First byte of the structure.
        place: Location,
        /// Name of the structure.
        what: &'static str,
        /// Length of the structure in bytes.
        needed: u64,
        /// Bytes from `place` to the end of the input.
        available: u64,
    },
    /// Wrong magic number.
    #[error("{place}: {what} starts with {found:#010x} instead of {expected:#010x}")]
    Magic {
        /// Position of the magic number.
        place: Location,
        /// Name of the structure.
        what: &'static str,
        /// Number found.
        found: u32,
        /// Number expected.
        expected: u32,
    },
    /// Invalid value of a header field.
    #[error("{place}: {what} is {found:#x}, but {rule}")]
    Field {
        /// Position of the field.
        place: Location,
        /// Name of the field.
        what: &'static str,
        /// Value found.
        found: u64,
        /// Requirement on the value.
        rule: &'static str,
    },
    /// Implausible claim of a payload's size.
    #[error("{place}: the payload claims {claimed} bytes uncompressed; the limit is {limit}")]
    TooLarge {
        /// Position of the entry.
        place: Location,
        /// Claimed uncompressed size in bytes.
        claimed: u64,
        /// Plausible maximum in bytes.
        limit: u64,
    },
    /// Compression method unknown from the flags.
    #[error("{place}: the payload is compressed by an unknown method (entry flags {flags:#x})")]
    UnknownCompression {
        /// Position of the entry.
        place: Location,
        /// Flags of the entry.
        flags: u64,
    },
    /// Payload that cannot be decompressed.
    #[error("{place}: damaged {compression} payload: {reason}")]
    Damaged {
        /// First byte of the payload.
        place: Location,
        /// Compression method.
        compression: Compression,
        /// Message of the decompressor.
        reason: String,
    },
    /// Uncompressed size that differs from the header.
    #[error("{place}: the payload has {actual} bytes uncompressed, but its header claims {claimed}")]
    SizeMismatch {
        /// First byte of the payload.
        place: Location,
        /// Claimed bytes.
        claimed: u64,
        /// Actual bytes, or a lower bound if reading stopped at the claimed size.
        actual: u64,
    },
    /// Entry of the wrong kind.
    #[error("{place}: the entry holds {found}, not {wanted}")]
    WrongKind {
        /// Position of the entry.
        place: Location,
        /// Kind found.
        found: String,
        /// Kind requested.
        wanted: &'static str,
    },
    /// Damaged or unsupported ELF structure.
    #[error("{place}: ELF: {reason}")]
    Elf {
        /// Start of the ELF file or section.
        place: Location,
        /// Cause.
        reason: String,
    },
    /// Damaged archive.
    #[error("{place}: archive: {reason}")]
    Archive {
        /// Start of the archive.
        place: Location,
        /// Cause.
        reason: String,
    },
    /// Input that is no fat binary, cubin, host ELF file or PTX text.
    #[error("{place}: neither a fat binary, an ELF file nor PTX text (starts with {first_bytes:02x?})")]
    UnknownImage {
        /// Start of the input.
        place: Location,
        /// Up to eight bytes from the start.
        first_bytes: Vec<u8>,
    },
    /// Unreadable file.
    #[error("{}: {source}", path.display())]
    Read {
        /// Path of the file.
        path: PathBuf,
        /// Error of the operating system.
        source: Arc<io::Error>,
    },
}
