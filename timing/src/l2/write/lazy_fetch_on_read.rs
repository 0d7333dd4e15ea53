//! Lazy fetch on read (Khairy et al., section III-B): a write only marks its bytes. A sector of which all bytes were
//! written is readable; one of which some were is fetched and merged when it is read.

use crate::l2::tags::Line;

/// A write fetches nothing.
pub(super) fn fetched() -> u8 {
    0
}

/// Sectors with all bytes written.
pub(super) fn readable(line: &Line, sectors: u8) -> u8 {
    line.complete() & sectors
}
