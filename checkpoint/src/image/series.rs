//! Images one after the other, each with only the pages that those before it do not hold.

use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::path::{Path, PathBuf};

use super::ImageError;
use super::chunks::{Chunks, PageHash};
use super::map::{Base, Map, Place, Run};
use super::restore::open_base;
use super::save::{Memory, Region, Saved, save_beside};
use crate::atomic_file::folder_of;
use crate::frame::{File, FileError, FileWriter};

/// The pages that the files of a series hold. All of them lie in one folder, and each is needed for restoring those
/// after it that refer to it. A restore opens all of these at once, so a series should begin anew after some hundred files.
#[derive(Clone, Debug)]
pub struct Series {
    name: String,
    /// The folder, once there is a file.
    folder: Option<PathBuf>,
    bases: Vec<Base>,
    /// Where each content is; file 1 is the first of the bases.
    places: HashMap<PageHash, Place>,
}

impl Series {
    /// A series without files, of images called `name`.
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into(), folder: None, bases: Vec::new(), places: HashMap::new() }
    }

    /// Adds a file that has been written, and the files that it refers to.
    pub fn add(&mut self, file: &File) -> Result<(), ImageError> {
        let path = file.path();
        let folder = folder(path)?;
        if self.folder.as_ref().is_some_and(|known| *known != folder) {
            return Err(ImageError::Series {
                path: path.to_owned(),
                reason: "it is in another folder than files before it",
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

    /// As [`save`](super::save), without the pages that files of the series hold. The file must lie in their folder and
    /// have another name than any of them.
    pub fn save(
        &self,
        writer: &mut FileWriter,
        regions: &[Region],
        memory: &impl Memory,
        threads: usize,
    ) -> Result<Saved, ImageError> {
        let path = writer.path();
        let refused = |reason| Err(ImageError::Series { path: path.to_owned(), reason });
        if self.folder.is_some() && self.folder != Some(folder(path)?) {
            return refused("it is in another folder than files before it");
        }
        if self.bases.iter().any(|base| path.file_name().is_some_and(|name| *name == *base.file)) {
            return refused("it would replace a file before it");
        }
        save_beside(self, writer, &self.name, regions, memory, threads)
    }

    /// Where a content is, if a file of the series has it.
    pub(super) fn place(&self, hash: &PageHash) -> Option<Place> {
        self.places.get(hash).copied()
    }

    /// The bases that runs refer to; the runs are changed to refer to them.
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
        let places = (0..)
            .zip(&chunks.table)
            .flat_map(|(chunk, entry)| (0..entry.pages).map(move |slot| Place { file, chunk, slot }));
        for (hash, place) in hashes.iter().zip(places) {
            // An older file is the one that more files need already.
            self.places.entry(*hash).or_insert(place);
        }
    }
}

fn folder(path: &Path) -> Result<PathBuf, ImageError> {
    let parent = folder_of(path);
    Ok(fs::canonicalize(parent).map_err(FileError::io("find", parent))?)
}
