//! Files and folders.

use crate::error::{Error, Result};
use crate::process;
use std::fs;
use std::path::Path;
use std::process::Command;

/// Removes a folder if it exists.
pub(crate) fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(folder)(error)),
        _ => Ok(()),
    }
}

/// Makes `link` a symbolic link to `target`.
pub(crate) fn link(target: impl AsRef<Path>, link: &Path) -> Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(link)(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(target, link).map_err(Error::file(link))
}

/// Copies a folder with its links into `to`, which is made.
pub(crate) fn copy_tree(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::file(to))?;
    let mut copy = Command::new("cp");
    process::quiet(copy.arg("-a").arg(from.join(".")).arg(to)).map(drop)
}

/// Bytes of all files of a folder; links are not followed.
pub(crate) fn size(folder: &Path) -> Result<u64> {
    let mut bytes = 0;
    for entry in fs::read_dir(folder).map_err(Error::file(folder))? {
        let entry = entry.map_err(Error::file(folder))?;
        let file = entry.metadata().map_err(Error::file(&entry.path()))?;
        bytes += if file.is_dir() { size(&entry.path())? } else { file.len() };
    }
    Ok(bytes)
}
