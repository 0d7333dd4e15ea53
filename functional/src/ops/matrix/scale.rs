//! Scales of the factors of a product (PTX manual 9.7.14.3). Each row of A and column of B, or each half or
//! quarter of it, has a scale in a byte of a lane's register.
//!
//! A lane is number `t` of group `g` (`lane = 4 g + t`), and `s` is the pair of lanes that the instruction
//! selects. Lane `t = 2 s` of group `g` holds the scales of row `g` of A, and lane `t = 2 s + 1` those of
//! row `g + 8`. Lane `t = s` of group `g` holds the scales of column `g` of B. The selected byte holds the
//! first scale, and the following bytes the others.

use ptx_frontend::isa::MatrixShape;

use super::product::{e4m3, power_of_two};
use crate::engine::lane::WARP;
use crate::engine::warp_context::WarpContext;

/// Location of a factor's scales.
#[derive(Debug)]
pub(super) struct Scales {
    /// Row of the scale registers.
    pub(super) row: u32,
    /// Row of the selector of the first byte.
    pub(super) byte: u32,
    /// Row of the selector of the lanes.
    pub(super) lanes: u32,
}

/// Scales of both factors.
#[derive(Debug)]
pub(super) struct Scaling {
    pub(super) a: Scales,
    pub(super) b: Scales,
    /// Scales per row of A or column of B.
    pub(super) parts: usize,
    /// True for power-of-2 scales; else numbers with 4 exponent and 3 fraction bits.
    pub(super) powers: bool,
}

impl Scaling {
    /// Scales A and B, stored in row-major order; A has `a_columns` columns, fewer than the shape's if
    /// sparse.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    pub(super) unsafe fn apply(
        &self,
        w: &WarpContext<'_>,
        shape: MatrixShape,
        a_columns: usize,
        a: &mut [f64],
        b: &mut [f64],
    ) {
        let (n, k) = (shape.n as usize, shape.k as usize);
        let part = |columns: usize| columns / self.parts;
        // SAFETY: guaranteed by the caller.
        let ((of_a, select_a), (of_b, select_b)) = unsafe { (self.a.read(w), self.b.read(w)) };
        for (row, elements) in a.chunks_exact_mut(a_columns).enumerate().take(shape.m as usize) {
            let lane = 4 * (row % 8) + 2 * (select_a.lane & 1) + row / 8;
            for (number, element) in elements.iter_mut().enumerate() {
                *element *= self.value(of_a[lane % WARP], select_a.byte + number / part(a_columns));
            }
        }
        for (number, elements) in b.chunks_exact_mut(n).enumerate().take(k) {
            for (column, element) in elements.iter_mut().enumerate() {
                let lane = 4 * column + (select_b.lane & 3);
                *element *= self.value(of_b[lane % WARP], select_b.byte + number / part(k));
            }
        }
    }

    fn value(&self, word: u32, byte: usize) -> f64 {
        let code = word.to_le_bytes()[byte % 4];
        match (self.powers, code) {
            (true, 0xff) => f64::NAN,
            (true, _) => power_of_two(i32::from(code) - 127),
            (false, _) => e4m3(code & 0x7f).into(),
        }
    }
}

/// Selected lanes and bytes.
struct Selected {
    lane: usize,
    byte: usize,
}

impl Scales {
    /// Scale registers and selection. The selection is equal in all lanes, and the first lane's is used.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn read(&self, w: &WarpContext<'_>) -> ([u32; WARP], Selected) {
        // SAFETY: guaranteed by the caller.
        unsafe {
            let number = |row| w.read_lane::<u32>(row, 0) as usize & 3;
            let selected = Selected { lane: number(self.lanes), byte: number(self.byte) };
            (w.read_row(self.row), selected)
        }
    }
}
