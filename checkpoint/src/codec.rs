//! Values as bytes and back: serde through bincode (little-endian, integers of variable length).
//!
//! The bytes describe no types: what was written by one version of a type must not be read by another. The
//! [frame](crate::frame)'s schema says which version it was, and its hashes keep damaged bytes from being decoded.
//!
//! Types to decode must not nest without bound and must not hold sequences of elements that take no bytes: a hostile
//! length or depth would then cost stack or time instead of input.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// A value that could not be turned into bytes or back.
#[derive(Debug, Error)]
pub enum CodecError {
    /// A value serde cannot express, such as a sequence of unknown length.
    #[error("cannot encode: {0}")]
    Encode(#[source] bincode::error::EncodeError),
    /// Bytes that are not a value of the type, or a value beyond the limit.
    #[error("cannot decode: {0}")]
    Decode(#[source] bincode::error::DecodeError),
    /// The value ends before the bytes do.
    #[error("the value ends at byte {used} of {length}")]
    TrailingBytes {
        /// Bytes the value took.
        used: usize,
        /// Bytes there were.
        length: usize,
    },
}

/// The value as bytes.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CodecError> {
    bincode::serde::encode_to_vec(value, bincode::config::standard()).map_err(CodecError::Encode)
}

/// The value that all of `bytes` encode. A value whose integers, text and byte strings add up to more than `LIMIT` bytes
/// in memory is refused before it is allocated.
pub fn decode<const LIMIT: usize, T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (value, used) = bincode::serde::decode_from_slice(bytes, config).map_err(CodecError::Decode)?;
    if used != bytes.len() {
        return Err(CodecError::TrailingBytes { used, length: bytes.len() });
    }
    Ok(value)
}
