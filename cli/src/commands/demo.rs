//! `voltsim demo`: runs the program in `examples/demo`, which needs no CUDA at all.

use std::io::Write;
use std::path::PathBuf;
use std::process::ExitCode;

use run_options::RunOptions;
use saved_run::Point;

use crate::demo_program::{self, Summary};
use crate::failure::Failure;
use crate::paths::absolute;

/// Run a small CUDA program, and show the executed instructions of its kernels
///
/// The program is C. The program hands PTX, made from CUDA C++, to the CUDA runtime, as code of
/// nvcc does. A checkout compiles the program by cc; an installation has the program ready.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Save the run to a file after its first kernel
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

/// Runs and reports. The exit status is the program's.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let options = RunOptions {
        checkpoint: args.checkpoint.as_ref().map(|_| Point { kernel: 2, inside: None }),
        checkpoint_file: args.checkpoint.as_deref().map(absolute).transpose()?,
        ..RunOptions::default()
    };
    out.flush()?;
    let execution = demo_program::execute(options, true)?;
    report(&execution.summary, out)?;
    let program = execution.program;
    if let Some(file) = &args.checkpoint {
        writeln!(out, "\nResume from {0}: voltsim resume {0} -- {1}", file.display(), program.display())?;
    }
    match execution.status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(Failure::in_file(&program, execution.status)),
    }
}

fn report(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
    let device = summary.device.as_deref().unwrap_or("no device");
    writeln!(out, "\n{device}, {} CUDA calls", summary.api_calls)?;
    for kernel in &summary.kernels {
        writeln!(
            out,
            "  {}: {} launches, {} warp instructions, {} lane instructions, {:.1} ms, {:.0} M warp instructions/s",
            kernel.name,
            kernel.launches,
            kernel.warp_instructions,
            kernel.lane_instructions,
            kernel.seconds * 1e3,
            kernel.warp_instructions as f64 / kernel.seconds.max(1e-9) / 1e6,
        )?;
    }
    Ok(())
}
