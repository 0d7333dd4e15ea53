//! Traversal of a copy: from its coordinates to its rows, in their order in shared memory (PTX manual 5.5.3
//! to 5.5.6).
//!
//! Choices where the manual is silent: with a swizzle, each row of the box starts at a multiple of the
//! swizzle's span. Slices of interleaved channels follow each other in shared memory as in device memory,
//! grouped by image. Their distance is the size of the last spatial dimension.

use super::{Interleave, MAXIMUM_RANK, Mode, TensorMap};

/// Start and kind of a traversal.
#[derive(Debug, Clone, Copy)]
pub enum Walk {
    /// A box, or pixels, from these coordinates on.
    From([i32; MAXIMUM_RANK]),
    /// [`Walk::From`] with each pixel shifted by offsets along W, H and D.
    Shifted([i32; MAXIMUM_RANK], [u16; 3]),
    /// A column from the first coordinate on, in each of four rows.
    Rows(i32, [i32; 4]),
}

/// Consecutive elements of a tensor.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Row {
    /// Address of innermost coordinate 0; `None` outside of the tensor.
    pub address: Option<u64>,
    /// Innermost coordinate of the first element.
    pub first: i64,
    /// Size of the tensor along the innermost dimension.
    pub size: i64,
}

type Position = [i64; MAXIMUM_RANK];

impl TensorMap {
    /// Elements per row.
    pub fn row_elements(&self) -> u64 {
        match self.slice_bytes() {
            0 => self.extents[0].into(),
            slice => slice / self.element.bytes(),
        }
    }

    /// Bytes per row in shared memory.
    pub fn row_bytes(&self) -> u64 {
        self.row_elements() / self.element.packed() * self.element.shared_bytes()
    }

    /// Bytes between rows in shared memory.
    pub fn pitch(&self) -> u64 {
        let span = if self.interleave == Interleave::None { self.swizzle.span() } else { 0 };
        self.row_bytes().max(span)
    }

    fn slice_bytes(&self) -> u64 {
        match self.interleave {
            Interleave::None => 0,
            Interleave::Bytes16 => 16,
            Interleave::Bytes32 => 32,
        }
    }

    /// Number of channel slices.
    fn slices(&self) -> u64 {
        if self.interleave == Interleave::None {
            1
        } else {
            u64::from(self.extents[0]).div_ceil(self.row_elements().max(1))
        }
    }

    /// Elements of a box along a dimension, given its step.
    fn count(&self, dimension: usize) -> u64 {
        u64::from(self.extents[dimension].div_ceil(self.steps[dimension]))
    }

    /// Positions of a copy along the dimensions from 1 on.
    fn positions(&self, walk: Walk) -> u64 {
        match (walk, self.mode) {
            (Walk::Rows(..), _) => 4,
            (_, Mode::ImageToColumn { .. }) => self.extents[1].into(),
            (_, Mode::Tiled) => (1..self.rank).fold(1, |all: u64, n| all.saturating_mul(self.count(n))),
        }
    }

    /// Number of rows of a copy.
    pub fn row_count(&self, walk: Walk) -> u64 {
        self.positions(walk).saturating_mul(self.slices())
    }

    /// Rows of a copy; the caller has limited their number.
    pub fn rows(&self, walk: Walk) -> Vec<Row> {
        let (positions, channel): (Vec<Position>, i64) = match walk {
            Walk::Rows(column, rows) => {
                (rows.iter().map(|&row| [0, row.into(), 0, 0, 0]).collect(), column.into())
            }
            Walk::From(at) => (self.walk(at, [0; 3]), at[0].into()),
            Walk::Shifted(at, by) => (self.walk(at, by), at[0].into()),
        };
        if self.interleave == Interleave::None {
            let size = self.sizes[0].into();
            let row = |position| Row { address: self.address_of(position), first: channel, size };
            return positions.iter().map(row).collect();
        }
        // Slices of an image follow each other; the outermost dimension counts images.
        let image = match self.mode {
            Mode::Tiled => (1..self.rank - 1).map(|n| self.count(n)).product(),
            Mode::ImageToColumn { .. } => positions.len() as u64,
        };
        let mut rows = Vec::new();
        for image in positions.chunks((image as usize).max(1)) {
            for slice in 0..self.slices() {
                rows.extend(image.iter().map(|position| self.slice_row(position, channel, slice)));
            }
        }
        rows
    }

    /// Row of a channel slice at a position, counted from the slice of `channel`.
    fn slice_row(&self, position: &Position, channel: i64, slice: u64) -> Row {
        let elements = self.row_elements() as i64;
        let slice = channel.div_euclid(elements.max(1)) + slice as i64;
        let last = self.rank - 2;
        let apart = self.strides[last - 1].wrapping_mul(self.sizes[last].into());
        let inside = slice >= 0 && slice.saturating_mul(elements) < self.sizes[0].into();
        let address = self
            .address_of(position)
            .filter(|_| inside)
            .map(|address| address.wrapping_add(apart.wrapping_mul(slice as u64)));
        Row { address, first: 0, size: elements }
    }

