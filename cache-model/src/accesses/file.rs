//! Recordings of accesses: launches one after the other in a file.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `VOLTACCS` |
//! | 4 | version, little-endian |
//! | | blocks: kind (1), length (4), compressed length (4), BLAKE3 (32), contents |
//!
//! A launch is a head block (a [`Launch`] in `checkpoint::codec`), blocks of words, and blocks of
//! warp ends. The hash is of the block's other bytes. Contents are compressed with LZ4. A recording
//! may stop after any launch.

use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::{Path, PathBuf};

use voltsim_checkpoint::codec;

use super::{Header, Launch, LaunchAccesses};

const MAGIC: [u8; 8] = *b"VOLTACCS";
const VERSION: u32 = 1;
/// Kind, bytes before compression, bytes after.
const FIELDS: usize = 9;
/// Most bytes of a block before compression.
const LARGEST: usize = 16 << 20;
/// Most CTAs, and most threads of a CTA, that a head may claim.
const MOST_CTAS: u64 = 1 << 40;

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum BlockKind {
    Launch = 1,
    Words = 2,
    Ends = 3,
    Close = 4,
}

/// Reason for which a recording cannot be read.
#[derive(Debug, thiserror::Error)]
pub enum FileError {
    /// The system refuses.
    #[error("{}: {error}", .file.display())]
    Io {
        /// The file.
        file: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// The file has another form.
    #[error("{}: this is no recording of accesses (its first bytes are not VOLTACCS)", .file.display())]
    Magic {
        /// The file.
        file: PathBuf,
    },
    /// The file has another version.
    #[error("{}: the recording has version {found}; this program reads version {VERSION}", .file.display())]
    Version {
        /// The file.
        file: PathBuf,
        /// Version of the file.
        found: u32,
    },
    /// The file is cut short or changed.
    #[error("{}: the recording is damaged at byte {offset}: {reason}", .file.display())]
    Damaged {
        /// The file.
        file: PathBuf,
        /// Start of the block.
        offset: u64,
        /// The contradiction.
        reason: String,
    },
}

impl FileError {
    /// The user's way out.
    pub fn remedy(&self) -> &'static str {
        match self {
            FileError::Io { .. } => "check the path and its permissions",
            FileError::Magic { .. } => "name a file of `voltsim cache-model --record`",
            FileError::Version { .. } | FileError::Damaged { .. } => {
                "record it again with `voltsim cache-model --record`"
            }
        }
    }
}

/// True if a file begins as a recording of accesses.
pub fn is_recording(file: &Path) -> bool {
    let mut magic = [0; MAGIC.len()];
    File::open(file).and_then(|mut file| file.read_exact(&mut magic)).is_ok_and(|()| magic == MAGIC)
}

/// Appends launches to a recording.
#[derive(Debug)]
pub struct Writer {
    file: File,
}

impl Writer {
    /// Opens a recording that may have launches, or creates one.
    ///
    /// # Errors
    /// The file cannot be opened or written.
    pub fn append(path: &Path) -> io::Result<Writer> {
        let mut file = File::options().append(true).create(true).open(path)?;
        if file.metadata()?.len() == 0 {
            let mut head = MAGIC.to_vec();
            head.extend(VERSION.to_le_bytes());
            file.write_all(&head)?;
        }
        Ok(Writer { file })
    }

    /// Adds a launch.
    ///
    /// # Errors
    /// The file cannot be written.
    pub fn add(&mut self, accesses: &LaunchAccesses) -> io::Result<()> {
        let head = codec::encode(&accesses.launch).map_err(io::Error::other)?;
        self.block(BlockKind::Launch, &head)?;
        self.blocks(BlockKind::Words, &accesses.words)?;
        self.blocks(BlockKind::Ends, &accesses.ends)?;
        self.block(BlockKind::Close, &[])
    }

    fn blocks(&mut self, kind: BlockKind, values: &[u64]) -> io::Result<()> {
        let mut bytes = Vec::new();
        for part in values.chunks(LARGEST / 8) {
            bytes.clear();
            part.iter().for_each(|value| bytes.extend_from_slice(&value.to_le_bytes()));
            self.block(kind, &bytes)?;
        }
        Ok(())
    }

