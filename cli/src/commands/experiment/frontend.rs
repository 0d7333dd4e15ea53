//! Front end, result bus and memory pipeline of a sub-core against those of Accel-Sim, each alone
//! and all: Huerta et al., Figs. 6 and 7.

use std::io::Write;

use super::measure::{Configuration, Launch};
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

const FRONT_END: &str = "front_end.organisation=shared";
const RESULT_BUS: &str = "result_bus.write_back=slot";
const MEMORY_PIPELINE: &str = "memory_pipeline.organisation=per-sm";

/// Neither the paper's front end nor Accel-Sim's asks for lines ahead, and either asks for one at a
/// time (table 1).
const ON_DEMAND: [&str; 2] = ["front_end.prefetch=0", "front_end.l0_requests=1"];

/// Accel-Sim's units, then with one of the paper's each, then the paper's.
const CONFIGURATIONS: [Configuration; 5] = [
    with(&[ON_DEMAND[0], ON_DEMAND[1], FRONT_END, RESULT_BUS, MEMORY_PIPELINE]),
    with(&[ON_DEMAND[0], ON_DEMAND[1], RESULT_BUS, MEMORY_PIPELINE]),
    with(&[ON_DEMAND[0], ON_DEMAND[1], FRONT_END, MEMORY_PIPELINE]),
    with(&[ON_DEMAND[0], ON_DEMAND[1], FRONT_END, RESULT_BUS]),
    with(&ON_DEMAND),
];

const fn with(changes: &'static [&'static str]) -> Configuration {
    Configuration { gpu: "titan-v", changes }
}

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let all = CONFIGURATIONS
        .iter()
        .map(|configuration| configuration.measure(Workload::Core, elements))
        .collect::<Result<Vec<_>, _>>()?;
    let [accel_sim, changed @ ..] = all.as_slice() else { return Ok(()) };
    writeln!(
        out,
        "Cycles over those with Accel-Sim's units; misses of the first instruction cache over its.\n"
    )?;
    let mut rows = Vec::new();
    for (number, before) in accel_sim.iter().enumerate() {
        let mut row = [const { String::new() }; 6];
        row[0].clone_from(&before.kernel);
        for (cell, launches) in row.iter_mut().skip(1).zip(changed) {
            if let Some(after) = launches.get(number) {
                *cell = format!("{:+.1} %", 100.0 * (after.cycles as f64 / before.cycles as f64 - 1.0));
            }
        }
        if let Some(after) = changed.first().and_then(|launches| launches.get(number)) {
            row[5] = miss_factor(before, after)?;
        }
        rows.push(row);
    }
    let heading = ["kernel", "front end", "result bus", "memory pipeline", "all", "misses x"];
    table::write(out, heading, &rows)?;
    writeln!(
        out,
        "\nThe paper: the result bus changes least, the memory pipeline most kernels, the front end those with much code"
    )?;
    writeln!(
        out,
        "and few cycles; the first instruction cache of a sub-core misses more often than the shared one."
    )?;
    Ok(())
}

/// How many times the misses per fetch have become.
fn miss_factor(before: &Launch, after: &Launch) -> Result<String, Failure> {
    let rate = |launch: &Launch| -> Result<f64, Failure> {
        Ok(launch.count(&["front_end.misses"])? as f64 / launch.count(&["front_end.fetches"])?.max(1) as f64)
    };
    Ok(format!("{:.1}", rate(after)? / rate(before)?.max(f64::MIN_POSITIVE)))
}
