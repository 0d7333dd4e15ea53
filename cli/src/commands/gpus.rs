//! `voltsim gpus`: the GPUs that programs can be told of, and those that launches can be timed on.

use std::io::Write;
use std::process::ExitCode;

use timing::specification::gpu;

use crate::failure::Failure;
use crate::gpu_file;
use crate::table;

/// List the GPUs, or show the file of one: for --device all, for --gpu those with timing
#[derive(clap::Args)]
pub(crate) struct Args {
    /// GPU whose file is shown, with the source of each value
    name: Option<String>,
}

const HEADING: [&str; 9] =
    ["GPU", "SMs", "core MHz", "L2 KiB", "DRAM GB/s", "memory MiB", "capability", "timing", "what it is"];

/// Writes the list or the file.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    if let Some(name) = &args.name {
        let (_, text) = gpu::text(name).map_err(|error| Failure::new(&error).remedy(error.remedy()))?;
        out.write_all(text.as_bytes())?;
        return Ok(ExitCode::SUCCESS);
    }
    let rows: Result<Vec<[String; 9]>, Failure> = gpu::names().map(row).collect();
    table::write(out, HEADING, &rows?)?;
    Ok(ExitCode::SUCCESS)
}

fn row(name: &str) -> Result<[String; 9], Failure> {
    let document = gpu_file::document(name)?;
    let spec = gpu_file::spec(&document)?;
    let number = |answer| f64::from(spec.answer(answer));
    // A pin moves two bits in a cycle of this clock, which is in kHz.
    let bandwidth = 2.0 * number("memory_clock_rate") * number("global_memory_bus_width") / 8.0 / 1e6;
    Ok([
        name.to_owned(),
        spec.answer("multiprocessor_count").to_string(),
        (spec.answer("clock_rate") / 1000).to_string(),
        (spec.answer("l2_cache_size") / 1024).to_string(),
        format!("{bandwidth:.1}"),
        (spec.memory >> 20).to_string(),
        format!("{}.{}", spec.capability / 10, spec.capability % 10),
        if document.has_timing() { "yes" } else { "no" }.to_owned(),
        gpu::about(name).unwrap_or_default(),
    ])
}