    fn block(&mut self, kind: BlockKind, bytes: &[u8]) -> io::Result<()> {
        let packed = lz4_flex::block::compress(bytes);
        let mut block = vec![kind as u8];
        block.extend((bytes.len() as u32).to_le_bytes());
        block.extend((packed.len() as u32).to_le_bytes());
        let hash = hash(&block, &packed);
        block.extend(hash);
        block.extend(&packed);
        self.file.write_all(&block)
    }
}

fn hash(fields: &[u8], packed: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(fields).update(packed).finalize().as_bytes()
}

/// Reads the launches of a recording, one after the other.
#[derive(Debug)]
pub struct Reader {
    path: PathBuf,
    file: BufReader<File>,
    offset: u64,
}

impl Reader {
    /// Opens a recording.
    ///
    /// # Errors
    /// The file cannot be read, or is none.
    pub fn open(path: &Path) -> Result<Reader, FileError> {
        let failed = |error| FileError::Io { file: path.to_owned(), error };
        let mut file = BufReader::with_capacity(1 << 20, File::open(path).map_err(failed)?);
        let mut head = [0; MAGIC.len() + 4];
        let is_whole = file.read_exact(&mut head).is_ok();
        let (magic, version) = head.split_at(MAGIC.len());
        if !is_whole || magic != MAGIC {
            return Err(FileError::Magic { file: path.to_owned() });
        }
        let found = u32::from_le_bytes(array(version));
        match found {
            VERSION => Ok(Reader { path: path.to_owned(), file, offset: head.len() as u64 }),
            _ => Err(FileError::Version { file: path.to_owned(), found }),
        }
    }

    /// The next launch; `None` at the end.
    ///
    /// # Errors
    /// The file is damaged.
    pub fn next_launch(&mut self) -> Result<Option<LaunchAccesses>, FileError> {
        let start = self.offset;
        let Some((kind, head)) = self.block()? else { return Ok(None) };
        let damaged = |reason: &str| self.damaged(start, reason);
        if kind != BlockKind::Launch {
            return Err(damaged("a launch must begin here"));
        }
        let launch: Launch = codec::decode::<{ 4 * LARGEST }, Launch>(&head)
            .map_err(|error| self.damaged(start, &error.to_string()))?;
        let shape = &launch.shape;
        if shape.grid.iter().any(|extent| u64::from(*extent) > MOST_CTAS)
            || !(1..=1024).contains(&shape.threads_per_cta())
        {
            return Err(damaged("a CTA has 1 to 1,024 threads"));
        }
        let mut accesses = LaunchAccesses { launch, ..LaunchAccesses::default() };
        loop {
            match self.block()? {
                Some((BlockKind::Words, bytes)) => accesses.words.extend(values(&bytes)),
                Some((BlockKind::Ends, bytes)) => accesses.ends.extend(values(&bytes)),
                Some((BlockKind::Close, _)) => break,
                Some((BlockKind::Launch, _)) | None => {
                    return Err(self.damaged(start, "the launch is not whole"));
                }
            }
        }
        match check(&accesses) {
            Ok(()) => Ok(Some(accesses)),
            Err(reason) => Err(self.damaged(start, reason)),
        }
    }

    fn damaged(&self, offset: u64, reason: &str) -> FileError {
        FileError::Damaged { file: self.path.clone(), offset, reason: reason.to_owned() }
    }

