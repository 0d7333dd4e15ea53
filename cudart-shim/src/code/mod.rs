//! Device code: what a program registers, and the PTX in registered fat binaries, images and files.

pub(crate) mod code_cache;
pub(crate) mod image;
pub(crate) mod registry;
pub(crate) mod unresolved;
