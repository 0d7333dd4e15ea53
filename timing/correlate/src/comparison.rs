//! Errors of statistics against a card.

use std::collections::BTreeSet;
use std::fmt::Write as _;

use serde_json::{Value, json};

use super::{Match, Program};

/// Error of one metric.
#[derive(Debug, Clone, PartialEq)]
pub struct MetricError {
    /// Name in Nsight Compute.
    pub metric: String,
    /// Launches compared: those with a card value other than 0; all of them for a percentage.
    pub launches: usize,
    /// Mean absolute error over launches, in per cent; for percentages, in points.
    pub per_launch: f64,
    /// Mean absolute error over programs of the sum over launches; for percentages, of the mean.
    pub per_program: f64,
    /// Correlation of the logarithms; `None` below three launches or for equal values.
    pub correlation: Option<f64>,
    /// Mean signed error.
    pub bias: f64,
}

/// Programs compared with a card.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Comparison {
    programs: Vec<Program>,
}

fn is_percentage(metric: &str) -> bool {
    metric.ends_with(".pct")
}

/// Error against the card in per cent; for a percentage, in points.
fn error(metric: &str, ours: f64, card: f64) -> Option<f64> {
    if is_percentage(metric) {
        return Some(ours - card);
    }
    (card != 0.0).then(|| 100.0 * (ours - card) / card)
}

fn mean(values: &[f64]) -> f64 {
    if values.is_empty() { 0.0 } else { values.iter().sum::<f64>() / values.len() as f64 }
}

/// Pearson correlation of two series.
fn correlation(pairs: &[(f64, f64)]) -> Option<f64> {
    let [mean_a, mean_b] = [
        mean(&pairs.iter().map(|pair| pair.0).collect::<Vec<_>>()),
        mean(&pairs.iter().map(|pair| pair.1).collect::<Vec<_>>()),
    ];
    let sum =
        |term: &dyn Fn(f64, f64) -> f64| pairs.iter().map(|(a, b)| term(a - mean_a, b - mean_b)).sum::<f64>();
    let spread = (sum(&|a, _| a * a) * sum(&|_, b| b * b)).sqrt();
    (pairs.len() > 2 && spread > 0.0).then(|| sum(&|a, b| a * b) / spread)
}

impl Match {
    fn values(&self, metric: &str) -> Option<(f64, f64)> {
        Some((*self.ours.values.get(metric)?, *self.card.values.get(metric)?))
    }
}

impl Comparison {
    /// Compares programs.
    pub fn new(programs: Vec<Program>) -> Comparison {
        Comparison { programs }
    }

    /// The programs.
    pub fn programs(&self) -> &[Program] {
        &self.programs
    }

    /// A comparison in which the card table's `column` replaces the model's `metric`.
    pub fn predicted(&self, metric: &str, column: &str) -> Comparison {
        let mut programs = self.programs.clone();
        for launch in programs.iter_mut().flat_map(|program| &mut program.matches) {
            let values = launch.card.values.get(column).map(|value| (metric.to_owned(), *value));
            launch.ours.values = values.into_iter().collect();
        }
        Comparison { programs }
    }

    /// Compute capabilities times ten of model and card, if they differ.
    pub fn other_card(&self) -> Option<(u32, u32)> {
        let both = |launch: &Match| launch.ours.capability.zip(launch.card.capability);
        self.matches().filter_map(both).find(|(ours, card)| ours != card)
    }

    fn matches(&self) -> impl Iterator<Item = &Match> {
        self.programs.iter().flat_map(|program| &program.matches)
    }

    /// Errors of all metrics that both sides have.
    pub fn metrics(&self) -> Vec<MetricError> {
        let names: BTreeSet<&String> = self
            .matches()
            .flat_map(|launch| {
                launch.card.values.keys().filter(|name| launch.ours.values.contains_key(*name))
            })
            .collect();
        names.into_iter().filter_map(|metric| self.metric(metric)).collect()
    }

