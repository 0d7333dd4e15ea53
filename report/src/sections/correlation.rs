//! Values of the model beside those of a card: a scatter plot for each metric.

use crate::draw::legend;
use crate::draw::scatter::{self, Point};
use crate::format::{escape, grouped, number, percent};
use crate::input::{Correlation, Scatter};

use super::{Section, sorted, table};

/// Metrics with a picture.
const DRAWN: usize = 24;
/// Programs with a colour of their own.
const COLOURS: usize = 9;

fn class(program: usize) -> String {
    if program < COLOURS { format!("k{program}") } else { "kx".to_owned() }
}

pub(crate) fn plots(correlation: &Correlation) -> Section {
    let mut names: Vec<(String, &str)> = correlation
        .programs
        .iter()
        .take(COLOURS)
        .enumerate()
        .map(|(place, name)| (class(place), name.as_str()))
        .collect();
    if correlation.programs.len() > COLOURS {
        names.push((class(COLOURS), "other programs"));
    }
    let mut body = format!(
        "<p>A point is a launch. On the diagonal, model and card agree.</p>{}<div class=\"plots\">",
        legend(names)
    );
    for scatter in correlation.metrics.iter().take(DRAWN) {
        let points: Vec<Point> = scatter
            .pairs
            .iter()
            .map(|pair| Point {
                card: pair.card,
                ours: pair.ours,
                class: class(pair.program),
                name: pair.kernel.clone(),
            })
            .collect();
        let caption =
            format!("{}: {} launches, mean error {}", scatter.metric, scatter.pairs.len(), error(scatter));
        body.push_str(&format!(
            "<figure><figcaption>{}</figcaption>{}</figure>",
            escape(&caption),
            scatter::draw(&caption, &points)
        ));
    }
    body.push_str("</div>");
    Section::new("plots", "Scatter plots", body)
}

fn error(scatter: &Scatter) -> String {
    scatter.mean_error().map_or_else(|| "–".to_owned(), percent)
}

pub(crate) fn metrics(correlation: &Correlation) -> Section {
    let rows: Vec<Vec<String>> = correlation
        .metrics
        .iter()
        .map(|scatter| {
            let optional = |value: Option<f64>, text: fn(f64) -> String| {
                value.map_or_else(|| sorted("–", -1.0), |value| sorted(&text(value), value))
            };
            vec![
                format!("<code>{}</code>", escape(&scatter.metric)),
                sorted(&grouped(scatter.pairs.len() as f64), scatter.pairs.len() as f64),
                optional(scatter.mean_error(), percent),
                optional(scatter.correlation(), number),
            ]
        })
        .collect();
    let heads = ["Metric", "Launches", "Mean error", "Correlation of logarithms"];
    Section::new("metrics", "Metrics", table("sortable", &heads, 1, &rows))
}