    /// Address of innermost coordinate 0 at a position, if inside of the tensor.
    fn address_of(&self, position: &Position) -> Option<u64> {
        let mut address = self.address;
        for (n, at) in position.iter().enumerate().take(self.rank).skip(1) {
            let coordinate = u64::try_from(*at).ok().filter(|at| *at < self.sizes[n].into())?;
            address = address.wrapping_add(coordinate.wrapping_mul(self.strides[n - 1]));
        }
        Some(address)
    }

    fn walk(&self, at: [i32; MAXIMUM_RANK], by: [u16; 3]) -> Vec<Position> {
        let start: Position = at.map(i64::from);
        match self.mode {
            Mode::Tiled => self.box_positions(start),
            Mode::ImageToColumn { lower, upper } => self.pixels(start, (lower, upper), by),
        }
    }

    fn box_positions(&self, start: Position) -> Vec<Position> {
        let mut positions = vec![start];
        for n in 1..self.rank {
            let steps = (0..self.count(n)).map(|k| k as i64 * i64::from(self.steps[n]));
            let along = |by: i64| {
                positions.iter().map(move |position| {
                    let mut position = *position;
                    position[n] += by;
                    position
                })
            };
            positions = steps.flat_map(along).collect();
        }
        positions
    }

    /// Pixels from `start` on: along W to the end of the box, continuing in the next row, slice and image.
    fn pixels(&self, start: Position, (lower, upper): ([i16; 3], [i16; 3]), by: [u16; 3]) -> Vec<Position> {
        let image = self.rank - 1;
        let mut at = start;
        let mut positions = Vec::new();
        for _ in 0..self.extents[1] {
            let mut shifted = at;
            for (n, by) in (1..image).zip(by) {
                shifted[n] += i64::from(by);
            }
            positions.push(shifted);
            for n in 1..=image {
                if n == image {
                    at[n] += 1;
                    break;
                }
                at[n] += i64::from(self.steps[n]);
                if at[n] < i64::from(self.sizes[n]) + i64::from(upper[n - 1]) {
                    break;
                }
                at[n] = lower[n - 1].into();
            }
        }
        positions
    }
}

#[cfg(test)]
mod tests {
    use super::super::{Element, Swizzle};
    use super::*;

    fn map() -> TensorMap {
        TensorMap {
            mode: Mode::Tiled,
            rank: 3,
            element: Element::U32,
            interleave: Interleave::None,
            swizzle: Swizzle::None,
            fills_with_nan: false,
            address: 1000,
            sizes: [8, 3, 2, 0, 0],
            strides: [100, 1000, 0, 0],
            extents: [4, 2, 2, 1, 1],
            steps: [1; 5],
        }
    }

    fn addresses(map: &TensorMap, walk: Walk) -> Vec<Option<u64>> {
        map.rows(walk).iter().map(|row| row.address).collect()
    }

    #[test]
    fn boxes_traverse_rows_and_end_at_the_tensors_edge() {
        let rows = addresses(&map(), Walk::From([0, 2, 0, 0, 0]));
        assert_eq!(rows, [Some(1200), None, Some(2200), None]);
        assert_eq!(addresses(&map(), Walk::From([0, -1, 1, 0, 0])), [None, Some(2000), None, None]);
    }

    #[test]
    fn steps_skip_elements() {
        let map = TensorMap { extents: [4, 3, 1, 1, 1], steps: [1, 2, 1, 1, 1], ..map() };
        assert_eq!(addresses(&map, Walk::From([0; 5])), [Some(1000), Some(1200)]);
    }

    #[test]
    fn pixels_continue_in_the_next_row_and_image() {
        let mode = Mode::ImageToColumn { lower: [-1, 0, 0], upper: [-1, 0, 0] };
        let map = TensorMap { mode, extents: [4, 5, 1, 1, 1], ..map() };
        let found: Vec<_> = map
            .pixels([0, 0, 0, 0, 0], ([-1, 0, 0], [-1, 0, 0]), [0; 3])
            .iter()
            .map(|p| (p[1], p[2]))
            .collect();
        assert_eq!(found, [(0, 0), (1, 0), (-1, 1), (0, 1), (1, 1)]);
        let shifted = addresses(&map, Walk::Shifted([0, 0, 0, 0, 0], [2, 0, 0]));
        assert_eq!(shifted, [Some(1200), None, Some(2100), Some(2200), None]);
    }
}
