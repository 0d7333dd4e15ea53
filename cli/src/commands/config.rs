//! `voltsim config`: files that say what a GPU is.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use gpu_import::gpgpusim;
use timing::specification::gpu::document;
use timing::specification::{DataSheet, GpuSpec};

use crate::failure::Failure;
use crate::gpu_file;
use crate::outputs;

/// Make and check files of GPUs
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    /// Turn an option file of GPGPU-Sim (gpgpusim.config) into a GPU's file
    Import {
        /// The option file
        file: PathBuf,
        /// Write to this file instead of standard output
        #[arg(long, short, value_name = "FILE")]
        output: Option<PathBuf>,
    },
    /// Check that a GPU's file is complete and makes sense
    Check {
        /// The GPU's file
        file: PathBuf,
    },
}

/// Does the task.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match &args.task {
        Task::Import { file, output } => import(file, output.as_deref(), out)?,
        Task::Check { file } => {
            let checked = check(file, &text(file)?)?;
            writeln!(out, "{}: {checked}", file.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::in_file(file, error))
}

/// Checks both halves of a GPU's file, and tells what there is.
fn check(file: &Path, text: &str) -> Result<String, Failure> {
    let document = document(&file.to_string_lossy(), text).map_err(Failure::new)?;
    gpu_file::tell_old_layout(&document);
    if !document.has_timing() {
        let spec = gpu_file::spec(&document)?;
        let sms = spec.answer("multiprocessor_count");
        return Ok(format!("{sms} SMs, {}: complete, without [timing]", spec.name));
    }
    let gpu = GpuSpec::read(&document).map_err(Failure::new)?;
    DataSheet::check(&document, &gpu).map_err(Failure::new)?;
    let spec = gpu_file::spec(&document)?;
    let (sms, bandwidth) = (gpu.chip.sms, gpu.peak_dram_bandwidth() as f64 / 1e9);
    Ok(format!("{sms} SMs, {bandwidth:.1} GB/s, {}: complete", spec.name))
}

fn import(file: &Path, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let made = gpgpusim(&file.to_string_lossy(), &text(file)?).map_err(Failure::new)?;
    match output {
        Some(output) => outputs::write(output, &made)?,
        None => out.write_all(made.as_bytes())?,
    }
    // The text is written even if a value is one that our model refuses, so that it can be changed.
    check(output.unwrap_or(Path::new("standard output")), &made).map(drop)
}
