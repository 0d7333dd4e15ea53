//! Passes of an access that L1 has all of: lines are looked up in tag banks, words are read from data banks.
//!
//! A part of the warp that asks for no more than a line's bytes goes at a time: half a warp of 8 B words. In a pass each tag
//! bank looks up one line; the lines that were looked up together are read together, in as many cycles as the busiest data bank
//! has words of them. The tag bank of a line is its number folded by exclusive or: of the hashes of six bits, with 4 banks, the
//! one with which this gives the cycles that RRZE measured on a V100 for strided loads (mean deviation 8 %, and 30 % if all
//! lines could be looked up four at a time).

use warp_stream::WARP_SIZE;

use super::L1Spec;
use crate::message::LINE_BYTES;
use crate::sm::memory::banks::MAXIMUM_BANKS;
use crate::sm::memory::coalescer::Pattern;
use crate::sm::memory::coalescer::runs::{Run, WORD_BYTES, lanes_per_part};

/// Words of a data bank's width in a line.
const WORDS: u64 = LINE_BYTES / WORD_BYTES;
/// Bits of a line's number that choose its tag bank.
const FOLDED_BITS: u32 = 6;
/// Lines that a part of a warp touches, at most: each of its lanes may go across the end of one.
const MOST_LINES: usize = 64;

/// A line of a part of a warp.
#[derive(Clone, Copy, Default)]
struct Touched {
    /// Its number.
    line: u64,
    /// Its words, one bit each.
    words: u16,
    /// With which pass it is looked up.
    pass: u8,
}

/// Lines of a part of a warp, in the order of the lanes.
struct Lookups {
    lines: [Touched; MOST_LINES],
    count: usize,
    /// How many lines each tag bank has looked up.
    banks: [u8; MAXIMUM_BANKS as usize],
}

impl Lookups {
    fn new(runs: &[Run], tag_banks: u32) -> Lookups {
        let mut lookups =
            Lookups { lines: [Touched::default(); MOST_LINES], count: 0, banks: [0; MAXIMUM_BANKS as usize] };
        for run in runs {
            lookups.add(run.line / LINE_BYTES, run.words, tag_banks);
        }
        lookups
    }

    fn add(&mut self, line: u64, words: u16, tag_banks: u32) {
        if let Some(known) = self.lines[..self.count].iter_mut().rev().find(|known| known.line == line) {
            known.words |= words;
            return;
        }
        let next = &mut self.banks[tag_bank(line, tag_banks)];
        self.lines[self.count] = Touched { line, words, pass: *next };
        self.count += 1;
        *next += 1;
    }

    /// How many passes there are.
    fn passes(&self) -> u8 {
        self.banks.into_iter().max().unwrap_or(0)
    }

    /// The words of one pass that are in the same data bank, at most.
    fn words_of_a_bank(&self, pass: u8, data_banks: u32) -> u32 {
        let data_banks = u64::from(data_banks);
        let mut counts = [0; MAXIMUM_BANKS as usize];
        for touched in self.lines[..self.count].iter().filter(|touched| touched.pass == pass) {
            let first = touched.line % data_banks * (WORDS % data_banks);
            for word in (0..WORDS).filter(|word| touched.words >> word & 1 != 0) {
                counts[((first + word) % data_banks) as usize] += 1;
            }
        }
        counts.into_iter().max().unwrap_or(0)
    }
}

/// The tag bank of a line.
fn tag_bank(line: u64, banks: u32) -> usize {
    if !banks.is_power_of_two() {
        return (line % u64::from(banks)) as usize;
    }
    let bits = banks.trailing_zeros().max(1);
    let folded = (0..FOLDED_BITS).step_by(bits as usize).fold(0, |folded, shift| folded ^ line >> shift);
    (folded & u64::from(banks - 1)) as usize
}

