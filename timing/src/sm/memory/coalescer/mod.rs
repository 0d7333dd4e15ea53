//! Coalescer: which lines and sectors a warp's access touches.

mod fermi;
mod volta;

use warp_stream::{LaneMask, WARP_SIZE};

use super::access::Line;
use crate::message::{LINE_BYTES, SECTOR_BYTES};
use crate::specification::{Document, SpecificationError};

crate::choice! {
    /// How lanes' addresses become requests.
    pub enum CoalescerPolicy {
        /// The warp's distinct 32 B sectors, a request per line (what GV100's counters show).
        Volta = "volta",
        /// Eight lanes at a time: the distinct sectors of each eight (Khairy et al., section III-A).
        VoltaByEight = "volta-by-eight",
        /// The warp's distinct 128 B lines, fetched whole.
        Fermi = "fermi",
    }
}

crate::specification! {
    /// Coalescer.
    pub struct CoalescerSpec in "coalescer" {
        /// How lanes' addresses become requests.
        policy: CoalescerPolicy [""],
    }
}

impl CoalescerSpec {
    pub(crate) fn check(&self, _: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}

crate::counters! {
    /// Coalescer. Requests are instructions.
    pub struct CoalescerCounters in "coalescer" {
        /// Loads of global memory.
        global_load_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        /// Distinct sectors of loads of global memory.
        global_load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        /// Distinct sectors of each eight lanes of loads of global memory.
        global_load_sectors_by_eight: "sectors" = "",
        /// Stores to global memory.
        global_store_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        /// Distinct sectors of stores to global memory.
        global_store_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        /// Distinct sectors of each eight lanes of stores to global memory.
        global_store_sectors_by_eight: "sectors" = "",
        /// Loads of local memory.
        local_load_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
        /// Distinct sectors of loads of local memory.
        local_load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        /// Stores to local memory.
        local_store_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
        /// Distinct sectors of stores to local memory.
        local_store_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        /// Atomic operations with an answer on global memory.
        atomic_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        /// Distinct sectors of atomic operations with an answer.
        atomic_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        /// Atomic operations without an answer on global memory.
        reduction_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        /// Distinct sectors of atomic operations without an answer.
        reduction_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        /// Texture and surface instructions.
        texture_requests: "requests" = "l1tex__t_requests_pipe_tex.sum",
        /// Distinct sectors of texture and surface instructions.
        texture_sectors: "sectors" = "l1tex__t_sectors_pipe_tex.sum",
        /// Lines that requests were split into.
        lines: "lines" = "",
    }
}

/// What lanes ask for.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<'a> {
    /// Lanes that take part.
    pub active: LaneMask,
    /// Byte address per lane.
    pub addresses: &'a [u64; WARP_SIZE],
    /// Bytes per lane.
    pub width: u8,
    /// Whether lines need the bytes that are touched, and the lanes: stores, atomic operations.
    pub marks: bool,
}

/// What an access touches.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Distinct sectors of the warp, as the profiler counts.
    pub distinct: u32,
    /// Distinct sectors of each eight lanes, added up.
    pub by_eight: u32,
    /// All lanes take part, one after the other.
    pub consecutive: bool,
    /// All lanes take part, at one address.
    pub uniform: bool,
}

/// Splits an access into lines, in the order of the lanes; `lines` is empty before.
pub fn coalesce(policy: CoalescerPolicy, pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    match policy {
        CoalescerPolicy::Volta => volta::coalesce(pattern, lines),
        CoalescerPolicy::VoltaByEight => volta::coalesce_by_eight(pattern, lines),
        CoalescerPolicy::Fermi => fermi::coalesce(pattern, lines),
    }
}

/// Splits the addresses of texels, of `width` bytes each, into lines.
pub fn coalesce_texels(texels: &[u64], width: u8, marks: bool, lines: &mut Vec<Line>) -> Footprint {
    for &texel in texels {
        add(lines, 0, texel, width, if marks { 1 } else { 0 });
    }
    let distinct = lines.iter().map(|line| line.sectors.count_ones()).sum();
    Footprint { distinct, by_eight: distinct, ..Footprint::default() }
}

