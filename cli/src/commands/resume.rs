//! `voltsim resume`: starts a program that goes on from a checkpoint.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use saved_run::SavedRun;

use super::checkpoint::unreadable;
use crate::checkpoint;
use crate::failure::Failure;
use crate::model;
use crate::program;

/// Go on from a checkpoint
///
/// The program runs from its beginning, with the same arguments and files as when it was saved; its kernels before the
/// point are not executed, and what they have brought to the host comes from the checkpoint. A program that does something
/// else than it did is stopped with an error that names the first difference. The exit status is the program's, or 87 when
/// the program succeeds but did not go on from the checkpoint.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What `voltsim run --checkpoint` has written
    #[arg(value_name = "CHECKPOINT")]
    file: PathBuf,

    #[command(flatten)]
    options: program::Options,

    #[command(flatten)]
    model: model::Options,

    /// Begin with the timing model's caches empty, where the checkpoint has what was in them
    #[arg(long)]
    cold: bool,

    #[command(flatten)]
    checkpoint: checkpoint::Options,

    /// The program and its arguments
    #[arg(required = true, last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if args.options.checks() {
        return Err(Failure::new(
            "--check needs the whole run: what was written before the point is not known",
        )
        .remedy("Leave --check out, or use voltsim run"));
    }
    SavedRun::open(&args.file)
        .and_then(|saved| saved.about())
        .map_err(|error| unreadable(&args.file, &error))?;
    let mut command = program::command(&args.program, &args.options)?;
    args.model.set(&mut command)?;
    if args.cold {
        command.env("VOLTSIM_RESUME_COLD", "1");
    }
    args.checkpoint.run(command, Some(&args.file))
}
