//! Measurements on cards: `evaluation/micro/expected.csv`.
//!
//! A line holds the row's name, its cards, the unit, the lowest and highest value of the sources,
//! the tolerance, and the sources. The tolerance is in per cent of the nearer bound, or `reported`
//! for rows that are not judged.

use crate::error::{Error, Result};
use std::fs;
use std::path::Path;

const HEAD: &str = "name,cards,unit,low,high,tolerance,source";

/// Measurement of a row on a card.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Expected {
    pub(super) name: String,
    unit: String,
    pub(super) low: f64,
    pub(super) high: f64,
    /// Tolerance as a fraction; `None` if the row is only reported.
    tolerance: Option<f64>,
    pub(super) source: String,
}

/// Verdict on a model's value.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Judgement {
    /// Within the range or tolerance.
    Inside,
    /// Outside.
    Outside,
    /// Not judged: the sources are too weak.
    Reported,
}

impl Judgement {
    /// Remark after a row.
    pub(super) fn note(self) -> &'static str {
        match self {
            Self::Inside => "",
            Self::Outside => "  OUTSIDE",
            Self::Reported => "  (reported only)",
        }
    }
}

impl Expected {
    /// Distance of `value` from the range, as a fraction of the nearer bound; 0 within.
    pub(super) fn deviation(&self, value: f64) -> f64 {
        let nearer = value.clamp(self.low, self.high);
        match value - nearer {
            0.0 => 0.0,
            difference if nearer == 0.0 => difference.signum() * f64::INFINITY,
            difference => difference / nearer,
        }
    }

    /// True if the row is judged.
    pub(super) fn is_judged(&self) -> bool {
        self.tolerance.is_some()
    }

    /// Judges the model's `value`; another unit always fails.
    pub(super) fn judge(&self, value: f64, unit: &str) -> Judgement {
        match self.tolerance {
            _ if unit != self.unit => Judgement::Outside,
            None => Judgement::Reported,
            Some(tolerance) if self.deviation(value).abs() <= tolerance => Judgement::Inside,
            Some(_) => Judgement::Outside,
        }
    }
}

/// Rows for `card` in the file at `path`.
pub(super) fn read(path: &Path, card: &str) -> Result<Vec<Expected>> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    let mut lines = text.lines().enumerate();
    let wrong = |line: usize| Error::Table { path: path.to_owned(), line: line + 1, form: HEAD };
    if lines.next().is_none_or(|(_, head)| head != HEAD) {
        return Err(wrong(0));
    }
    let mut rows = Vec::new();
    for (number, line) in lines {
        let (cards, row) = parse(line).ok_or_else(|| wrong(number))?;
        if cards.split(' ').any(|name| name == card) {
            rows.push(row);
        }
    }
    Ok(rows)
}

/// Cards and measurement of a line.
fn parse(line: &str) -> Option<(&str, Expected)> {
    let mut fields = line.splitn(7, ',');
    let mut field = || fields.next();
    let (name, cards, unit) = (field()?.to_owned(), field()?, field()?.to_owned());
    let (low, high): (f64, f64) = (field()?.parse().ok()?, field()?.parse().ok()?);
    let tolerance = match field()? {
        "reported" => None,
        percent => Some(percent.parse::<f64>().ok()? / 100.0),
    };
    let source = field()?.to_owned();
    (low <= high && !source.is_empty())
        .then_some((cards, Expected { name, unit, low, high, tolerance, source }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use voltsim_tests::catalogue;

    fn latency(tolerance: &str) -> Expected {
        parse(&format!("latency.l1,titan-v,cycles,28,30,{tolerance},jia; mt4g")).unwrap().1
    }

    #[test]
    fn value_in_the_range_has_no_deviation() {
        assert_eq!(latency("5").deviation(29.0), 0.0);
        assert_eq!(latency("0").judge(30.0, "cycles"), Judgement::Inside);
    }

    #[test]
    fn deviation_is_relative_to_the_nearer_bound() {
        assert!((latency("5").deviation(31.5) - 0.05).abs() < 1e-12);
        assert!((latency("5").deviation(25.2) + 0.1).abs() < 1e-12);
    }

    #[test]
    fn tolerance_decides_outside_the_range() {
        assert_eq!(latency("5").judge(31.4, "cycles"), Judgement::Inside);
        assert_eq!(latency("5").judge(31.6, "cycles"), Judgement::Outside);
    }

    #[test]
    fn a_reported_row_is_not_judged() {
        assert_eq!(latency("reported").judge(900.0, "cycles"), Judgement::Reported);
    }

    #[test]
    fn other_unit_always_fails() {
        assert_eq!(latency("5").judge(29.0, "ns"), Judgement::Outside);
    }

    #[test]
    fn value_beside_a_zero_range_deviates_infinitely() {
        let hits = parse("misses,v100,misses,0,0,0,khairy").unwrap().1;
        assert_eq!(hits.judge(0.0, "misses"), Judgement::Inside);
        assert_eq!(hits.judge(1.0, "misses"), Judgement::Outside);
    }

    #[test]
    fn malformed_line_is_rejected() {
        for line in ["", "a,b,c,1,2,5", "a,b,c,2,1,5,source", "a,b,c,1,2,some,source", "a,b,c,1,2,5,"] {
            assert_eq!(parse(line), None, "{line}");
        }
    }

    #[test]
    fn table_of_the_checkout_is_valid_and_unambiguous() {
        let path = catalogue::micro_benchmarks(&catalogue::checkout()).join("expected.csv");
        for card in ["titan-v", "v100", "gv100"] {
            let mut names: Vec<String> = read(&path, card).unwrap().into_iter().map(|row| row.name).collect();
            let count = names.len();
            assert!(count > 50);
            names.sort();
            names.dedup();
            assert_eq!(names.len(), count, "{card}");
        }
    }
}
