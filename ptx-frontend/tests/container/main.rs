//! The container stage on fat binaries and ELF files built by the tests.

#![allow(clippy::unwrap_used, reason = "a test may panic, in its helpers too")]

mod builder;
mod elf;
mod fatbin;
mod image;
mod payload;
mod robust;
mod select;

use ptx_frontend::container::{Container, ContainerError, Entry, Origin};

/// Returns all entries of the container `bytes`, read as a registered image.
fn entries(bytes: &[u8]) -> Result<Vec<Entry<'_>>, ContainerError> {
    Container::parse(bytes, Origin::RegisteredImage)?.entries().collect()
}
