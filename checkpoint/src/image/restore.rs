//! Chunks to memory.

use std::io;
use std::ops::Range;

use super::chunks::{Chunk, Chunks};
use super::map::{Base, Map, Place, Run};
use super::{ChunkReason, ImageError, PAGE, section};
use crate::compression::Unpacker;
use crate::frame::{File, FileError};
use crate::parallel;

/// What takes the pages of an image, on several threads. Addresses that get nothing are zero in the image.
pub trait Sink: Sync {
    /// Takes the contents of whole pages from `address` on.
    fn write(&self, address: u64, bytes: &[u8]) -> io::Result<()>;
}

/// A chunk that has been read and is undamaged.
pub struct Stored<'a> {
    pub file: &'a File,
    pub chunk: &'a Chunk,
    /// Where in the file its bytes begin.
    pub offset: u64,
}

/// Room for a thread that restores chunks.
#[derive(Default)]
struct Workspace {
    /// A chunk's bytes as the file has them.
    stored: Vec<u8>,
    unpacker: Unpacker,
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
        let map = Map::read(file, name)?;
        let mut chunks = vec![Chunks::read(file, name)?];
        let mut bases = Vec::new();
        for base in &map.bases {
            let (base, frame_chunks) = open_base(file, base, name)?;
            bases.push(base);
            chunks.push(frame_chunks);
        }
        let chunk =
            |place: &Place| chunks.get(place.file as usize)?.table.get(usize::try_from(place.chunk).ok()?);
        map.check_runs(chunk)
            .map_err(|reason| ImageError::description(file, section(name, "map"), reason))?;
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

    /// Gives all pages that are not zero to `sink`, each once, on `threads` threads; says how many. Every chunk is copied and
    /// compared with its hash before `sink` gets any of it.
    pub fn restore(&self, sink: &impl Sink, threads: usize) -> Result<u64, ImageError> {
        let mut runs = self.map.runs.clone();
        runs.sort_unstable_by_key(|run| (run.place, run.address));
        let chunks = runs.chunk_by(|a, b| (a.place.file, a.place.chunk) == (b.place.file, b.place.chunk));
        let restored = parallel::map(threads, chunks.collect(), Workspace::default, |workspace, runs| {
            self.restore_chunk(runs, workspace, sink)
        })?;
        Ok(restored.into_iter().sum())
    }

    /// Compares all pages of the image with their hashes, those in files of before too.
    pub fn check(&self, threads: usize) -> Result<(), ImageError> {
        self.restore(&Nowhere, threads).map(drop)
    }

    /// Restores runs of one chunk; says how many pages they have.
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

    /// The chunk that a page is in, with its bytes copied to `bytes` and compared with its hash.
    pub(super) fn stored(
        &self,
        place: &Place,
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
