//! Lazy fetch on read (Khairy et al., section III-B): a write only marks its bytes. A completely
//! written sector is valid; a partly written one is fetched and merged when read.

use crate::l2::tags::Line;

/// A write fetches nothing.
pub(super) fn fetched() -> u8 {
    0
}

/// Completely written sectors.
pub(super) fn readable(line: &Line, sectors: u8) -> u8 {
    line.complete() & sectors
}
