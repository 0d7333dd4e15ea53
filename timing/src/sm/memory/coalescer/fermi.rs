//! Fermi: a request per 128 B line of the warp; loads fetch it whole.

use super::{Footprint, Line, Pattern, volta};

/// Over the whole warp.
pub fn coalesce(pattern: &Pattern<'_>, lines: &mut Vec<Line>) -> Footprint {
    let footprint = volta::coalesce(pattern, lines);
    if !pattern.marks {
        for line in lines {
            line.sectors = 0xf;
        }
    }
    footprint
}
