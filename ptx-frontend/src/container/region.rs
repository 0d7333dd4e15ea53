//! Part of an input that knows its position, so that bounds errors can name it.

use super::error::{ContainerError, Location, Origin};

/// Bytes of an input and their position.
#[derive(Clone, Debug)]
pub(super) struct Region<'a> {
    pub(super) bytes: &'a [u8],
    /// Offset of `bytes` in the input.
    base: u64,
    origin: Origin,
}

impl<'a> Region<'a> {
    pub(super) fn new(bytes: &'a [u8], origin: Origin) -> Self {
        Self { bytes, base: 0, origin }
    }

    pub(super) fn len(&self) -> u64 {
        self.bytes.len() as u64
    }

    /// Position of the byte at `offset` in the region.
    pub(super) fn place(&self, offset: u64) -> Location {
        Location { origin: self.origin.clone(), offset: self.base.saturating_add(offset) }
    }

    /// Bytes `offset..offset + length` of the region, which contain a `what`.
    pub(super) fn slice(
        &self,
        offset: u64,
        length: u64,
        what: &'static str,
    ) -> Result<Region<'a>, ContainerError> {
        let available = self.len().saturating_sub(offset);
        let range = (|| {
            let begin = usize::try_from(offset).ok()?;
            let end = begin.checked_add(usize::try_from(length).ok()?)?;
            self.bytes.get(begin..end)
        })();
        match range {
            Some(bytes) => {
                Ok(Region { bytes, base: self.base.saturating_add(offset), origin: self.origin.clone() })
            }
            None => {
                Err(ContainerError::Truncated { place: self.place(offset), what, needed: length, available })
            }
        }
    }

    pub(super) fn u16(&self, offset: u64, what: &'static str) -> Result<u16, ContainerError> {
        self.array(offset, what).map(u16::from_le_bytes)
    }

    pub(super) fn u32(&self, offset: u64, what: &'static str) -> Result<u32, ContainerError> {
        self.array(offset, what).map(u32::from_le_bytes)
    }

    pub(super) fn u64(&self, offset: u64, what: &'static str) -> Result<u64, ContainerError> {
        self.array(offset, what).map(u64::from_le_bytes)
    }

    fn array<const N: usize>(&self, offset: u64, what: &'static str) -> Result<[u8; N], ContainerError> {
        let field = self.slice(offset, N as u64, what)?;
        let mut array = [0; N];
        array.copy_from_slice(field.bytes);
        Ok(array)
    }

    /// Error for the field `what` at `offset`, which violates `rule`.
    pub(super) fn bad_field(
        &self,
        offset: u64,
        what: &'static str,
        found: u64,
        rule: &'static str,
    ) -> ContainerError {
        ContainerError::Field { place: self.place(offset), what, found, rule }
    }
}
