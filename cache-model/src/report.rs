//! Reports of the cache model: text, JSON and CSV.

use std::fmt::Write;

use serde::Serialize;
use warp_stream::kernel_name::signature;

use crate::model::{BUCKETS, Counts, Miss};
use crate::runner::LaunchReport;
use crate::sweep::Configuration;

/// A range of distances and its accesses.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Distances {
    /// Smallest distance, in lines of the set.
    pub from: u64,
    /// Largest distance.
    pub to: u64,
    /// Accesses.
    pub accesses: u64,
}

/// The histogram of a launch, without empty ranges at its end.
pub fn histogram(report: &LaunchReport) -> Vec<Distances> {
    let range = |bucket: usize| match bucket {
        0 => (0, 0),
        bucket => (1 << (bucket - 1), (1 << bucket) - 1),
    };
    let counts = &report.order.distances;
    let last = counts.iter().rposition(|count| *count > 0).map_or(0, |last| last + 1);
    let row = |(bucket, accesses): (usize, &u64)| {
        let (from, to) = range(bucket);
        Distances { from, to, accesses: *accesses }
    };
    counts[..last.min(BUCKETS)].iter().enumerate().map(row).collect()
}

/// Heading of [`rows`].
pub const HEADING: [&str; 12] = [
    "launch",
    "kernel",
    "configuration",
    "accesses",
    "hits %",
    "misses %",
    "compulsory %",
    "capacity %",
    "associativity %",
    "invalidation %",
    "MSHR %",
    "latency %",
];

/// Rows of the table: one per launch and configuration.
pub fn rows(reports: &[LaunchReport]) -> Vec<[String; HEADING.len()]> {
    let mut rows = Vec::new();
    for report in reports {
        for result in &report.results {
            let counts = &result.counts;
            let percent = |part: u64| percent(part as f64, counts);
            rows.push([
                report.launch.to_string(),
                signature(&report.kernel).into_owned(),
                result.configuration.to_string(),
                counts.accesses.to_string(),
                percent(counts.hits),
                percent(counts.fetching()),
                percent(counts.of(Miss::Compulsory)),
                percent(counts.of(Miss::Capacity)),
                percent(counts.of(Miss::Associativity)),
                percent(counts.of(Miss::Invalidation)),
                result.mshr_misses.map_or_else(String::new, |misses| self::percent(misses as f64, counts)),
                percent(counts.of(Miss::Latency)),
            ]);
        }
    }
    rows
}

fn percent(part: f64, counts: &Counts) -> String {
    format!("{:.2}", 100.0 * part / counts.accesses.max(1) as f64)
}

/// Table as CSV.
pub fn csv(reports: &[LaunchReport]) -> String {
    let mut text = HEADING.join(",");
    text.push('\n');
    let quoted = |cell: &String| match cell.contains([',', '"', '\n']) {
        true => format!("\"{}\"", cell.replace('"', "\"\"")),
        false => cell.clone(),
    };
    for row in rows(reports) {
        let _ = writeln!(text, "{}", row.iter().map(quoted).collect::<Vec<_>>().join(","));
    }
    text
}

/// A launch as JSON has it.
#[derive(Debug, Serialize)]
struct JsonLaunch<'r> {
    #[serde(flatten)]
    report: &'r LaunchReport,
    /// Distances in the order of the first configuration.
    distances: Vec<Distances>,
    cancelled: u64,
}

/// A report as JSON has it.
#[derive(Debug, Serialize)]
struct Json<'r> {
    format: u32,
    gpu: &'r str,
    miss_kinds: [&'static str; Miss::ALL.len()],
    /// Counts of all launches.
    totals: Vec<Total>,
    launches: Vec<JsonLaunch<'r>>,
}

/// Counts of all launches of a configuration.
#[derive(Debug, Clone, Serialize)]
pub struct Total {
    /// The configuration.
    pub configuration: Configuration,
    /// Counts.
    pub counts: Counts,
    /// Part of the accesses that misses with traffic are.
    pub miss_rate: f64,
}

/// Counts of all launches, per configuration.
pub fn totals(reports: &[LaunchReport]) -> Vec<Total> {
    let mut totals: Vec<Total> = Vec::new();
    for report in reports {
        for (index, result) in report.results.iter().enumerate() {
            if totals.len() <= index {
                let (configuration, counts) = (result.configuration.clone(), Counts::default());
                totals.push(Total { configuration, counts, miss_rate: 0.0 });
            }
            totals[index].counts.add(&result.counts);
        }
    }
    totals.iter_mut().for_each(|total| total.miss_rate = total.counts.miss_rate());
    totals
}

/// The report as a value for JSON.
pub fn json<'r>(gpu: &'r str, reports: &'r [LaunchReport]) -> impl Serialize + use<'r> {
    let launch = |report: &'r LaunchReport| JsonLaunch {
        report,
        distances: histogram(report),
        cancelled: report.order.cancelled,
    };
    Json {
        format: 1,
        gpu,
        miss_kinds: ["compulsory", "capacity", "associativity", "latency", "invalidation"],
        totals: totals(reports),
        launches: reports.iter().map(launch).collect(),
    }
}

/// Histograms of the launches as text, a line each.
pub fn histograms(reports: &[LaunchReport]) -> String {
    let mut text = String::new();
    for report in reports {
        let rows = histogram(report);
        let all = report.results.first().map_or(0, |result| result.counts.accesses).max(1) as f64;
        let part = |row: &Distances| {
            let range =
                if row.from == row.to { row.from.to_string() } else { format!("{}-{}", row.from, row.to) };
            format!("{range}: {:.1} %", 100.0 * row.accesses as f64 / all)
        };
        let parts: Vec<_> = rows.iter().filter(|row| row.accesses > 0).map(part).collect();
        let _ = writeln!(text, "launch {}: distances in lines of a set: {}", report.launch, parts.join(", "));
    }
    text
}
