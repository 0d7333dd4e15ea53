//! `voltsim run`: starts a program with our libraries in place of CUDA's.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::checkpoint;
use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::model;
use crate::program;
use crate::supervise;

/// Run a program on the simulated GPU
///
/// The program is a child of this process, which passes signals on and ends with the program's exit
/// status. A program that exits with 0 gets another status in four cases. 86: checks found a
/// mistake (--check). 87: the run was not saved (--checkpoint). 88: a kernel was refused and the
/// program has not asked for the error. 89: an output could not be written.
///
/// SIGHUP, SIGINT and SIGTERM end the program, unless the program handles them. Statistics and all
/// other outputs then hold the counts until the signal, and are marked as partial.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given<taking::Run>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut options = args.given.options.clone();
    model::settle(&mut options)?;
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    match program.all_options() {
        all if all.check.is_some() => Ok(supervise::run_checked(program)?.pass_on()),
        _ if program.options.checkpoint_file.is_some() => checkpoint::run(program, None),
        _ => Ok(supervise::run(program)?.pass_on()),
    }
}
