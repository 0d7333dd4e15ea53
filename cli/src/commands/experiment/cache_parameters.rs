//! Misses of L1 against associativity, size, line size and MSHRs: Nugteren et al., Fig. 12.

use std::io::Write;

use cache_model::accesses::LaunchAccesses;
use cache_model::runner::Runner;
use cache_model::sweep::{self, Configuration};
use timing::specification::GpuSpec;
use warp_stream::kernel_name::signature;

use super::measure;
use super::workload::Workload;
use crate::failure::Failure;
use crate::table;

/// Parameters with their values: 0.25, 0.5, 1, 2 and 4 times those of a GeForce GTX 470.
const PARAMETERS: [(&str, &str); 4] = [
    ("associativity", "l1.size=16KiB, l1.ways=1..16"),
    ("size", "l1.ways=4, l1.size=4..64KiB"),
    ("line size", "l1.size=16KiB, l1.ways=4, l1.line=32..512"),
    ("MSHRs", "l1.misses=16..256"),
];

pub(super) fn run(elements: u32, out: &mut dyn Write) -> Result<(), Failure> {
    let gpu = GpuSpec::built_in("gtx470").map_err(Failure::new)?;
    let launches = measure::accesses(Workload::Memory, elements)?;
    writeln!(out, "L1 misses in % of line requests; a parameter has 0.25 to 4 times a GTX 470's value.\n")?;
    let mut rows = Vec::new();
    for accesses in &launches {
        for (name, text) in PARAMETERS {
            let configurations = sweep::configurations(text).map_err(Failure::new)?;
            let rates = rates(&gpu, configurations, accesses)?;
            let kernel = signature(&accesses.launch.kernel).into_owned();
            let row = [kernel, name.to_owned()].into_iter().chain(rates).collect::<Vec<_>>();
            rows.extend(<[String; 7]>::try_from(row).ok());
        }
    }
    table::write(out, ["kernel", "parameter", "0.25x", "0.5x", "1x", "2x", "4x"], &rows)?;
    writeln!(out, "\nThe paper has six kernels of Parboil; these are kernels of ours that memory bounds.")?;
    Ok(())
}

fn rates(
    gpu: &GpuSpec,
    configurations: Vec<Configuration>,
    accesses: &LaunchAccesses,
) -> Result<Vec<String>, Failure> {
    // Each configuration has an order of its own, as in the paper.
    let report = Runner::new(gpu.clone(), configurations, true, 1).launch(accesses).map_err(Failure::new)?;
    Ok(report.results.iter().map(|result| format!("{:.2}", 100.0 * result.counts.miss_rate())).collect())
}
