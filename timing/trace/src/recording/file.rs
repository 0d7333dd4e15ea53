//! The file of a recording: a head and blocks.
//!
//! | bytes | |
//! |---|---|
//! | 8 | `VOLTRACE` |
//! | 4 | version, little-endian |
//! | | blocks |
//!
//! A block has a kind (1 byte), a number (8), sizes before and after compression (4 each), a hash
//! (32) and contents. The hash is BLAKE3 of the block's other bytes.
//!
//! The first block is the kernel, followed by its CTAs in any order with their numbers. The end
//! block's number is the count of blocks before it. Contents are `serde` values in
//! `checkpoint::codec`, compressed with LZ4.

use serde::Serialize;
use serde::de::DeserializeOwned;
use voltsim_checkpoint::codec;

use super::RecordingError;

/// Version of the format.
pub(super) const VERSION: u32 = 3;

const MAGIC: [u8; 8] = *b"VOLTRACE";
const HEAD: usize = MAGIC.len() + 4;
/// Kind, number, bytes before compression, bytes after.
const FIELDS: usize = 1 + 8 + 4 + 4;
const BLOCK_HEAD: usize = FIELDS + blake3::OUT_LEN;
/// Largest uncompressed block.
const LARGEST: usize = 1 << 30;

/// Kind of a block.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    Kernel = 1,
    Cta = 2,
    End = 3,
}

/// A block: number and compressed contents.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Block {
    pub number: u64,
    length: u32,
    contents: Vec<u8>,
}

impl Block {
    /// A block that holds a value.
    pub fn new<T: Serialize>(number: u64, value: &T) -> Result<Block, RecordingError> {
        let bytes = codec::encode(value).map_err(|error| failure(number, error))?;
        if bytes.len() > LARGEST {
            return Err(failure(number, "it has more than 1 GiB"));
        }
        Ok(Block { number, length: bytes.len() as u32, contents: lz4_flex::block::compress(&bytes) })
    }

    /// Decodes the value.
    pub fn value<T: DeserializeOwned>(&self) -> Result<T, RecordingError> {
        let bytes = lz4_flex::block::decompress(&self.contents, self.length as usize)
            .map_err(|error| failure(self.number, error))?;
        codec::decode::<{ 4 * LARGEST }, T>(&bytes).map_err(|error| failure(self.number, error))
    }
}

fn failure(number: u64, reason: impl ToString) -> RecordingError {
    RecordingError::Codec { part: format!("block {number}"), reason: reason.to_string() }
}

/// Encodes a file.
pub(super) fn write(kernel: &Block, ctas: &[Block]) -> Vec<u8> {
    let mut file = Vec::with_capacity(HEAD);
    file.extend(MAGIC);
    file.extend(VERSION.to_le_bytes());
    add(&mut file, Kind::Kernel, kernel);
    ctas.iter().for_each(|block| add(&mut file, Kind::Cta, block));
    add(&mut file, Kind::End, &Block { number: 1 + ctas.len() as u64, length: 0, contents: Vec::new() });
    file
}

fn add(file: &mut Vec<u8>, kind: Kind, block: &Block) {
    let start = file.len();
    file.push(kind as u8);
    file.extend(block.number.to_le_bytes());
    file.extend(block.length.to_le_bytes());
    file.extend((block.contents.len() as u32).to_le_bytes());
    let hash = hash(&file[start..], &block.contents);
    file.extend(hash);
    file.extend(&block.contents);
}

fn hash(fields: &[u8], contents: &[u8]) -> [u8; blake3::OUT_LEN] {
    *blake3::Hasher::new().update(fields).update(contents).finalize().as_bytes()
}

/// Decodes a complete file into the kernel's block and the CTAs' blocks.
pub(super) fn read(file: &[u8]) -> Result<(Block, Vec<Block>), RecordingError> {
    let head = file.get(..HEAD).ok_or(RecordingError::Length { offset: file.len() })?;
    if head[..MAGIC.len()] != MAGIC {
        return Err(RecordingError::Magic);
    }
    let found = u32::from_le_bytes(array(&head[MAGIC.len()..]));
    if found != VERSION {
        return Err(RecordingError::Version { found });
    }
    let mut offset = HEAD;
    let mut kernel = None;
    let mut ctas = Vec::new();
    loop {
        let start = offset;
        let (kind, block) = next(file, &mut offset)?;
        match (kind, &kernel) {
            (Kind::Kernel, None) => kernel = Some(block),
            (Kind::Cta, Some(_)) => ctas.push(block),
            (Kind::End, Some(_)) if block.number == 1 + ctas.len() as u64 => break,
            _ => return Err(RecordingError::Damaged { offset: start }),
        }
    }
    match kernel {
        Some(kernel) if offset == file.len() => Ok((kernel, ctas)),
        _ => Err(RecordingError::Length { offset }),
    }
}

fn next(file: &[u8], offset: &mut usize) -> Result<(Kind, Block), RecordingError> {
    let start = *offset;
    let short = RecordingError::Length { offset: file.len() };
    let Some(head) = file.get(start..start + BLOCK_HEAD) else { return Err(short) };
    let (fields, expected) = head.split_at(FIELDS);
    let length = u32::from_le_bytes(array(&fields[9..13]));
    let compressed = u32::from_le_bytes(array(&fields[13..17])) as usize;
    let contents = file.get(start + BLOCK_HEAD..).and_then(|rest| rest.get(..compressed));
    let Some(contents) = contents else { return Err(short) };
    let kind = match fields[0] {
        1 => Kind::Kernel,
        2 => Kind::Cta,
        3 => Kind::End,
        _ => return Err(RecordingError::Damaged { offset: start }),
    };
    if hash(fields, contents) != expected || length as usize > LARGEST {
        return Err(RecordingError::Damaged { offset: start });
    }
    *offset = start + BLOCK_HEAD + compressed;
    let number = u64::from_le_bytes(array(&fields[1..9]));
    Ok((kind, Block { number, length, contents: contents.to_vec() }))
}

/// The bytes as an array, padded with zeros.
fn array<const N: usize>(bytes: &[u8]) -> [u8; N] {
    let mut array = [0; N];
    for (to, from) in array.iter_mut().zip(bytes) {
        *to = *from;
    }
    array
}
