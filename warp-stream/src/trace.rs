//! Memory and code that earlier work left in the caches before a launch.

use serde::{Deserialize, Serialize};

/// Accesses to a 128-byte line of device memory. Masks of its four sectors have the lowest address in the
/// lowest bit.
///
/// A cache still holds a sector unless too many other lines were accessed since. The distance per sector is
/// the largest number of lines between two accesses, in units of [`Trace::AWAY`].
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Trace {
    /// Address of the line.
    pub line: u64,
    /// Sectors that were read.
    pub read: u8,
    /// Sectors with written bytes.
    pub written: u8,
    /// Written bytes; the lowest bit is the lowest address.
    pub bytes: u128,
    /// Reuse distance per read sector, in units of [`Trace::AWAY`] lines.
    pub read_away: [u16; 4],
    /// Reuse distance per written sector, in units of [`Trace::AWAY`] lines.
    pub written_away: [u16; 4],
}

impl Trace {
    /// Lines per unit of distance.
    pub const AWAY: u64 = 256;

    /// Part of the trace that a cache of `lines` lines still holds, if no access followed.
    pub fn in_cache_of(&self, lines: u64) -> Trace {
        let kept = |away: &[u16; 4]| {
            let near = |sector: &usize| u64::from(away[*sector]) * Trace::AWAY <= lines;
            (0..4).filter(near).fold(0, |sectors: u8, sector| sectors | 1 << sector)
        };
        let (read, written) = (self.read & kept(&self.read_away), self.written & kept(&self.written_away));
        Trace { read, written, bytes: self.bytes & Trace::bytes_of(written), ..*self }
    }

    /// Mask of all bytes of `sectors`.
    pub fn bytes_of(sectors: u8) -> u128 {
        let bytes = |sector: u32| u128::from(u32::MAX) << (32 * sector);
        (0..4).filter(|sector| sectors >> sector & 1 != 0).fold(0, |mask, sector| mask | bytes(sector))
    }
}

/// A page that kernels have used.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct UsedPage {
    /// Address of the page of [`Past::PAGE`] bytes.
    pub address: u64,
    /// Highest CTA number that used the page, plus one: as many SMs may hold the page in their TLBs.
    pub ctas: u64,
}

/// A kernel that ran before the launch.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Executed {
    /// True for the kernel that is about to be launched.
    pub same: bool,
    /// CTAs of the kernel: as many SMs may hold its code.
    pub ctas: u64,
    /// Approximate bytes of code that the kernel executed.
    pub bytes: u64,
}

/// History of memory and code before a launch.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Past {
    /// Accessed lines, the most recent last.
    pub traces: Vec<Trace>,
    /// Pages that kernels, not copies, accessed, the most recent last.
    pub pages: Vec<UsedPage>,
    /// Executed kernels, the most recent last. A kernel whose grid was larger in an earlier launch also has
    /// an entry for that launch.
    pub code: Vec<Executed>,
}

impl Past {
    /// Bytes per line.
    pub const LINE: u64 = 128;
    /// Bytes per page; a GPU may have smaller pages.
    pub const PAGE: u64 = 2 << 20;

    /// Addresses of the pages that `bytes` bytes from `address` touch.
    pub fn pages_of(address: u64, bytes: u64) -> impl Iterator<Item = u64> {
        let last = address.saturating_add(bytes.max(1) - 1) / Past::PAGE;
        (address / Past::PAGE..=last).map(|page| page * Past::PAGE)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cache_loses_sectors_beyond_its_reuse_distance() {
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
