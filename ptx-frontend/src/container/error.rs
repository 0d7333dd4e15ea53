//! Errors of the container stage, each with the place it was found at.

use std::fmt;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::compression::Compression;

/// Where the bytes being read come from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Origin {
    /// A file, offsets count from its first byte.
    File(Arc<Path>),
    /// An image the program registered (`__cudaRegisterFatBinary`), offsets count from its container's first byte.
    RegisteredImage,
    /// An image the program passed to a module loading function (`cuModuleLoadData` and its like).
    ModuleImage,
}

impl Origin {
    /// The file at `path`.
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

/// A byte of an input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Place {
    /// The input.
    pub origin: Origin,
    /// Bytes from the start of the input.
    pub offset: u64,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} at offset {:#x}", self.origin, self.offset)
    }
}

/// What is wrong with a container, an entry, an ELF file or the file that holds them.
#[derive(Clone, Debug, thiserror::Error)]
#[non_exhaustive]
pub enum ContainerError {
    /// The input ends inside of something.
    #[error("{place}: {what} needs {needed} bytes and only {available} follow")]
    Truncated {
        /// First byte of the thing.
        place: Place,
        /// What is cut off.
        what: &'static str,
        /// Its length in bytes.
        needed: u64,
        /// Bytes from `place` to the end.
        available: u64,
    },
    /// The magic number is another one.
    #[error("{place}: {what} starts with {found:#010x} instead of {expected:#010x}")]
    Magic {
        /// Where the magic number should be.
        place: Place,
        /// What should be there.
        what: &'static str,
        /// The number that is there.
        found: u32,
        /// The number that should be there.
        expected: u32,
    },
    /// A header field has a value that no valid input has.
    #[error("{place}: {what} is {found:#x}, but {rule}")]
    Field {
        /// The field.
        place: Place,
        /// Its name.
        what: &'static str,
        /// Its value.
        found: u64,
        /// What a valid value fulfils.
        rule: &'static str,
    },
    /// A payload claims to be larger than any real one, or than its compressed form can hold.
    #[error("{place}: the payload claims {claimed} bytes uncompressed; at most {limit} are possible")]
    TooLarge {
        /// The entry.
        place: Place,
        /// Uncompressed size in bytes that the entry claims.
        claimed: u64,
        /// Largest believable size in bytes.
        limit: u64,
    },
    /// A payload is compressed in a way its flags do not tell.
    #[error("{place}: the payload is compressed by an unknown method (entry flags {flags:#x})")]
    UnknownCompression {
        /// The entry.
        place: Place,
        /// The entry's flags.
        flags: u64,
    },
    /// A payload cannot be decompressed.
    #[error("{place}: damaged {compression} payload: {reason}")]
    Damaged {
        /// First byte of the payload.
        place: Place,
        /// How it is compressed.
        compression: Compression,
        /// What the decompressor says.
        reason: String,
    },
    /// A payload's uncompressed size is not the one its header gives.
    #[error("{place}: the payload has {actual} bytes uncompressed, its header says {claimed}")]
    SizeMismatch {
        /// First byte of the payload.
        place: Place,
        /// Bytes according to the entry.
        claimed: u64,
        /// Bytes found, or a lower bound where reading stopped at the claimed size.
        actual: u64,
    },
    /// An entry is used as PTX or as ELF and is something else.
    #[error("{place}: the entry holds {found}, not {wanted}")]
    WrongKind {
        /// The entry.
        place: Place,
        /// Its kind.
        found: String,
        /// The kind asked for.
        wanted: &'static str,
    },
    /// An ELF structure is damaged or not one this stage reads.
    #[error("{place}: ELF: {reason}")]
    Elf {
        /// Start of the ELF file or of the section.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// An archive is damaged.
    #[error("{place}: archive: {reason}")]
    Archive {
        /// Start of the archive.
        place: Place,
        /// What is wrong.
        reason: String,
    },
    /// The input is none of fat binary, cubin, host ELF file and PTX text.
    #[error("{place}: neither a fat binary, an ELF file nor PTX text (starts with {first_bytes:02x?})")]
    UnknownImage {
        /// Start of the input.
        place: Place,
        /// Up to eight bytes from its start.
        first_bytes: Vec<u8>,
    },
    /// The file cannot be read.
    #[error("{}: {source}", path.display())]
    Read {
        /// The file.
        path: PathBuf,
        /// What the operating system says.
        source: Arc<io::Error>,
    },
}
