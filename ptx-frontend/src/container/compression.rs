//! Payload encodings of fat binary entries: none, LZ4 block, zstd frame.
//!
//! Sizes in headers are untrusted. Memory is never allocated for a claim that the compressed bytes cannot
//! fulfil. An LZ4 block grows at most 255-fold. A zstd frame grows at most 32,768-fold and is decoded block
//! by block, so memory grows only with actual output.

use std::fmt;
use std::io::Read;

use ruzstd::decoding::{FrameDecoder, StreamingDecoder};

use super::error::{ContainerError, Location};

/// Maximum uncompressed payload in bytes (1 GiB). The largest known PTX modules have about 10 MB.
pub const MAX_PAYLOAD_SIZE: u64 = 1 << 30;

/// Maximum output bytes per byte of an LZ4 block (a match length continued by 255).
const LZ4_MAX_RATIO: u64 = 255;
/// Output of an LZ4 block beyond the ratio: the 19 bytes of the token's own match length.
const LZ4_SLACK: u64 = 19;
/// Four bytes of a zstd frame, a block header and a repeated byte, give at most a block of 128 KiB.
const ZSTD_MAX_RATIO: u64 = (128 << 10) / 4;
/// Minimum zstd window that every decoder should accept (RFC 8878, section 3.1.1.1.2).
const ZSTD_MIN_WINDOW_LIMIT: u64 = 8 << 20;

/// Encoding of an entry's payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Compression {
    /// Uncompressed.
    None,
    /// One LZ4 block without a frame.
    Lz4,
    /// One zstd frame.
    Zstd,
}

impl Compression {
    /// Name in reports.
    pub fn name(self) -> &'static str {
        match self {
            Self::None => "none",
            Self::Lz4 => "lz4",
            Self::Zstd => "zstd",
        }
    }
}

impl fmt::Display for Compression {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// Decompresses an LZ4 block at `place` to exactly `size` bytes.
pub(super) fn decompress_lz4(block: &[u8], size: u64, place: &Location) -> Result<Vec<u8>, ContainerError> {
    let possible = (block.len() as u64).saturating_mul(LZ4_MAX_RATIO).saturating_add(LZ4_SLACK);
    let mut output = vec![0; check_size(size, possible, place)?];
    let written = lz4_flex::block::decompress_into(block, &mut output)
        .map_err(|error| damaged(place, Compression::Lz4, error))?;
    exact(output, written, size, place)
}

/// Decompresses a zstd frame at `place` to exactly `size` bytes, and verifies the frame's checksum if
/// present.
pub(super) fn decompress_zstd(frame: &[u8], size: u64, place: &Location) -> Result<Vec<u8>, ContainerError> {
    check_size(size, (frame.len() as u64).saturating_mul(ZSTD_MAX_RATIO), place)?;
    let mut decoder = FrameDecoder::new();
    decoder.set_max_window_size(size.max(ZSTD_MIN_WINDOW_LIMIT));
    let mut decoder = StreamingDecoder::new_with_decoder(frame, decoder)
        .map_err(|error| damaged(place, Compression::Zstd, error))?;
    let in_frame_header = decoder.decoder.content_size();
    if in_frame_header != 0 && in_frame_header != size {
        return Err(ContainerError::SizeMismatch {
            place: place.clone(),
            claimed: size,
            actual: in_frame_header,
        });
    }
    let mut output = Vec::new();
    Read::take(&mut decoder, size.saturating_add(1))
        .read_to_end(&mut output)
        .map_err(|error| damaged(place, Compression::Zstd, error))?;
    let written = output.len();
    let output = exact(output, written, size, place)?;
    let decoder = decoder.into_frame_decoder();
    match decoder.get_checksum_from_data() {
        Some(stored) if decoder.get_calculated_checksum() != Some(stored) => {
            Err(damaged(place, Compression::Zstd, "the content's checksum does not match"))
        }
        _ => Ok(output),
    }
}

/// Rejects a claimed size above `possible` or [`MAX_PAYLOAD_SIZE`].
fn check_size(claimed: u64, possible: u64, place: &Location) -> Result<usize, ContainerError> {
    let limit = possible.min(MAX_PAYLOAD_SIZE);
    match usize::try_from(claimed) {
        Ok(size) if claimed <= limit => Ok(size),
        _ => Err(ContainerError::TooLarge { place: place.clone(), claimed, limit }),
    }
}

fn exact(output: Vec<u8>, written: usize, claimed: u64, place: &Location) -> Result<Vec<u8>, ContainerError> {
    if written as u64 == claimed {
        Ok(output)
    } else {
        Err(ContainerError::SizeMismatch { place: place.clone(), claimed, actual: written as u64 })
    }
}

fn damaged(place: &Location, compression: Compression, reason: impl fmt::Display) -> ContainerError {
    ContainerError::Damaged { place: place.clone(), compression, reason: reason.to_string() }
}
