//! Statistics in the form of Nsight Compute's `--csv`: a row per launch and metric.

use std::fmt::Write as _;
use std::io;

use warp_stream::kernel_name::signature;

use super::{LaunchRecord, Run, pass_on, quoted};
use timing::sm::Occupancy;
use timing::statistics::DERIVED;

pub(super) fn write(run: &Run<'_>, out: &mut dyn io::Write) -> io::Result<()> {
    let columns = [
        "ID",
        "Kernel Name",
        "Stream",
        "Grid Size",
        "Block Size",
        "Metric Name",
        "Metric Unit",
        "Metric Value",
    ];
    let mut text = String::new();
    if let Some(cause) = run.partial {
        // The profiler prints its messages before the table.
        let _ = writeln!(text, "==WARNING== Partial: ended by {cause}");
    }
    text += &(columns.map(quoted).join(",") + "\n");
    for (number, launch) in run.launches().enumerate() {
        let launch = launch?;
        let [grid, block] =
            [launch.shape.grid, launch.shape.block].map(|[x, y, z]| format!("({x}, {y}, {z})"));
        let about = [
            &number.to_string(),
            &signature(&launch.kernel).into_owned(),
            &launch.stream.to_string(),
            &grid,
            &block,
        ];
        let about = about.map(|field| quoted(field)).join(",");
        for (metric, unit, value) in metrics(&launch) {
            let _ = writeln!(text, "{about},{},{},{}", quoted(metric), quoted(unit), quoted(&value));
        }
        pass_on(&mut text, out)?;
    }
    pass_on(&mut text, out)
}

/// Profiler metrics with units and values; the first statistic that equals a metric supplies it.
fn metrics(launch: &LaunchRecord) -> Vec<(&'static str, &'static str, String)> {
    let derived = DERIVED.iter().filter_map(|ratio| {
        let value = ratio.of(&launch.counters)?;
        Some((ratio.metric, ratio.unit, format!("{value}")))
    });
    let counted =
        launch.counters.iter().map(|(counter, value)| (counter.metric, counter.unit, value.to_string()));
    let mut metrics: Vec<(&'static str, &'static str, String)> = occupancy(&launch.occupancy);
    for metric in derived.chain(counted).filter(|(metric, ..)| !metric.is_empty()) {
        if metrics.iter().all(|(there, ..)| *there != metric.0) {
            metrics.push(metric);
        }
    }
    metrics
}

fn occupancy(occupancy: &Occupancy) -> Vec<(&'static str, &'static str, String)> {
    let limits = [
        ("launch__occupancy_limit_warps", Some(occupancy.by_warps)),
        ("launch__occupancy_limit_blocks", Some(occupancy.by_ctas)),
        ("launch__occupancy_limit_registers", Some(occupancy.by_registers)),
        ("launch__occupancy_limit_shared_mem", occupancy.by_shared),
    ];
    let limits = limits.into_iter().filter_map(|(metric, ctas)| Some((metric, "CTAs", ctas?.to_string())));
    let theoretical = ("sm__maximum_warps_per_active_cycle_pct", "%", occupancy.theoretical().to_string());
    limits.chain([theoretical]).collect()
}
