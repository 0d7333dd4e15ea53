//! `voltsim self-check`: proves that an installation executes kernels right.

use std::io::Write;
use std::process::ExitCode;

use run_options::RunOptions;
use run_options::values::Mode;

use crate::demo_program;
use crate::failure::Failure;

/// Check this installation: run the demo in both modes and compare its results
///
/// The demo computes each point on the host as well. The exit status is 0 if all points agree.
#[derive(clap::Args)]
pub(crate) struct Args {}

/// Kernels of the demo.
const KERNELS: usize = 2;

/// Runs the demo in functional and in detailed mode.
pub(crate) fn run(_: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    for (mode, name) in [(Mode::Functional, "functional"), (Mode::Detailed, "detailed")] {
        let options = RunOptions { mode: Some(mode), ..RunOptions::default() };
        let execution = demo_program::execute(options, false)?;
        if !execution.status.success() || execution.summary.kernels.len() != KERNELS {
            let reason = format!("{name} mode: results differ from the host's ({})", execution.status);
            return Err(Failure::in_file(&execution.program, reason)
                .remedy("Install Voltsim again; report a fault if the results still differ"));
        }
        let executed: u64 = execution.summary.kernels.iter().map(|kernel| kernel.warp_instructions).sum();
        writeln!(out, "ok: {name} mode, all points agree, {executed} warp instructions")?;
    }
    Ok(ExitCode::SUCCESS)
}
