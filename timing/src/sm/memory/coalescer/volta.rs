//! Volta: a request per line, with those of its 32 B sectors that lanes touch.

use super::runs::Run;
use super::{Footprint, Line, add, sectors};

/// Runs of an eight of the lanes.
const EIGHT: u8 = 8;

/// Over the whole warp.
pub fn coalesce(runs: &[Run], lines: &mut Vec<Line>) -> Footprint {
    add(runs, lines);
    Footprint { distinct: sectors(lines), by_eight: eights(runs).map(distinct).sum() }
}

/// Over eight lanes at a time.
pub fn coalesce_by_eight(runs: &[Run], lines: &mut Vec<Line>) -> Footprint {
    let Footprint { distinct, .. } = coalesce(runs, lines);
    lines.clear();
    eights(runs).for_each(|eight| add(eight, lines));
    Footprint { distinct, by_eight: sectors(lines) }
}

/// The runs of each eight lanes.
fn eights(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|one, other| one.first / EIGHT == other.first / EIGHT)
}

/// Distinct sectors of a few runs.
fn distinct(runs: &[Run]) -> u32 {
    let new = |(place, run): (usize, &Run)| {
        let known = runs[..place].iter().filter(|known| known.line == run.line);
        let known = known.fold(0, |sectors, known| sectors | known.sectors);
        (run.sectors & !known).count_ones()
    };
    runs.iter().enumerate().map(new).sum()
}
