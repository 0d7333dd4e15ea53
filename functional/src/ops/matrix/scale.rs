//! Scales of the factors of a product (PTX manual 9.7.14.3): each row of A and each column of B, or each half or quarter
//! of it, has a scale, which stands in a byte of a lane's register.
//!
//! A lane is number `t` of group `g` (`lane = 4 g + t`). The scales of row `g` of A stand in lane `t = 2 s` of group `g`,
//! those of row `g + 8` in lane `t = 2 s + 1`, where `s` is the pair of lanes that the instruction selects; those of
//! column `g` of B in lane `t = s` of group `g`. The byte that it selects has the first scale, the next ones the others.

use ptx_frontend::isa::MatrixShape;

use super::product::{e4m3, power_of_two};
use crate::engine::lane::WARP;
use crate::engine::running::Running;

/// Where the scales of a factor stand: rows of words.
#[derive(Debug)]
pub(super) struct Scales {
    /// The registers.
    pub(super) row: u32,
    /// Number of the first byte.
    pub(super) byte: u32,
    /// Number of the lanes.
    pub(super) lanes: u32,
}

/// The scales of both factors.
#[derive(Debug)]
pub(super) struct Scaling {
    pub(super) a: Scales,
    pub(super) b: Scales,
    /// Scales of a row of A, or column of B.
    pub(super) parts: usize,
    /// Scales are powers of 2, else numbers of 4 exponent and 3 fraction bits.
    pub(super) powers: bool,
}

impl Scaling {
    /// Multiplies A and B, stored row by row; A has `a_columns`, fewer than the shape's where it is sparse.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    pub(super) unsafe fn apply(
        &self,
        w: &Running<'_>,
        shape: MatrixShape,
        a_columns: usize,
        a: &mut [f64],
        b: &mut [f64],
    ) {
        let (n, k) = (shape.n as usize, shape.k as usize);
        let part = |columns: usize| columns / self.parts;
        // SAFETY: the caller's promise.
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

/// Which lanes and bytes are meant.
struct Selected {
    lane: usize,
    byte: usize,
}

impl Scales {
    /// The registers, and which of them. The selection is the same in all lanes; the first one's is taken.
    ///
    /// # Safety
    /// As for [`crate::engine::op::Run`].
    unsafe fn read(&self, w: &Running<'_>) -> ([u32; WARP], Selected) {
        // SAFETY: the caller's promise.
        unsafe {
            let number = |row| w.read_lane::<u32>(row, 0) as usize & 3;
            let selected = Selected { lane: number(self.lanes), byte: number(self.byte) };
            (w.read_row(self.row), selected)
        }
    }
}
