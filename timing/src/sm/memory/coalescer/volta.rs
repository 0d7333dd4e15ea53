//! Volta: a request per line, with those of its 32 B sectors that lanes touch.

use super::runs::Run;
use super::{Footprint, Line, LineIndex, Pattern, add, sectors};

/// Runs of an eight of the lanes.
const EIGHT: u8 = 8;

/// Over the whole warp.
pub fn coalesce(
    pattern: &Pattern<'_>,
    runs: &[Run],
    lines: &mut Vec<Line>,
    index: &mut LineIndex,
) -> Footprint {
    index.clear();
    add(pattern, runs, lines, 0, index);
    Footprint { distinct: sectors(lines), by_eight: eights(runs).map(sectors_of_eight).sum() }
}

/// Over eight lanes at a time.
pub fn coalesce_by_eight(
    pattern: &Pattern<'_>,
    runs: &[Run],
    lines: &mut Vec<Line>,
    index: &mut LineIndex,
) -> Footprint {
    let Footprint { distinct, .. } = coalesce(pattern, runs, lines, index);
    lines.clear();
    for eight in eights(runs) {
        index.clear();
        add(pattern, eight, lines, lines.len(), index);
    }
    Footprint { distinct, by_eight: sectors(lines) }
}

/// The runs of each eight lanes.
fn eights(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|one, other| one.first / EIGHT == other.first / EIGHT)
}

/// Distinct sectors of the runs of an eight.
fn sectors_of_eight(runs: &[Run]) -> u32 {
    if let [run] = runs {
        return run.sectors.count_ones();
    }
    let new = |(place, run): (usize, &Run)| {
        let known = runs[..place].iter().filter(|known| known.line == run.line);
        (run.sectors & !known.fold(0, |sectors, known| sectors | known.sectors)).count_ones()
    };
    runs.iter().enumerate().map(new).sum()
}
