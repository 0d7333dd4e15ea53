//! Lookup of the buffer that contains an address.

use crate::words::{Words, word_at};

/// A location in a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Number of the buffer.
    pub buffer: usize,
    /// Offset; the buffer's size for the address at its end.
    pub offset: u64,
}

/// Disjoint address ranges of buffers.
#[derive(Clone, Debug, Default)]
pub struct Ranges {
    /// (start, size, buffer), by start.
    ranges: Vec<(u64, u64, usize)>,
}

impl Ranges {
    /// Ranges given as (start, size); their order numbers the buffers.
    pub fn new(ranges: impl IntoIterator<Item = (u64, u64)>) -> Ranges {
        let numbered = ranges.into_iter().enumerate().map(|(number, (start, size))| (start, size, number));
        let mut ranges: Vec<_> = numbered.filter(|(_, size, _)| *size > 0).collect();
        ranges.sort_unstable();
        Ranges { ranges }
    }

    /// The buffer that contains `address`, else the one that ends there, since loops compare with
    /// the end.
    pub fn find(&self, address: u64) -> Option<Place> {
        let after = self.ranges.partition_point(|(start, ..)| *start <= address);
        let (start, size, buffer) = *self.ranges.get(after.checked_sub(1)?)?;
        let offset = address - start;
        (offset <= size).then_some(Place { buffer, offset })
    }

    /// Words of `bytes` at `address` that point into a range. Compilers align pointers to 8 bytes,
    /// so only aligned words count.
    pub fn pointers(&self, address: u64, bytes: &[u8]) -> Words {
        let mut words = Words::default();
        let first = address.wrapping_neg() % 8;
        let mut offset = first;
        while let Some(word) = word_at(bytes, offset) {
            if self.find(word).is_some() {
                words.push(offset);
            }
            offset += 8;
        }
        words
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn address_resolves_to_the_range_that_begins_there() {
        let ranges = Ranges::new([(200, 100), (100, 100)]);
        let place = |address| ranges.find(address).map(|place| (place.buffer, place.offset));
        assert_eq!(place(100), Some((1, 0)));
        assert_eq!(place(200), Some((0, 0)));
        assert_eq!(place(300), Some((0, 100)));
        assert_eq!((place(99), place(301)), (None, None));
    }

    #[test]
    fn only_aligned_words_count_as_pointers() {
        let ranges = Ranges::new([(0x1000, 16)]);
        let mut bytes = [0; 29];
        bytes[4..12].copy_from_slice(&0x1008_u64.to_le_bytes());
        bytes[13..21].copy_from_slice(&0x1008_u64.to_le_bytes());
        assert_eq!(ranges.pointers(0x4, &bytes).offsets().collect::<Vec<_>>(), [4]);
        assert!(ranges.pointers(0x0, &bytes).is_empty());
    }
}
