//! Transfer of matrices between memory and registers: `wmma.load`, `wmma.store` (PTX manual 9.7.14.4.3,
//! 9.7.14.4.4), `ldmatrix`, `stmatrix` and `movmatrix` (9.7.14.5.15 to 17).

use super::layout::{Extent, Layout};
use crate::engine::address_translation::Space;
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Translates an accessible byte range of a lane to a host address.
type Resolve = fn(&mut WarpContext<'_>, &Stretch) -> Result<*mut u8, FaultKind>;

/// A byte range.
pub(super) struct Stretch {
    slot: u32,
    lane: usize,
    address: u64,
    bytes: u32,
    /// Alignment, a power of two.
    align: u32,
}

/// [`Resolve`] for one space.
pub(super) fn resolve<S: Space>(w: &mut WarpContext<'_>, stretch: &Stretch) -> Result<*mut u8, FaultKind> {
    let Stretch { slot, lane, address, bytes, align } = *stretch;
    if address & u64::from(align - 1) != 0 {
        return Err(FaultKind::MisalignedAddress { address, width: align, lane: lane as u32 });
    }
    S::resolve(w, slot, lane as u32, address, bytes).ok_or(FaultKind::IllegalAddress {
        address,
        width: bytes,
        lane: lane as u32,
    })
}

/// Addresses of an access: a row plus an offset.
#[derive(Debug)]
pub(super) struct Addresses {
    pub(super) resolve: Resolve,
    pub(super) row: u32,
    /// True for a 64-bit row.
    pub(super) wide: bool,
    pub(super) offset: i64,
    pub(super) slot: u32,
}

impl Addresses {
    /// Address of a lane.
    ///
    /// # Safety
    /// The row is a frame row of this width, and `lane` is below 32.
    unsafe fn of_lane(&self, w: &WarpContext<'_>, lane: usize) -> u64 {
        // SAFETY: guaranteed by the caller.
        unsafe {
            if self.wide {
                w.read_lane::<u64>(self.row, lane).wrapping_add_signed(self.offset)
            } else {
                u64::from(w.read_lane::<u32>(self.row, lane).wrapping_add(self.offset as u32))
            }
        }
    }
}

impl Addresses {
    /// Host address of 16 bytes at a lane's address.
    ///
    /// # Safety
    /// As for [`Addresses::of_lane`].
    pub(super) unsafe fn sixteen_bytes(
        &self,
        w: &mut WarpContext<'_>,
        lane: usize,
    ) -> Result<*mut u8, FaultKind> {
        // SAFETY: guaranteed by the caller.
        let address = unsafe { self.of_lane(w, lane) };
        (self.resolve)(w, &Stretch { slot: self.slot, lane, address, bytes: EIGHT, align: EIGHT })
    }

    /// [`Addresses::sixteen_bytes`] for eight bytes.
    pub(super) unsafe fn eight_bytes(
        &self,
        w: &mut WarpContext<'_>,
        lane: usize,
    ) -> Result<*mut u8, FaultKind> {
        // SAFETY: guaranteed by the caller.
        let address = unsafe { self.of_lane(w, lane) };
        (self.resolve)(w, &Stretch { slot: self.slot, lane, address, bytes: EIGHT / 2, align: EIGHT / 2 })
    }
}

/// A matrix in memory and its fragment, for `wmma.load` or `wmma.store`.
#[derive(Debug)]
pub struct Tile {
    pub(super) addresses: Addresses,
    /// Rows of the registers.
    pub(super) rows: Vec<u32>,
    pub(super) layout: Layout,
    pub(super) extent: Extent,
    /// True if columns are consecutive in memory, not rows.
    pub(super) by_column: bool,
    /// Row of the stride in elements of `stride_bits` bits; `None` for contiguous lines.
    pub(super) stride: Option<u32>,
    pub(super) stride_bits: u32,
}

/// Maximum elements per loaded or stored matrix, and bytes per line.
const MOST: usize = 512;
const LONGEST_LINE: usize = 128;

impl Tile {
    /// Number of lines, and elements per line.
    fn lines(&self) -> (usize, usize) {
        let Extent { rows, columns, .. } = self.extent;
        if self.by_column { (columns, rows) } else { (rows, columns) }
    }

    /// Row-major index of element `position` of line `line`.
    fn place(&self, line: usize, position: usize) -> usize {
        let columns = self.extent.columns;
        if self.by_column { position * columns + line } else { line * columns + position }
    }

    /// Bytes per element.
    fn width(&self) -> usize {
        self.extent.bits as usize / 8
    }

    /// Address of a line. Address and stride are equal in all lanes, and the lowest lane's are used.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn line(&self, w: &mut WarpContext<'_>, line: usize) -> Result<*mut u8, FaultKind> {
        let lane = w.mask.trailing_zeros() as usize & 31;
        let bytes = self.lines().1 * self.width();
        // SAFETY: guaranteed by the caller.
        let (first, stride) = unsafe { (self.addresses.of_lane(w, lane), self.bytes_between_lines(w, lane)) };
        let address = first.wrapping_add(stride * line as u64);
        let address = if self.addresses.wide { address } else { address & 0xffff_ffff };
        let align = self.width() as u32;
        let slot = self.addresses.slot;
        (self.addresses.resolve)(w, &Stretch { slot, lane, address, bytes: bytes as u32, align })
    }
}

