//! Files that appear whole or not at all.

use std::ffi::{OsStr, OsString};
use std::fs::{self, File, OpenOptions};
use std::hash::{BuildHasher, Hasher, RandomState};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

const TEMPORARY_PREFIX: &str = ".voltsim-";

/// Whether the file's contents must have reached the disk before it appears under its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Durability {
    /// They must: after a loss of power there is the old file or the new one.
    Synced,
    /// They need not: after a loss of power the file may be damaged. Saves milliseconds.
    Unsynced,
}

/// Writes `contents` to a new file beside `path` and gives it the name `path`, replacing what had it. Other processes see
/// the old file or the new one, never a part. On failure the new file is removed and the old one is untouched.
pub fn write(path: &Path, contents: &[u8], durability: Durability) -> io::Result<()> {
    let name = path.file_name().ok_or(io::ErrorKind::InvalidInput)?;
    let temporary = path.with_file_name(temporary_name(name));
    let written = fill(&temporary, contents, durability).and_then(|()| fs::rename(&temporary, path));
    if written.is_err() {
        // The first error is the one to report.
        let _ = fs::remove_file(&temporary);
        return written;
    }
    match (durability, path.parent()) {
        (Durability::Synced, Some(folder)) => sync_folder(folder),
        _ => Ok(()),
    }
}

fn fill(path: &Path, contents: &[u8], durability: Durability) -> io::Result<()> {
    let mut file = OpenOptions::new().write(true).create_new(true).open(path)?;
    file.write_all(contents)?;
    match durability {
        Durability::Synced => file.sync_all(),
        Durability::Unsynced => Ok(()),
    }
}

/// Makes the new name durable.
fn sync_folder(folder: &Path) -> io::Result<()> {
    let folder = if folder.as_os_str().is_empty() { PathBuf::from(".") } else { folder.to_owned() };
    File::open(folder)?.sync_all()
}

/// A name no other writer uses, in this process or any other.
fn temporary_name(name: &OsStr) -> OsString {
    let random = RandomState::new().build_hasher().finish();
    let mut temporary = OsString::from(format!("{TEMPORARY_PREFIX}{random:016x}-"));
    temporary.push(name);
    temporary
}

/// Whether a file has the name of an unfinished one, left behind by a process that was killed.
pub fn is_temporary(name: &OsStr) -> bool {
    name.as_encoded_bytes().starts_with(TEMPORARY_PREFIX.as_bytes())
}
