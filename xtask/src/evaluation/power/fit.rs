//! Fits of scales to measured watts, and their errors on programs that the fit leaves out.

use std::collections::BTreeSet;

/// A kernel that ran on the model.
pub(super) struct Row {
    pub(super) program: String,
    /// Watts of the model by part, those of events before those over time.
    pub(super) parts: [f64; 8],
    /// Watts of the card.
    pub(super) watts: f64,
}

/// Parts of a row that belong to events.
const EVENTS: usize = 5;

/// Factors of the energies of events, and of static and idle power.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Scales {
    pub(super) events: f64,
    pub(super) time: f64,
}

/// The energies of the GPU's file.
pub(super) const NO_CHANGE: Scales = Scales { events: 1.0, time: 1.0 };

/// Outcome of a cross-validation.
pub(super) struct CrossValidation {
    /// Fitted to all rows.
    pub(super) scales: Scales,
    /// Mean error of each row under scales that were fitted to the other programs.
    pub(super) error: f64,
}

/// Relative error of a row's watts under scales.
pub(super) fn error(row: &Row, scales: &Scales) -> f64 {
    let [events, time, constant] = sums(row);
    ((scales.events * events + scales.time * time + constant) / row.watts - 1.0).abs()
}

/// Watts of events, of static and idle power, and the constant power.
fn sums(row: &Row) -> [f64; 3] {
    let (events, rest) = row.parts.split_at(EVENTS);
    match rest {
        [active, idle, constant] => [events.iter().sum(), active + idle, *constant],
        _ => [events.iter().sum(), 0.0, 0.0],
    }
}

/// Scales with the least sum of squared relative errors.
pub(super) fn fitted<'r>(rows: impl IntoIterator<Item = &'r Row>) -> Scales {
    // Normal equations of a·events + b·time = 1 − constant, all relative to the card's watts.
    let [mut ee, mut et, mut tt, mut ey, mut ty] = [0.0; 5];
    for row in rows {
        let [events, time, constant] = sums(row).map(|watts| watts / row.watts);
        let wanted = 1.0 - constant;
        ee += events * events;
        et += events * time;
        tt += time * time;
        ey += events * wanted;
        ty += time * wanted;
    }
    let determinant = ee * tt - et * et;
    if determinant.abs() < 1e-9 {
        return NO_CHANGE;
    }
    Scales { events: (ey * tt - ty * et) / determinant, time: (ty * ee - ey * et) / determinant }
}

/// Fits to all rows, and the error of each program under a fit to the others.
pub(super) fn cross_validated(rows: &[Row]) -> CrossValidation {
    let programs: BTreeSet<&str> = rows.iter().map(|row| row.program.as_str()).collect();
    let mut sum = 0.0;
    for program in programs {
        let scales = fitted(rows.iter().filter(|row| row.program != program));
        sum += rows.iter().filter(|row| row.program == program).map(|row| error(row, &scales)).sum::<f64>();
    }
    CrossValidation { scales: fitted(rows), error: sum / rows.len().max(1) as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn row(program: &str, events: f64, time: f64, scales: Scales) -> Row {
        let parts = [events, 0.0, 0.0, 0.0, 0.0, time, 0.0, 30.0];
        let watts = scales.events * events + scales.time * time + 30.0;
        Row { program: program.to_owned(), parts, watts }
    }

    #[test]
    fn fit_finds_the_scales_of_exact_rows() {
        let scales = Scales { events: 1.25, time: 0.5 };
        let rows =
            [row("a", 100.0, 20.0, scales), row("b", 10.0, 40.0, scales), row("c", 50.0, 30.0, scales)];
        let found = fitted(&rows);
        assert!((found.events - 1.25).abs() < 1e-9 && (found.time - 0.5).abs() < 1e-9, "{found:?}");
        assert!(cross_validated(&rows).error < 1e-9);
    }

    #[test]
    fn left_out_program_has_no_part_in_its_fit() {
        let same = Scales { events: 1.0, time: 1.0 };
        let odd = Scales { events: 2.0, time: 1.0 };
        let rows = [row("a", 100.0, 20.0, same), row("b", 10.0, 40.0, same), row("c", 90.0, 30.0, odd)];
        // The fit to the others is exact for them, so the odd row keeps its whole error.
        let of_odd = error(&rows[2], &NO_CHANGE);
        let all = cross_validated(&rows);
        assert!(3.0 * all.error > of_odd, "{}", all.error);
    }
}
