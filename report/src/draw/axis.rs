//! Axes with grid lines.

use super::scale::Scale;
use super::{Anchor, Svg};

/// Draws a horizontal axis below a plot that begins at y `top`, with grid lines. The script redraws
/// the group when the picture is zoomed.
pub(crate) fn below(svg: &mut Svg, scale: &Scale, (top, bottom): (f64, f64), text: impl Fn(f64) -> String) {
    svg.raw("<g class=\"xaxis\">");
    let count = ((scale.coordinates.1 - scale.coordinates.0) / 110.0).max(2.0) as usize;
    for tick in scale.ticks(count) {
        let x = scale.at(tick);
        svg.line((x, top), (x, bottom), "grid");
        svg.text((x, bottom + 16.0), Anchor::Middle, "tick", &text(tick));
    }
    svg.raw("</g>");
    svg.line((scale.coordinates.0, bottom), (scale.coordinates.1, bottom), "axis");
}

/// Draws a vertical axis left of a plot, with grid lines to the right.
pub(crate) fn left(svg: &mut Svg, scale: &Scale, (start, end): (f64, f64), text: impl Fn(f64) -> String) {
    let count = ((scale.coordinates.0 - scale.coordinates.1).abs() / 32.0).max(2.0) as usize;
    for tick in scale.ticks(count) {
        let y = scale.at(tick);
        svg.line((start, y), (end, y), "grid");
        svg.text((start - 8.0, y + 4.0), Anchor::End, "tick", &text(tick));
    }
}

/// Text of a power of ten.
pub(crate) fn power(value: f64) -> String {
    match value {
        value if (1e-2..1e4).contains(&value) => crate::format::number(value),
        value => {
            let digits = format!("{:.0}", value.log10());
            let raised = digits.chars().map(|digit| match digit {
                '-' => '⁻',
                '0' => '⁰',
                '1' => '¹',
                '2' => '²',
                '3' => '³',
                '4' => '⁴',
                '5' => '⁵',
                '6' => '⁶',
                '7' => '⁷',
                '8' => '⁸',
                _ => '⁹',
            });
            std::iter::once('1').chain(['0']).chain(raised).collect()
        }
    }
}
