//! `voltsim config`: files that say what a GPU is.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use timing::import::gpgpusim;
use timing::specification::GpuSpec;
use timing::specification::gpu::document;

use crate::failure::Failure;
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
            let gpu = read(file, &text(file)?)?;
            let (sms, bandwidth) = (gpu.chip.sms, gpu.peak_dram_bandwidth() as f64 / 1e9);
            writeln!(out, "{}: {sms} SMs, {bandwidth:.1} GB/s: complete", file.display())?;
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn text(file: &Path) -> Result<String, Failure> {
    fs::read_to_string(file).map_err(|error| Failure::in_file(file, error))
}

fn read(file: &Path, text: &str) -> Result<GpuSpec, Failure> {
    let document = document(&file.to_string_lossy(), text).map_err(Failure::new)?;
    GpuSpec::read(&document).map_err(Failure::new)
}

fn import(file: &Path, output: Option<&Path>, out: &mut dyn Write) -> Result<(), Failure> {
    let made = gpgpusim(&file.to_string_lossy(), &text(file)?).map_err(Failure::new)?;
    match output {
        Some(output) => outputs::write(output, &made)?,
        None => out.write_all(made.as_bytes())?,
    }
    // The text is written even if a value is one that our model refuses, so that it can be changed.
    read(output.unwrap_or(Path::new("standard output")), &made).map(drop)
}
