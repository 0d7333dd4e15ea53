//! Points of two values on logarithmic axes, with the diagonal.

use super::axis;
use super::scale::Scale;
use super::{Anchor, Svg, tip_attribute};
use crate::format::{number, point};
use std::fmt::Write as _;

/// Side of the picture.
const SIDE: f64 = 340.0;

/// A point: value of the card, value of the model, class, text for the pointer.
pub(crate) struct Point {
    pub(crate) card: f64,
    pub(crate) ours: f64,
    pub(crate) class: String,
    pub(crate) name: String,
}

/// A scatter plot of the positive points.
pub(crate) fn draw(label: &str, all: &[Point]) -> String {
    let shown: Vec<&Point> = all.iter().filter(|point| point.card > 0.0 && point.ours > 0.0).collect();
    let values = shown.iter().flat_map(|point| [point.card, point.ours]);
    let (low, high) =
        values.fold((f64::INFINITY, 0.0_f64), |(low, high), value| (low.min(value), high.max(value)));
    let mut svg = Svg::new(SIDE, SIDE, label);
    let ends = if shown.is_empty() { (1.0, 10.0) } else { (low, high) };
    let (x, y) = (Scale::log(ends, (58.0, SIDE - 18.0)), Scale::log(ends, (SIDE - 44.0, 8.0)));
    axis::left(&mut svg, &y, x.coordinates, axis::power);
    axis::below(&mut svg, &x, (8.0, SIDE - 44.0), axis::power);
    svg.text(((58.0 + SIDE - 18.0) / 2.0, SIDE - 8.0), Anchor::Middle, "tick", "card");
    svg.raw(&format!("<text transform=\"translate(14 {}) rotate(-90)\" text-anchor=\"middle\" class=\"tick\">Voltsim</text>", point((SIDE - 36.0) / 2.0)));
    let (low, high) = x.values();
    svg.line((x.at(low), y.at(low)), (x.at(high), y.at(high)), "diagonal");
    for Point { card, ours, class, name } in shown {
        let tip = format!("{name}: Voltsim {}, card {}", number(*ours), number(*card));
        let _ = write!(
            svg.text,
            "<circle cx=\"{}\" cy=\"{}\" r=\"4\" class=\"dot {class}\"{}/>",
            point(x.at(*card)),
            point(y.at(*ours)),
            tip_attribute(&tip)
        );
    }
    svg.finish()
}
