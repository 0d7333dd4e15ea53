//! Lanes that follow each other and touch the same line: most accesses have a few of these, and all that is asked about
//! an access is asked of them and not of its lanes.

use warp_stream::{LaneMask, WARP_SIZE};

use super::Pattern;
use crate::message::LINE_BYTES;

/// Bytes of a word of a line, the finest that loads are looked at in.
pub const WORD_BYTES: u64 = 8;

/// What lanes that follow each other touch of a line.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// Device address of the line.
    pub line: u64,
    /// Its words of 8 B, one bit each.
    pub words: u16,
    /// Its bytes, one bit each, if the pattern marks; else 0.
    pub bytes: u128,
    /// The lanes.
    pub lanes: LaneMask,
    /// Whichever of them is first.
    pub first: u8,
}

impl Run {
    /// Sectors of the line, one bit each.
    pub fn sectors(&self) -> u8 {
        let pairs = self.words | self.words >> 1;
        let fours = pairs | pairs >> 2;
        (fours & 1 | fours >> 3 & 2 | fours >> 6 & 4 | fours >> 9 & 8) as u8
    }
}

/// Lanes of a warp that an L1 can serve together: as many as ask for a line's bytes, at least four.
pub fn lanes_per_part(width: u8) -> usize {
    (LINE_BYTES / u64::from(width.max(1)).next_power_of_two()).clamp(4, WARP_SIZE as u64) as usize
}

/// Finds the runs of a pattern, in the order of the lanes. None goes from one eight of lanes to the next, nor from a part
/// ([`lanes_per_part`]) to the next.
pub fn find(pattern: &Pattern<'_>, runs: &mut Vec<Run>) {
    let most = lanes_per_part(pattern.width).min(8) as u8;
    let width = u32::from(pattern.width.max(1));
    let mut run = Run::default();
    let mut left = pattern.active;
    while left != 0 {
        let lane = left.trailing_zeros() as u8;
        left &= left - 1;
        let address = pattern.addresses[usize::from(lane) % WARP_SIZE];
        let offset = (address % LINE_BYTES) as u32;
        let line = address - u64::from(offset);
        if run.words == 0 || run.line != line || (run.first ^ lane) >= most {
            if run.words != 0 {
                runs.push(run);
            }
            run = Run { line, first: lane, ..Run::default() };
        }
        let here = width.min(LINE_BYTES as u32 - offset);
        run.touch(lane, offset, here, pattern.marks);
        if here < width {
            runs.push(run);
            run = Run { line: line.wrapping_add(LINE_BYTES), first: lane, ..Run::default() };
            run.touch(lane, 0, width - here, pattern.marks);
        }
    }
    if run.words != 0 {
        runs.push(run);
    }
}

impl Run {
    /// A lane touches `count` bytes, none of them behind the line.
    fn touch(&mut self, lane: u8, offset: u32, count: u32, marks: bool) {
        let word = WORD_BYTES as u32;
        let (first, last) = (offset / word, (offset + count - 1) / word);
        self.words |= ((2_u32 << last) - (1 << first)) as u16;
        self.lanes |= 1 << lane;
        if marks {
            self.bytes |= super::ones(offset, count);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn runs(active: LaneMask, width: u8, address: impl Fn(u64) -> u64) -> Vec<Run> {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let mut runs = Vec::new();
        find(&Pattern { active, addresses: &addresses, width, marks: true }, &mut runs);
        runs
    }

    #[test]
    fn runs_end_where_the_line_changes_and_after_eight_lanes() {
        let starts = |runs: Vec<Run>| runs.iter().map(|run| run.first).collect::<Vec<_>>();
        assert_eq!(starts(runs(!0, 4, |lane| 4 * lane)), [0, 8, 16, 24]);
        assert_eq!(starts(runs(!0, 4, |lane| 4096 * (lane / 12))), [0, 8, 12, 16, 24]);
        assert_eq!(starts(runs(0xf0f0, 4, |_| 0)), [4, 12]);
    }

    #[test]
    fn a_run_has_the_words_sectors_bytes_and_lanes_that_are_touched() {
        let found = runs(0xff, 4, |lane| 0x1010 + 4 * lane);
        let all = Run { line: 0x1000, words: 0b11_1100, bytes: 0xffff_ffff << 16, lanes: 0xff, first: 0 };
        assert_eq!(found, [all]);
        assert_eq!(all.sectors(), 0b11);
    }

    #[test]
    fn sectors_are_those_of_the_words() {
        for words in 0..=u16::MAX {
            let expected: u8 =
                (0..4).filter(|sector| words >> (4 * sector) & 0xf != 0).map(|sector| 1 << sector).sum();
            assert_eq!(Run { words, ..Run::default() }.sectors(), expected);
        }
    }

    #[test]
    fn a_lane_across_the_end_of_a_line_is_in_a_run_of_each() {
        let found = runs(1, 8, |_| 0x107c);
        assert_eq!(
            found.iter().map(|run| (run.line, run.words)).collect::<Vec<_>>(),
            [(0x1000, 1 << 15), (0x1080, 1)]
        );
    }
}
