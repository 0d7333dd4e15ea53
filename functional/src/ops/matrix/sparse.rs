//! Structured sparsity (PTX manual 9.7.14.6.1): half of the elements in each chunk of a row of A are
//! present, as given by metadata. A's fragment has the layout of a dense matrix with half the columns.
//!
//! A chunk has four columns and two elements. For 4-bit integers, a chunk has eight columns and two pairs
//! of elements. For tf32, a chunk has two columns and one element, whose metadata describe its two halves
//! (0b0100 or 0b1110). The metadata of a chunk are two 2-bit indices, the first element's or pair's in the
//! low bits.
//!
//! Lanes of group `g` (`lane / 4`) hold the metadata of rows `g` and `g + 8`. One, two or four lanes hold a
//! word each, from the lane that the selector names. A word for 16-bit and 32-bit elements holds four
//! chunks of row `g` in its lower half. The upper half holds those of row `g + 8`, and the second word
//! continues along K. A word for 4-bit and 8-bit elements holds eight chunks of one row: `g`, `g + 8`, then
//! both again further along K. The layout follows the manual's figures and agrees with CUTLASS's order of
//! metadata for the hardware.
//!
//! Only present elements are multiplied and summed, in the order of [`super::accumulate`].

use ptx_frontend::isa::MatrixShape;

use super::accumulate::{Sum, accumulate};
use crate::engine::lane::WARP;

/// Location of A's elements.
#[derive(Debug)]
pub(super) struct Sparsity {
    /// Row of the metadata.
    pub(super) row: u32,
    /// First lane of each group with metadata.
    first: usize,
    /// Columns per chunk, half of them present.
    chunk: usize,
    /// True if a word's halves belong to two rows.
    in_halves: bool,
}

/// Shape of the present elements.
pub(super) fn half_of(shape: MatrixShape) -> MatrixShape {
    MatrixShape { k: shape.k / 2, ..shape }
}

impl Sparsity {
    /// Sparsity of an A with `element_bits`-bit elements; `None` for an invalid selector.
    pub(super) fn new(row: u32, selector: u64, shape: MatrixShape, element_bits: u32) -> Option<Sparsity> {
        let chunk = match element_bits {
            32 => 2,
            4 => 8,
            _ => 4,
        };
        // Each chunk of two rows has four bits per row.
        let words = 2 * 4 * (shape.k as usize / chunk) / 32;
        let first = usize::try_from(selector).ok()?.checked_mul(words)?;
        let in_halves = element_bits >= 16;
        (first.checked_add(words)? <= 4).then_some(Sparsity { row, first, chunk, in_halves })
    }

    /// Indices of a chunk of a row, the first in the low bits.
    fn indices(&self, metadata: &[u32; WARP], row: usize, chunk: usize) -> u32 {
        let (group, lower) = (row % 8, row / 8);
        let (word, nibble) = if self.in_halves {
            (chunk / 4, 4 * lower + chunk % 4)
        } else {
            (2 * (chunk / 8) + lower, chunk % 8)
        };
        let lane = 4 * group + self.first + word;
        metadata.get(lane).map_or(0, |word| word >> (4 * nibble) & 15)
    }

    /// Column of a row's element in the dense matrix.
    fn column(&self, metadata: &[u32; WARP], row: usize, element: usize) -> usize {
        let there = self.chunk / 2;
        let (chunk, element) = (element / there, element % there);
        let indices = self.indices(metadata, row, chunk);
        let index = |n: usize| (indices >> (2 * n) & 3) as usize;
        let within = match there {
            1 => index(0) / 2,
            2 => index(element),
            _ => 2 * index(element / 2) + element % 2,
        };
        chunk * self.chunk + within
    }

    /// `sums += a * b`, where `a` holds only present elements.
    pub(super) fn accumulate(
        &self,
        how: Sum,
        shape: MatrixShape,
        metadata: &[u32; WARP],
        a: &[f64],
        b: &[f64],
        sums: &mut [f64],
    ) {
        let (n, k) = (shape.n as usize, shape.k as usize / 2);
        let one_row = MatrixShape { m: 1, ..half_of(shape) };
        let mut met = vec![0.0; k * n];
        for (row, (a, sums)) in
            a.chunks_exact(k).zip(sums.chunks_exact_mut(n)).enumerate().take(shape.m as usize)
        {
            for (element, met) in met.chunks_exact_mut(n).enumerate() {
                let from = self.column(metadata, row, element) * n;
                met.copy_from_slice(&b[from..from + n]);
            }
            accumulate(how, one_row, a, &met, sums);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use ptx_frontend::isa::ScalarType;

    fn columns(element: ScalarType, k: u32, metadata: [u32; WARP], row: usize) -> Vec<usize> {
        let shape = MatrixShape { m: 16, n: 8, k };
        let sparsity = Sparsity::new(0, 0, shape, element.bits()).unwrap();
        (0..k as usize / 2).map(|element| sparsity.column(&metadata, row, element)).collect()
    }

    #[test]
    fn halves_of_a_word_belong_to_two_rows() {
        let mut metadata = [0; WARP];
        metadata[0] = 0xe4d8_9c84;
        assert_eq!(columns(ScalarType::F16, 16, metadata, 0), [0, 1, 4, 6, 8, 11, 13, 14]);
        assert_eq!(columns(ScalarType::F16, 16, metadata, 8), [0, 2, 5, 7, 8, 9, 14, 15]);
    }

    #[test]
    fn one_of_two_wide_elements_is_present() {
        let mut metadata = [0; WARP];
        metadata[4] = 0x4e4e_ee44;
        assert_eq!(columns(ScalarType::Tf32, 8, metadata, 1), [0, 2, 5, 7]);
        assert_eq!(columns(ScalarType::Tf32, 8, metadata, 9), [1, 2, 5, 6]);
    }

    #[test]
    fn pairs_of_narrow_elements_are_present() {
        let mut metadata = [0; WARP];
        metadata[1] = 0xd;
        assert_eq!(columns(ScalarType::U4, 64, metadata, 8)[..4], [2, 3, 6, 7]);
    }

    #[test]
    fn selectors_name_lanes_of_a_group() {
        let shape = MatrixShape { m: 16, n: 8, k: 16 };
        assert!(Sparsity::new(0, 3, shape, 16).is_some());
        assert!(Sparsity::new(0, 2, MatrixShape { k: 32, ..shape }, 16).is_none());
        assert!(Sparsity::new(0, 1, MatrixShape { k: 64, ..shape }, 8).is_none());
        assert!(Sparsity::new(0, u64::MAX, shape, 16).is_none());
    }
}
