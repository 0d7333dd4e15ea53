//! What was executed before a launch, as far as caches have traces of it.

use serde::{Deserialize, Serialize};

/// Accesses to a line of 128 bytes of device memory; its four sectors are bits, the lowest that of the lowest address.
///
/// A cache has what was read or written unless too many other lines were accessed between two accesses to the line since then:
/// how many that were, at most, is told for each sector, in units of [`Trace::AWAY`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Address of the line.
    pub line: u64,
    /// Sectors that were read.
    pub read: u8,
    /// Sectors of which bytes were written.
    pub written: u8,
    /// Bytes that were written, the lowest bit that of the lowest address.
    pub bytes: u128,
    /// Lines between accesses since a sector was read.
    pub read_away: [u16; 4],
    /// Lines between accesses since a sector was written.
    pub written_away: [u16; 4],
}

impl Trace {
    /// Lines in a unit of distance.
    pub const AWAY: u64 = 256;

    /// What a cache of so many lines has of it, if nothing came after it.
    pub fn in_cache_of(&self, lines: u64) -> Trace {
        let kept = |away: &[u16; 4]| {
            let near = |sector: &usize| u64::from(away[*sector]) * Trace::AWAY <= lines;
            (0..4).filter(near).fold(0, |sectors: u8, sector| sectors | 1 << sector)
        };
        let (read, written) = (self.read & kept(&self.read_away), self.written & kept(&self.written_away));
        Trace { read, written, bytes: self.bytes & Trace::bytes_of(written), ..*self }
    }

    /// All bytes of sectors.
    pub fn bytes_of(sectors: u8) -> u128 {
        let bytes = |sector: u32| u128::from(u32::MAX) << (32 * sector);
        (0..4).filter(|sector| sectors >> sector & 1 != 0).fold(0, |mask, sector| mask | bytes(sector))
    }
}

/// A page that kernels have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedPage {
    /// Address of its [`Past::PAGE`] bytes.
    pub address: u64,
    /// One more than the number of the last CTA that has used it: as many SMs may have it in their TLBs.
    pub ctas: u64,
}

/// A kernel that was executed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// Whether it is the one that is going to be launched.
    pub same: bool,
    /// CTAs that it had: as many SMs may have its code.
    pub ctas: u64,
    /// Bytes of its code that were ever executed, about.
    pub bytes: u64,
}

/// What came before a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Lines that were accessed, the last one at the end.
    pub traces: Vec<Trace>,
    /// Pages that kernels, not copies, have accessed, the last one at the end.
    pub pages: Vec<UsedPage>,
    /// Kernels that were executed, the last one at the end; one that had more CTAs at another time is there for that, too.
    pub code: Vec<Executed>,
}

impl Past {
    /// Bytes of a line.
    pub const LINE: u64 = 128;
    /// Bytes of a page; GPUs may have smaller ones.
    pub const PAGE: u64 = 2 << 20;

    /// Addresses of the pages that have some of these bytes.
    pub fn pages_of(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
        let last = address.saturating_add(bytes.max(1) - 1) / Past::PAGE;
        (address / Past::PAGE..=last).map(|page| page * Past::PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cache_has_no_sectors_that_too_many_lines_came_after() {
        let trace = Trace {
            line: 0x1000,
            read: 0b0111,
            written: 0b1001,
            bytes: 0xf | 0xf << 96,
            read_away: [0, 2, 3, 0],
            written_away: [3, 0, 0, 2],
        };
        assert_eq!(trace.in_cache_of(768), trace);
        let smaller = trace.in_cache_of(767);
        assert_eq!((smaller.read, smaller.written, smaller.bytes), (0b0011, 0b1000, 0xf << 96));
        assert_eq!(trace.in_cache_of(0).read, 0b0001);
    }
}
