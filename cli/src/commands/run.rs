//! `voltsim run`: starts a program with our libraries in place of CUDA's.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::checkpoint;
use crate::checksums;
use crate::failure::Failure;
use crate::image;
use crate::model;
use crate::program;
use crate::supervise;

/// Run a program on the simulated GPU
///
/// The program is a child of this process, which passes signals on and ends with the program's exit status. A program that
/// exits with 0 gets another status in four cases: 88 when a kernel was refused and the program has not asked for the error,
/// 86 when checks have found mistakes (--check), 87 when the run was not saved (--checkpoint), 89 when an output could not be
/// written.
///
/// SIGHUP, SIGINT and SIGTERM end the program as always, unless the program handles them. Statistics and all other
/// outputs have what was counted until then, and say that they are partial.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: program::Options,

    #[command(flatten)]
    model: model::Options,

    #[command(flatten)]
    checkpoint: checkpoint::Options,

    #[command(flatten)]
    checksums: checksums::Options,

    #[command(flatten)]
    image: image::Options,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut command = program::command(&args.program, &args.options)?;
    args.model.set(&mut command)?;
    args.checksums.set(&mut command)?;
    args.image.set(&mut command)?;
    match (args.options.checks(), args.checkpoint.is_wanted()) {
        (true, true) => {
            Err(Failure::new("--check and --checkpoint do not go together").remedy("leave one of them out"))
        }
        (true, false) => Ok(supervise::run_checked(command)?.pass_on()),
        (false, true) => args.checkpoint.run(command, None),
        (false, false) => Ok(supervise::run(command)?.pass_on()),
    }
}
