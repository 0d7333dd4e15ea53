//! Volta: one request per line, with the touched 32 B sectors.

use super::runs::Run;
use super::shape::EIGHTS;
use super::{Footprint, Line, LineIndex, Pattern, add, push, sectors, touch};

/// Lanes per group.
const EIGHT: u8 = 8;

/// Coalesces over the whole warp.
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

/// [`coalesce`] for one run per group of eight lanes.
pub fn coalesce_eights(pattern: &Pattern<'_>, runs: &[Run; EIGHTS], lines: &mut Vec<Line>) -> Footprint {
    let mut by_eight = 0;
    for run in runs {
        by_eight += run.sectors.count_ones();
        match lines.iter_mut().find(|line| line.address == run.line) {
            Some(line) => touch(line, pattern, run),
            None => push(lines, pattern, run),
        }
    }
    Footprint { distinct: sectors(lines), by_eight }
}

/// Coalesces over groups of eight lanes.
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

/// The runs of each group of eight lanes.
fn eights(runs: &[Run]) -> impl Iterator<Item = &[Run]> {
    runs.chunk_by(|one, other| one.first / EIGHT == other.first / EIGHT)
}

/// Distinct sectors of a group's runs.
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

#[cfg(test)]
mod tests {
    use super::super::runs;
    use super::super::shape::eights;
    use super::*;

    #[test]
    fn one_run_per_eight_gives_the_same_lines() {
        let mut found = 0;
        for case in 0..5 * 4 * 64 * 2 {
            let (width, turns, offset) = (1 << (case % 5), case / 5 % 4, 4 * (case / 20 % 64));
            let marks = case / 1280 == 1;
            // Sixteen consecutive or uniform lanes; the others on the same line, another line, or
            // in between.
            let address = |lane: u64| {
                let (row, column) = (lane / 16, if turns % 2 == 0 { lane % 16 } else { 0 });
                0x1000 + offset + width * column + row * [0, 64, 96, 4096][turns as usize]
            };
            let addresses = std::array::from_fn(|lane| address(lane as u64));
            let pattern = Pattern::new(!0, &addresses, width as u8, marks);
            let shapes = eights(&pattern);
            let Some(of_eights) = runs::of_eights(&pattern, &shapes) else { continue };
            let [mut by_eight, mut by_run] = [Vec::new(), Vec::new()];
            let mut runs = Vec::new();
            runs::find(&pattern, &shapes, &mut runs);
            let footprint = coalesce(&pattern, &runs, &mut by_run, &mut LineIndex::default());
            assert_eq!(coalesce_eights(&pattern, &of_eights, &mut by_eight), footprint, "{pattern:?}");
            assert_eq!(by_eight, by_run, "{pattern:?}");
            found += 1;
        }
        assert!(found > 1000, "{found}");
    }
}
