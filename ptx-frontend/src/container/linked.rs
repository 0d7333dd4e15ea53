//! Linked images, which replace machine code: PTX texts to load as one module. `cuLinkComplete` and the
//! stand-ins for `ptxas` and NVRTC return such an image as an opaque "cubin".
//!
//! Layout, little endian: magic (8 bytes), total length (u64), register limit per thread (u64, 0 for none),
//! then each text preceded by its length (u64).

use super::error::{ContainerError, Origin};
use super::region::Region;

/// Magic bytes.
pub const LINKED_MAGIC: &[u8; 8] = b"VOLTLINK";
/// Bytes up to the end of the total length.
pub const LINKED_HEADER_SIZE: usize = 16;

/// PTX texts to load as one module.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Linked<'a> {
    /// PTX texts.
    pub texts: Vec<&'a [u8]>,
    /// Register limit per thread, if given.
    pub max_registers: Option<u32>,
}

/// Total length in bytes from an image's header.
pub fn linked_size(header: &[u8; LINKED_HEADER_SIZE]) -> u64 {
    header.last_chunk().map_or(0, |length| u64::from_le_bytes(*length))
}

impl<'a> Linked<'a> {
    /// Parses an image.
    pub fn parse(bytes: &'a [u8], origin: Origin) -> Result<Self, ContainerError> {
        let region = Region::new(bytes, origin);
        let length = region.u64(8, "length of a linked image")?;
        let whole = region.slice(0, length, "linked image")?;
        let registers = whole.u64(16, "register limit of a linked image")?;
        let too_many =
            |_| region.bad_field(16, "register limit of a linked image", registers, "it has 32 bits");
        let max_registers = Some(u32::try_from(registers).map_err(too_many)?).filter(|most| *most > 0);
        let mut texts = Vec::new();
        let mut offset = 24_u64;
        while offset < length {
            let size = whole.u64(offset, "length of a linked text")?;
            let start = offset + 8;
            texts.push(whole.slice(start, size, "linked text")?.bytes);
            // The slice lies in memory, so its end cannot overflow.
            offset = start.saturating_add(size);
        }
        Ok(Self { texts, max_registers })
    }

    /// Encodes an image of these texts.
    pub fn to_bytes(&self) -> Vec<u8> {
        let length = 24 + self.texts.iter().map(|text| 8 + text.len()).sum::<usize>();
        let mut bytes = LINKED_MAGIC.to_vec();
        bytes.extend((length as u64).to_le_bytes());
        bytes.extend(u64::from(self.max_registers.unwrap_or(0)).to_le_bytes());
        for text in &self.texts {
            bytes.extend((text.len() as u64).to_le_bytes());
            bytes.extend(*text);
        }
        bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn image() -> Vec<u8> {
        Linked { texts: vec![b".version 7.0", b"", b"x"], max_registers: Some(40) }.to_bytes()
    }

    #[test]
    fn linked_images_round_trip_and_ignore_later_bytes() {
        let mut bytes = image();
        let header = bytes.first_chunk().unwrap();
        assert_eq!(linked_size(header), bytes.len() as u64);
        bytes.extend(b"behind");
        let read = Linked::parse(&bytes, Origin::ModuleImage).unwrap();
        assert_eq!(read.texts, [b".version 7.0".as_slice(), b"", b"x"]);
        assert_eq!(read.max_registers, Some(40));
    }

    #[test]
    fn truncated_linked_images_are_errors() {
        let bytes = image();
        for length in 0..bytes.len() {
            assert!(Linked::parse(&bytes[..length], Origin::ModuleImage).is_err(), "{length}");
        }
    }

    #[test]
    fn overflowing_lengths_are_errors() {
        let mut bytes = image();
        bytes[24..32].copy_from_slice(&u64::MAX.to_le_bytes());
        assert!(Linked::parse(&bytes, Origin::ModuleImage).is_err());
    }
}
