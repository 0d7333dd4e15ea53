//! Estimates of a sweep as curves over its configurations.

use crate::draw::scale::{Scale, round_up};
use crate::draw::{Svg, WIDTH, axis, legend, tip_attribute};
use crate::format::{change, cut, escape, grouped, percent, point, points, scaled};
use crate::input::Sweep;

use super::{Section, sorted, table};

/// Kernels with a curve.
const CURVES: usize = 8;
/// Names below the picture.
const NAMES: usize = 24;

pub(crate) fn curves(sweep: &Sweep) -> Section {
    let count = sweep.configurations.len();
    let (bottom, top) = (330.0, 12.0);
    let highest = sweep.configurations.iter().map(|it| it.cycles * (1.0 + it.bound)).fold(0.0, f64::max);
    let y = Scale::linear((0.0, round_up(highest)), (bottom, top));
    let left = 130.0;
    let step = (WIDTH - 12.0 - left) / count.max(1) as f64;
    let x = |place: usize| left + step * (place as f64 + 0.5);
    let mut svg = Svg::new(WIDTH, bottom + 110.0, "Cycles of kernels by configuration");
    axis::left(&mut svg, &y, (left, WIDTH - 12.0), |value| scaled(value, ""));
    svg.line((left, bottom), (WIDTH - 12.0, bottom), "axis");
    for (place, configuration) in sweep.configurations.iter().enumerate() {
        let (low, high) = (1.0 - configuration.bound, 1.0 + configuration.bound);
        let ends = (y.at((configuration.cycles * low).max(0.0)), y.at(configuration.cycles * high));
        svg.line((x(place), ends.0), (x(place), ends.1), "bound");
        if !place.is_multiple_of(count.div_ceil(NAMES)) {
            continue;
        }
        // Names stand aslant, so that long ones do not meet.
        svg.raw(&format!(
            "<text transform=\"translate({} {}) rotate(-28)\" text-anchor=\"end\" class=\"tick\">{}</text>",
            point(x(place) + 4.0),
            point(bottom + 18.0),
            escape(&cut(&configuration.name, 22))
        ));
    }
    let total: Vec<f64> = sweep.configurations.iter().map(|it| it.cycles).collect();
    let all = std::iter::once(("all kernels", &total))
        .chain(sweep.kernels.iter().take(CURVES).map(|(name, cycles)| (name.as_str(), cycles)));
    let mut names = Vec::new();
    for (number, (name, cycles)) in all.enumerate() {
        let class = format!("l{number}");
        svg.path(
            &points(cycles.iter().enumerate().map(|(place, value)| (x(place), y.at(*value)))),
            &format!("{class} curve"),
        );
        for (place, value) in cycles.iter().enumerate() {
            let configuration = sweep.configurations.get(place).map_or("", |it| &it.name);
            let tip = format!("{name}, {configuration}: {} cycles", grouped(*value));
            svg.raw(&format!(
                "<circle cx=\"{}\" cy=\"{}\" r=\"4\" class=\"dot {class}\"{}/>",
                point(x(place)),
                point(y.at(*value)),
                tip_attribute(&tip)
            ));
        }
        names.push((class, name));
    }
    let body = format!(
        "<p>Core cycles of all launches; bars show the error bound.</p>{}<figure>{}</figure>",
        legend(names),
        svg.finish()
    );
    Section::new("curves", "Cycles by configuration", body)
}

pub(crate) fn configurations(sweep: &Sweep) -> Section {
    let first = sweep.configurations.first().map_or(0.0, |it| it.cycles);
    let rows: Vec<Vec<String>> = sweep
        .configurations
        .iter()
        .map(|it| {
            vec![
                format!("<b>{}</b>", escape(&it.name)),
                sorted(&grouped(it.cycles), it.cycles),
                sorted(&change(first, it.cycles), it.cycles),
                sorted(&percent(100.0 * it.bound), it.bound),
                sorted(&grouped(it.simulated), it.simulated),
                sorted(&percent(100.0 * it.work), it.work),
            ]
        })
        .collect();
    let heads = [
        "Configuration",
        "Cycles",
        "Against the first",
        "Error bound",
        "Simulated cycles",
        "Timed instructions",
    ];
    Section::new("configurations", "Configurations", table("sortable", &heads, 1, &rows))
}