    /// Error of one metric; `None` if no launch is comparable.
    pub fn metric(&self, metric: &str) -> Option<MetricError> {
        let pairs: Vec<(f64, f64)> = self.matches().filter_map(|launch| launch.values(metric)).collect();
        let errors: Vec<f64> = pairs.iter().filter_map(|(ours, card)| error(metric, *ours, *card)).collect();
        if errors.is_empty() {
            return None;
        }
        let programs: Vec<f64> =
            self.programs.iter().filter_map(|program| program_error(program, metric)).map(f64::abs).collect();
        let logarithms: Vec<(f64, f64)> = pairs
            .iter()
            .filter(|(ours, card)| *ours > 0.0 && *card > 0.0)
            .map(|(ours, card)| (ours.ln(), card.ln()))
            .collect();
        Some(MetricError {
            metric: metric.to_owned(),
            launches: errors.len(),
            per_launch: mean(&errors.iter().map(|error| error.abs()).collect::<Vec<_>>()),
            per_program: mean(&programs),
            correlation: correlation(&logarithms),
            bias: mean(&errors),
        })
    }

    /// Text for people: metrics, programs by one metric, unmatched launches.
    pub fn text(&self, metric: &str) -> String {
        let mut text = String::new();
        let _ = writeln!(
            text,
            "{:<68} {:>8} {:>10} {:>10} {:>8} {:>9}",
            "metric (errors in %, for percentages in points)",
            "launches",
            "per launch",
            "per program",
            "log r",
            "bias"
        );
        for of in self.metrics() {
            let MetricError { metric, launches, per_launch, per_program, correlation, bias } = of;
            let correlation = correlation.map_or_else(|| "-".to_owned(), |r| format!("{r:.3}"));
            let _ = writeln!(
                text,
                "{metric:<68} {launches:>8} {per_launch:>10.1} {per_program:>10.1} {correlation:>8} {bias:>+9.1}"
            );
        }
        let _ = writeln!(
            text,
            "\n{:<24} {:>8} {:>14} {:>14} {:>9}",
            "program", "launches", "model", "card", "error %"
        );
        for program in &self.programs {
            let (ours, card) = sums(program, metric);
            let error =
                error(metric, ours, card).map_or_else(|| "-".to_owned(), |error| format!("{error:+.1}"));
            let (name, launches) = (&program.name, program.matches.len());
            let _ = writeln!(text, "{name:<24} {launches:>8} {ours:>14.0} {card:>14.0} {error:>9}");
        }
        for program in self.programs.iter().filter(|program| !program.unmatched.is_empty()) {
            let _ = writeln!(text, "\n{}: not compared:", program.name);
            program.unmatched.iter().for_each(|reason| {
                let _ = writeln!(text, "  {reason}");
            });
        }
        text
    }

    /// All results.
    pub fn json(&self) -> Value {
        let metrics: Vec<Value> = self
            .metrics()
            .iter()
            .map(|of| {
                json!({
                    "metric": of.metric,
                    "launches": of.launches,
                    "error_per_launch": of.per_launch,
                    "error_per_program": of.per_program,
                    "log_correlation": of.correlation,
                    "bias": of.bias,
                })
            })
            .collect();
        let programs: Vec<Value> = self
            .programs
            .iter()
            .map(|program| {
                let launches: Vec<Value> = program.matches.iter().map(launch_json).collect();
                json!({ "program": program.name, "launches": launches, "unmatched": program.unmatched })
            })
            .collect();
        json!({ "metrics": metrics, "programs": programs })
    }
}

fn launch_json(launch: &Match) -> Value {
    let metrics: serde_json::Map<String, Value> = launch
        .card
        .values
        .keys()
        .filter_map(|metric| {
            let (ours, card) = launch.values(metric)?;
            let value = json!({ "ours": ours, "card": card, "error": error(metric, ours, card) });
            Some((metric.clone(), value))
        })
        .collect();
    json!({ "kernel": launch.ours.kernel, "grid": launch.ours.grid, "block": launch.ours.block, "metrics": metrics })
}

/// Sums over a program's launches, model then card; means for percentages.
fn sums(program: &Program, metric: &str) -> (f64, f64) {
    let pairs: Vec<(f64, f64)> = program.matches.iter().filter_map(|launch| launch.values(metric)).collect();
    let count = if is_percentage(metric) { pairs.len().max(1) as f64 } else { 1.0 };
    let sum = |side: &dyn Fn(&(f64, f64)) -> f64| pairs.iter().map(side).sum::<f64>() / count;
    (sum(&|pair| pair.0), sum(&|pair| pair.1))
}

fn program_error(program: &Program, metric: &str) -> Option<f64> {
    program.matches.iter().find_map(|launch| launch.values(metric))?;
    let (ours, card) = sums(program, metric);
    error(metric, ours, card)
}
