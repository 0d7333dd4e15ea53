//! Fermi: a request per 128 B line of the warp; loads fetch it whole.

use super::runs::Run;
use super::{Footprint, Line, LineIndex, Pattern, volta};

/// Coalesces over the whole warp.
pub fn coalesce(
    pattern: &Pattern<'_>,
    runs: &[Run],
    lines: &mut Vec<Line>,
    index: &mut LineIndex,
) -> Footprint {
    let footprint = volta::coalesce(pattern, runs, lines, index);
    for line in lines.iter_mut().filter(|line| line.bytes == 0) {
        line.sectors = 0xf;
    }
    footprint
}
