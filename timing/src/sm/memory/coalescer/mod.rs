//! Coalescer: lines and sectors touched by a warp's access.

mod fermi;
pub mod ideal;
mod line_index;
pub mod runs;
pub mod shape;
mod volta;

use warp_stream::{LaneMask, WARP_SIZE};

pub use line_index::LineIndex;
use runs::Run;
use shape::{EIGHTS, Shape};

use super::access::Line;
use crate::gpu_file::{Document, SpecificationError};

crate::choice! {
    /// Rule that forms requests from lane addresses.
    pub enum CoalescerPolicy {
        /// Distinct 32 B sectors of the warp, one request per line (as GV100's counters show).
        Volta = "volta",
        /// Distinct sectors of each group of eight lanes (Khairy et al., section III-A).
        VoltaByEight = "volta-by-eight",
        /// Distinct 128 B lines of the warp, fetched whole.
        Fermi = "fermi",
    }
}

crate::specification! {
    /// Coalescer.
    pub struct CoalescerSpec in "coalescer" {
        /// Rule that forms requests from lane addresses.
        policy: CoalescerPolicy [""],
    }
}

impl CoalescerSpec {
    pub(crate) fn check(&self, _: &Document) -> Result<(), SpecificationError> {
        Ok(())
    }
}

crate::counters! {
    /// Coalescer. A request is one memory instruction of a warp.
    pub struct CoalescerCounters in "coalescer" {
        /// Loads of global memory.
        global_load_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_ld.sum",
        /// Distinct sectors of global loads.
        global_load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum",
        /// Distinct sectors of global loads, counted per group of eight lanes.
        global_load_sectors_by_eight: "sectors" = "",
        /// Stores to global memory.
        global_store_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_st.sum",
        /// Distinct sectors of global stores.
        global_store_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_st.sum",
        /// Distinct sectors of global stores, counted per group of eight lanes.
        global_store_sectors_by_eight: "sectors" = "",
        /// Loads of local memory.
        local_load_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_ld.sum",
        /// Distinct sectors of local loads.
        local_load_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_ld.sum",
        /// Stores to local memory.
        local_store_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_local_op_st.sum",
        /// Distinct sectors of local stores.
        local_store_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_local_op_st.sum",
        /// Atomic operations on global memory that return a value.
        atomic_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_atom.sum",
        /// Distinct sectors of atomic operations that return a value.
        atomic_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_atom.sum",
        /// Reductions (atomic operations that return nothing) on global memory.
        reduction_requests: "requests" = "l1tex__t_requests_pipe_lsu_mem_global_op_red.sum",
        /// Distinct sectors of reductions.
        reduction_sectors: "sectors" = "l1tex__t_sectors_pipe_lsu_mem_global_op_red.sum",
        /// Texture and surface instructions.
        texture_requests: "requests" = "l1tex__t_requests_pipe_tex.sum",
        /// Distinct sectors of texture and surface instructions.
        texture_sectors: "sectors" = "l1tex__t_sectors_pipe_tex.sum",
        /// Active lanes of global and local loads.
        load_lanes: "lanes" = "",
        /// Active lanes of global and local stores.
        store_lanes: "lanes" = "",
        /// Active lanes of atomic operations and reductions on global memory.
        atomic_lanes: "lanes" = "",
        /// Line requests formed.
        lines: "lines" = "",
    }
}

/// Address pattern of a warp's access.
#[derive(Debug, Clone, Copy)]
pub struct Pattern<'a> {
    /// Active lanes.
    pub active: LaneMask,
    /// Byte address per lane.
    pub addresses: &'a [u64; WARP_SIZE],
    /// Address stride within each group of eight lanes, if known.
    pub stride: Option<u64>,
    /// Bytes per lane.
    pub width: u8,
    /// Set if lines need touched bytes and lanes: for stores and atomic operations.
    pub marks: bool,
}

impl<'a> Pattern<'a> {
    /// A pattern with unknown stride.
    pub fn new(active: LaneMask, addresses: &'a [u64; WARP_SIZE], width: u8, marks: bool) -> Pattern<'a> {
        Pattern { active, addresses, stride: None, width, marks }
    }
}

/// Number of sectors touched by an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Footprint {
    /// Distinct sectors of the warp, as counted by the profiler.
    pub distinct: u32,
    /// Distinct sectors of each group of eight lanes, added up.
    pub by_eight: u32,
}

