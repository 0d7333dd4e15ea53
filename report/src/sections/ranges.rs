//! Layers, operators and NVTX ranges: time, share and limit of the launches inside.

use std::collections::BTreeMap;

use crate::format::{cut, escape, grouped, percent, time};
use crate::input::{Counts, Launch, Run};
use crate::limit;

use super::{Section, sorted, table};

/// Ranges in the table.
const LISTED: usize = 400;

/// Launches in a range, those of inner ranges included.
struct Range<'a> {
    path: &'a [String],
    launches: usize,
    nanoseconds: f64,
    counts: Counts,
}

/// The part; nothing if no launch was in a range.
pub(crate) fn section(run: &Run) -> Option<Section> {
    let cycle = run.cycle_nanoseconds();
    let ranges = ranges(&run.launches, cycle);
    if ranges.is_empty() {
        return None;
    }
    let all: f64 = run.launches.iter().map(|launch| launch.cycles * cycle).sum();
    let rows: Vec<Vec<String>> = ranges.iter().take(LISTED).map(|range| row(range, all)).collect();
    let heads = ["Range", "Limit", "Launches", "Time", "Share"];
    let mut body = format!(
        "<p>Launches by the NVTX ranges that were open at their calls. A range contains its inner \
         ranges; PyTorch names operators by <code>emit_nvtx</code>.</p>{}",
        table("ranges", &heads, 2, &rows)
    );
    if ranges.len() > LISTED {
        body.push_str(&format!("<p class=\"note\">{} ranges are left out.</p>", ranges.len() - LISTED));
    }
    Some(Section::new("ranges", "Layers and ranges", body))
}

/// Ranges in the order of their first launches, inner ones behind their outer one.
fn ranges(launches: &[Launch], cycle: f64) -> Vec<Range<'_>> {
    let mut ranges: Vec<Range<'_>> = Vec::new();
    let mut places: BTreeMap<&[String], usize> = BTreeMap::new();
    // Numbers of first launches at each depth, by which the rows are sorted.
    let mut first: BTreeMap<&[String], usize> = BTreeMap::new();
    for (number, launch) in launches.iter().enumerate() {
        for depth in 1..=launch.ranges.len() {
            let Some(path) = launch.ranges.get(..depth) else { continue };
            let place = *places.entry(path).or_insert_with(|| {
                ranges.push(Range { path, launches: 0, nanoseconds: 0.0, counts: Counts::default() });
                ranges.len() - 1
            });
            first.entry(path).or_insert(number);
            let Some(range) = ranges.get_mut(place) else { continue };
            range.launches += 1;
            range.nanoseconds += launch.cycles * cycle;
            range.counts.add(&launch.counts);
        }
    }
    ranges.iter_mut().for_each(|range| range.counts.derive());
    let key = |path: &[String]| -> Vec<(usize, String)> {
        let depths = (1..=path.len()).filter_map(|depth| path.get(..depth));
        depths
            .map(|part| (first.get(part).copied().unwrap_or(0), part.last().cloned().unwrap_or_default()))
            .collect()
    };
    ranges.sort_by_cached_key(|range| key(range.path));
    ranges
}

fn row(range: &Range<'_>, all: f64) -> Vec<String> {
    let share = 100.0 * range.nanoseconds / all.max(1e-9);
    let name = range.path.last().map_or("", String::as_str);
    let indent = 18 * (range.path.len().max(1) - 1);
    vec![
        format!(
            "<span style=\"padding-left:{indent}px\" title=\"{}\">{}</span>",
            escape(&range.path.join(" / ")),
            escape(&cut(name, 70))
        ),
        escape(&limit::short(&range.counts)),
        sorted(&grouped(range.launches as f64), range.launches as f64),
        sorted(&time(range.nanoseconds), range.nanoseconds),
        format!("{}<i class=\"meter\" style=\"--p:{share:.1}%\"></i>", sorted(&percent(share), share)),
    ]
}
