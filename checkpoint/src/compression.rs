//! Compression of blocks if it saves enough.

use thiserror::Error;
use zstd::bulk::{Compressor, Decompressor};

/// Zstandard's fast level, which keeps up with a disk on one core.
const LEVEL: i32 = 1;

/// Error of decompression.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
pub enum CompressionError {
    /// Zstandard refuses the input, or it decompresses to more bytes than expected.
    #[error("Zstandard: {0}")]
    Zstandard(String),
    /// The input decompresses to fewer bytes than expected.
    #[error("{found} bytes instead of {expected}")]
    Length {
        /// Decompressed bytes.
        found: usize,
        /// Expected bytes.
        expected: usize,
    },
}

/// Compressor of successive blocks.
pub struct Packer(Option<Compressor<'static>>);

impl Packer {
    pub fn new() -> Self {
        // If memory is insufficient, blocks stay uncompressed.
        Self(Compressor::new(LEVEL).ok())
    }

    /// Returns the compressed block if it is smaller by at least an eighth.
    pub fn pack(&mut self, block: &[u8]) -> Option<Vec<u8>> {
        let most = block.len() - block.len().div_ceil(8);
        let mut packed = Vec::with_capacity(most);
        let length = self.0.as_mut()?.compress_to_buffer(block, &mut packed).ok()?;
        (length <= most).then_some(packed)
    }
}

/// Decompressor of successive blocks.
#[derive(Default)]
pub struct Unpacker {
    decompressor: Option<Decompressor<'static>>,
    buffer: Vec<u8>,
}

impl Unpacker {
    /// Decompresses a block of `length` bytes. Allocates no more than that for any input.
    pub fn unpack(&mut self, packed: &[u8], length: usize) -> Result<&[u8], CompressionError> {
        let refused = |error: std::io::Error| CompressionError::Zstandard(error.to_string());
        let decompressor = match &mut self.decompressor {
            Some(decompressor) => decompressor,
            none => none.insert(Decompressor::new().map_err(refused)?),
        };
        if self.buffer.capacity() < length {
            self.buffer = Vec::with_capacity(length);
        }
        self.buffer.clear();
        decompressor.decompress_to_buffer(packed, &mut self.buffer).map_err(refused)?;
        match self.buffer.len() {
            found if found == length => Ok(&self.buffer),
            found => Err(CompressionError::Length { found, expected: length }),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{CompressionError, Packer, Unpacker};

    #[test]
    fn compressible_blocks_round_trip() {
        let block: Vec<u8> = (0..100_000_u32).map(|index| (index % 251) as u8).collect();
        let packed = Packer::new().pack(&block).unwrap();
        assert!(packed.len() < block.len() / 10);
        assert_eq!(Unpacker::default().unpack(&packed, block.len()).unwrap(), block);
    }

    #[test]
    fn blocks_stay_uncompressed_below_an_eighth_of_savings() {
        let mut noise = vec![0; 100_000];
        blake3::Hasher::new().finalize_xof().fill(&mut noise);
        assert_eq!(Packer::new().pack(&noise), None);
        noise[..10_000].fill(0);
        assert_eq!(Packer::new().pack(&noise), None);
        noise[..20_000].fill(0);
        assert!(Packer::new().pack(&noise).is_some());
        assert_eq!(Packer::new().pack(&[]), None);
    }

    #[test]
    fn blocks_of_other_lengths_are_refused() {
        let packed = Packer::new().pack(&[7; 1 << 24]).unwrap();
        let mut unpacker = Unpacker::default();
        assert!(matches!(unpacker.unpack(&packed, 1 << 12), Err(CompressionError::Zstandard(_))));
        let expected = (1 << 24) + 1;
        let short = unpacker.unpack(&packed, expected).unwrap_err();
        assert_eq!(short, CompressionError::Length { found: 1 << 24, expected });
    }
}