impl L1Spec {
    /// Cycles that the access takes of which `runs` are the runs.
    pub(crate) fn passes(&self, pattern: &Pattern<'_>, runs: &[Run]) -> u32 {
        if self.tag_banks > 1 && pattern.is_consecutive() {
            return (WARP_SIZE as u64 * u64::from(pattern.width)).div_ceil(LINE_BYTES) as u32;
        }
        let lanes = lanes_per_part(pattern.width) as u8;
        let parts = runs.chunk_by(|one, other| one.first / lanes == other.first / lanes);
        parts.map(|part| self.part_passes(part)).sum()
    }

    /// Cycles that a part of the access takes.
    fn part_passes(&self, runs: &[Run]) -> u32 {
        let one_line = runs.iter().all(|run| run.line == runs[0].line);
        if one_line && (self.data_banks == 0 || u64::from(self.data_banks) >= WORDS) {
            return 1;
        }
        let lookups = Lookups::new(runs, self.tag_banks);
        let passes = lookups.passes();
        match self.data_banks {
            0 => u32::from(passes),
            banks => (0..passes).map(|pass| lookups.words_of_a_bank(pass, banks)).sum(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sm::memory::coalescer::runs;
    use crate::specification::GpuSpec;

    fn passes(gpu: &str, width: u8, address: impl Fn(u64) -> u64) -> u32 {
        let addresses = std::array::from_fn(|lane| 0x10_0000 + address(lane as u64));
        let pattern = Pattern { active: !0, addresses: &addresses, width, marks: false };
        let mut runs = Vec::new();
        runs::find(&pattern, &mut runs);
        GpuSpec::built_in(gpu).unwrap().l1.passes(&pattern, &runs)
    }

    #[test]
    fn words_of_8_bytes_in_a_row_take_a_pass_for_each_line() {
        assert_eq!(passes("titan-v", 8, |lane| 8 * lane), 2);
        assert_eq!(passes("titan-v", 4, |lane| 4 * lane), 1);
        assert_eq!(passes("titan-v", 16, |lane| 16 * lane), 4);
    }

    #[test]
    fn a_word_for_all_takes_a_pass_for_each_part() {
        assert_eq!(passes("titan-v", 4, |_| 0), 1);
        assert_eq!(passes("titan-v", 8, |_| 0), 2);
    }

    #[test]
    fn lanes_in_a_data_bank_take_turns() {
        for stride in [2, 4, 8, 16] {
            assert_eq!(u64::from(passes("titan-v", 8, |lane| 8 * stride * lane)), 2 * stride);
        }
    }

    #[test]
    fn without_tag_banks_every_line_takes_a_pass() {
        assert_eq!(passes("titan-v-old", 4, |lane| 128 * lane), 32);
    }

    #[test]
    fn strided_loads_take_the_cycles_measured_on_a_v100_to_a_twelfth_on_average() {
        // RRZE, strided loads of 8 B: cycles for strides of 0, 1, 2 … doubles.
        const MEASURED: [f64; 65] = [
            2.02, 2.02, 3.99, 3.00, 7.97, 3.99, 5.98, 4.98, 15.92, 5.98, 5.98, 6.97, 11.94, 7.97, 7.97, 8.96,
            31.84, 8.96, 10.95, 11.94, 13.93, 11.94, 10.95, 13.93, 20.89, 14.93, 13.93, 10.95, 16.92, 10.95,
            8.96, 10.95, 31.84, 7.97, 8.96, 13.93, 14.93, 10.95, 17.91, 12.94, 22.88, 14.93, 16.92, 10.95,
            19.90, 17.91, 16.92, 16.92, 31.83, 15.92, 18.91, 11.94, 17.91, 20.90, 14.93, 18.91, 21.89, 10.95,
            12.94, 11.94, 10.95, 15.92, 10.95, 10.95, 31.84,
        ];
        let deviation = |(stride, cycles): (usize, &f64)| {
            let passes = passes("titan-v", 8, |lane| 8 * stride as u64 * lane);
            (f64::from(passes) / cycles - 1.0).abs()
        };
        let sum: f64 = MEASURED.iter().enumerate().map(deviation).sum();
        assert!(sum / 65.0 < 1.0 / 12.0, "{}", sum / 65.0);
    }
}
