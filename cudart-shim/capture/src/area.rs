//! Device memory that a copy or fill takes as a whole.

use serde::{Deserialize, Serialize};

/// Rows of bytes in slices.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Area {
    /// Device address of the first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
    /// Bytes from one row to the next.
    pub pitch: u64,
    /// Bytes from one slice to the next.
    pub slice: u64,
}

impl Area {
    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.height).saturating_mul(self.depth)
    }

    /// The address behind the last byte.
    pub fn end(&self) -> u64 {
        let rows = self.pitch.saturating_mul(self.height.saturating_sub(1));
        let slices = self.slice.saturating_mul(self.depth.saturating_sub(1));
        [rows, slices, self.width].into_iter().fold(self.address, u64::saturating_add)
    }
}

/// A copy within the device, or a fill.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct Transfer {
    /// What is written.
    pub to: Area,
    /// Where the bytes come from; nothing for a fill.
    pub from: Option<Area>,
}
