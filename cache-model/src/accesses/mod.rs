//! Accesses of a launch after coalescing: the input of the model.
//!
//! Each warp has a list of 64-bit words. A header word starts an access, and a word per line
//! follows. The list depends on no cache: a line word names the 32 B sectors of a 128 B line, from
//! which every line size follows.

mod builder;
mod file;

use serde::{Deserialize, Serialize};
use warp_stream::LaunchShape;

pub use builder::Builder;
pub use file::{FileError, Reader, Writer, is_recording};

/// Bytes of the lines in line words.
pub const LINE_BYTES: u64 = 128;

/// Bytes of the sectors in line words.
const SECTOR_BYTES: u64 = 32;

/// Effect of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[repr(u8)]
pub enum Kind {
    /// A load through L1, texels included.
    Load = 0,
    /// A load that bypasses L1.
    BypassingLoad = 1,
    /// A store.
    Store = 2,
    /// An atomic operation, with or without a result.
    Atomic = 3,
    /// A barrier of the CTA, without lines.
    Barrier = 4,
}

/// First word of an access.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Header {
    /// Index of the instruction in the kernel's code.
    pub position: u32,
    /// Line words that follow, at most [`Header::MOST_LINES`].
    pub lines: u32,
    /// Effect.
    pub kind: Kind,
    /// Set if the warp needed the results of its earlier loads first.
    pub waits: bool,
    /// Set for local memory: line words count from the start of the warp's own memory.
    pub is_local: bool,
    /// Instructions that the warp executed since its previous access, at most 65,535.
    pub gap: u32,
}

impl Header {
    /// Most line words of an access.
    pub const MOST_LINES: usize = 0x7ff;

    /// The header as a word.
    pub fn word(self) -> u64 {
        u64::from(self.position)
            | u64::from(self.lines) << 32
            | u64::from(self.is_local) << 43
            | (self.kind as u64) << 44
            | u64::from(self.waits) << 47
            | u64::from(self.gap.min(0xffff)) << 48
    }

    /// Decodes a word.
    #[inline]
    pub fn of(word: u64) -> Header {
        Header {
            position: word as u32,
            lines: (word >> 32) as u32 & 0x7ff,
            is_local: word >> 43 & 1 != 0,
            kind: match word >> 44 & 7 {
                0 => Kind::Load,
                1 => Kind::BypassingLoad,
                2 => Kind::Store,
                3 => Kind::Atomic,
                _ => Kind::Barrier,
            },
            waits: word >> 47 & 1 != 0,
            gap: (word >> 48) as u32,
        }
    }
}

/// A line word: the line's number, and a mask of its sectors in the lowest bits.
#[inline]
pub fn line_word(address: u64, sectors: u8) -> u64 {
    ((address / LINE_BYTES) << 4) | u64::from(sectors & 0xf)
}

/// The launch whose accesses are listed.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Launch {
    /// Mangled name of the kernel.
    pub kernel: String,
    /// Number of the launch in the run, from 1.
    pub number: u64,
    /// CTAs of the grid and threads of a CTA.
    pub shape: LaunchShape,
    /// 32-bit registers per thread.
    pub registers: u32,
    /// Bytes of shared memory per CTA.
    pub shared_bytes: u32,
    /// Bytes of local memory per thread.
    pub local_bytes: u32,
    /// PTX line of each instruction of the kernel's code, from 1; 0 if unknown.
    pub lines: Vec<u32>,
}

/// Accesses of a launch.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct LaunchAccesses {
    /// The launch.
    pub launch: Launch,
    /// Words of all warps, one warp after the other.
    words: Vec<u64>,
    /// End of each warp's words, in the order of CTAs (x fastest) and warps.
    ends: Vec<u64>,
}

impl LaunchAccesses {
    /// The accesses of warps, given in the order of CTAs and warps.
    pub fn new(launch: Launch, warps: impl IntoIterator<Item = Vec<u64>>) -> LaunchAccesses {
        let mut accesses = LaunchAccesses { launch, ..LaunchAccesses::default() };
        for warp in warps {
            accesses.words.extend(warp);
            accesses.ends.push(accesses.words.len() as u64);
        }
        accesses
    }

    /// CTAs whose accesses are listed.
    pub fn ctas(&self) -> u64 {
        self.ends.len() as u64 / u64::from(self.launch.shape.warps_per_cta().max(1))
    }

    /// Words of a warp.
    #[inline]
    pub fn warp(&self, cta: u64, warp: u32) -> &[u64] {
        let (start, end) = self.range(cta, warp);
        &self.words[start..end]
    }

    /// Range of a warp's words among all words.
    #[inline]
    pub(crate) fn range(&self, cta: u64, warp: u32) -> (usize, usize) {
        let index = (cta * u64::from(self.launch.shape.warps_per_cta())) as usize + warp as usize;
        let start = index.checked_sub(1).map_or(0, |before| self.ends[before]);
        (start as usize, self.ends[index] as usize)
    }

    /// Words of all warps.
    #[inline]
    pub(crate) fn words(&self) -> &[u64] {
        &self.words
    }

    /// The accesses with lines of another size, a power of two from 32 to 1,024 bytes. Lines above
    /// 128 B have four larger sectors.
    pub fn with_lines(&self, line: u32) -> LaunchAccesses {
        let line = u64::from(line);
        let sector = (line / 4).max(SECTOR_BYTES);
        let mut accesses = LaunchAccesses { launch: self.launch.clone(), ..LaunchAccesses::default() };
        let mut next = 0;
        for &end in &self.ends {
            while next < end as usize {
                let header = Header::of(self.words[next]);
                let old = &self.words[next + 1..next + 1 + header.lines as usize];
                next += 1 + old.len();
                let place = accesses.words.len();
                accesses.words.push(0);
                for word in old {
                    let first = (word >> 4) * LINE_BYTES;
                    for index in (0..4).filter(|index| word >> index & 1 != 0) {
                        let address = first + index * SECTOR_BYTES;
                        let sectors = 1 << (address % line / sector);
                        let same = |known: &&mut u64| **known >> 4 == address / line;
                        match accesses.words[place + 1..].iter_mut().find(same) {
                            Some(known) => *known |= sectors,
                            None => accesses.words.push(((address / line) << 4) | sectors),
                        }
                    }
                }
                // 128 lines per access at most: 32 lanes of 16 B that each touch two lines of 32 B.
                let lines = (accesses.words.len() - place - 1) as u32;
                accesses.words[place] = Header { lines, ..header }.word();
            }
            accesses.ends.push(accesses.words.len() as u64);
        }
        accesses
    }

    /// Sectors of all accesses of a kind.
    pub fn sectors(&self, kind: Kind) -> u64 {
        let mut words = self.words.iter();
        let mut sectors = 0;
        while let Some(&word) = words.next() {
            let header = Header::of(word);
            for line in words.by_ref().take(header.lines as usize) {
                sectors += if header.kind == kind { u64::from((line & 0xf).count_ones()) } else { 0 };
            }
        }
        sectors
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn header_survives_encoding() {
        for kind in [Kind::Load, Kind::BypassingLoad, Kind::Store, Kind::Atomic, Kind::Barrier] {
            let header =
                Header { position: u32::MAX, lines: 0x7ff, kind, waits: true, is_local: true, gap: 7 };
            assert_eq!(Header::of(header.word()), header);
            let header = Header { lines: 1, waits: false, is_local: false, gap: 0xffff, ..header };
            assert_eq!(Header::of(header.word()), header);
        }
    }
}
