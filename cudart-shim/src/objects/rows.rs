//! Boxes of bytes in memory, which copies and fills take.

use crate::abi::ArrayHandle;
use crate::abi::error::{Error, Result};

/// Rows in memory.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Side {
    /// Address of the first byte.
    pub(crate) address: usize,
    /// Distance between rows in bytes.
    pub(crate) pitch: usize,
    /// Distance between slices in bytes.
    pub(crate) slice: usize,
    /// Array that contains the rows.
    pub(crate) array: Option<ArrayHandle>,
    /// Byte, row and slice of the first byte, relative to the array or the memory argument.
    pub(crate) position: [usize; 3],
}

/// Size of a copy or fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Extent {
    /// Bytes per row.
    pub(crate) width: usize,
    /// Rows per slice.
    pub(crate) height: usize,
    /// Number of slices.
    pub(crate) depth: usize,
}

impl Extent {
    /// A single row.
    pub(crate) fn row(width: usize) -> Self {
        Self { width, height: 1, depth: 1 }
    }

    /// Total bytes.
    pub(crate) fn bytes(self) -> usize {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    pub(crate) fn is_empty(self) -> bool {
        self.width == 0 || self.height == 0 || self.depth == 0
    }
}

impl Side {
    /// A single row.
    pub(crate) fn row(address: usize) -> Self {
        Self { address, ..Self::default() }
    }

    /// Rows of one slice.
    pub(crate) fn rows(address: usize, pitch: usize) -> Self {
        Self { address, pitch, ..Self::default() }
    }

    /// A box at a position (byte, row, slice) of pitched memory with `rows` rows per slice.
    pub(crate) fn pitched(base: usize, pitch: usize, rows: usize, position: [usize; 3]) -> Result<Self> {
        let slice = pitch.checked_mul(rows).ok_or(Error::InvalidValue)?;
        let [x, y, z] = position;
        let address = z
            .checked_mul(slice)
            .zip(y.checked_mul(pitch))
            .and_then(|(slices, rows)| slices.checked_add(rows)?.checked_add(x)?.checked_add(base));
        Ok(Self { address: address.ok_or(Error::InvalidValue)?, pitch, slice, array: None, position })
    }

    /// Start of the memory that the position is relative to.
    pub(crate) fn base(&self) -> usize {
        let [x, y, z] = self.position;
        self.address - x - y * self.pitch - z * self.slice
    }

    /// Distance in bytes from the first byte to the end of the last row. An overflow is an error.
    pub(crate) fn span(&self, extent: Extent) -> Result<usize> {
        let rows = self.pitch.checked_mul(extent.height.saturating_sub(1));
        let slices = self.slice.checked_mul(extent.depth.saturating_sub(1));
        let span =
            rows.zip(slices).and_then(|(rows, slices)| rows.checked_add(slices)?.checked_add(extent.width));
        let span = span.ok_or(Error::InvalidValue)?;
        self.address.checked_add(span).ok_or(Error::InvalidValue)?;
        Ok(span)
    }

    /// Rejects overlapping rows or slices, whose number would be unbounded.
    pub(crate) fn check_apart(&self, extent: Extent) -> Result<()> {
        let Extent { width, height, depth } = extent;
        let rows_apart = height <= 1 || self.pitch >= width;
        let slice = self.pitch.checked_mul(height.saturating_sub(1)).and_then(|rows| rows.checked_add(width));
        let slices_apart = depth <= 1 || slice.is_some_and(|bytes| self.slice >= bytes);
        if rows_apart && slices_apart { Ok(()) } else { Err(Error::InvalidPitchValue) }
    }

    pub(crate) fn row_address(&self, row: usize, slice: usize) -> usize {
        self.address + row * self.pitch + slice * self.slice
    }
}
