//! Chunks to memory.

use std::ops::Range;
use std::{fs, io};

use super::chunks::{Chunk, Chunks};
use super::map::{Base, Map, Place, Run};
use super::{ChunkReason, ImageError, PAGE, section};
use crate::compression::Unpacker;
use crate::frame::{File, Frame};
use crate::parallel;

/// Pages from which on a run is offered for mapping: fewer are copied sooner than mapped.
const MAPPED_PAGES: u32 = 16;

/// What takes the pages of an image, on several threads. Addresses that get nothing are zero in the image.
pub trait Sink: Sync {
    /// Takes the contents of whole pages from `address` on.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;

    /// Offers whole pages that stand in a file as they are, to be mapped copy-on-write. They have been compared with
    /// their hash. If they are not taken (`false`), [`Sink::write`] gets them.
    fn map(&self, _address: u64, _part: Part<'_>) -> io::Result<bool> {
        Ok(false)
    }
}

/// A part of a file. The file is replaced and not changed by who writes images; a mapping of it lasts.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// The open file.
    pub file: &'a fs::File,
    /// Where the part begins, in bytes: a multiple of a page.
    pub offset: u64,
    /// Its length in bytes: a multiple of a page.
    pub length: u64,
}

/// What was restored, in pages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Restored {
    /// Pages that were written.
    pub written: u64,
    /// Pages that were mapped.
    pub mapped: u64,
}

/// A chunk with its bytes, which are undamaged.
pub struct Stored<'a> {
    pub file: &'a File,
    pub chunk: &'a Chunk,
    pub bytes: &'a [u8],
    /// Where in the file they begin.
    pub offset: u64,
}

/// An image in a file.
#[derive(Debug)]
pub struct Image<'a> {
    file: &'a File,
    bases: Vec<File>,
    pub(super) map: Map,
    /// The chunks of the file and of each base.
    pub(super) chunks: Vec<Chunks>,
}

impl<'a> Image<'a> {
    /// The image called `name`. Opens the files of before that it needs; checks all but the pages.
    pub fn read(file: &'a File, name: &str) -> Result<Self, ImageError> {
        let frame = file.frame()?;
        let map = Map::read(file, &frame, name)?;
        let mut chunks = vec![Chunks::read(file, &frame, name)?];
        let mut bases = Vec::new();
        for base in &map.bases {
            let (base, frame_chunks) = open_base(file, base, name)?;
            bases.push(base);
            chunks.push(frame_chunks);
        }
        let chunk =
            |place: &Place| chunks.get(place.file as usize)?.table.get(usize::try_from(place.chunk).ok()?);
        map.check_runs(chunk)
            .map_err(|reason| ImageError::description(file, &frame, section(name, "map"), reason))?;
        Ok(Self { file, bases, map, chunks })
    }

    /// The address ranges, ascending.
    pub fn regions(&self) -> &[Range<u64>] {
        &self.map.regions
    }

    /// The files of before that hold some of the pages.
    pub fn bases(&self) -> &[Base] {
        &self.map.bases
    }

    /// Gives all pages that are not zero to `sink`, each once, on `threads` threads. Every chunk is compared with its
    /// hash before `sink` gets any of it.
    pub fn restore(&self, sink: &impl Sink, threads: usize) -> Result<Restored, ImageError> {
        let mut runs = self.map.runs.clone();
        runs.sort_unstable_by_key(|run| (run.place, run.address));
        let chunks = runs.chunk_by(|a, b| (a.place.file, a.place.chunk) == (b.place.file, b.place.chunk));
        let restored = parallel::map(threads, chunks.collect(), Unpacker::default, |unpacker, runs| {
            self.restore_chunk(runs, unpacker, sink)
        })?;
        Ok(restored.into_iter().fold(Restored::default(), |sum, chunk| Restored {
            written: sum.written + chunk.written,
            mapped: sum.mapped + chunk.mapped,
        }))
    }

    /// Compares all pages of the image with their hashes, those in files of before too.
    pub fn check(&self, threads: usize) -> Result<(), ImageError> {
        self.restore(&Nowhere, threads).map(drop)
    }

    /// Restores runs of one chunk.
    fn restore_chunk(
        &self,
        runs: &[Run],
        unpacker: &mut Unpacker,
        sink: &impl Sink,
    ) -> Result<Restored, ImageError> {
        let mut restored = Restored::default();
        let Some(place) = runs.first().map(|run| run.place) else { return Ok(restored) };
        let Some(Stored { file, chunk, bytes: stored, offset }) = self.stored(&place)? else {
            return Ok(restored);
        };
        let damaged = |reason| ImageError::Chunk { path: file.path().to_owned(), offset, reason };
        let pages = match chunk.compressed {
            true => unpacker.unpack(stored, chunk.size()).map_err(|error| damaged(error.into()))?,
            false => stored,
        };
        for run in runs {
            let refused = |error| ImageError::Sink { address: run.address, error };
            let (start, length) = (run.place.slot as usize * PAGE, run.pages as usize * PAGE);
            let part = Part { file: file.file(), offset: offset + start as u64, length: length as u64 };
            let offered = !chunk.compressed && run.pages >= MAPPED_PAGES;
            if offered && sink.map(run.address, part).map_err(refused)? {
                restored.mapped += u64::from(run.pages);
            } else {
                let bytes = pages.get(start..start + length).unwrap_or_default();
                sink.write(run.address, bytes).map_err(refused)?;
                restored.written += u64::from(run.pages);
            }
        }
        Ok(restored)
    }

    /// The chunk that a page is in, compared with its hash.
    pub(super) fn stored(&self, place: &Place) -> Result<Option<Stored<'_>>, ImageError> {
        let Some((file, chunk, offset)) = self.chunk(place) else { return Ok(None) };
        let bytes = file.get(offset as usize..(offset + chunk.length) as usize).unwrap_or_default();
        if *blake3::hash(bytes).as_bytes() != chunk.hash {
            let (path, reason) = (file.path().to_owned(), ChunkReason::Hash);
            return Err(ImageError::Chunk { path, offset, reason });
        }
        Ok(Some(Stored { file, chunk, bytes, offset }))
    }

    /// The file and the chunk that a page is in, and where in the file the chunk begins, in bytes.
    fn chunk(&self, place: &Place) -> Option<(&File, &Chunk, u64)> {
        let index = place.file as usize;
        let file = if index == 0 { self.file } else { self.bases.get(index - 1)? };
        let chunks = self.chunks.get(index)?;
        let chunk = chunks.table.get(place.chunk as usize)?;
        Some((file, chunk, chunks.start as u64 + chunk.offset))
    }
}

/// Opens a file that `file` refers to.
pub fn open_base(file: &File, base: &Base, name: &str) -> Result<(File, Chunks), ImageError> {
    let path = file.path().with_file_name(&base.file);
    let opened = File::open(&path);
    let missing = |error| ImageError::BaseMissing { base: path.clone(), name: name.to_owned(), error };
    let opened = opened.map_err(missing)?;
    let frame: Frame<'_> = opened.frame()?;
    if frame.hash() != base.hash {
        let (found, expected) = (frame.hash(), base.hash);
        return Err(ImageError::BaseReplaced { base: path, name: name.to_owned(), found, expected });
    }
    let chunks = Chunks::read(&opened, &frame, name)?;
    Ok((opened, chunks))
}

struct Nowhere;

impl Sink for Nowhere {
    fn write(&self, _address: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
