//! Parameter bytes that a launch has loaded through addresses, as a bit for each byte.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};

/// Parameter bytes per bit-mask word.
const BYTES: usize = u64::BITS as usize;

/// Parameter bytes that were loaded through addresses.
#[derive(Debug, Default)]
pub struct ParameterReads {
    words: Box<[AtomicU64]>,
}

impl ParameterReads {
    /// Creates an empty record for a block of `bytes` bytes.
    pub fn of(bytes: usize) -> ParameterReads {
        ParameterReads { words: (0..bytes.div_ceil(BYTES)).map(|_| AtomicU64::new(0)).collect() }
    }

    /// Records a load; bytes beyond the block are ignored.
    pub fn note(&self, bytes: Range<u64>) {
        let first = bytes.start / BYTES as u64;
        let start = |number: usize| (first + number as u64) * BYTES as u64;
        for (number, word) in self.words.iter().skip(first as usize).enumerate() {
            let below = |end: u64| match end.saturating_sub(start(number)) {
                bits @ 0..64 => (1_u64 << bits) - 1,
                _ => u64::MAX,
            };
            let loaded = below(bytes.end) & !below(bytes.start);
            if loaded == 0 {
                break;
            }
            if word.load(Ordering::Relaxed) & loaded != loaded {
                word.fetch_or(loaded, Ordering::Relaxed);
            }
        }
    }

    /// Offsets of the loaded bytes, ascending, in maximal ranges.
    pub fn ranges(&self) -> Vec<Range<u64>> {
        let is_read = |byte: usize| {
            self.words
                .get(byte / BYTES)
                .is_some_and(|word| word.load(Ordering::Relaxed) >> (byte % BYTES) & 1 != 0)
        };
        let mut ranges: Vec<Range<u64>> = Vec::new();
        for byte in (0..self.words.len() * BYTES).filter(|byte| is_read(*byte)).map(|byte| byte as u64) {
            match ranges.last_mut() {
                Some(last) if last.end == byte => last.end += 1,
                _ => ranges.push(byte..byte + 1),
            }
        }
        ranges
    }
}
