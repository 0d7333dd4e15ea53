//! Files and folders.

use crate::error::{Error, Result};
use std::fs;
use std::path::Path;

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