/// Adds what a lane touches to the lines from `start` on. `lane` is its bit, or 0 if bytes and lanes are not needed.
fn add(lines: &mut Vec<Line>, start: usize, address: u64, width: u8, lane: LaneMask) {
    let mut offset = (address % LINE_BYTES) as u32;
    let mut line = address - u64::from(offset);
    let mut left = u32::from(width.max(1));
    while left > 0 {
        let here = left.min(LINE_BYTES as u32 - offset);
        let sector = SECTOR_BYTES as u32;
        let sectors = ones(offset / sector, (offset + here - 1) / sector - offset / sector + 1) as u8;
        let bytes = if lane == 0 { 0 } else { ones(offset, here) };
        match lines[start..].iter_mut().rev().find(|known| known.address == line) {
            Some(known) => {
                known.sectors |= sectors;
                known.bytes |= bytes;
                known.lanes |= lane;
            }
            None => lines.push(Line { address: line, sectors, bytes, lanes: lane, ..Line::default() }),
        }
        left -= here;
        offset = 0;
        line = line.wrapping_add(LINE_BYTES);
    }
}

/// `count` ones from bit `first` on.
fn ones(first: u32, count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { ((1 << count) - 1) << first }
}

/// Lanes of a mask.
fn lanes(mut mask: LaneMask) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let lane = mask.trailing_zeros() as usize;
        mask &= mask.wrapping_sub(1);
        (lane < WARP_SIZE).then_some(lane)
    })
}

/// Adds the lines of the lanes in `mask`.
fn add_lanes(pattern: &Pattern<'_>, mask: LaneMask, lines: &mut Vec<Line>) {
    let start = lines.len();
    for lane in lanes(mask & pattern.active) {
        let bit = if pattern.marks { 1 << lane } else { 0 };
        add(lines, start, pattern.addresses[lane], pattern.width, bit);
    }
}

