//! Extents of copies and fills that kernels request.

use crate::device::Device;
use crate::memory::MemoryError;

/// Extent in bytes per row, rows per slice, and slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Rows {
    /// Bytes per row.
    pub width: u64,
    /// Rows per slice.
    pub height: u64,
    /// Number of slices.
    pub depth: u64,
}

/// Layout of rows in memory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RowLayout {
    /// Device address of the first byte.
    pub address: u64,
    /// Bytes between rows.
    pub pitch: u64,
    /// Bytes between slices.
    pub slice: u64,
}

impl RowLayout {
    /// Layout of a single row.
    pub(crate) fn row(address: u64) -> RowLayout {
        RowLayout { address, pitch: 0, slice: 0 }
    }
}

impl Rows {
    /// True if the extent contains no byte.
    pub(crate) fn is_empty(self) -> bool {
        [self.width, self.height, self.depth].contains(&0)
    }

    /// True if the rows at `place` neither overlap nor leave the address space.
    pub(crate) fn fits(self, place: RowLayout) -> bool {
        let Rows { width, height, depth } = self;
        let rows_apart = height <= 1 || place.pitch >= width;
        let slices_apart = depth <= 1 || self.slice_bytes(place).is_some_and(|bytes| place.slice >= bytes);
        rows_apart && slices_apart && self.end(place).is_some()
    }

    /// Bytes from the start of a slice's first row to the end of its last row.
    fn slice_bytes(self, place: RowLayout) -> Option<u64> {
        place.pitch.checked_mul(self.height.saturating_sub(1))?.checked_add(self.width)
    }

    fn end(self, place: RowLayout) -> Option<u64> {
        let last_slice = place.slice.checked_mul(self.depth.saturating_sub(1))?;
        place.address.checked_add(last_slice)?.checked_add(self.slice_bytes(place)?)
    }

    /// Checks that all rows at `place` are allocated and disjoint. The time depends on the number of
    /// allocations, not rows.
    pub(crate) fn check(self, device: &Device, place: RowLayout) -> Result<(), MemoryError> {
        if self.is_empty() {
            return Ok(());
        }
        let outside = || MemoryError::NotAllocated(place.address);
        let slice_bytes = self.slice_bytes(place).filter(|_| self.fits(place)).ok_or_else(outside)?;
        let mut slice = 0;
        while slice < self.depth {
            let start = place.address + slice * place.slice;
            match fitting(device, start, (slice_bytes, place.slice)) {
                0 => {
                    self.check_slice(device, start, place.pitch)?;
                    slice += 1;
                }
                fitting => slice = slice.saturating_add(fitting),
            }
        }
        Ok(())
    }

    fn check_slice(self, device: &Device, start: u64, pitch: u64) -> Result<(), MemoryError> {
        let mut row = 0;
        while row < self.height {
            let address = start + row * pitch;
            match fitting(device, address, (self.width, pitch)) {
                0 => return Err(MemoryError::NotAllocated(address)),
                fitting => row = row.saturating_add(fitting),
            }
        }
        Ok(())
    }

    /// Merges adjacent rows without gaps; bytes and addresses stay equal.
    pub(crate) fn joined<const N: usize>(mut self, mut places: [RowLayout; N]) -> (Rows, [RowLayout; N]) {
        let fits = |rows: Rows, places: &[RowLayout; N]| places.iter().all(|place| rows.fits(*place));
        if self.is_empty() || !fits(self, &places) {
            return (Rows { width: 0, height: 0, depth: 0 }, places);
        }
        if self.height == 1 || places.iter().all(|place| place.pitch == self.width) {
            // Slices of one row each are rows.
            self = Rows { width: self.width * self.height, height: self.depth, depth: 1 };
            places = places.map(|place| RowLayout { pitch: place.slice, slice: 0, ..place });
            if places.iter().all(|place| place.pitch == self.width) {
                self = Rows { width: self.width * self.height, height: 1, depth: 1 };
            }
        }
        (self, places)
    }

    /// Row addresses at `place`, which fits the extent.
    pub(crate) fn starts(self, place: RowLayout) -> impl Iterator<Item = u64> {
        let slices = (0..self.depth).map(move |slice| place.address + slice * place.slice);
        slices.flat_map(move |start| (0..self.height).map(move |row| start + row * place.pitch))
    }
}

/// Number of blocks of `bytes`, one every `step`, within the accessible memory around `start`.
fn fitting(device: &Device, start: u64, (bytes, step): (u64, u64)) -> u64 {
    let Some((_, end)) = device.memory.accessible_around(start) else { return 0 };
    match end.saturating_sub(start).checked_sub(bytes) {
        None => 0,
        // A single block has no step.
        Some(behind) => behind.checked_div(step).unwrap_or(u64::MAX - 1) + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::device::{DeviceSpec, Settings};
    use crate::memory::AllocationKind;

    fn rows(width: u64, height: u64, depth: u64) -> Rows {
        Rows { width, height, depth }
    }

    fn place(address: u64, pitch: u64, slice: u64) -> RowLayout {
        RowLayout { address, pitch, slice }
    }

    #[test]
    fn rows_are_checked_by_allocation() {
        let device = Device::new(DeviceSpec::default(), Settings::default()).unwrap();
        let block = device.memory.allocate(1 << 30, 4, AllocationKind::Device).unwrap();
        let check = |rows: Rows, pitch, slice| rows.check(&device, place(block, pitch, slice)).is_ok();
        assert!(check(rows(1, 1 << 30, 1), 1, 0));
        assert!(!check(rows(1, (1 << 30) + 1, 1), 1, 0));
        assert!(check(rows(1, 1, 1 << 30), 0, 1));
        assert!(check(rows(16, 1 << 10, 1 << 16), 16, 1 << 14));
        assert!(!check(rows(16, 1 << 10, (1 << 16) + 1), 16, 1 << 14));
        assert!(!check(rows(16, 1 << 10, 2), 16, 1 << 13), "slices overlap");
        assert!(!check(rows(16, 2, 1), 0, 0), "rows overlap");
        assert!(check(rows(0, 1 << 60, 1 << 60), 0, 0), "no byte is outside");
        assert!(!check(rows(1, 1 << 60, 1 << 60), 1 << 20, 1 << 20), "beyond the address space");
    }

    #[test]
    fn adjacent_rows_merge() {
        let dense = rows(16, 4, 8).joined([place(64, 16, 64)]);
        assert_eq!(dense.0, rows(512, 1, 1));
        let slices = rows(16, 4, 8).joined([place(64, 16, 80), place(0, 16, 64)]);
        assert_eq!(slices.0, rows(64, 8, 1));
        assert_eq!(slices.0.starts(slices.1[0]).take(2).collect::<Vec<_>>(), [64, 144]);
        let apart = rows(16, 4, 8).joined([place(64, 20, 80)]);
        assert_eq!(apart.0, rows(16, 4, 8));
        assert_eq!(rows(0, 1 << 60, 1).joined([place(64, 0, 0)]).0.starts(RowLayout::row(64)).count(), 0);
    }
}