/// Result of coalescing. Reused between accesses for its allocations.
#[derive(Debug, Clone, Default)]
pub struct Coalesced {
    /// Address shape.
    pub shape: Shape,
    /// Runs in lane order; computed on demand.
    runs: Vec<Run>,
    /// Lines in order of first touch.
    pub lines: Vec<Line>,
    /// Set if no line occurs twice.
    pub distinct: bool,
    /// Scratch.
    index: LineIndex,
}

impl Coalesced {
    /// Clears the result.
    pub fn clear(&mut self) {
        self.shape = Shape::Any;
        self.runs.clear();
        self.lines.clear();
    }

    /// Splits an access into lines. The result must be empty before.
    #[inline(always)]
    pub fn coalesce(&mut self, policy: CoalescerPolicy, pattern: &Pattern<'_>) -> Footprint {
        let eights = shape::eights(pattern);
        self.shape = Shape::of(pattern, &eights);
        self.distinct = policy != CoalescerPolicy::VoltaByEight;
        match (policy, self.shape) {
            (CoalescerPolicy::Volta, Shape::Consecutive) => shape::consecutive(pattern, &mut self.lines),
            (CoalescerPolicy::Volta, Shape::Uniform) => shape::uniform(pattern, &mut self.lines),
            (CoalescerPolicy::Volta, Shape::Any) if let Some(runs) = runs::of_eights(pattern, &eights) => {
                volta::coalesce_eights(pattern, &runs, &mut self.lines)
            }
            _ => self.coalesce_runs(policy, pattern, &eights),
        }
    }

    // Not inlined: few accesses need runs.
    #[inline(never)]
    fn coalesce_runs(
        &mut self,
        policy: CoalescerPolicy,
        pattern: &Pattern<'_>,
        eights: &[Shape; EIGHTS],
    ) -> Footprint {
        runs::find(pattern, eights, &mut self.runs);
        let coalesce = match policy {
            CoalescerPolicy::Volta => volta::coalesce,
            CoalescerPolicy::VoltaByEight => volta::coalesce_by_eight,
            CoalescerPolicy::Fermi => fermi::coalesce,
        };
        coalesce(pattern, &self.runs, &mut self.lines, &mut self.index)
    }

    /// The runs of the coalesced access.
    pub fn runs(&mut self, pattern: &Pattern<'_>) -> &[Run] {
        if self.runs.is_empty() {
            runs::find(pattern, &shape::eights(pattern), &mut self.runs);
        }
        &self.runs
    }

    /// Splits the addresses of texels of `width` bytes into lines. The result must be empty before.
    pub fn coalesce_texels(&mut self, texels: &[u64], width: u8, marks: bool) -> Footprint {
        self.index.clear();
        for texels in texels.chunks(WARP_SIZE) {
            let mut addresses = [0; WARP_SIZE];
            addresses[..texels.len()].copy_from_slice(texels);
            let active = LaneMask::MAX >> (WARP_SIZE - texels.len());
            let pattern = Pattern::new(active, &addresses, width, marks);
            self.runs.clear();
            runs::find(&pattern, &shape::eights(&pattern), &mut self.runs);
            add(&pattern, &self.runs, &mut self.lines, 0, &mut self.index);
        }
        let distinct = sectors(&self.lines);
        Footprint { distinct, by_eight: distinct }
    }
}

/// Adds the lines of a pattern's runs. `index` holds the lines that may recur, numbered from
/// `start`.
fn add(pattern: &Pattern<'_>, runs: &[Run], lines: &mut Vec<Line>, start: usize, index: &mut LineIndex) {
    for run in runs {
        match index.find(run.line) {
            Ok(number) => touch(&mut lines[start + number], pattern, run),
            Err(_) => push(lines, pattern, run),
        }
    }
}

/// Adds a line at its first run.
#[inline(always)]
fn push(lines: &mut Vec<Line>, pattern: &Pattern<'_>, run: &Run) {
    let mut line = Line { address: run.line, ..Line::default() };
    touch(&mut line, pattern, run);
    lines.push(line);
}

