//! Persistent files: encoded values, verified sections, atomic creation, images of memory, deduplicated
//! contents, journals, and a cache folder.
//!
//! This crate handles bytes, sections, versions and hashes. The meaning of a section belongs to its owner.

pub mod atomic_file;
pub mod codec;
mod compression;
pub mod contents;
mod disk_cache;
pub mod frame;
pub mod image;
pub mod journal;
pub mod layout;
pub mod output;
mod parallel;

pub use disk_cache::{CacheCounts, CacheKey, DiskCache};
