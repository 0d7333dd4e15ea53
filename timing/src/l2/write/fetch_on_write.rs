//! Fetch on write, as the model before Khairy et al. has it: a write to what is not there fetches the whole line.

use crate::l2::tags::Line;

/// What the line lacks, if it lacks something that is written.
pub(super) fn fetched(line: &Line, sectors: u8) -> u8 {
    let lacking = !(line.readable | line.pending) & 0xf;
    if lacking & sectors == 0 { 0 } else { lacking }
}

/// What was fetched becomes readable when it arrives.
pub(super) fn readable() -> u8 {
    0
}
