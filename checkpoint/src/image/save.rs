//! Saving of images.

use std::collections::HashMap;
use std::io;
use std::ops::Range;
use std::sync::mpsc::{Receiver, sync_channel};
use std::{mem, panic, thread};

use super::chunks::{self, CHUNK_PAGES, Chunk, PageHash, page_hash};
use super::map::{self, Map, Run, StoredPosition, check_ranges};
use super::series::Series;
use super::{ImageError, PAGE, section};
use crate::codec;
use crate::compression::Packer;
use crate::frame::{FileError, FileWriter};
use crate::parallel;

/// Limit of chunks that wait to be written.
const QUEUE: usize = 32;
/// Pages per read of a thread.
const BATCH_PAGES: usize = 256;
/// Batches per thread that are read before their chunks are formed.
const BATCHES: usize = 4;

/// Addresses to save, in whole pages.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Region {
    /// All addresses.
    pub addresses: Range<u64>,
    /// Possibly nonzero addresses, ascending, in whole pages. Only these are read.
    pub touched: Vec<Range<u64>>,
}

/// Readable memory, used by several threads.
pub trait ReadMemory: Sync {
    /// Copies memory from `address` on to `bytes`: whole pages of a touched range.
    fn read(&self, address: u64, bytes: &mut [u8]) -> io::Result<()>;
}

/// Statistics of a save, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Saved {
    /// Pages read.
    pub touched: u64,
    /// Zero pages.
    pub zero: u64,
    /// Pages that this image or an earlier file had already stored.
    pub repeated: u64,
    /// Pages stored.
    pub stored: u64,
    /// Bytes of the stored pages.
    pub bytes: u64,
}

/// Adds the [sections](super::SECTIONS) of the image called `name`, of up to 25 bytes, to a file. Reads and
/// compresses on `threads` threads, whose number does not affect the output.
///
/// Regions must ascend.
pub fn save(
    writer: &mut FileWriter,
    name: &str,
    regions: &[Region],
    memory: &impl ReadMemory,
    threads: usize,
) -> Result<Saved, ImageError> {
    save_beside(&Series::new(name), writer, name, regions, memory, threads)
}

/// Saves the pages that no file of `series` holds.
pub fn save_beside(
    series: &Series,
    writer: &mut FileWriter,
    name: &str,
    regions: &[Region],
    memory: &impl ReadMemory,
    threads: usize,
) -> Result<Saved, ImageError> {
    check(regions)?;
    writer.begin(&section(name, "pages"), chunks::pages_schema())?;
    let mut gatherer = Gatherer::beside(series);
    let table = thread::scope(|scope| {
        let (sender, receiver) = sync_channel(QUEUE);
        let path = writer.path().to_owned();
        let start = FileError::io("start a writer thread for", &path);
        let storing =
            thread::Builder::new().spawn_scoped(scope, || store(writer, receiver)).map_err(start)?;
        let gathered =
            gather(&mut gatherer, &batches(regions), memory, threads, |chunk| sender.send(chunk).is_ok());
        drop(sender);
        let stored = storing.join().unwrap_or_else(|payload| panic::resume_unwind(payload));
        gathered.and(stored.map_err(ImageError::from))
    })?;
    let Gatherer { mut runs, hashes, mut saved, .. } = gatherer;
    saved.bytes = table.iter().map(|chunk| chunk.length).sum();
    let regions = regions.iter().map(|region| region.addresses.clone()).collect();
    let map = Map { regions, bases: series.used(&mut runs), runs };
    describe(writer, name, hashes.as_flattened(), &table, &map)?;
    Ok(saved)
}

/// Adds the sections that describe the pages' section.
pub fn describe(
    writer: &mut FileWriter,
    name: &str,
    hashes: &[u8],
    table: &[Chunk],
    map: &Map,
) -> Result<(), ImageError> {
    writer.begin(&section(name, "hashes"), chunks::hashes_schema())?;
    writer.append(hashes)?;
    for (part, schema, encoded) in [
        ("chunks", chunks::chunks_schema(), codec::encode(table)),
        ("map", map::schema(), codec::encode(map)),
    ] {
        writer.begin(&section(name, part), schema)?;
        writer.append(&encoded.map_err(ImageError::Encode)?)?;
    }
    Ok(())
}

