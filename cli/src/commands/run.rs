//! `voltsim run`: starts a program with our libraries in place of CUDA's.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::program;

/// Run a program on the simulated GPU
///
/// The program replaces this process: its input, output, signals and exit status are its own.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: program::Options,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, allow_hyphen_values = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program; returns only when that fails.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    Err(program::replace(program::command(&args.program, &args.options)?))
}
