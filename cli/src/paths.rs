//! Paths that stay valid when a program changes its folder.

use std::fs;
use std::path::{Path, PathBuf};

use voltsim_checkpoint::atomic_file;

use crate::failure::Failure;

/// A path that stays the same when the program changes its folder.
pub(crate) fn absolute(path: &Path) -> Result<PathBuf, Failure> {
    std::path::absolute(path).map_err(|error| Failure::in_file(path, error))
}

/// Makes the folder, unless it is there and empty but for what killed runs have left unfinished;
/// gives its absolute path.
pub(crate) fn empty_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::in_file(folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    atomic_file::clear(folder);
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Failure::in_file(folder, "the folder is not empty")
            .remedy("Name a new folder, or remove what is in this one"));
    }
    absolute(folder)
}
