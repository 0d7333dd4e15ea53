//! Restoring of images.

use std::io;
use std::ops::Range;

use super::chunks::{Chunk, Chunks};
use super::map::{Base, Map, Run, StoredPosition};
use super::{ChunkReason, ImageError, PAGE, section};
use crate::compression::Unpacker;
use crate::frame::{File, FileError};
use crate::parallel;

/// Destination of restored pages, used by several threads. Addresses without a write are zero in the image.
pub trait Sink: Sync {
    /// Receives the contents of whole pages from `address` on.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;
}

/// Verified chunk.
pub struct Stored<'a> {
    pub file: &'a File,
    pub chunk: &'a Chunk,
    /// Offset of the chunk's bytes in the file.
    pub offset: u64,
}

/// Buffers of a restoring thread.
#[derive(Default)]
struct Workspace {
    /// Stored bytes of a chunk.
    stored: Vec<u8>,
    unpacker: Unpacker,
}

/// Image in a file.
#[derive(Debug)]
pub struct Image<'a> {
    file: &'a File,
    bases: Vec<File>,
    pub(super) map: Map,
    /// Chunks of the file and of each base.
    pub(super) chunks: Vec<Chunks>,
}

impl<'a> Image<'a> {
    /// Reads the image called `name`. Opens the earlier files that it needs, and checks everything except
    /// the pages.
    pub fn read(file: &'a File, name: &str) -> Result<Self, ImageError> {
        let map = Map::read(file, name)?;
        let mut chunks = vec![Chunks::read(file, name)?];
        let mut bases = Vec::new();
        for base in &map.bases {
            let (base, frame_chunks) = open_base(file, base, name)?;
            bases.push(base);
            chunks.push(frame_chunks);
        }
        let chunk = |place: &StoredPosition| {
            chunks.get(place.file as usize)?.table.get(usize::try_from(place.chunk).ok()?)
        };
        map.check_runs(chunk)
            .map_err(|reason| ImageError::description(file, section(name, "map"), reason))?;
        Ok(Self { file, bases, map, chunks })
    }

    /// Returns the address ranges, ascending.
    pub fn regions(&self) -> &[Range<u64>] {
        &self.map.regions
    }

    /// Returns the earlier files that hold some of the pages.
    pub fn bases(&self) -> &[Base] {
        &self.map.bases
    }

    /// Passes each nonzero page to `sink` once, on `threads` threads. Every chunk is copied and verified
    /// first. Returns the number of pages.
    pub fn restore(&self, sink: &impl Sink, threads: usize) -> Result<u64, ImageError> {
        let mut runs = self.map.runs.clone();
        runs.sort_unstable_by_key(|run| (run.place, run.address));
        let chunks = runs.chunk_by(|a, b| (a.place.file, a.place.chunk) == (b.place.file, b.place.chunk));
        let restored = parallel::map(threads, chunks.collect(), Workspace::default, |workspace, runs| {
            self.restore_chunk(runs, workspace, sink)
        })?;
        Ok(restored.into_iter().sum())
    }

    /// Verifies all pages of the image, including those in earlier files.
    pub fn check(&self, threads: usize) -> Result<(), ImageError> {
        self.restore(&Nowhere, threads).map(drop)
    }

    /// Restores runs of one chunk. Returns the number of pages.
    fn restore_chunk(
        &self,
        runs: &[Run],
        workspace: &mut Workspace,
        sink: &impl Sink,
    ) -> Result<u64, ImageError> {
        let Some(place) = runs.first().map(|run| run.place) else { return Ok(0) };
        let Workspace { stored: bytes, unpacker } = workspace;
        let Some(Stored { file, chunk, offset }) = self.stored(&place, bytes)? else { return Ok(0) };
        let damaged = |reason| ImageError::Chunk { path: file.path().to_owned(), offset, reason };
        let pages = match chunk.compressed {
            true => unpacker.unpack(bytes, chunk.size()).map_err(|error| damaged(error.into()))?,
            false => bytes,
        };
        for run in runs {
            let (start, length) = (run.place.slot as usize * PAGE, run.pages as usize * PAGE);
            let bytes = pages.get(start..start + length).unwrap_or_default();
            let refused = |error| ImageError::Sink { address: run.address, error };
            sink.write(run.address, bytes).map_err(refused)?;
        }
        Ok(runs.iter().map(|run| u64::from(run.pages)).sum())
    }

    /// Copies the bytes of a page's chunk to `bytes` and verifies them.
    pub(super) fn stored(
        &self,
        place: &StoredPosition,
        bytes: &mut Vec<u8>,
    ) -> Result<Option<Stored<'_>>, ImageError> {
        let Some((file, chunk, offset)) = self.chunk(place) else { return Ok(None) };
        file.read(offset as usize..(offset + chunk.length) as usize, bytes)?;
        if *blake3::hash(bytes).as_bytes() != chunk.hash {
            let (path, reason) = (file.path().to_owned(), ChunkReason::Hash);
            return Err(ImageError::Chunk { path, offset, reason });
        }
        Ok(Some(Stored { file, chunk, offset }))
    }

    /// Returns the file and chunk of a page, and the chunk's offset in the file in bytes.
    fn chunk(&self, place: &StoredPosition) -> Option<(&File, &Chunk, u64)> {
        let index = place.file as usize;
        let file = if index == 0 { self.file } else { self.bases.get(index - 1)? };
        let chunks = self.chunks.get(index)?;
        let chunk = chunks.table.get(place.chunk as usize)?;
        Some((file, chunk, chunks.start as u64 + chunk.offset))
    }
}

/// Opens a base of `file`.
pub fn open_base(file: &File, base: &Base, name: &str) -> Result<(File, Chunks), ImageError> {
    let path = file.path().with_file_name(&base.file);
    let opened = File::open(&path);
    let missing = |error| ImageError::BaseMissing { base: path.clone(), name: name.to_owned(), error };
    let opened = match opened {
        Err(error @ FileError::Io { .. }) => return Err(missing(error)),
        opened => opened?,
    };
    if opened.hash() != base.hash {
        let (found, expected) = (opened.hash(), base.hash);
        return Err(ImageError::BaseReplaced { base: path, name: name.to_owned(), found, expected });
    }
    let chunks = Chunks::read(&opened, name)?;
    Ok((opened, chunks))
}

struct Nowhere;

impl Sink for Nowhere {
    fn write(&self, _address: u64, _bytes: &[u8]) -> io::Result<()> {
        Ok(())
    }
}
