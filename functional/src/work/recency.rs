//! Which lines of global memory were accessed last, in order: what a cache of any size would hold, were it fully associative.

use std::collections::BTreeSet;

use rustc_hash::FxHashMap;
use warp_stream::{Past, Trace};

/// Bytes of a line, as a power of two.
const LINE: u32 = 7;
/// Bytes of a sector, as a power of two.
const SECTOR: u32 = 5;
/// Lines that are remembered at least: 32 MB.
const LINES: usize = 1 << 18;

/// Lines with when they were accessed last.
#[derive(Debug, Default)]
pub struct Recency {
    lines: FxHashMap<u64, Touch>,
    now: u64,
    /// Addresses of the pages that kernels have accessed.
    pages: BTreeSet<u64>,
    last_page: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default)]
struct Touch {
    when: u64,
    read: u8,
    written: u8,
}

impl Recency {
    /// A kernel accesses bytes. Gives how many of their sectors were not remembered.
    pub fn access(&mut self, address: u64, bytes: u64, writes: bool) -> u64 {
        for page in Past::pages_of(address, bytes) {
            if self.last_page.replace(page) != Some(page) {
                self.pages.insert(page);
            }
        }
        self.touch_all(address, bytes, writes)
    }

    /// Bytes are copied, or filled.
    pub fn copy(&mut self, address: u64, bytes: u64, writes: bool) {
        self.touch_all(address, bytes, writes);
    }

    /// Bytes are accessed, in order of their addresses. Gives how many of their sectors were not remembered.
    fn touch_all(&mut self, address: u64, bytes: u64, writes: bool) -> u64 {
        let mut new = 0;
        let end = address.saturating_add(bytes.max(1)) - 1;
        // Of more than is remembered only the last part is.
        let first = (address >> LINE).max((end >> LINE).saturating_sub(LINES as u64));
        for line in first..=end >> LINE {
            let start = (line << LINE).max(address);
            let last = ((line << LINE) + (1 << LINE) - 1).min(end);
            let sector = |address: u64| (address >> SECTOR & 3) as u32;
            let sectors = (0xf_u8 << sector(start)) & (0xf_u8 >> (3 - sector(last)));
            new += u64::from(self.touch(line, sectors, writes).count_ones());
        }
        new
    }

    /// Gives the sectors that were not remembered.
    fn touch(&mut self, line: u64, sectors: u8, writes: bool) -> u8 {
        self.now += 1;
        let touch = self.lines.entry(line).or_default();
        touch.when = self.now;
        let new = sectors & !(touch.read | touch.written);
        match writes {
            true => touch.written |= sectors,
            false => touch.read |= sectors,
        }
        if self.lines.len() >= 2 * LINES {
            self.forget();
        }
        new
    }

    /// Forgets all but the last lines.
    fn forget(&mut self) {
        let mut times: Vec<u64> = self.lines.values().map(|touch| touch.when).collect();
        let (_, oldest, _) = times.select_nth_unstable(LINES);
        let oldest = *oldest;
        self.lines.retain(|_, touch| touch.when >= oldest);
    }

    /// Addresses of the pages that kernels have accessed.
    pub fn pages(&self) -> Vec<u64> {
        self.pages.iter().copied().collect()
    }

    /// The lines that were accessed last, the last of all at the end.
    pub fn last(&self) -> Vec<Trace> {
        let mut lines: Vec<(&u64, &Touch)> = self.lines.iter().collect();
        lines.sort_unstable_by_key(|(_, touch)| touch.when);
        let last = lines.split_off(lines.len().saturating_sub(LINES));
        let trace = |(line, touch): (&u64, &Touch)| {
            let Touch { read, written, .. } = *touch;
            Trace { line: line << LINE, read, written }
        };
        last.into_iter().map(trace).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_last_lines_are_told_in_the_order_of_their_last_accesses() {
        let mut recency = Recency::default();
        recency.access(0x1000, 4, false);
        recency.access(0x20f0, 32, true);
        recency.access(0x1060, 32, true);
        let line = |line, read, written| Trace { line, read, written };
        assert_eq!(recency.last(), [line(0x2080, 0, 8), line(0x2100, 0, 1), line(0x1000, 1, 8)]);
    }

    #[test]
    fn a_sector_is_new_when_it_is_accessed_first() {
        let mut recency = Recency::default();
        assert_eq!(recency.access(0x1000, 64, false), 2);
        assert_eq!(recency.access(0x1020, 128, true), 3);
        assert_eq!(recency.access(0x1000, 160, false), 0);
    }

    #[test]
    fn pages_are_those_that_kernels_have_accessed() {
        let mut recency = Recency::default();
        recency.copy(0x20_0000, 64, true);
        recency.access(0x3f_fffc, 8, false);
        recency.copy(0x80_0000, 64, false);
        assert_eq!(recency.pages(), [0x20_0000, 0x40_0000]);
        recency.access(0x10, 4, true);
        assert_eq!(recency.pages(), [0, 0x20_0000, 0x40_0000]);
    }

    #[test]
    fn of_more_lines_than_are_remembered_the_first_are_forgotten() {
        let mut recency = Recency::default();
        recency.access(0, 128, false);
        for part in 0..3_u64 {
            recency.access(1 << 30 | part << 25, (LINES as u64) << LINE, true);
        }
        let last = recency.last();
        assert_eq!(last.len(), LINES);
        assert!(last.iter().all(|trace| trace.line > 1 << 29));
        assert!(last.windows(2).all(|pair| pair[0].line < pair[1].line));
    }
}
