//! Encoding of values as bytes: serde through bincode (little-endian, variable-length integers).
//!
//! The bytes do not describe their types. The [frame](crate::frame)'s schema identifies the version of the
//! type, and its hashes prevent decoding of damaged bytes.
//!
//! Decoded types must not nest without bound or contain sequences of elements that take no bytes. Otherwise
//! a malicious depth or length would cost stack or time out of proportion to the input.

use serde::Serialize;
use serde::de::DeserializeOwned;
use thiserror::Error;

/// Error of encoding or decoding.
#[derive(Debug, Error)]
pub enum CodecError {
    /// The value is not encodable by bincode, such as a sequence of unknown length.
    #[error("cannot encode: {0}")]
    Encode(#[source] bincode::error::EncodeError),
    /// The bytes are not a value of the type, or the value exceeds the limit.
    #[error("cannot decode: {0}")]
    Decode(#[source] bincode::error::DecodeError),
    /// Bytes follow the value.
    #[error("the value ends at byte {used} of {length}")]
    TrailingBytes {
        /// Bytes of the value.
        used: usize,
        /// Bytes of the input.
        length: usize,
    },
}

/// Encodes a value.
pub fn encode<T: Serialize + ?Sized>(value: &T) -> Result<Vec<u8>, CodecError> {
    bincode::serde::encode_to_vec(value, bincode::config::standard()).map_err(CodecError::Encode)
}

/// Decodes a value that takes all of `bytes`. Refuses values whose integers, text and byte strings exceed
/// `LIMIT` bytes in memory, before allocating them.
pub fn decode<const LIMIT: usize, T: DeserializeOwned>(bytes: &[u8]) -> Result<T, CodecError> {
    let config = bincode::config::standard().with_limit::<LIMIT>();
    let (value, used) = bincode::serde::decode_from_slice(bytes, config).map_err(CodecError::Decode)?;
    if used != bytes.len() {
        return Err(CodecError::TrailingBytes { used, length: bytes.len() });
    }
    Ok(value)
}