    /// The next block; `None` at the end.
    fn block(&mut self) -> Result<Option<(BlockKind, Vec<u8>)>, FileError> {
        let start = self.offset;
        let mut head = [0; FIELDS + blake3::OUT_LEN];
        let read = self.fill(&mut head)?;
        if read == 0 {
            return Ok(None);
        }
        if read < head.len() {
            return Err(self.damaged(start, "the file is cut short"));
        }
        let (fields, expected) = head.split_at(FIELDS);
        let length = u32::from_le_bytes(array(&fields[1..5])) as usize;
        let packed = u32::from_le_bytes(array(&fields[5..9])) as usize;
        if length > LARGEST || packed > lz4_flex::block::get_maximum_output_size(LARGEST) {
            return Err(self.damaged(start, "a block is too large"));
        }
        let mut contents = vec![0; packed];
        if self.fill(&mut contents)? < packed {
            return Err(self.damaged(start, "the file is cut short"));
        }
        let kind = match fields[0] {
            1 => BlockKind::Launch,
            2 => BlockKind::Words,
            3 => BlockKind::Ends,
            4 => BlockKind::Close,
            _ => return Err(self.damaged(start, "there is no such block")),
        };
        if hash(fields, &contents) != expected {
            return Err(self.damaged(start, "the hash differs"));
        }
        let bytes = lz4_flex::block::decompress(&contents, length)
            .map_err(|error| self.damaged(start, &error.to_string()))?;
        Ok(Some((kind, bytes)))
    }

    /// Reads up to the end of the buffer or of the file.
    fn fill(&mut self, to: &mut [u8]) -> Result<usize, FileError> {
        let mut read = 0;
        while read < to.len() {
            match self.file.read(&mut to[read..]) {
                Ok(0) => break,
                Ok(more) => read += more,
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) => return Err(FileError::Io { file: self.path.clone(), error }),
            }
        }
        self.offset += read as u64;
        Ok(read)
    }
}

/// Little-endian values.
fn values(bytes: &[u8]) -> impl Iterator<Item = u64> + '_ {
    bytes.chunks_exact(8).map(|value| u64::from_le_bytes(array(value)))
}

/// The bytes as an array, padded with zeros.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    array.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    array
}

/// Checks what the model relies on.
fn check(accesses: &LaunchAccesses) -> Result<(), &'static str> {
    let LaunchAccesses { launch, words, ends } = accesses;
    let ctas = launch.shape.checked_cta_count();
    let warps = ctas.and_then(|ctas| ctas.checked_mul(launch.shape.warps_per_cta().into()));
    if warps != Some(ends.len() as u64) {
        return Err("its number of warps differs from the launch's");
    }
    if !ends.is_sorted() || ends.last().copied().unwrap_or(0) != words.len() as u64 {
        return Err("the ends of its warps do not ascend to the number of words");
    }
    let mut next = 0;
    for &end in ends {
        while next < end {
            next += 1 + u64::from(Header::of(words[next as usize]).lines);
        }
        if next != end {
            return Err("an access ends behind its warp");
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::column_copy;

    fn recorded(launches: &[LaunchAccesses]) -> tempfile::NamedTempFile {
        let file = tempfile::NamedTempFile::new().expect("a file");
        let mut writer = Writer::append(file.path()).expect("opened");
        launches.iter().for_each(|launch| writer.add(launch).expect("written"));
        file
    }

    fn read(path: &Path) -> Result<Vec<LaunchAccesses>, FileError> {
        let mut reader = Reader::open(path)?;
        let mut launches = Vec::new();
        while let Some(launch) = reader.next_launch()? {
            launches.push(launch);
        }
        Ok(launches)
    }

    #[test]
    fn recording_gives_the_written_launches() {
        let launches = [column_copy::accesses(32), column_copy::accesses(64)];
        let file = recorded(&launches);
        assert!(is_recording(file.path()));
        assert_eq!(read(file.path()).expect("readable"), launches);
    }

    #[test]
    fn changed_and_short_recordings_are_refused() {
        let file = recorded(&[column_copy::accesses(32)]);
        let bytes = std::fs::read(file.path()).expect("readable");
        let refused = |bytes: &[u8]| {
            std::fs::write(file.path(), bytes).expect("written");
            read(file.path()).is_err()
        };
        for place in [0, 9, 12, 14, 60, bytes.len() / 2, bytes.len() - 1] {
            let mut changed = bytes.clone();
            changed[place] ^= 4;
            assert!(refused(&changed), "byte {place}");
            assert!(refused(&bytes[..place]) || place == 12, "{place} bytes");
        }
        assert!(!refused(&bytes));
    }
}