impl Tile {
    /// Address of each lane's first element. Address and stride are equal in all lanes, and the lowest
    /// lane's are used.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    pub(crate) unsafe fn lane_addresses(&self, w: &WarpContext<'_>) -> [u64; WARP] {
        let lane = w.mask.trailing_zeros() as usize & 31;
        // SAFETY: guaranteed by the caller.
        let (first, stride) = unsafe { (self.addresses.of_lane(w, lane), self.bytes_between_lines(w, lane)) };
        let first_element = self.layout.elements.first().copied().unwrap_or(0);
        self.layout.lanes.map(|lane| {
            let element = usize::from(first_element + lane);
            let (row, column) = (element / self.extent.columns, element % self.extent.columns);
            let (line, position) = if self.by_column { (column, row) } else { (row, column) };
            first.wrapping_add(stride * line as u64 + (position * self.width()) as u64)
        })
    }

    /// # Safety
    /// As for [`Addresses::of_lane`].
    unsafe fn bytes_between_lines(&self, w: &WarpContext<'_>, lane: usize) -> u64 {
        // SAFETY: guaranteed by the caller.
        match self.stride.map(|row| unsafe { w.read_lane::<u32>(row, lane) }) {
            Some(elements) => u64::from(elements) * u64::from(self.stride_bits) / 8,
            None => (self.lines().1 * self.width()) as u64,
        }
    }
}

/// `wmma.load` of the tile in table entry `immediate`; `e` is the row of members.
pub(super) fn load_tile(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(tile) = grid.program.matrices.tiles.get(op.immediate as usize) else { return Flow::Next };
    let (lines, length) = tile.lines();
    let mut matrix = [0u64; MOST];
    // SAFETY: the binder allocated the rows, and the lines were checked.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        for line in 0..lines {
            let place = match tile.line(w, line) {
                Ok(place) => place,
                Err(fault) => return w.fault(fault),
            };
            let mut bytes = [0u8; LONGEST_LINE];
            place.copy_to_nonoverlapping(bytes.as_mut_ptr(), length * tile.width());
            for (position, element) in bytes.chunks_exact(tile.width()).take(length).enumerate() {
                let mut wide = [0; 8];
                wide[..element.len()].copy_from_slice(element);
                matrix[tile.place(line, position)] = u64::from_le_bytes(wide);
            }
        }
        let layout = &tile.layout;
        for (&row, places) in tile.rows.iter().zip(layout.elements.chunks_exact(layout.per_register)) {
            let values: [u64; WARP] = std::array::from_fn(|lane| {
                let element = |place: &u16| matrix[usize::from(place + layout.lanes[lane])];
                places.iter().rev().fold(0, |word, place| (word << (tile.extent.bits % 64)) | element(place))
            });
            if tile.extent.bits == 64 {
                w.write_row(row, &values);
            } else {
                w.write_row(row, &values.map(|value| value as u32));
            }
        }
    }
    Flow::Next
}

/// `wmma.store` of the tile in table entry `immediate`; `e` is the row of members.
pub(super) fn store_tile(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(tile) = grid.program.matrices.tiles.get(op.immediate as usize) else { return Flow::Next };
    let (lines, length) = tile.lines();
    let mut matrix = [0u64; MOST];
    // SAFETY: the binder allocated the rows, and the lines were checked.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let layout = &tile.layout;
        for (&row, places) in tile.rows.iter().zip(layout.elements.chunks_exact(layout.per_register)) {
            let values: [u64; WARP] =
                if tile.extent.bits == 64 { w.read_row(row) } else { w.read_row::<u32>(row).map(u64::from) };
            for (lane, value) in layout.lanes.iter().zip(values) {
                for (i, place) in places.iter().enumerate() {
                    matrix[usize::from(place + lane)] = value >> (i as u32 * tile.extent.bits);
                }
            }
        }
        for line in 0..lines {
            let place = match tile.line(w, line) {
                Ok(place) => place,
                Err(fault) => return w.fault(fault),
            };
            let mut bytes = [0u8; LONGEST_LINE];
            for (position, element) in bytes.chunks_exact_mut(tile.width()).take(length).enumerate() {
                let value = matrix[tile.place(line, position)].to_le_bytes();
                element.copy_from_slice(&value[..element.len()]);
            }
            place.copy_from_nonoverlapping(bytes.as_ptr(), length * tile.width());
        }
    }
    Flow::Next
}

