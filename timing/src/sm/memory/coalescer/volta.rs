//! Volta: a request per line, with those of its 32 B sectors that lanes touch.

use super::runs::Run;
use super::{Footprint, Line, LineIndex, add, sectors};

/// Runs of an eight of the lanes.
const EIGHT: u8 = 8;

/// Over the whole warp.
pub fn coalesce(runs: &[Run], lines: &mut Vec<Line>, index: &mut LineIndex) -> Footprint {
    add(runs, lines, index);
    Footprint { distinct: sectors(lines), by_eight: by_eight(runs) }
}

/// Over eight lanes at a time.
pub fn coalesce_by_eight(runs: &[Run], lines: &mut Vec<Line>, index: &mut LineIndex) -> Footprint {
    let Footprint { distinct, .. } = coalesce(runs, lines, index);
    lines.clear();
    eights(runs).for_each(|eight| add(eight, lines, index));
    Footprint { distinct, by_eight: sectors(lines) }
}

/// The runs of each eight lanes.
fn eights(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|one, other| one.first / EIGHT == other.first / EIGHT)
}

/// Distinct sectors of each eight lanes, added up.
fn by_eight(runs: &[Run]) -> u32 {
    let mut total = 0;
    for (place, run) in runs.iter().enumerate() {
        let before = runs[..place].iter().rev().take_while(|known| known.first / EIGHT == run.first / EIGHT);
        let known = before.filter(|known| known.line == run.line);
        total += (run.sectors & !known.fold(0, |sectors, known| sectors | known.sectors)).count_ones();
    }
    total
}