/// Adds a run to its line.
#[inline(always)]
fn touch(line: &mut Line, pattern: &Pattern<'_>, run: &Run) {
    line.sectors |= run.sectors;
    line.words |= run.words;
    if pattern.marks {
        line.bytes |= run.bytes(pattern);
        line.lanes |= run.lanes;
    }
}

/// Distinct sectors of lines.
fn sectors(lines: &[Line]) -> u32 {
    lines.iter().map(|line| line.sectors.count_ones()).sum()
}

/// A mask of `count` ones from bit `first` on.
fn ones(first: u32, count: u32) -> u128 {
    if count >= 128 { u128::MAX } else { ((1 << count) - 1) << first }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn load(width: u8, address: impl Fn(u64) -> u64) -> ([u64; 32], u8) {
        (std::array::from_fn(|lane| address(lane as u64)), width)
    }

    fn lines(policy: CoalescerPolicy, pattern: &Pattern<'_>) -> (Vec<Line>, Footprint) {
        let mut coalesced = Coalesced::default();
        let footprint = coalesced.coalesce(policy, pattern);
        (coalesced.lines, footprint)
    }

    fn run(
        policy: CoalescerPolicy,
        active: LaneMask,
        (addresses, width): ([u64; 32], u8),
    ) -> (usize, Footprint) {
        let pattern = Pattern::new(active, &addresses, width, false);
        let (lines, footprint) = lines(policy, &pattern);
        (lines.len(), footprint)
    }

    #[test]
    fn strides_match_khairy_fig_4() {
        // C[(idx / stride) * 32 + idx % stride] with 4 B elements: stride 1 gives a line per
        // thread, stride 32 one line for all.
        for (stride, by_eight, distinct) in
            [(1, 32, 32), (2, 16, 16), (4, 8, 8), (8, 4, 4), (16, 4, 4), (32, 4, 4)]
        {
            let pattern = load(4, |lane| 0x1000 + 4 * (lane / stride * 32 + lane % stride));
            let (_, sectors) = run(CoalescerPolicy::Volta, !0, pattern);
            assert_eq!((sectors.by_eight, sectors.distinct), (by_eight, distinct), "stride {stride}");
        }
    }

    #[test]
    fn broadcast_is_one_sector_or_four_by_eight() {
        let pattern = load(4, |_| 0x1234);
        assert_eq!(run(CoalescerPolicy::Volta, !0, pattern), (1, Footprint { distinct: 1, by_eight: 4 }));
        assert_eq!(run(CoalescerPolicy::VoltaByEight, !0, pattern).0, 4);
    }

    #[test]
    fn consecutive_words_touch_all_sectors() {
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
    fn misaligned_consecutive_words_touch_one_more_sector() {
        let (lines, sectors) = run(CoalescerPolicy::Volta, !0, load(4, |lane| 0x1004 + 4 * lane));
        assert_eq!((lines, sectors), (2, Footprint { distinct: 5, by_eight: 8 }));
    }

    #[test]
    fn inactive_lanes_touch_nothing() {
        let pattern = load(4, |lane| 0x1000 + 128 * lane);
        assert_eq!(run(CoalescerPolicy::Volta, 0b101, pattern).1.distinct, 2);
        assert_eq!(run(CoalescerPolicy::Volta, 0, pattern), (0, Footprint::default()));
    }

    #[test]
    fn fermi_fetches_whole_lines() {
        let (addresses, width) = load(4, |lane| 0x1000 + 256 * lane);
        let pattern = Pattern::new(3, &addresses, width, false);
        let (lines, _) = lines(CoalescerPolicy::Fermi, &pattern);
        assert_eq!(
            lines.iter().map(|line| (line.address, line.sectors)).collect::<Vec<_>>(),
            [(0x1000, 0xf), (0x1100, 0xf)]
        );
    }

    #[test]
    fn stores_mark_their_bytes_and_lanes() {
        let (addresses, _) = load(2, |lane| 0x1000 + 4 * lane);
        let pattern = Pattern::new(3, &addresses, 2, true);
        let (lines, _) = lines(CoalescerPolicy::Volta, &pattern);
        assert_eq!((lines[0].bytes, lines[0].lanes, lines[0].sectors), (0x33, 3, 1));
    }
}