/// Matrices of 8 by 8 16-bit elements, for `ldmatrix` or `stmatrix`. Lanes supply the row addresses. Lane
/// `4 r + c` holds elements `2 c` and `2 c + 1` of row `r`, or of column `r` if transposed.
#[derive(Debug)]
pub struct Eights {
    pub(super) addresses: Addresses,
    /// One frame row per matrix.
    pub(super) rows: Vec<u32>,
    pub(super) transposed: bool,
}

/// Bytes of a row of 8 elements.
const EIGHT: u32 = 16;

impl Eights {
    /// Address of row `row` of matrix `matrix`, from lane `8 * matrix + row`.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn place(&self, w: &mut WarpContext<'_>, matrix: usize, row: usize) -> Result<*mut u8, FaultKind> {
        // SAFETY: guaranteed by the caller.
        unsafe { self.addresses.sixteen_bytes(w, (8 * matrix + row) & 31) }
    }
}

/// A matrix of 8 by 8 elements, in rows.
type Matrix = [[u16; 8]; 8];

/// Register values of the lanes for a matrix.
fn words_of(matrix: &Matrix, transposed: bool) -> [u32; WARP] {
    let element = |row: usize, column: usize| {
        u32::from(if transposed { matrix[column][row] } else { matrix[row][column] })
    };
    std::array::from_fn(|lane| {
        let (row, column) = (lane / 4, lane % 4 * 2);
        element(row, column) | element(row, column + 1) << 16
    })
}

/// Matrix for the lanes' register values.
fn matrix_of(words: &[u32; WARP], transposed: bool) -> Matrix {
    let mut matrix = [[0; 8]; 8];
    for (lane, word) in words.iter().enumerate() {
        for (i, value) in [*word as u16, (word >> 16) as u16].into_iter().enumerate() {
            let (row, column) = (lane / 4, lane % 4 * 2 + i);
            let (row, column) = if transposed { (column, row) } else { (row, column) };
            matrix[row][column] = value;
        }
    }
    matrix
}

/// `ldmatrix` of the matrices in table entry `immediate`; `e` is the row of members.
pub(super) fn load_eights(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(eights) = grid.program.matrices.eights.get(op.immediate as usize) else { return Flow::Next };
    // SAFETY: the binder allocated the rows, and each matrix row was checked. All are read before the first
    // register is written, because a register may hold the addresses.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let mut words = [[0; WARP]; 4];
        for (number, words) in words.iter_mut().enumerate().take(eights.rows.len()) {
            let mut matrix: Matrix = [[0; 8]; 8];
            for (row, elements) in matrix.iter_mut().enumerate() {
                match eights.place(w, number, row) {
                    Ok(place) => *elements = place.cast::<[u16; 8]>().read(),
                    Err(fault) => return w.fault(fault),
                }
            }
            *words = words_of(&matrix, eights.transposed);
        }
        for (&row, words) in eights.rows.iter().zip(&words) {
            w.write_row(row, words);
        }
    }
    Flow::Next
}

/// `stmatrix` of the matrices in table entry `immediate`; `e` is the row of members.
pub(super) fn store_eights(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(eights) = grid.program.matrices.eights.get(op.immediate as usize) else { return Flow::Next };
    // SAFETY: as in `load_eights`.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        for (number, &row) in eights.rows.iter().enumerate() {
            let matrix = matrix_of(&w.read_row(row), eights.transposed);
            for (row, elements) in matrix.into_iter().enumerate() {
                match eights.place(w, number, row) {
                    Ok(place) => place.cast::<[u16; 8]>().write(elements),
                    Err(fault) => return w.fault(fault),
                }
            }
        }
    }
    Flow::Next
}

/// `movmatrix`: d = transposed matrix of a; `e` is the row of members.
pub(super) fn transpose(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    // SAFETY: 32-bit rows.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let words = words_of(&matrix_of(&w.read_row(op.a), false), true);
        w.write_row(op.d, &words);
    }
    Flow::Next
}
