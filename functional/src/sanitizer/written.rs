//! Bit sets for written bytes.

use rustc_hash::FxHashMap;

/// Bits of an address range that starts at 0.
#[derive(Debug, Clone, Default)]
pub(super) struct Bits(Vec<u64>);

/// Words that hold bits `start..end`, each with a mask.
fn words(start: u64, end: u64) -> impl Iterator<Item = (usize, u64)> {
    let last = end.saturating_sub(1) / 64;
    let words = if start < end { start / 64..last + 1 } else { 0..0 };
    words.map(move |word| {
        let from = start.saturating_sub(word * 64);
        let to = (end - word * 64).min(64);
        (word as usize, (u64::MAX >> (64 - to)) & (u64::MAX << from))
    })
}

impl Bits {
    /// Creates `bits` zeros.
    pub(super) fn new(bits: u64) -> Bits {
        Bits(vec![0; bits.div_ceil(64) as usize])
    }

    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    pub(super) fn clear(&mut self) {
        self.0.fill(0);
    }

    /// Sets bits; bits beyond the end are ignored.
    pub(super) fn set(&mut self, start: u64, end: u64) {
        for (word, mask) in words(start, end) {
            if let Some(bits) = self.0.get_mut(word) {
                *bits |= mask;
            }
        }
    }

    /// Clears bits.
    pub(super) fn reset(&mut self, start: u64, end: u64) {
        for (word, mask) in words(start, end) {
            if let Some(bits) = self.0.get_mut(word) {
                *bits &= !mask;
            }
        }
    }

    /// True if any of these bits is set; bits beyond the end are zero.
    pub(super) fn any(&self, start: u64, end: u64) -> bool {
        words(start, end).any(|(word, mask)| self.0.get(word).is_some_and(|bits| bits & mask != 0))
    }

    /// True if all of these bits are set.
    pub(super) fn all(&self, start: u64, end: u64) -> bool {
        words(start, end).all(|(word, mask)| self.0.get(word).is_some_and(|bits| bits & mask == mask))
    }
}

/// Bytes per page.
const PAGE: u64 = 1 << 16;

/// Bits of sparse addresses, in pages created at the first set bit.
#[derive(Debug, Default)]
pub(super) struct SparseBits(FxHashMap<u64, Bits>);

/// Parts of an address range per page: page, first and last bit.
fn parts(start: u64, end: u64) -> impl Iterator<Item = (u64, u64, u64)> {
    let pages = if start < end { start / PAGE..(end - 1) / PAGE + 1 } else { 0..0 };
    pages.map(move |page| {
        let from = start.saturating_sub(page * PAGE);
        (page, from, (end - page * PAGE).min(PAGE))
    })
}

impl SparseBits {
    pub(super) fn set(&mut self, start: u64, end: u64) {
        for (page, from, to) in parts(start, end) {
            self.0.entry(page).or_insert_with(|| Bits::new(PAGE)).set(from, to);
        }
    }

    pub(super) fn reset(&mut self, start: u64, end: u64) {
        for (page, from, to) in parts(start, end) {
            if (from, to) == (0, PAGE) {
                self.0.remove(&page);
            } else if let Some(bits) = self.0.get_mut(&page) {
                bits.reset(from, to);
            }
        }
    }

    pub(super) fn any(&self, start: u64, end: u64) -> bool {
        parts(start, end).any(|(page, from, to)| self.0.get(&page).is_some_and(|bits| bits.any(from, to)))
    }

    pub(super) fn all(&self, start: u64, end: u64) -> bool {
        parts(start, end).all(|(page, from, to)| self.0.get(&page).is_some_and(|bits| bits.all(from, to)))
    }

    /// Copies the `length` bits from `from` to `to`.
    pub(super) fn copy(&mut self, to: u64, from: u64, length: u64) {
        let whole = from..from.saturating_add(length);
        if self.all(whole.start, whole.end) {
            self.set(to, to + length);
            return;
        }
        let bits: Vec<bool> = whole.map(|address| self.any(address, address + 1)).collect();
        self.reset(to, to + length);
        for (address, written) in (to..).zip(bits) {
            if written {
                self.set(address, address + 1);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bit_ranges_are_set_and_cleared_exactly() {
        let mut bits = Bits::new(200);
        bits.set(3, 130);
        assert!(bits.all(3, 130) && !bits.all(2, 130) && !bits.all(3, 131));
        bits.reset(64, 128);
        assert!(!bits.any(64, 128) && bits.any(63, 65) && bits.any(127, 129));
        assert!(!bits.any(5, 5) && bits.all(5, 5), "an empty range has no bits");
    }

    #[test]
    fn ranges_span_pages_without_a_gap() {
        let mut bits = SparseBits::default();
        bits.set(PAGE - 1, PAGE + 1);
        assert!(bits.all(PAGE - 1, PAGE + 1) && !bits.any(0, PAGE - 1) && !bits.any(PAGE + 1, 3 * PAGE));
        bits.reset(PAGE, 2 * PAGE);
        assert!(bits.any(PAGE - 1, PAGE) && !bits.any(PAGE, PAGE + 1));
    }

    #[test]
    fn copies_transfer_clear_bits() {
        let mut bits = SparseBits::default();
        bits.set(10, 12);
        bits.set(100, 110);
        bits.copy(102, 9, 4);
        assert!(bits.all(100, 102) && !bits.any(102, 103) && bits.all(103, 105) && !bits.any(105, 106));
    }
}
