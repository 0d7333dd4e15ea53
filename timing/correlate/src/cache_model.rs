//! Reports of the cache model under the profiler's names.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::Launch;

/// Sectors of loads.
const SECTORS: &str = "l1tex__t_sectors_pipe_lsu_mem_global_op_ld.sum";

/// Hit rate of loads. A pending hit counts as a hit, as on a card.
const HIT_RATE: &str = "l1tex__t_sector_pipe_lsu_mem_global_op_ld_hit_rate.pct";

/// Report of `voltsim cache-model`.
#[derive(Deserialize)]
struct Report {
    miss_kinds: Vec<String>,
    launches: Vec<ReportLaunch>,
}

#[derive(Deserialize)]
struct ReportLaunch {
    kernel: String,
    grid: [u32; 3],
    block: [u32; 3],
    results: Vec<ConfigurationResult>,
}

#[derive(Deserialize)]
struct ConfigurationResult {
    counts: Counts,
}

/// Sectors by outcome, misses in the order of `miss_kinds`.
#[derive(Deserialize)]
struct Counts {
    accesses: u64,
    hits: u64,
    misses: Vec<u64>,
}

/// The launches of a report with the values of the first configuration; `None` for other JSON.
pub(super) fn read(value: &serde_json::Value) -> Option<Vec<Launch>> {
    let report = Report::deserialize(value).ok()?;
    let latency = report.miss_kinds.iter().position(|kind| kind == "latency")?;
    Some(report.launches.into_iter().map(|launch| of_launch(launch, latency)).collect())
}

/// A launch, with the place of latency misses among the kinds.
fn of_launch(launch: ReportLaunch, latency: usize) -> Launch {
    let mut values = BTreeMap::new();
    if let Some(ConfigurationResult { counts }) = launch.results.first() {
        let hits = counts.hits as f64 + counts.misses.get(latency).map_or(0.0, |pending| *pending as f64);
        let accesses = counts.accesses as f64;
        values.insert(SECTORS.to_owned(), accesses);
        values.insert(HIT_RATE.to_owned(), if accesses > 0.0 { 100.0 * hits / accesses } else { 0.0 });
    }
    Launch {
        kernel: launch.kernel,
        grid: Some(launch.grid),
        block: Some(launch.block),
        values,
        ..Launch::default()
    }
}
