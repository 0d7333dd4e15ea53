//! `voltsim gpus`: the GPUs that a launch can be timed on.

use std::io::Write;
use std::process::ExitCode;

use timing::specification::GpuSpec;
use timing::specification::gpu::BUILT_IN;

use crate::failure::Failure;
use crate::table;

/// List the GPUs whose timing can be simulated
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Writes the list.
pub(crate) fn run(_: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let rows: Result<Vec<[String; 6]>, Failure> =
        BUILT_IN.iter().map(|(name, text)| row(name, text)).collect();
    table::write(out, ["GPU", "SMs", "core MHz", "L2 KiB", "DRAM GB/s", "what it is"], &rows?)?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str, text: &str) -> Result<[String; 6], Failure> {
    let gpu = GpuSpec::built_in(name).map_err(Failure::new)?;
    // The file begins with a sentence that says what the GPU is.
    let about = text.lines().next().unwrap_or_default().trim_start_matches(['#', ' ']);
    let about = about.split_once(". ").map_or(about, |(sentence, _)| sentence).trim_end_matches('.');
    Ok([
        name.to_owned(),
        gpu.chip.sms.to_string(),
        gpu.clocks.core.to_string(),
        (u64::from(gpu.partition.all_slices()) * u64::from(gpu.l2.size) / 1024).to_string(),
        format!("{:.1}", gpu.peak_dram_bandwidth() as f64 / 1e9),
        about.to_owned(),
    ])
}
