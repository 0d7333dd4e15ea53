//! Fetch on write, the model before Khairy et al.: a write miss fetches the whole line.

use crate::l2::tags::Line;

/// Missing sectors of the line, if a written one is missing.
pub(super) fn fetched(line: &Line, sectors: u8) -> u8 {
    let lacking = !(line.readable | line.pending) & 0xf;
    if lacking & sectors == 0 { 0 } else { lacking }
}

/// Fetched sectors become valid on arrival only.
pub(super) fn readable() -> u8 {
    0
}
