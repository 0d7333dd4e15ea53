//! Horizontal bars: shares of a whole, and values beside a peak.

use super::{Anchor, Svg, WIDTH};
use crate::format::{cut, percent};

/// Height of a row.
const ROW: f64 = 26.0;
/// Width of the names; a character is about 7 wide.
const NAMES: f64 = 250.0;

/// A bar of parts.
pub(crate) struct Stack {
    pub(crate) name: String,
    /// Class, text and value of each part.
    pub(crate) parts: Vec<(String, String, f64)>,
    /// Text behind the bar.
    pub(crate) after: String,
}

/// Bars whose parts fill 100 %.
pub(crate) fn stacks(label: &str, stacks: &[Stack]) -> String {
    let (left, right) = (NAMES, WIDTH - 110.0);
    let mut svg = Svg::new(WIDTH, stacks.len() as f64 * ROW + 22.0, label);
    for (row, stack) in (0..).zip(stacks) {
        let y = f64::from(row) * ROW;
        let all: f64 = stack.parts.iter().map(|part| part.2).sum();
        svg.text((left - 10.0, y + 17.0), Anchor::End, "name", &cut(&stack.name, 30));
        svg.text((right + 10.0, y + 17.0), Anchor::Start, "tick", &cut(&stack.after, 14));
        if all <= 0.0 {
            continue;
        }
        let mut x = left;
        for (class, text, value) in stack.parts.iter().filter(|part| part.2 > 0.0) {
            let width = (right - left) * value / all;
            let share = percent(100.0 * value / all);
            svg.rect([x, y + 4.0, width, ROW - 8.0], class, &format!("{}: {text} {share}", stack.name));
            if width > 46.0 {
                svg.text((x + width / 2.0, y + 17.0), Anchor::Middle, "inbar", &share);
            }
            x += width;
        }
    }
    let bottom = stacks.len() as f64 * ROW + 2.0;
    for part in [0.0, 25.0, 50.0, 75.0, 100.0] {
        let x = left + (right - left) * part / 100.0;
        svg.line((x, bottom - 2.0), (x, bottom + 2.0), "axis");
        svg.text((x, bottom + 16.0), Anchor::Middle, "tick", &format!("{part} %"));
    }
    svg.finish()
}

/// Bars from 0 to 100 %: name, share, class, text for the pointer.
pub(crate) fn shares(label: &str, rows: &[(String, f64, &str, String)]) -> String {
    let (left, right) = (170.0, 540.0 - 70.0);
    let mut svg = Svg::new(540.0, rows.len() as f64 * ROW, label);
    for (row, (name, share, class, tip)) in (0..).zip(rows) {
        let y = f64::from(row) * ROW;
        svg.text((left - 10.0, y + 17.0), Anchor::End, "name", &cut(name, 23));
        svg.rect([left, y + 4.0, right - left, ROW - 8.0], "track", "");
        svg.rect([left, y + 4.0, (right - left) * share.clamp(0.0, 100.0) / 100.0, ROW - 8.0], class, tip);
        svg.text((right + 8.0, y + 17.0), Anchor::Start, "value", &percent(*share));
    }
    svg.finish()
}
