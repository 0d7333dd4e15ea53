//! Matrices of bytes between shared memory and registers (PTX manual 9.7.14.5.15, 9.7.14.5.16). These are
//! the forms of `ldmatrix` and `stmatrix` with rows of 16 bytes or 16 narrower numbers.
//!
//! A lane is number `t` of group `g` (`lane = 4 g + t`). Lanes supply the row addresses, eight or sixteen
//! per matrix.
//!
//! * 8 by 16: the lane holds columns `4 t` to `4 t + 3` of row `g`.
//! * 16 by 16, by columns: the lane holds rows `4 t` to `4 t + 3` of column `g`, and in a second register
//!   of column `g + 8`.
//! * 16 by 8, stored by columns: the lane holds columns `2 t` and `2 t + 1` of rows `g` and `g + 8`, like
//!   the accumulator of a product. Memory holds the columns one by one. The manual shows this form only in
//!   a figure.

use super::transfer::Addresses;
use crate::engine::lane::WARP;
use crate::engine::op::{Flow, Op};
use crate::engine::warp_context::WarpContext;
use crate::fault::FaultKind;

/// Packing of 16 numbers into the 16 bytes of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Packing {
    /// One byte each.
    Bytes,
    /// 6 bits each, followed by 4 unused bytes.
    Six,
    /// 4 bits each, followed by 8 unused bytes.
    Four,
    /// Signed integers of 4 bits each, in 8 bytes.
    Nibbles,
}

impl Packing {
    /// Expands each number to a byte, in its low bits; signed numbers are sign-extended.
    fn spread(self, row: u128) -> [u8; SIDE] {
        let bits = match self {
            Packing::Bytes => 8,
            Packing::Six => 6,
            Packing::Four | Packing::Nibbles => 4,
        };
        let number = |n| (row >> (n * bits)) as u8 & (0xff >> (8 - bits));
        match self {
            Packing::Nibbles => std::array::from_fn(|n| ((number(n) << 4) as i8 >> 4) as u8),
            _ => std::array::from_fn(number),
        }
    }
}

/// Numbers per row, and bytes per row.
const SIDE: usize = 16;

/// Matrices and the addresses of their rows.
#[derive(Debug)]
pub struct ByteMatrices {
    pub(super) addresses: Addresses,
    /// Frame rows: one per matrix, two per square matrix.
    pub(super) rows: Vec<u32>,
    /// True for 16-by-16 matrices.
    pub(super) square: bool,
    pub(super) packing: Packing,
}

impl ByteMatrices {
    /// Address of row `row` of matrix `matrix`.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn place(&self, w: &mut WarpContext<'_>, matrix: usize, row: usize) -> Result<*mut u8, FaultKind> {
        let rows = if self.square { SIDE } else { SIDE / 2 };
        // SAFETY: guaranteed by the caller.
        unsafe { self.addresses.sixteen_bytes(w, (rows * matrix + row) % WARP) }
    }

    /// Bytes of row `row` of matrix `matrix`.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn row(&self, w: &mut WarpContext<'_>, matrix: usize, row: usize) -> Result<u128, FaultKind> {
        // SAFETY: guaranteed by the caller, and the bytes were checked.
        unsafe {
            if self.packing == Packing::Nibbles {
                let place = self.addresses.eight_bytes(w, (SIDE / 2 * matrix + row) % WARP)?;
                return Ok(place.cast::<u64>().read().into());
            }
            Ok(self.place(w, matrix, row)?.cast::<u128>().read())
        }
    }
}

fn word(bytes: impl Fn(usize) -> u8) -> u32 {
    u32::from_le_bytes(std::array::from_fn(bytes))
}

/// `ldmatrix` of the matrices in table entry `immediate`; `e` is the row of members.
pub(super) fn load_bytes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(matrices) = grid.program.matrices.bytes.get(op.immediate as usize) else { return Flow::Next };
    let registers = if matrices.square { 2 } else { 1 };
    // SAFETY: the binder allocated the rows, and each matrix row was checked. All are read before the first
    // register is written, because a register may hold the addresses.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        let mut words = [[0; WARP]; 4];
        for (number, words) in words.chunks_mut(registers).enumerate().take(matrices.rows.len() / registers) {
            let mut matrix = [[0; SIDE]; SIDE];
            for (row, numbers) in
                matrix.iter_mut().enumerate().take(if matrices.square { SIDE } else { SIDE / 2 })
            {
                match matrices.row(w, number, row) {
                    Ok(bytes) => *numbers = matrices.packing.spread(bytes),
                    Err(fault) => return w.fault(fault),
                }
            }
            for (half, words) in words.iter_mut().enumerate() {
                *words =
                    std::array::from_fn(|lane| {
                        let (g, t) = (lane / 4, lane % 4);
                        word(|i| {
                            if matrices.square {
                                matrix[4 * t + i][g + 8 * half]
                            } else {
                                matrix[g][4 * t + i]
                            }
                        })
                    });
            }
        }
        for (&row, words) in matrices.rows.iter().zip(&words) {
            w.write_row(row, words);
        }
    }
    Flow::Next
}

/// `stmatrix` of the matrices in table entry `immediate`; `e` is the row of members.
pub(super) fn store_bytes(w: &mut WarpContext<'_>, op: &Op) -> Flow {
    let grid = w.grid;
    let Some(matrices) = grid.program.matrices.bytes.get(op.immediate as usize) else { return Flow::Next };
    // SAFETY: as in `load_bytes`.
    unsafe {
        if let Err(flow) = w.gather(op, |op| op.e) {
            return flow;
        }
        for (number, &row) in matrices.rows.iter().enumerate() {
            let words = w.read_row::<u32>(row);
            for column in 0..SIDE / 2 {
                let bytes: [u8; SIDE] = std::array::from_fn(|row| {
                    let word = words[4 * (row % 8) + column / 2];
                    word.to_le_bytes()[row / 8 * 2 + column % 2]
                });
                match matrices.place(w, number, column) {
                    Ok(place) => place.cast::<[u8; SIDE]>().write(bytes),
                    Err(fault) => return w.fault(fault),
                }
            }
        }
    }
    Flow::Next
}
