//! Fat binaries: from a program, a library or a registered image to the PTX text of its kernels.
//!
//! [`Image`] classifies an input, and [`elf::HostFile`] finds the fat binaries of a host program.
//! [`fatbin`] and [`entry`] list containers and entries, [`select`] chooses the entry for a device, and
//! [`Entry::ptx`] returns its text. Everything works on byte slices; only [`ImageFile::open`] reads a file.
//! Input is untrusted: any damage is a [`ContainerError`] with its position.

pub mod archive;
pub mod cubin;
pub mod elf;
pub mod entry;
pub mod fatbin;
pub mod resource_usage;
pub mod select;

mod compression;
mod error;
mod image;
mod linked;
mod region;

pub use compression::{Compression, MAX_PAYLOAD_SIZE};
pub use entry::{Architecture, Entry, EntryKind, Portability};
pub use error::{ContainerError, Location, Origin};
pub use fatbin::{Container, Containers, Wrapper};
pub use image::{Image, ImageFile};
pub use linked::{LINKED_HEADER_SIZE, LINKED_MAGIC, Linked, linked_size};
pub use select::meant_for;
