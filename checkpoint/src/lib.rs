//! Files that outlive a process: values as bytes, bytes in checked sections, files that appear whole or not at all,
//! images of memory, contents and journals in them, and a folder of files used as a cache.
//!
//! This crate knows bytes, sections, versions and hashes; what a section means is its owner's business.

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
