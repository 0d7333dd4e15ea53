//! Runs of consecutive lanes that touch the same line. Most accesses have few runs, so later steps
//! work on runs, not on lanes.

use warp_stream::{LaneMask, WARP_SIZE};

use super::Pattern;
use super::shape::{EIGHTS, Shape};
use crate::message::LINE_BYTES;

/// Word size in bytes, the granularity of loads within a line.
pub const WORD_BYTES: u64 = 8;

/// Part of a line touched by consecutive lanes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Run {
    /// Device address of the line.
    pub line: u64,
    /// Mask of 8 B words.
    pub words: u16,
    /// Mask of sectors.
    pub sectors: u8,
    /// First lane.
    pub first: u8,
    /// Mask of lanes.
    pub lanes: LaneMask,
}

impl Run {
    /// Adds a lane that touches `count` bytes within the line.
    fn touch(&mut self, lane: u8, offset: u32, count: u32) {
        let words = words_of(offset, count);
        self.words |= words;
        self.sectors |= sectors(words);
        self.lanes |= 1 << lane;
    }

    /// Mask of the line's bytes touched by the lanes of a pattern.
    pub fn bytes(&self, pattern: &Pattern<'_>) -> u128 {
        let (mut bytes, mut lanes) = (0, self.lanes);
        while lanes != 0 {
            let address = pattern.addresses[lanes.trailing_zeros() as usize];
            lanes &= lanes - 1;
            // A lane's bytes may begin in the previous line or end in the next.
            let offset = address.wrapping_sub(self.line) as i64;
            let end = (offset + i64::from(pattern.width.max(1))).min(LINE_BYTES as i64);
            let from = offset.max(0);
            bytes |= super::ones(from as u32, (end - from) as u32);
        }
        bytes
    }
}

/// Mask of the sectors that contain words.
fn sectors(words: u16) -> u8 {
    let pairs = words | words >> 1;
    let fours = (pairs | pairs >> 2) & 0x1111;
    // Moves bits 0, 4, 8 and 12 next to each other.
    ((u32::from(fours) * 0x1248) >> 12 & 0xf) as u8
}

/// Lanes of a warp that L1 can serve together: those whose data fill one line, at least four.
pub fn lanes_per_part(width: u8) -> usize {
    (LINE_BYTES / u64::from(width.max(1)).next_power_of_two()).clamp(4, WARP_SIZE as u64) as usize
}

/// Lanes examined together.
pub const EIGHT: usize = 8;

/// Finds the runs of a pattern in lane order, given the shape of each group of eight lanes. No run
/// spans two groups or two parts ([`lanes_per_part`]).
pub fn find(pattern: &Pattern<'_>, eights: &[Shape; EIGHTS], runs: &mut Vec<Run>) {
    let most = lanes_per_part(pattern.width).min(EIGHT);
    let (chunks, _) = pattern.addresses.as_chunks::<EIGHT>();
    for eight in 0..EIGHTS {
        let first = (eight * EIGHT) as u8;
        match one_line(&chunks[eight], pattern, eights[eight]).filter(|_| most == EIGHT) {
            Some(run) => runs.push(Run { lanes: 0xff << first, first, ..run }),
            None => find_in_any(pattern, first, most as u8, runs),
        }
    }
}

/// The runs of a pattern if each group of eight lanes touches one line, consecutively or uniformly.
#[inline(always)]
pub fn of_eights(pattern: &Pattern<'_>, eights: &[Shape; EIGHTS]) -> Option<[Run; EIGHTS]> {
    let (chunks, _) = pattern.addresses.as_chunks::<EIGHT>();
    let mut runs = [Run::default(); EIGHTS];
    for (eight, run) in runs.iter_mut().enumerate() {
        let first = (eight * EIGHT) as u8;
        *run = Run { lanes: 0xff << first, first, ..one_line(&chunks[eight], pattern, eights[eight])? };
    }
    Some(runs)
}

/// The run of eight lanes on one line with consecutive or uniform addresses, the common case.
fn one_line(addresses: &[u64; EIGHT], pattern: &Pattern<'_>, shape: Shape) -> Option<Run> {
    let width = u32::from(pattern.width.max(1));
    let count = match shape {
        Shape::Uniform => width,
        Shape::Consecutive => width * EIGHT as u32,
        Shape::Any => return None,
    };
    let offset = (addresses[0] % LINE_BYTES) as u32;
    if offset + count > LINE_BYTES as u32 {
        return None;
    }
    let words = words_of(offset, count);
    Some(Run { line: addresses[0] - u64::from(offset), words, sectors: sectors(words), ..Run::default() })
}

