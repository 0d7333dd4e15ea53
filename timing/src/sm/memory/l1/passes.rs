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
use crate::sm::memory::banks;
use crate::sm::memory::coalescer::{Footprint, Pattern};

/// Bytes of a word of a data bank.
const BANK_BYTES: u64 = 8;
/// Bits of a line's number that choose its tag bank.
const FOLDED_BITS: u32 = 6;

/// Lines of a part of a warp, in the order of the lanes, and with which pass each is looked up.
struct Lookups {
    lines: [u64; WARP_SIZE],
    passes: [u8; WARP_SIZE],
    count: usize,
    /// How many lines each tag bank has looked up.
    banks: [u8; banks::MAXIMUM_BANKS as usize],
}

impl Lookups {
    const NONE: Lookups = Lookups {
        lines: [0; WARP_SIZE],
        passes: [0; WARP_SIZE],
        count: 0,
        banks: [0; banks::MAXIMUM_BANKS as usize],
    };

    /// The pass with which a line is looked up.
    fn pass(&mut self, line: u64, tag_banks: u32) -> u8 {
        if let Some(known) = self.lines[..self.count].iter().rposition(|known| *known == line) {
            return self.passes[known];
        }
        let next = &mut self.banks[tag_bank(line, tag_banks)];
        let pass = *next;
        *next += 1;
        (self.lines[self.count], self.passes[self.count]) = (line, pass);
        self.count += 1;
        pass
    }

    /// How many passes there are.
    fn passes(&self) -> u8 {
        self.banks.into_iter().max().unwrap_or(0)
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
    /// Cycles that the access takes.
    pub(crate) fn passes(&self, pattern: &Pattern<'_>, footprint: Footprint) -> u32 {
        let width = u64::from(pattern.width.max(1));
        if footprint.consecutive && self.tag_banks > 1 {
            return (WARP_SIZE as u64 * width).div_ceil(LINE_BYTES) as u32;
        }
        let lanes = (LINE_BYTES / width.next_power_of_two()).clamp(4, WARP_SIZE as u64) as usize;
        if footprint.uniform {
            return (WARP_SIZE / lanes) as u32 * self.part_passes(pattern, 0..1);
        }
        (0..WARP_SIZE).step_by(lanes).map(|first| self.part_passes(pattern, first..first + lanes)).sum()
    }

    /// Cycles that some lanes of the access take.
    fn part_passes(&self, pattern: &Pattern<'_>, lanes: std::ops::Range<usize>) -> u32 {
        let mut lookups = Lookups::NONE;
        let mut turns = [u8::MAX; WARP_SIZE];
        for lane in lanes.clone().filter(|lane| pattern.active >> lane & 1 != 0) {
            turns[lane] = lookups.pass(pattern.addresses[lane] / LINE_BYTES, self.tag_banks);
        }
        if self.data_banks == 0 {
            return u32::from(lookups.passes());
        }
        let words_per_lane = u64::from(pattern.width).div_ceil(BANK_BYTES).clamp(1, 4);
        let mut words = [0; WARP_SIZE];
        (0..lookups.passes())
            .map(|pass| {
                let mut count = 0;
                for lane in lanes.clone().filter(|lane| turns[*lane] == pass) {
                    for word in 0..words_per_lane {
                        words[count] = (pattern.addresses[lane] / BANK_BYTES).wrapping_add(word);
                        count += 1;
                    }
                }
                banks::passes(&mut words[..count], self.data_banks)
            })
            .sum()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::specification::GpuSpec;

    fn passes(gpu: &str, width: u8, address: impl Fn(u64) -> u64) -> u32 {
        let addresses = std::array::from_fn(|lane| 0x10_0000 + address(lane as u64));
        let pattern = Pattern { active: !0, addresses: &addresses, width, marks: false };
        let footprint = Footprint { distinct: 0, by_eight: 0, consecutive: false, uniform: false };
        GpuSpec::built_in(gpu).unwrap().l1.passes(&pattern, footprint)
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
    fn the_short_way_for_one_place_gives_what_the_long_way_gives() {
        for (gpu, width, at) in
            [("titan-v", 4, 0), ("titan-v", 8, 24), ("titan-v", 16, 120), ("titan-v-old", 16, 8)]
        {
            let addresses = [0x10_0000 + at; WARP_SIZE];
            let pattern = Pattern { active: !0, addresses: &addresses, width, marks: false };
            let footprint = Footprint { distinct: 1, by_eight: 4, consecutive: false, uniform: true };
            let short = GpuSpec::built_in(gpu).unwrap().l1.passes(&pattern, footprint);
            assert_eq!(short, passes(gpu, width, |_| at), "{gpu}, {width} B at {at}");
        }
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
