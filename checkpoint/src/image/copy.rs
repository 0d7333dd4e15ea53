//! Copying of images between files, chunk by chunk in stored form.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use super::chunks::{self, Chunk, Chunks, PageHash};
use super::map::{Base, Map, Run, StoredPosition};
use super::restore::Image;
use super::save::{append, describe};
use super::{ImageError, section};
use crate::frame::{File, FileWriter, TableHash};

/// Returns the files in the folder of `file` that hold pages of its image.
pub fn bases(file: &File, name: &str) -> Result<Vec<Base>, ImageError> {
    Ok(Map::read(file, name)?.bases)
}

/// Chunk's identity: index of its file, as in runs, and its index there.
type Number = (u32, u64);

/// Copies the image of a file into another file and verifies every chunk. Earlier files in `renewed` remain
/// referenced under their names, with their new hashes. From other earlier files, the used chunks are
/// copied.
pub fn copy(
    writer: &mut FileWriter,
    file: &File,
    name: &str,
    renewed: &HashMap<TableHash, TableHash>,
) -> Result<(), ImageError> {
    let image = Image::read(file, name)?;
    let is_kept = |number: u32| {
        let base = image.bases().get((number as usize).wrapping_sub(1));
        base.is_some_and(|base| renewed.contains_key(&base.hash))
    };
    let own = image.chunks.first().map_or(0, |chunks| chunks.table.len() as u64);
    let used: BTreeSet<Number> = image.map.runs.iter().map(|run| number(&run.place)).collect();
    let of_bases = used.into_iter().filter(|(file, _)| *file != 0 && !is_kept(*file));
    let chunks: Vec<Number> = (0..own).map(|chunk| (0, chunk)).chain(of_bases).collect();
    writer.begin(&section(name, "pages"), chunks::pages_schema())?;
    let mut copied = Copied::default();
    let pages: Vec<Vec<usize>> = image.chunks.iter().map(first_pages).collect();
    for number @ (file, chunk) in chunks {
        let first = pages.get(file as usize).and_then(|pages| pages.get(chunk as usize));
        copied.add(writer, &image, number, first.copied().unwrap_or(0))?;
    }
    let map = copied.map(&image.map, renewed);
    describe(writer, name, &copied.hashes, &copied.table, &map)
}

fn number(place: &StoredPosition) -> Number {
    (place.file, place.chunk)
}

/// Returns for each chunk of a file the number of pages before it.
fn first_pages(chunks: &Chunks) -> Vec<usize> {
    let pages = |sum: &mut usize, chunk: &Chunk| Some(std::mem::replace(sum, *sum + chunk.pages as usize));
    chunks.table.iter().scan(0, pages).collect()
}

/// Chunks copied so far.
#[derive(Default)]
struct Copied {
    table: Vec<Chunk>,
    hashes: Vec<u8>,
    /// New index of each chunk.
    numbers: BTreeMap<Number, u64>,
    /// Bytes of the most recently copied chunk.
    bytes: Vec<u8>,
}

impl Copied {
    fn add(
        &mut self,
        writer: &mut FileWriter,
        image: &Image<'_>,
        number: Number,
        first: usize,
    ) -> Result<(), ImageError> {
        let (file, chunk) = number;
        let Some(stored) = image.stored(&StoredPosition { file, chunk, slot: 0 }, &mut self.bytes)? else {
            return Ok(());
        };
        let chunk = stored.chunk;
        self.numbers.insert(number, self.table.len() as u64);
        self.table.push(append(writer, chunk.clone(), &self.bytes)?);
        let hashes = image.chunks.get(file as usize).map_or(&[][..], |chunks| &chunks.hashes);
        let size = size_of::<PageHash>();
        let own = hashes.get(first * size..(first + chunk.pages as usize) * size);
        self.hashes.extend(own.unwrap_or_default());
        Ok(())
    }

    /// Returns the map of the image in the new file.
    fn map(&self, old: &Map, renewed: &HashMap<TableHash, TableHash>) -> Map {
        let mut bases = Vec::new();
        let mut files = HashMap::new();
        for (base, number) in old.bases.iter().zip(1_u32..) {
            if let Some(hash) = renewed.get(&base.hash) {
                bases.push(Base { file: base.file.clone(), hash: *hash });
                files.insert(number, bases.len() as u32);
            }
        }
        let place = |place: &StoredPosition| match (files.get(&place.file), self.numbers.get(&number(place)))
        {
            (Some(file), _) => StoredPosition { file: *file, ..*place },
            (None, chunk) => {
                StoredPosition { file: 0, chunk: chunk.copied().unwrap_or(place.chunk), ..*place }
            }
        };
        let runs = old.runs.iter().map(|run| Run { place: place(&run.place), ..*run }).collect();
        Map { regions: old.regions.clone(), bases, runs }
    }
}
