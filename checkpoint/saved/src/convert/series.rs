//! Converts a folder of checkpoints that hold pages for one another.

use std::collections::{BTreeMap, HashMap};
use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use voltsim_checkpoint::atomic_file::{Durability, UnfinishedFolder, is_temporary};
use voltsim_checkpoint::frame::{File, FileError, TableHash};
use voltsim_checkpoint::image::{self, Base};

use super::{ConvertError, Converted, Old, Target};
use crate::file::SavedError;

/// Ending of checkpoints in a series.
const EXTENSION: &str = "vck";

/// Converts the `*.vck` files of a folder to a new folder, which must be absent or empty and
/// appears when complete. References between files are kept. Returns a report for each file.
///
/// # Errors
/// As for [`convert`](super::convert), for the first file that fails.
pub fn convert_series(
    old: &Path,
    new: &Path,
    target: &Target<'_>,
) -> Result<BTreeMap<PathBuf, Converted>, ConvertError> {
    let mut left = files(old)?;
    if left.is_empty() {
        return Err(ConvertError::NoSeries);
    }
    let failed = |error| SavedError::Write { file: new.to_owned(), error };
    let folder = UnfinishedFolder::create(new).map_err(failed)?;
    let (mut renewed, mut done) = (HashMap::new(), BTreeMap::new());
    while !left.is_empty() {
        // Without one, the first file reports its missing base.
        let place = left.iter().position(|file| file.bases.iter().all(|base| renewed.contains_key(base)));
        let Needed { file, hash, .. } = left.remove(place.unwrap_or(0));
        let name = file.file_name().unwrap_or_default();
        let converted =
            Old::open(&file).and_then(|old| old.convert(&folder.here().join(name), target, &renewed));
        let (converted, now) = converted.map_err(|error| in_series(&file, error))?;
        renewed.insert(hash, now);
        done.insert(file, converted);
    }
    folder.finish(Durability::Synced).map_err(failed)?;
    Ok(done)
}

/// A file and the hashes of its bases.
struct Needed {
    file: PathBuf,
    hash: TableHash,
    bases: Vec<TableHash>,
}

fn in_series(file: &Path, error: ConvertError) -> ConvertError {
    ConvertError::InSeries { file: file.to_owned(), error: Box::new(error) }
}

fn files(folder: &Path) -> Result<Vec<Needed>, ConvertError> {
    let list = || -> io::Result<Vec<PathBuf>> {
        fs::read_dir(folder)?.map(|entry| entry.map(|entry| entry.path())).collect()
    };
    let unread = |error| FileError::Io { action: "read", path: folder.to_owned(), error };
    // A killed run leaves a temporary file.
    let is_whole = |file: &PathBuf| file.file_name().is_some_and(|name| !is_temporary(name));
    let is_checkpoint =
        |file: &PathBuf| is_whole(file) && file.extension().is_some_and(|extension| extension == EXTENSION);
    let mut files: Vec<PathBuf> =
        list().map_err(unread).map_err(SavedError::from)?.into_iter().filter(is_checkpoint).collect();
    files.sort();
    let needed = |path: PathBuf| {
        let needed = || -> Result<(TableHash, Vec<TableHash>), SavedError> {
            let file = File::open(&path)?;
            let hash = file.hash();
            Ok((hash, bases_of(&file)?.into_iter().map(|base| base.hash).collect()))
        };
        let (hash, bases) = needed().map_err(|error| in_series(&path, error.into()))?;
        Ok(Needed { file: path, hash, bases })
    };
    files.into_iter().map(needed).collect()
}

/// Base files in the same folder.
pub(super) fn bases_of(file: &File) -> Result<Vec<Base>, SavedError> {
    let mut bases: Vec<Base> = Vec::new();
    let images = file.names().filter_map(|name| name.strip_suffix(".map"));
    for image in images {
        let more = image::bases(file, image)?;
        bases.extend(more.into_iter().filter(|base| !bases.contains(base)).collect::<Vec<_>>());
    }
    Ok(bases)
}
