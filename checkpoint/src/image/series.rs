//! Series of incremental images.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::ImageError;
use super::chunks::{Chunks, PageHash};
use super::map::{Base, Map, Run, StoredPosition};
use super::restore::open_base;
use super::save::{ReadMemory, Region, Saved, save_beside};
use crate::atomic_file::folder_of;
use crate::frame::{File, FileError, FileWriter};

/// Pages held by the files of a series in one folder. Each file is needed to restore later files that refer
/// to it. A restore opens all of these files at once, so a series should restart after a few hundred.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    /// Folder, once there is a file.
    folder: Option<PathBuf>,
    bases: Vec<Base>,
    /// Position of each page. File 1 is the first base.
    places: HashMap<PageHash, StoredPosition>,
}

impl Series {
    /// Creates an empty series of images called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), folder: None, bases: Vec::new(), places: HashMap::new() }
    }

    /// Adds a written file and the files that it refers to.
    pub fn add(&mut self, file: &File) -> Result<(), ImageError> {
        let path = file.path();
        let folder = folder(path)?;
        if self.folder.as_ref().is_some_and(|known| *known != folder) {
            return Err(ImageError::Series {
                path: path.to_owned(),
                reason: "it is in another folder than earlier files",
            });
        }
        let name = path.file_name().and_then(|name| name.to_str());
        let no_name = ImageError::Series { path: path.to_owned(), reason: "its name is not UTF-8" };
        let own = Base { file: name.ok_or(no_name)?.to_owned(), hash: file.hash() };
        let map = Map::read(file, &self.name)?;
        for base in map.bases {
            if !self.bases.contains(&base) {
                let (_, chunks) = open_base(file, &base, &self.name)?;
                self.add_pages(base, &chunks);
            }
        }
        if !self.bases.contains(&own) {
            self.add_pages(own, &Chunks::read(file, &self.name)?);
        }
        self.folder = Some(folder);
        Ok(())
    }

    /// Saves like [`save`](super::save), without the pages that files of the series hold. The file must be
    /// in their folder and have a new name.
    pub fn save(
        &self,
        writer: &mut FileWriter,
        regions: &[Region],
        memory: &impl ReadMemory,
        threads: usize,
    ) -> Result<Saved, ImageError> {
        let path = writer.path();
        let refused = |reason| Err(ImageError::Series { path: path.to_owned(), reason });
        if self.folder.is_some() && self.folder != Some(folder(path)?) {
            return refused("it is in another folder than earlier files");
        }
        if self.bases.iter().any(|base| path.file_name().is_some_and(|name| *name == *base.file)) {
            return refused("it would replace an earlier file");
        }
        save_beside(self, writer, &self.name, regions, memory, threads)
    }

    /// Returns the position of a page in the files of the series.
    pub(super) fn place(&self, hash: &PageHash) -> Option<StoredPosition> {
        self.places.get(hash).copied()
    }

    /// Returns the bases that runs refer to, and renumbers the runs accordingly.
    pub(super) fn used(&self, runs: &mut [Run]) -> Vec<Base> {
        let used: BTreeSet<u32> = runs.iter().map(|run| run.place.file).filter(|&file| file != 0).collect();
        let numbers: HashMap<u32, u32> = used.iter().copied().zip(1..).collect();
        for run in runs {
            run.place.file = numbers.get(&run.place.file).copied().unwrap_or(0);
        }
        used.into_iter().filter_map(|file| self.bases.get(file as usize - 1).cloned()).collect()
    }

    fn add_pages(&mut self, base: Base, chunks: &Chunks) {
        let hashes = chunks.hashes.as_chunks().0;
        self.bases.push(base);
        let file = self.bases.len() as u32;
        let places = (0..).zip(&chunks.table).flat_map(|(chunk, entry)| {
            (0..entry.pages).map(move |slot| StoredPosition { file, chunk, slot })
        });
        for (hash, place) in hashes.iter().zip(places) {
            // Prefer the older file, which more files already need.
            self.places.entry(*hash).or_insert(place);
        }
    }
}

fn folder(path: &Path) -> Result<PathBuf, ImageError> {
    let parent = folder_of(path);
    Ok(fs::canonicalize(parent).map_err(FileError::io("find", parent))?)
}