/// Distinct sectors of each eight lanes, added up.
fn sectors_by_eight(pattern: &Pattern<'_>) -> u32 {
    let mut sectors = 0;
    for group in 0..4 {
        let mut seen = [0; 16];
        let mut count = 0;
        for lane in lanes(pattern.active & 0xff << (8 * group)) {
            let first = pattern.addresses[lane] / SECTOR_BYTES;
            let last =
                pattern.addresses[lane].saturating_add(u64::from(pattern.width.max(1)) - 1) / SECTOR_BYTES;
            for sector in [first, last] {
                if !seen[..count].contains(&sector) {
                    seen[count] = sector;
                    count += 1;
                }
            }
        }
        sectors += count as u32;
    }
    sectors
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(width: u8, address: impl Fn(u64) -> u64) -> ([u64; 32], u8) {
        (std::array::from_fn(|lane| address(lane as u64)), width)
    }

    fn run(
        policy: CoalescerPolicy,
        active: LaneMask,
        (addresses, width): ([u64; 32], u8),
    ) -> (usize, Footprint) {
        let mut lines = Vec::new();
        let pattern = Pattern { active, addresses: &addresses, width, marks: false };
        let sectors = coalesce(policy, &pattern, &mut lines);
        (lines.len(), sectors)
    }

    #[test]
    fn strides_of_the_papers_fig_4_give_its_counts() {
        // C[(idx / stride) * 32 + idx % stride] of 4 B elements: stride 1 is a line per thread, 32 one line for all.
        for (stride, by_eight, distinct) in
            [(1, 32, 32), (2, 16, 16), (4, 8, 8), (8, 4, 4), (16, 4, 4), (32, 4, 4)]
        {
            let pattern = load(4, |lane| 0x1000 + 4 * (lane / stride * 32 + lane % stride));
            let (_, sectors) = run(CoalescerPolicy::Volta, !0, pattern);
            assert_eq!((sectors.by_eight, sectors.distinct), (by_eight, distinct), "stride {stride}");
        }
    }

    #[test]
    fn one_word_for_all_is_one_sector_of_the_warp_and_four_of_its_eights() {
        let pattern = load(4, |_| 0x1234);
        assert_eq!(
            run(CoalescerPolicy::Volta, !0, pattern),
            (1, Footprint { distinct: 1, by_eight: 4, consecutive: false, uniform: true })
        );
        assert_eq!(run(CoalescerPolicy::VoltaByEight, !0, pattern).0, 4);
    }

    #[test]
    fn consecutive_words_are_lines_with_all_their_sectors() {
        for (width, lines) in [(1, 1), (2, 1), (4, 1), (8, 2), (16, 4)] {
            let pattern = load(width, |lane| 0x1000 + u64::from(width) * lane);
            let distinct = u32::from(width);
            assert_eq!(run(CoalescerPolicy::Volta, !0, pattern).0, lines);
            assert_eq!(run(CoalescerPolicy::Volta, !0, pattern).1.distinct, distinct);
            let backwards = load(width, |lane| 0x2000 - u64::from(width) * (lane + 1));
            assert_eq!(run(CoalescerPolicy::Volta, !0, backwards).1.distinct, distinct);
        }
    }

    #[test]
    fn consecutive_words_that_begin_within_a_line_touch_one_sector_more() {
        let (lines, sectors) = run(CoalescerPolicy::Volta, !0, load(4, |lane| 0x1004 + 4 * lane));
        assert_eq!(
            (lines, sectors),
            (2, Footprint { distinct: 5, by_eight: 8, consecutive: true, uniform: false })
        );
    }

    #[test]
    fn the_short_way_for_consecutive_words_gives_what_the_long_way_gives() {
        for width in [1, 2, 4, 8, 16] {
            for start in [0x1000, 0x1004, 0x1010, 0x1070, 0x107c] {
                let (addresses, _) = load(width, |lane| start + u64::from(width) * lane);
                let pattern = Pattern { active: !0, addresses: &addresses, width, marks: false };
                let mut short = Vec::new();
                let sectors = coalesce(CoalescerPolicy::Volta, &pattern, &mut short);
                let mut long = Vec::new();
                add_lanes(&pattern, !0, &mut long);
                assert_eq!(short, long);
                assert_eq!(sectors.by_eight, sectors_by_eight(&pattern));
            }
        }
    }

    #[test]
    fn the_short_way_for_one_place_gives_what_the_long_way_gives() {
        for (start, width) in [(0x1000, 4), (0x101e, 4), (0x107c, 8), (0x1010, 16)] {
            let (addresses, _) = load(width, |_| start);
            let pattern = Pattern { active: !0, addresses: &addresses, width, marks: true };
            let mut short = Vec::new();
            let sectors = coalesce(CoalescerPolicy::Volta, &pattern, &mut short);
            let mut long = Vec::new();
            add_lanes(&pattern, !0, &mut long);
            assert_eq!(short, long);
            assert_eq!(sectors.by_eight, sectors_by_eight(&pattern));
        }
    }

    #[test]
    fn lanes_that_do_not_take_part_touch_nothing() {
        let pattern = load(4, |lane| 0x1000 + 128 * lane);
        assert_eq!(run(CoalescerPolicy::Volta, 0b101, pattern).1.distinct, 2);
        assert_eq!(run(CoalescerPolicy::Volta, 0, pattern), (0, Footprint::default()));
    }

    #[test]
    fn fermi_fetches_whole_lines() {
        let (addresses, width) = load(4, |lane| 0x1000 + 256 * lane);
        let mut lines = Vec::new();
        let pattern = Pattern { active: 3, addresses: &addresses, width, marks: false };
        coalesce(CoalescerPolicy::Fermi, &pattern, &mut lines);
        assert_eq!(
            lines.iter().map(|line| (line.address, line.sectors)).collect::<Vec<_>>(),
            [(0x1000, 0xf), (0x1100, 0xf)]
        );
    }

    #[test]
    fn stores_mark_their_bytes_and_lanes() {
        let (addresses, _) = load(2, |lane| 0x1000 + 4 * lane);
        let mut lines = Vec::new();
        coalesce(
            CoalescerPolicy::Volta,
            &Pattern { active: 3, addresses: &addresses, width: 2, marks: true },
            &mut lines,
        );
        assert_eq!((lines[0].bytes, lines[0].lanes, lines[0].sectors), (0x33, 3, 1));
    }
}
