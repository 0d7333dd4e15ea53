//! Curves and stacked areas over time.

use std::fmt::Write as _;

use super::axis;
use super::scale::{Scale, round_up};
use super::{RIGHT, Svg, WIDTH};
use crate::format::{escape, number, points, time};

/// Most points of a curve in a picture.
const POINTS: usize = 480;
/// Coordinates of a plot's left end.
const LEFT: f64 = 84.0;

/// A curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Class of the line or area.
    pub(crate) class: String,
    /// Values by interval.
    pub(crate) values: Vec<f64>,
}

/// A plot over time.
pub(crate) struct Plot<'a> {
    pub(crate) label: &'a str,
    /// Unit of the values, for the pointer.
    pub(crate) unit: &'a str,
    /// Ends of the intervals in nanoseconds.
    pub(crate) ends: &'a [f64],
    pub(crate) curves: Vec<Curve>,
    /// Values are parts of a whole and stand on each other.
    pub(crate) is_stacked: bool,
    /// Largest value of the axis, if it is known.
    pub(crate) most: Option<f64>,
    pub(crate) height: f64,
}

impl Plot<'_> {
    /// The picture.
    pub(crate) fn draw(&self) -> String {
        let (top, bottom) = (8.0, self.height - 24.0);
        let end = self.ends.last().copied().unwrap_or(1.0);
        let x = Scale::linear((0.0, end), (LEFT, WIDTH - RIGHT));
        let heights = self.curves.iter().flat_map(|curve| curve.values.iter().copied());
        let highest = if self.is_stacked { self.highest_sum() } else { heights.fold(0.0, f64::max) };
        let most = self.most.unwrap_or_else(|| round_up(highest));
        let y = Scale::linear((0.0, most), (bottom, top));
        let mut svg = Svg::new(WIDTH, self.height, self.label);
        svg.zoomable(x.coordinates, x.values(), "ns");
        axis::left(&mut svg, &y, x.coordinates, number);
        axis::below(&mut svg, &x, (top, bottom), time);
        let _ = write!(
            svg.text_mut(),
            "<svg class=\"clip\" x=\"{LEFT}\" y=\"0\" width=\"{}\" height=\"{}\" viewBox=\"{LEFT} 0 {} {}\"><g class=\"zoom\">",
            WIDTH - RIGHT - LEFT,
            self.height,
            WIDTH - RIGHT - LEFT,
            self.height
        );
        self.draw_curves(&mut svg, &x, &y);
        svg.raw("</g></svg><line class=\"cross\" x1=\"-9\" x2=\"-9\" y1=\"8\" y2=\"0\"/>");
        svg.finish()
    }

    fn highest_sum(&self) -> f64 {
        let sum = |place| self.curves.iter().filter_map(|curve| curve.values.get(place)).sum::<f64>();
        (0..self.ends.len()).map(sum).fold(0.0, f64::max)
    }

    fn draw_curves(&self, svg: &mut Svg, x: &Scale, y: &Scale) {
        let mut below = vec![0.0; self.ends.len()];
        for curve in &self.curves {
            let values: Vec<f64> = match self.is_stacked {
                true => below.iter().zip(&curve.values).map(|(below, value)| below + value).collect(),
                false => curve.values.clone(),
            };
            let upper = steps(self.ends, &values);
            let mut path = points(upper.iter().map(|(at, value)| (x.at(*at), y.at(*value))));
            if self.is_stacked {
                let lower = steps(self.ends, &below);
                let back = points(lower.iter().rev().map(|(at, value)| (x.at(*at), y.at(*value))));
                let _ = write!(path, "{}Z", back.replacen('M', "L", 1));
                below = values;
            }
            let shown = steps(self.ends, &curve.values);
            let list = |of: &dyn Fn(&(f64, f64)) -> f64| {
                shown.iter().skip(1).step_by(2).map(|pair| short(of(pair))).collect::<Vec<_>>().join(" ")
            };
            let _ = write!(
                svg.text_mut(),
                "<path d=\"{path}\" class=\"{} {}\" data-n=\"{}\" data-u=\"{}\" data-a=\"{}\" data-b=\"{}\"/>",
                curve.class,
                if self.is_stacked { "area" } else { "curve" },
                escape(&curve.name),
                escape(self.unit),
                list(&|pair| pair.0),
                list(&|pair| pair.1),
            );
        }
    }
}

/// A number for a list, of four digits.
fn short(value: f64) -> String {
    let text = format!("{value:.4e}");
    let plain = format!("{}", text.parse::<f64>().unwrap_or(value));
    if plain.len() < text.len() { plain } else { text }
}

/// Corners of the steps of values, two an interval, merged to at most [`POINTS`] intervals by their
/// means over time.
fn steps(ends: &[f64], values: &[f64]) -> Vec<(f64, f64)> {
    let group = ends.len().div_ceil(POINTS).max(1);
    let mut corners = Vec::new();
    let mut start = 0.0;
    for (ends, values) in ends.chunks(group).zip(values.chunks(group)) {
        let (mut sum, mut from) = (0.0, start);
        for (end, value) in ends.iter().zip(values) {
            sum += value * (end - from);
            from = *end;
        }
        let mean = if from > start { sum / (from - start) } else { 0.0 };
        corners.push((start, mean));
        corners.push((from, mean));
        start = from;
    }
    corners
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn merged_steps_keep_the_area() {
        let ends: Vec<f64> = (1..=1000).map(f64::from).collect();
        let values: Vec<f64> = (0..1000).map(|place| f64::from(place % 7)).collect();
        let steps = steps(&ends, &values);
        assert!(steps.len() <= 2 * POINTS);
        let area: f64 = steps.chunks(2).map(|pair| (pair[1].0 - pair[0].0) * pair[0].1).sum();
        assert!((area - values.iter().sum::<f64>()).abs() < 1e-6);
    }
}
