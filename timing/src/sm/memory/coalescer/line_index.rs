//! Index of an access's lines by address. A linear search would be quadratic in the number of
//! lanes.

use crate::message::LINE_BYTES;

const BUCKETS: usize = 64;
/// No line.
const END: u16 = u16::MAX;
/// Number of lines up to which a linear search is used.
const FEW: usize = 8;

/// Lines of an access by address, numbered in order of first occurrence.
#[derive(Debug, Clone)]
pub struct LineIndex {
    lines: Vec<u64>,
    /// Last line of each bucket. Unused for few lines, as is `before`.
    last: [u16; BUCKETS],
    /// Previous line in the same bucket.
    before: Vec<u16>,
}

impl Default for LineIndex {
    fn default() -> LineIndex {
        LineIndex { lines: Vec::new(), last: [END; BUCKETS], before: Vec::new() }
    }
}

impl LineIndex {
    /// Removes all lines.
    pub fn clear(&mut self) {
        self.lines.clear();
    }

    /// The number of a line. A new line receives the next number.
    ///
    /// # Errors
    /// The line is new; its number.
    #[inline]
    pub fn find(&mut self, line: u64) -> Result<usize, usize> {
        if self.lines.len() > FEW {
            return self.find_among_many(line);
        }
        if let Some(known) = self.lines.iter().position(|known| *known == line) {
            return Ok(known);
        }
        self.lines.push(line);
        if self.lines.len() > FEW {
            self.put_in_buckets();
        }
        Err(self.lines.len() - 1)
    }

    #[inline(never)]
    fn put_in_buckets(&mut self) {
        self.last = [END; BUCKETS];
        self.before.clear();
        for (number, line) in (0..).zip(&self.lines) {
            self.before.push(std::mem::replace(&mut self.last[bucket(*line)], number));
        }
    }

    #[inline(never)]
    fn find_among_many(&mut self, line: u64) -> Result<usize, usize> {
        let last = &mut self.last[bucket(line)];
        let mut known = *last;
        while known != END {
            if self.lines[usize::from(known)] == line {
                return Ok(usize::from(known));
            }
            known = self.before[usize::from(known)];
        }
        let number = self.lines.len();
        self.before.push(std::mem::replace(last, number as u16));
        self.lines.push(line);
        Err(number)
    }
}

fn bucket(line: u64) -> usize {
    let number = line / LINE_BYTES;
    (number ^ number >> 6) as usize % BUCKETS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_bucket_are_distinguished() {
        let mut index = LineIndex::default();
        // The first two share a bucket, then the next two, and so on.
        let lines: Vec<u64> =
            (0..20).flat_map(|pair| [pair, pair + 64 * (pair + 1)]).map(|line| line * LINE_BYTES).collect();
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(index.find(*line), Err(number));
        }
        for (number, line) in lines.iter().enumerate() {
            assert_eq!(index.find(*line), Ok(number));
        }
        index.clear();
        assert_eq!(index.find(lines[30]), Err(0));
    }
}