fn check(regions: &[Region]) -> Result<(), ImageError> {
    let wrong = |(index, reason)| ImageError::Region { index, reason };
    check_ranges(regions.iter().map(|region| &region.addresses)).map_err(wrong)?;
    for (index, region) in regions.iter().enumerate() {
        check_ranges(region.touched.iter()).map_err(|(_, reason)| wrong((index, reason)))?;
        let first = region.touched.first().is_none_or(|first| first.start >= region.addresses.start);
        let last = region.touched.last().is_none_or(|last| last.end <= region.addresses.end);
        if !first || !last {
            return Err(wrong((index, "touched addresses lie outside of it")));
        }
    }
    Ok(())
}

/// Splits the touched ranges into parts of up to [`BATCH_PAGES`], and collects them in batches of up to
/// that size.
fn batches(regions: &[Region]) -> Vec<Vec<Range<u64>>> {
    const BATCH: u64 = (BATCH_PAGES * PAGE) as u64;
    let mut batches = Vec::new();
    let mut batch = Vec::new();
    let mut room = BATCH;
    for touched in regions.iter().flat_map(|region| &region.touched) {
        let mut start = touched.start;
        while start < touched.end {
            let part = start..touched.end.min(start + room);
            start = part.end;
            room -= part.end - part.start;
            batch.push(part);
            if room == 0 {
                batches.push(mem::take(&mut batch));
                room = BATCH;
            }
        }
    }
    if !batch.is_empty() {
        batches.push(batch);
    }
    batches
}

/// Pages read, with hashes of nonzero ones.
struct Pages {
    parts: Vec<Range<u64>>,
    bytes: Vec<u8>,
    hashes: Vec<Option<PageHash>>,
}

fn read(parts: &[Range<u64>], memory: &impl ReadMemory) -> Result<Pages, ImageError> {
    let length = parts.iter().map(|part| part.end - part.start).sum::<u64>();
    let mut bytes = vec![0; length as usize];
    let mut rest = bytes.as_mut_slice();
    for part in parts {
        let (piece, behind) = rest.split_at_mut((part.end - part.start) as usize);
        let unreadable = |error| ImageError::Memory { address: part.start, error };
        memory.read(part.start, piece).map_err(unreadable)?;
        rest = behind;
    }
    let hash = |page: &[u8]| (*page != [0; PAGE]).then(|| page_hash(page));
    let hashes = bytes.chunks_exact(PAGE).map(hash).collect();
    Ok(Pages { parts: parts.to_owned(), bytes, hashes })
}

/// Reads all batches and passes their chunks to `take` in order, until `take` refuses one.
fn gather(
    gatherer: &mut Gatherer<'_>,
    batches: &[Vec<Range<u64>>],
    memory: &impl ReadMemory,
    threads: usize,
    take: impl Fn(Packed) -> bool,
) -> Result<(), ImageError> {
    let give = |full: Vec<Vec<u8>>| {
        let pack = |packer: &mut Packer, chunk| Ok::<_, ImageError>(pack(packer, chunk));
        parallel::map(threads, full, Packer::new, pack).map(|packed| packed.into_iter().all(&take))
    };
    for wave in batches.chunks(BATCHES * threads.max(1)) {
        let read = |(): &mut (), parts: &Vec<_>| read(parts, memory);
        for pages in parallel::map(threads, wave.iter().collect(), || (), read)? {
            gatherer.add(&pages);
        }
        if !give(mem::take(&mut gatherer.full))? {
            return Ok(());
        }
    }
    if !gatherer.chunk.is_empty() {
        give(vec![mem::take(&mut gatherer.chunk)])?;
    }
    Ok(())
}

