//! Rows of device memory, line by line.

use std::ops::Range;

use serde::{Deserialize, Serialize};

use crate::message::LINE_BYTES;

/// Rows of bytes, grouped in slices.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Rows {
    /// Device address of the first byte.
    pub address: u64,
    /// Bytes of a row.
    pub width: u64,
    /// Rows of a slice.
    pub height: u64,
    /// Slices.
    pub depth: u64,
    /// Bytes between row starts.
    pub pitch: u64,
    /// Bytes between slice starts.
    pub slice: u64,
}

/// A line of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Place {
    /// Row, counted over all slices.
    pub(super) row: u64,
    /// Device address of the line.
    line: u64,
}

impl Rows {
    /// A single row.
    pub fn row(address: u64, width: u64) -> Rows {
        Rows { address, width, height: 1, depth: 1, pitch: 0, slice: 0 }
    }

    /// Bytes of all rows.
    pub fn bytes(&self) -> u64 {
        self.width.saturating_mul(self.count())
    }

    /// Calls `tell` with each row's address, slice by slice.
    pub fn each(&self, mut tell: impl FnMut(u64)) {
        (0..self.count()).for_each(|row| tell(self.addresses(row).start));
    }

    /// Number of rows.
    fn count(&self) -> u64 {
        self.height.saturating_mul(self.depth)
    }

    /// Merges contiguous rows into one row, or contiguous slices into one slice.
    pub(super) fn joined(&self) -> Option<Rows> {
        let Rows { address, width, height, depth, pitch, slice } = *self;
        let rows = height <= 1 || pitch == width;
        let slices = depth <= 1 || slice == width.saturating_mul(height);
        (rows && slices).then(|| Rows::row(address, width.saturating_mul(height).saturating_mul(depth)))
    }

    pub(super) fn has_shape_of(&self, other: &Rows) -> bool {
        (self.width, self.height, self.depth) == (other.width, other.height, other.depth)
    }

    /// Address after the last byte, if it is representable.
    pub fn end(&self) -> Option<u64> {
        let rows = self.pitch.checked_mul(self.height.saturating_sub(1))?;
        let slices = self.slice.checked_mul(self.depth.saturating_sub(1))?;
        self.address.checked_add(rows)?.checked_add(slices)?.checked_add(self.width)
    }

    /// True if every byte has an address.
    pub(super) fn is_in_memory(&self) -> bool {
        self.end().is_some_and(|end| end < 1 << 63) && self.bytes() < 1 << 48
    }

    /// Addresses of a row.
    fn addresses(&self, row: u64) -> Range<u64> {
        let (slice, row) = (row / self.height.max(1), row % self.height.max(1));
        let first = self.address + slice * self.slice + row * self.pitch;
        first..first + self.width
    }

    pub(super) fn first_line(&self) -> Place {
        Place { row: 0, line: line_of(self.address) }
    }

    /// True if the position is past all rows.
    pub(super) fn is_end(&self, place: &Place) -> bool {
        self.width == 0 || place.row >= self.count()
    }

    /// True for a valid position: a line of a row, or the end.
    pub(super) fn may_be_at(&self, place: &Place) -> bool {
        let lines = |row| {
            let Range { start, end } = self.addresses(row);
            place.line.is_multiple_of(LINE_BYTES) && (line_of(start)..end).contains(&place.line)
        };
        if self.is_end(place) { place.row <= self.count() } else { lines(place.row) }
    }

    /// Line of a position, and the row's bytes in it.
    pub(super) fn bytes_at(&self, place: &Place) -> (u64, Range<u64>) {
        let Range { start, end } = self.addresses(place.row);
        let first = start.saturating_sub(place.line);
        (place.line, first..(end - place.line).min(LINE_BYTES))
    }

    /// Bytes of the rows before a position.
    pub(super) fn bytes_before(&self, place: &Place) -> u64 {
        if self.is_end(place) {
            return self.bytes();
        }
        place.row * self.width + place.line.saturating_sub(self.addresses(place.row).start)
    }

    /// Moves to the next line; true if it is of another row.
    pub(super) fn go_on(&self, place: &mut Place) -> bool {
        place.line += LINE_BYTES;
        if place.line < self.addresses(place.row).end {
            return false;
        }
        place.row += 1;
        if !self.is_end(place) {
            place.line = line_of(self.addresses(place.row).start);
        }
        true
    }

    /// Lines of a row.
    pub(super) fn lines_of(&self, row: u64) -> u64 {
        let Range { start, end } = self.addresses(row);
        (end - line_of(start)).div_ceil(LINE_BYTES)
    }

    /// Lines of a row here that hold another row's bytes up to the end of a line there.
    pub(super) fn lines_up_to(&self, place: &Place, there: &Rows) -> u64 {
        let Range { start, end } = there.addresses(place.row);
        let bytes = (place.line + LINE_BYTES).min(end) - start;
        let first = self.addresses(place.row).start;
        (first + bytes - line_of(first)).div_ceil(LINE_BYTES)
    }
}

fn line_of(address: u64) -> u64 {
    address / LINE_BYTES * LINE_BYTES
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Lines with the row's bytes in each.
    fn lines(rows: &Rows) -> Vec<(u64, Range<u64>)> {
        let mut place = rows.first_line();
        let mut lines = Vec::new();
        while !rows.is_end(&place) {
            assert!(rows.may_be_at(&place));
            lines.push(rows.bytes_at(&place));
            rows.go_on(&mut place);
        }
        assert!(rows.may_be_at(&place));
        lines
    }

    #[test]
    fn row_spans_the_lines_of_its_bytes() {
        assert_eq!(lines(&Rows::row(0x1000, 1)), [(0x1000, 0..1)]);
        assert_eq!(
            lines(&Rows::row(0x10f0, 0xa0)),
            [(0x1080, 0x70..0x80), (0x1100, 0..0x80), (0x1180, 0..16)]
        );
    }

    #[test]
    fn rows_of_slices_keep_their_gaps() {
        let rows = Rows { address: 0x1000, width: 8, height: 2, depth: 2, pitch: 0x100, slice: 0x1000 };
        let starts: Vec<u64> = lines(&rows).into_iter().map(|(line, _)| line).collect();
        assert_eq!(starts, [0x1000, 0x1100, 0x2000, 0x2100]);
        assert_eq!(rows.bytes_before(&Place { row: 3, line: 0x2100 }), 24);
    }

    #[test]
    fn rows_without_gaps_merge() {
        let rows = Rows { address: 0, width: 8, height: 2, depth: 3, pitch: 8, slice: 16 };
        assert_eq!(rows.joined(), Some(Rows::row(0, 48)));
        assert_eq!(Rows { pitch: 9, ..rows }.joined(), None);
        assert_eq!(Rows { slice: 17, ..rows }.joined(), None);
    }

    #[test]
    fn written_line_needs_the_lines_with_its_bytes() {
        let (to, from) = (Rows::row(0x1000, 0x180), Rows::row(0x2010, 0x180));
        let needed = [0x1000, 0x1080, 0x1100].map(|line| from.lines_up_to(&Place { row: 0, line }, &to));
        assert_eq!(needed, [2, 3, 4]);
        assert_eq!(from.lines_of(0), 4);
    }

    #[test]
    fn rows_beyond_the_address_space_are_detected() {
        assert!(Rows::row(1 << 40, 1 << 30).is_in_memory());
        assert!(!Rows::row(u64::MAX - 3, 8).is_in_memory());
        assert!(!Rows { pitch: u64::MAX, height: 2, ..Rows::row(0, 8) }.is_in_memory());
    }
}
