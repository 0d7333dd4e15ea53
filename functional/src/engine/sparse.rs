//! Sparse encoding of memory words: zero blocks take no room.

use serde::{Deserialize, Serialize};

/// Words per block.
const BLOCK: usize = 64;

/// Nonzero blocks of a memory, by block number.
#[derive(Debug, Clone, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub(crate) struct SparseWords {
    blocks: Vec<(u32, Vec<u64>)>,
}

impl SparseWords {
    /// Encodes `words`.
    pub(crate) fn of(words: &[u64]) -> SparseWords {
        let blocks = words.chunks(BLOCK).zip(0..);
        let written = blocks.filter(|(block, _)| block.iter().any(|&word| word != 0));
        SparseWords { blocks: written.map(|(block, number)| (number, block.to_vec())).collect() }
    }

    /// True if all blocks lie within `words` words.
    pub(crate) fn fits(&self, words: usize) -> bool {
        self.blocks.iter().all(|(number, block)| {
            let start = *number as usize * BLOCK;
            block.len() <= BLOCK && words.checked_sub(start).is_some_and(|left| block.len() <= left)
        })
    }

    /// Writes the blocks into zeroed words, which are large enough.
    pub(crate) fn write_to(&self, words: &mut [u64]) {
        for (number, block) in &self.blocks {
            let start = *number as usize * BLOCK;
            words[start..start + block.len()].copy_from_slice(block);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sparse_words_round_trip_without_zero_blocks() {
        let mut words = vec![0; 1000];
        (words[3], words[999]) = (7, 9);
        let sparse = SparseWords::of(&words);
        assert_eq!(sparse.blocks.len(), 2);
        let mut again = vec![0; 1000];
        sparse.write_to(&mut again);
        assert_eq!(again, words);
        assert!(sparse.fits(1000) && !sparse.fits(999));
    }
}
