//! L2: the cache behind all cores, in the order of requests that leave them.

use timing::specification::GpuSpec;

use crate::accesses::LINE_BYTES;

/// An L2 of all slices together.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct L2Spec {
    /// Sets of all slices.
    pub sets: u32,
    /// Lines of a set.
    pub ways: u32,
    /// A miss fetches the sector and its neighbour.
    pub fetches_pairs: bool,
}

impl L2Spec {
    /// The L2 of a GPU.
    pub fn of_gpu(gpu: &GpuSpec) -> L2Spec {
        let slices = u64::from(gpu.partition.channels) * u64::from(gpu.partition.slices);
        let lines = u64::from(gpu.l2.size) * slices / LINE_BYTES;
        let ways = u64::from(gpu.l2.ways.max(1));
        L2Spec {
            sets: (lines / ways).max(1) as u32,
            ways: ways as u32,
            fetches_pairs: gpu.l2.fetch == timing::l2::Fetch::SectorPair,
        }
    }
}

/// Where a request found its data.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Default)]
#[repr(u8)]
pub enum Level {
    /// The L1 of the core.
    #[default]
    L1,
    /// The L2.
    L2,
    /// Device memory.
    Memory,
}

/// A place without a line.
const EMPTY: u64 = u64::MAX;

/// Contents of an L2: lines of each set, the most recent first.
#[derive(Debug, Clone)]
pub struct L2 {
    spec: L2Spec,
    /// Number of each line, and a mask of its valid sectors in the lowest bits; set after set.
    lines: Vec<u64>,
}

impl L2 {
    /// An empty L2.
    pub fn new(spec: L2Spec) -> L2 {
        let spec = L2Spec { sets: spec.sets.max(1), ways: spec.ways.max(1), ..spec };
        L2 { spec, lines: vec![EMPTY; spec.sets as usize * spec.ways as usize] }
    }

    /// Reads or writes sectors of a 128 B line. Writes allocate without a fetch.
    #[inline]
    pub fn access(&mut self, line: u64, sectors: u8, is_write: bool) -> Level {
        // Folding the number spreads strides over slices and sets, as the slices' hashes do.
        let folded = line ^ line >> 13 ^ line >> 27;
        let ways = self.spec.ways as usize;
        let first = (folded % u64::from(self.spec.sets)) as usize * ways;
        let set = &mut self.lines[first..first + ways];
        let found = set.iter().position(|known| *known >> 4 == line);
        let valid = found.map_or(0, |place| (set[place] & 0xf) as u8);
        let missing = sectors & !valid;
        let mut valid = valid | sectors;
        if self.spec.fetches_pairs && !is_write && missing != 0 {
            valid |= (missing & 0b0101) << 1 | (missing & 0b1010) >> 1;
        }
        set.copy_within(..found.unwrap_or(ways - 1), 1);
        set[0] = line << 4 | u64::from(valid);
        if missing == 0 || is_write { Level::L2 } else { Level::Memory }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn l2_keeps_as_many_lines_as_it_has_ways() {
        let mut l2 = L2::new(L2Spec { sets: 1, ways: 2, fetches_pairs: false });
        let levels: Vec<Level> = [0, 1, 0, 2, 1, 0].map(|line| l2.access(line, 1, false)).into();
        use Level::{L2 as Hit, Memory as Miss};
        assert_eq!(levels, [Miss, Miss, Hit, Miss, Miss, Miss]);
    }

    #[test]
    fn written_sectors_hit_and_others_miss() {
        let mut l2 = L2::new(L2Spec { sets: 4, ways: 2, fetches_pairs: true });
        assert_eq!(l2.access(9, 0b0001, true), Level::L2);
        assert_eq!(l2.access(9, 0b0001, false), Level::L2);
        assert_eq!(l2.access(9, 0b0100, false), Level::Memory);
        assert_eq!(l2.access(9, 0b1000, false), Level::L2);
    }
}
