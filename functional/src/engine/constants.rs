//! Constant rows of a program: equal in all lanes and shared by all warps.

use super::frame::Row;

/// Bit of an operand offset that marks a constant row instead of a frame row.
const CONSTANT: u32 = 1 << 31;

/// Constant rows of a program.
#[derive(Debug, Clone, Default)]
pub struct Constants {
    rows: Vec<Row>,
}

impl Constants {
    /// Adds a constant (64-bit lanes if `wide`) and returns its operand offset.
    pub(crate) fn add(&mut self, bits: u64, wide: bool) -> u32 {
        let offset = CONSTANT | size_of_val(&*self.rows) as u32;
        if wide {
            let halves = [bits as u32, (bits >> 32) as u32];
            self.rows.extend([Row(std::array::from_fn(|word| halves[word % 2])); 2]);
        } else {
            self.rows.push(Row([bits as u32; 32]));
        }
        offset
    }

    /// Replaces the lanes of a wide constant.
    pub(crate) fn set_wide(&mut self, offset: u32, values: &[u64; 32]) {
        let first = (offset & !CONSTANT) as usize / size_of::<Row>();
        let Some([low, high]) = self.rows.get_mut(first..first + 2) else { return };
        for (row, values) in [low, high].into_iter().zip(values.chunks_exact(16)) {
            for (halves, value) in row.0.chunks_exact_mut(2).zip(values) {
                (halves[0], halves[1]) = (*value as u32, (*value >> 32) as u32);
            }
        }
    }

    /// All rows.
    pub(crate) fn rows(&self) -> &[Row] {
        &self.rows
    }

    /// Base of constant offsets.
    #[inline(always)]
    pub(crate) fn base(&self) -> *const u8 {
        self.rows.as_ptr().cast::<u8>().wrapping_sub(CONSTANT as usize)
    }
}

/// True if the offset names a constant.
#[inline(always)]
pub(crate) fn names_constant(offset: u32) -> bool {
    offset & CONSTANT != 0
}

/// Address of a row: in the frame that starts at `frame`, or in the constants with base `constants`.
#[inline(always)]
pub(crate) fn row_at(frame: *mut u8, constants: *const u8, offset: u32) -> *mut u8 {
    let base = if names_constant(offset) { constants.cast_mut() } else { frame };
    base.wrapping_add(offset as usize)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn offsets_select_frame_or_constant_rows() {
        let mut constants = Constants::default();
        let (word, wide, last) =
            (constants.add(7, false), constants.add(5 << 32 | 6, true), constants.add(8, false));
        let mut frame = [Row([1; 32]), Row([2; 32])];
        let frame = frame.as_mut_ptr().cast::<u8>();
        // SAFETY: the offsets are those of the frame's and the constants' rows.
        let read = |offset| unsafe { row_at(frame, constants.base(), offset).cast::<[u32; 2]>().read() };
        assert_eq!([0, 128].map(read), [[1; 2], [2; 2]]);
        assert_eq!([word, wide, wide + 128, last].map(read), [[7; 2], [6, 5], [6, 5], [8; 2]]);
    }
}
