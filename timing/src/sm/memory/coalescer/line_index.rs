//! Finds lines again among those of an access: a search through them would take as long for each lane as there are lanes before it.

use crate::message::LINE_BYTES;

const BUCKETS: usize = 64;
/// No line.
const END: u16 = u16::MAX;

/// Lines of an access by address, numbered in the order in which they came.
#[derive(Debug, Clone)]
pub struct LineIndex {
    /// The last line of each bucket.
    last: [u16; BUCKETS],
    /// The line of its bucket before each.
    before: Vec<u16>,
}

impl Default for LineIndex {
    fn default() -> LineIndex {
        LineIndex { last: [END; BUCKETS], before: Vec::new() }
    }
}

impl LineIndex {
    /// Forgets all lines.
    pub fn clear(&mut self) {
        self.last = [END; BUCKETS];
        self.before.clear();
    }

    /// The number of a line, of which `is_it` tells whether it is that of a number; if none has it, it gets the next one.
    ///
    /// # Errors
    /// It has come for the first time; its number.
    #[inline]
    pub fn find(&mut self, line: u64, is_it: impl Fn(usize) -> bool) -> Result<usize, usize> {
        let number = line / LINE_BYTES;
        let last = &mut self.last[(number ^ number >> 6) as usize % BUCKETS];
        let mut known = *last;
        while known != END {
            if is_it(usize::from(known)) {
                return Ok(usize::from(known));
            }
            known = self.before[usize::from(known)];
        }
        self.before.push(*last);
        *last = (self.before.len() - 1) as u16;
        Err(self.before.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_one_bucket_are_told_apart_and_found_again() {
        let mut index = LineIndex::default();
        let lines = [0x1000, 0x1000 + 65 * LINE_BYTES, 0x1080];
        let mut find = |line: u64| index.find(line, |number| lines[number] == line);
        assert_eq!(lines.map(&mut find), [Err(0), Err(1), Err(2)]);
        assert_eq!(lines.map(&mut find), [Ok(0), Ok(1), Ok(2)]);
        index.clear();
        assert_eq!(index.find(0x1080, |_| true), Err(0));
    }
}