/// Deduplication of pages, and formation of chunks from new ones.
struct Gatherer<'a> {
    series: &'a Series,
    /// Pages of this image.
    places: HashMap<PageHash, StoredPosition>,
    runs: Vec<Run>,
    hashes: Vec<PageHash>,
    /// Pages of the incomplete chunk.
    chunk: Vec<u8>,
    /// Full chunks.
    full: Vec<Vec<u8>>,
    saved: Saved,
}

impl<'a> Gatherer<'a> {
    fn beside(series: &'a Series) -> Self {
        Self {
            series,
            places: HashMap::new(),
            runs: Vec::new(),
            hashes: Vec::new(),
            chunk: Vec::new(),
            full: Vec::new(),
            saved: Saved::default(),
        }
    }

    fn add(&mut self, pages: &Pages) {
        let addresses = pages.parts.iter().flat_map(|part| part.clone().step_by(PAGE));
        for ((address, page), hash) in addresses.zip(pages.bytes.chunks_exact(PAGE)).zip(&pages.hashes) {
            self.saved.touched += 1;
            match hash {
                Some(hash) => self.add_page(address, page, hash),
                None => self.saved.zero += 1,
            }
        }
    }

    fn add_page(&mut self, address: u64, page: &[u8], hash: &PageHash) {
        let known = self.places.get(hash).copied().or_else(|| self.series.place(hash));
        let place = match known {
            Some(place) => {
                self.saved.repeated += 1;
                place
            }
            None => self.store(page, hash),
        };
        if !self.runs.last_mut().is_some_and(|run| run.extend(address, place)) {
            self.runs.push(Run { address, place, pages: 1 });
        }
    }

    fn store(&mut self, page: &[u8], hash: &PageHash) -> StoredPosition {
        let index = self.hashes.len();
        let place = StoredPosition {
            file: 0,
            chunk: (index / CHUNK_PAGES) as u64,
            slot: (index % CHUNK_PAGES) as u32,
        };
        self.places.insert(*hash, place);
        self.hashes.push(*hash);
        self.saved.stored += 1;
        if self.chunk.is_empty() {
            self.chunk.reserve_exact(CHUNK_PAGES * PAGE);
        }
        self.chunk.extend_from_slice(page);
        if self.chunk.len() == CHUNK_PAGES * PAGE {
            self.full.push(mem::take(&mut self.chunk));
        }
        place
    }
}

/// Chunk in stored form.
struct Packed {
    bytes: Vec<u8>,
    pages: u32,
    compressed: bool,
    hash: blake3::Hash,
}

fn pack(packer: &mut Packer, chunk: Vec<u8>) -> Packed {
    let pages = (chunk.len() / PAGE) as u32;
    let packed = packer.pack(&chunk);
    let compressed = packed.is_some();
    let bytes = packed.unwrap_or(chunk);
    Packed { hash: blake3::hash(&bytes), bytes, pages, compressed }
}

/// Adds chunks to the current section. Returns their table.
fn store(writer: &mut FileWriter, chunks: Receiver<Packed>) -> Result<Vec<Chunk>, FileError> {
    let mut table = Vec::new();
    for Packed { bytes, pages, compressed, hash } in chunks {
        let (offset, length) = (0, bytes.len() as u64);
        let chunk = Chunk { offset, length, pages, compressed, hash: *hash.as_bytes() };
        table.push(append(writer, chunk, &bytes)?);
    }
    Ok(table)
}

/// Adds a chunk's bytes to the section. Returns the chunk with its position there.
pub fn append(writer: &mut FileWriter, chunk: Chunk, stored: &[u8]) -> Result<Chunk, FileError> {
    if !chunk.compressed {
        let gap = writer.position().next_multiple_of(PAGE as u64) - writer.position();
        writer.append(&[0; PAGE][..gap as usize])?;
    }
    let offset = writer.section_length();
    writer.append(stored)?;
    Ok(Chunk { offset, ..chunk })
}
