//! Two runs beside each other.

use std::collections::BTreeSet;

use crate::draw::bars::{self, Stack};
use crate::draw::legend;
use crate::format::{change, cut, escape, grouped, number, percent, time};
use crate::input::{Counts, Kernel, Run};
use crate::limit::{self, SLOTS};

use super::explanations::Explanations;
use super::{Section, counter_link, sorted, table};

/// Counters in the table of differences.
const LISTED: usize = 200;
/// Kernels in the picture.
const DRAWN: usize = 8;

/// Tiles of both runs.
pub(crate) fn overview(before: &Run, after: &Run) -> Section {
    let length = |run: &Run| {
        let (first, last) = run.span();
        (last - first) * run.cycle_nanoseconds()
    };
    let kernels = |run: &Run| run.kernels().iter().map(|kernel| kernel.nanoseconds).sum::<f64>();
    let value = |run: &Run, name: &str| run.total.value(name).unwrap_or(0.0);
    let tile = |name: &str, a: f64, b: f64, text: fn(f64) -> String| {
        format!(
            "<div class=\"tile\"><span>{name}</span><b>{}</b><small>{} → {}</small></div>",
            change(a, b),
            text(a),
            text(b)
        )
    };
    let mut body = format!(
        "<p class=\"lead\"><b>A</b> {} on {}, <b>B</b> {} on {}. Changes are of B against A.</p><div class=\"tiles\">",
        escape(&before.name),
        escape(&before.gpu),
        escape(&after.name),
        escape(&after.gpu)
    );
    body.push_str(&tile("Simulated time", length(before), length(after), time));
    body.push_str(&tile("Kernels", kernels(before), kernels(after), time));
    body.push_str(&tile("IPC", value(before, "gpu.ipc"), value(after, "gpu.ipc"), number));
    body.push_str(&tile(
        "DRAM sectors",
        value(before, "dram.sectors"),
        value(after, "dram.sectors"),
        grouped,
    ));
    body.push_str("</div>");
    Section::new("overview", "Overview", body)
}

/// Kernels of both runs by name.
pub(crate) fn kernels(before: &[Kernel<'_>], after: &[Kernel<'_>]) -> Section {
    let mut names: Vec<&str> = Vec::new();
    let mut seen = BTreeSet::new();
    for kernel in before.iter().chain(after) {
        if seen.insert(kernel.name) {
            names.push(kernel.name);
        }
    }
    let heads = ["Kernel", "Limit of A", "Limit of B", "Time A", "Time B", "Change", "IPC A", "IPC B"];
    let rows: Vec<Vec<String>> = names.iter().map(|name| row(name, before, after)).collect();
    let body = table("sortable", &heads, 3, &rows);
    Section::new("kernels", "Kernels", body)
}

fn row(name: &str, before: &[Kernel<'_>], after: &[Kernel<'_>]) -> Vec<String> {
    let find = |kernels: &[Kernel<'_>]| {
        let kernel = kernels.iter().find(|kernel| kernel.name == name)?;
        let ipc = kernel.counts.value("gpu.ipc").unwrap_or(0.0);
        Some((kernel.nanoseconds, ipc, limit::short(&kernel.counts), kernel.short.to_owned()))
    };
    let (a, b) = (find(before), find(after));
    let cell = |value: Option<f64>, text: fn(f64) -> String| {
        value.map_or_else(|| sorted("–", -1.0), |value| sorted(&text(value), value))
    };
    let time_of = |found: &Option<(f64, f64, String, String)>| found.as_ref().map(|found| found.0);
    let changed = match (time_of(&a), time_of(&b)) {
        (Some(a), Some(b)) => sorted(&change(a, b), 100.0 * (b - a) / a.max(1e-9)),
        (None, _) => sorted("only in B", f64::MAX),
        (_, None) => sorted("only in A", f64::MIN),
    };
    let short = a.as_ref().or(b.as_ref()).map_or(name, |found| &found.3);
    let limit = |found: &Option<(f64, f64, String, String)>| {
        found.as_ref().map_or_else(|| "–".to_owned(), |found| escape(&found.2))
    };
    vec![
        format!("<span title=\"{}\"><b>{}</b></span>", escape(name), escape(&cut(short, 48))),
        limit(&a),
        limit(&b),
        cell(time_of(&a), time),
        cell(time_of(&b), time),
        changed,
        cell(a.as_ref().map(|found| found.1), number),
        cell(b.as_ref().map(|found| found.1), number),
    ]
}

/// Issue slots of the longest kernels, a bar for each run.
pub(crate) fn stalls(before: &[Kernel<'_>], after: &[Kernel<'_>]) -> Section {
    let mut rows = Vec::new();
    for kernel in before.iter().take(DRAWN) {
        let other = after.iter().find(|other| other.name == kernel.name);
        for (mark, kernel) in std::iter::once(("A", kernel)).chain(other.map(|other| ("B", other))) {
            rows.push(Stack {
                name: format!("{} {mark}", cut(kernel.short, 28)),
                parts: super::kernels::slots(&kernel.counts),
                after: time(kernel.nanoseconds),
            });
        }
    }
    let all = || before.iter().chain(after);
    let used =
        SLOTS.iter().enumerate().filter(|(_, (name, _))| all().any(|it| it.counts.counter(name) > 0.0));
    let names = legend(used.map(|(place, (_, text))| (format!("s{place}"), *text)));
    let body =
        format!("{names}<figure>{}</figure>", bars::stacks("Issue slots of both runs by outcome", &rows));
    Section::new("stalls", "Issue slots and stall reasons", body)
}

/// Counters of both runs, those that changed most first.
pub(crate) fn counters(before: &Counts, after: &Counts, explanations: &Explanations) -> Section {
    let mut changed: Vec<(&str, f64, f64)> = before
        .counters()
        .map(|(name, value)| (name, value, after.counter(name)))
        .filter(|(_, a, b)| a != b)
        .collect();
    let weight = |(_, a, b): &(&str, f64, f64)| ((a - b).abs() / a.max(*b)) * (a.max(*b) + 1.0).ln();
    changed.sort_by(|a, b| weight(b).total_cmp(&weight(a)));
    let all = changed.len();
    let rows: Vec<Vec<String>> = changed
        .iter()
        .take(LISTED)
        .map(|(name, a, b)| {
            let unit = explanations.get(name).map_or("", |explained| explained.unit);
            let relative = if *a > 0.0 { 100.0 * (b - a) / a } else { f64::MAX };
            vec![
                counter_link(name, name),
                escape(unit),
                sorted(&grouped(*a), *a),
                sorted(&grouped(*b), *b),
                sorted(&change(*a, *b), relative),
            ]
        })
        .collect();
    let share = percent(100.0 * all as f64 / before.counters().count().max(1) as f64);
    let body = format!(
        "<p>{all} counters of the whole run differ ({share}); large and frequent changes stand first.</p>{}",
        table("sortable", &["Counter", "Unit", "A", "B", "Change"], 2, &rows)
    );
    Section::new("counters", "Counters that changed", body)
}