/// The runs of eight lanes from `first` on, with arbitrary addresses.
#[inline(never)]
fn find_in_any(pattern: &Pattern<'_>, first: u8, most: u8, runs: &mut Vec<Run>) {
    let active = (pattern.active >> first) as u8;
    let (eights, _) = pattern.addresses.as_chunks::<EIGHT>();
    let addresses = &eights[usize::from(first) / EIGHT];
    let whole = active == u8::MAX && usize::from(most) == EIGHT;
    let line = if whole { one_line_of_any(addresses, pattern.width) } else { None };
    let Some((line, words)) = line else {
        return find_lane_by_lane(pattern, first, active, most, runs);
    };
    runs.push(Run { line, words, sectors: sectors(words), lanes: 0xff << first, first });
}

/// The line and words of eight lanes that touch a single line, none across a word boundary.
fn one_line_of_any(addresses: &[u64; EIGHT], width: u8) -> Option<(u64, u16)> {
    if !matches!(width, 1 | 2 | 4 | 8 | 16) {
        return None;
    }
    let of_a_lane = if width == 16 { 3_u32 } else { 1 };
    let line = addresses[0] - addresses[0] % LINE_BYTES;
    let (mut words, mut apart) = (0, 0);
    for address in addresses {
        let offset = address ^ line;
        apart |= offset;
        words |= of_a_lane.wrapping_shl((offset / WORD_BYTES) as u32);
    }
    let one = apart < LINE_BYTES && apart & u64::from(width - 1) == 0;
    one.then_some((line, words as u16))
}

/// Mask of the words that contain a byte range.
pub fn words_of(offset: u32, count: u32) -> u16 {
    let word = WORD_BYTES as u32;
    ((2_u32 << ((offset + count - 1) / word)) - (1 << (offset / word))) as u16
}

/// The runs of the active lanes among eight from `first` on.
fn find_lane_by_lane(pattern: &Pattern<'_>, first: u8, mut active: u8, most: u8, runs: &mut Vec<Run>) {
    let width = u32::from(pattern.width.max(1));
    let mut run = Run::default();
    while active != 0 {
        let lane = first + active.trailing_zeros() as u8;
        active &= active - 1;
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
        run.touch(lane, offset, here);
        if here < width {
            runs.push(run);
            run = Run { line: line.wrapping_add(LINE_BYTES), first: lane, ..Run::default() };
            run.touch(lane, 0, width - here);
        }
    }
    if run.words != 0 {
        runs.push(run);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::memory::coalescer::shape::eights;

    fn runs(active: LaneMask, width: u8, address: impl Fn(u64) -> u64) -> Vec<Run> {
        let addresses = std::array::from_fn(|lane| address(lane as u64));
        let mut runs = Vec::new();
        let pattern = Pattern::new(active, &addresses, width, true);
        find(&pattern, &eights(&pattern), &mut runs);
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
    fn run_has_touched_words_sectors_bytes_and_lanes() {
        let found = runs(0xff, 4, |lane| 0x1010 + 4 * lane);
        assert_eq!(found, [Run { line: 0x1000, words: 0b11_1100, sectors: 0b11, lanes: 0xff, first: 0 }]);
        let addresses = std::array::from_fn(|lane| 0x1010 + 4 * lane as u64);
        let pattern = Pattern::new(0xff, &addresses, 4, true);
        assert_eq!(found[0].bytes(&pattern), 0xffff_ffff << 16);
    }

    #[test]
    fn lane_across_the_end_of_memory_wraps_around() {
        let addresses = [u64::MAX - 2; 32];
        let pattern = Pattern::new(1, &addresses, 8, true);
        let mut found = Vec::new();
        find(&pattern, &eights(&pattern), &mut found);
        assert_eq!(found.iter().map(|run| run.bytes(&pattern)).collect::<Vec<_>>(), [0b111 << 125, 0b11111]);
    }

    #[test]
    fn sectors_follow_from_words() {
        for words in 0..=u16::MAX {
            let expected: u8 =
                (0..4).filter(|sector| words >> (4 * sector) & 0xf != 0).map(|sector| 1 << sector).sum();
            assert_eq!(sectors(words), expected);
        }
    }

    #[test]
    fn one_line_search_matches_lane_by_lane_search() {
        for width in [1, 2, 4, 8, 16] {
            for stride in [0, 1, 2, 3, 7] {
                for start in [0x1000, 0x1080, 0x10e0, 0x1071, 0x106c] {
                    let addresses = std::array::from_fn(|lane| start + width * stride * lane as u64);
                    let pattern = Pattern::new(!0, &addresses, width as u8, true);
                    let [mut found, mut one_by_one] = [Vec::new(), Vec::new()];
                    find(&pattern, &eights(&pattern), &mut found);
                    for first in [0, 8, 16, 24] {
                        find_lane_by_lane(&pattern, first, u8::MAX, 8, &mut one_by_one);
                    }
                    assert_eq!(found, one_by_one, "{width} B, stride {stride}, from {start:#x}");
                }
            }
        }
    }

    #[test]
    fn lane_across_a_line_end_is_in_two_runs() {
        let found = runs(1, 8, |_| 0x107c);
        assert_eq!(
            found.iter().map(|run| (run.line, run.words)).collect::<Vec<_>>(),
            [(0x1000, 1 << 15), (0x1080, 1)]
        );
    }
}
