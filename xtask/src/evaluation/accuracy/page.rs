//! The page of the comparison in the book's evaluation.

use super::figures::{Figures, Pair};
use super::measurements::Card;
use super::run::Timed;
use super::store::Outcome;
use std::fmt::Write as _;

/// Rows with the largest errors that the page lists.
const LISTED: usize = 10;

/// Published comparisons: name, cards and programs, mean error, Spearman. Sources stand in the page.
const PEERS: [(&str, &str, &str, &str); 4] = [
    ("another real card, one factor", "V100, these configurations", "14 to 16 %", "0.91 to 0.97"),
    ("Huerta et al. 2025", "RTX A6000, 135 programs", "13.45 %", ""),
    ("Accel-Sim, SASS traces", "GV100, 23 programs", "20.9 %", ""),
    ("Accel-Sim, SASS traces", "GV100, the nine programs", "17.8 %", ""),
];

/// A suite of the page.
pub(super) struct Suite<'a> {
    pub(super) name: &'a str,
    pub(super) figures: &'a Figures,
}

/// Description of the comparison, for its first lines.
pub(super) struct About<'a> {
    pub(super) card: &'a Card,
    pub(super) command: &'a str,
    pub(super) commit: &'a str,
}

/// The page's text.
pub(super) fn page(about: &About<'_>, suites: &[Suite<'_>], rows: &[Timed]) -> String {
    let About { card, command, commit } = about;
    let mut page = format!(
        "# Tuned kernels\n\n<!-- `cargo xtask accuracy` writes this page. -->\n\n\
         Command: `{command}`, at commit {commit}.\n\n\
         Each row is a configuration of one kernel with the measured time of a card. NVRTC 11.8 compiles\n\
         it to PTX for {}. The second launch is timed on `{}` with `--until-stable`, after a launch\n\
         that warms the caches. The program carries no machine code.\n\n",
        card.architecture, card.gpu
    );
    page += "| suite | rows | mean | median | 90th percentile | worst | bias | Spearman | choice |\n";
    page += "|---|---|---|---|---|---|---|---|---|\n";
    for Suite { name, figures } in suites {
        let Figures { rows, mean, median, percentile_90, worst, bias, spearman, choice } = figures;
        let spearman = spearman.map_or_else(String::new, |value| format!("{value:.3}"));
        let [mean, median, percentile_90, worst, choice] =
            [mean, median, percentile_90, worst, choice].map(|value| 100.0 * value);
        // Writing to a string cannot fail.
        let _ = writeln!(
            page,
            "| {name} | {rows} | {mean:.1} % | {median:.1} % | {percentile_90:.1} % | {worst:.1} % | {:+.1} % | {spearman} | {choice:+.1} % |",
            100.0 * bias
        );
    }
    page += "\nErrors are parts of the card's time. The choice is the card's time of the row that the model calls\n\
             best, beside the card's best row.\n\n## Peers\n\n| model | programs | mean error | Spearman |\n|---|---|---|---|\n";
    for (name, programs, mean, spearman) in PEERS {
        let _ = writeln!(page, "| {name} | {programs} | {mean} | {spearman} |");
    }
    page += "\nThe first row scales the times of another card. [Accuracy](accuracy.md) has the sources of Accel-Sim.\n";
    list(&mut page, rows);
    missing(&mut page, rows);
    page
}

/// Adds the rows with the largest errors.
fn list(page: &mut String, rows: &[Timed]) {
    let mut timed: Vec<(&Timed, &Outcome, f64)> = rows
        .iter()
        .filter_map(|timed| {
            let outcome = timed.outcome.as_ref().ok()?;
            Some((timed, outcome, pair(timed)?.error()))
        })
        .collect();
    timed.sort_by(|left, right| right.2.abs().total_cmp(&left.2.abs()));
    let Some((first, ..)) = timed.first() else { return };
    let names: Vec<&str> = first.row.parameters.iter().map(|(name, _)| name.as_str()).collect();
    let unsure = timed.iter().map(|(_, outcome, _)| outcome.unsure).fold(0.0, f64::max);
    let _ = writeln!(
        page,
        "\n## Largest errors\n\nParameters are `{}`. The largest error bound of an extrapolation is {:.1} %.\n\n\
         | row | card | model | error | registers | CTAs on an SM |\n|---|---|---|---|---|---|",
        names.join(","),
        100.0 * unsure
    );
    for (timed, outcome, error) in timed.iter().take(LISTED) {
        let Outcome { microseconds, registers, source, ctas, limit, .. } = outcome;
        let _ = writeln!(
            page,
            "| {} | {:.0} µs | {microseconds:.0} µs | {:+.1} % | {registers}, {source} | {ctas}, by {limit} |",
            timed.row.name(),
            timed.row.microseconds,
            100.0 * error
        );
    }
}

/// Adds the rows without a result.
fn missing(page: &mut String, rows: &[Timed]) {
    let missing: Vec<String> = rows
        .iter()
        .filter_map(|timed| Some(format!("| {} | {} |\n", timed.row.name(), timed.outcome.as_ref().err()?)))
        .collect();
    if !missing.is_empty() {
        *page += "\n## Missing rows\n\n| row | reason |\n|---|---|\n";
        *page += &missing.concat();
    }
}

/// Times of a row that has a result.
pub(super) fn pair(timed: &Timed) -> Option<Pair> {
    let outcome = timed.outcome.as_ref().ok()?;
    Some(Pair { card: timed.row.microseconds, model: outcome.microseconds })
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::super::measurements::{CARDS, Row};
    use super::*;

    fn timed(card: f64, outcome: Result<f64, &str>) -> Timed {
        let row = Row { parameters: vec![("tile".to_owned(), card as u64)], microseconds: card };
        let of = |microseconds| Outcome {
            microseconds,
            registers: 32,
            source: "lowering".to_owned(),
            ctas: 16,
            limit: "warps".to_owned(),
            extrapolated: true,
            unsure: 0.01,
        };
        Timed { row, outcome: outcome.map(of).map_err(str::to_owned) }
    }

    #[test]
    fn page_has_figures_largest_errors_and_missing_rows() {
        let rows = [timed(100.0, Ok(110.0)), timed(200.0, Ok(100.0)), timed(300.0, Err("no result"))];
        let pairs: Vec<Pair> = rows.iter().filter_map(pair).collect();
        let figures = Figures::of(&pairs).unwrap();
        let about = About { card: &CARDS[0], command: "cargo xtask accuracy DIR", commit: "abc" };
        let page = page(&about, &[Suite { name: "tuning", figures: &figures }], &rows);
        assert!(
            page.contains("| tuning | 2 | 30.0 % | 30.0 % | 46.0 % | 50.0 % | -20.0 % | -1.000 |"),
            "{page}"
        );
        let (first, second) = (page.find("| 200 | 200 µs").unwrap(), page.find("| 100 | 100 µs").unwrap());
        assert!(first < second, "{page}");
        assert!(page.contains("| 300 | no result |"), "{page}");
    }
}
