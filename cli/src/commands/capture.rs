//! `voltsim capture`: starts a program and saves its kernel launches.

use std::ffi::OsString;
use std::process::ExitCode;

use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::paths::empty_folder;
use crate::program;
use crate::supervise;

/// Save kernel launches of a program, each in a folder that can run alone
///
/// A folder holds the kernel's PTX, its parameters, and every buffer that a pointer may reach.
/// `voltsim replay` runs the folder. `voltsim compare` runs it in two ways. A bug report can
/// include it. The exit status is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given<taking::Capture>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the program to its end.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut options = args.given.options.clone();
    options.capture = options.capture.as_deref().map(empty_folder).transpose()?;
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    Ok(supervise::run(program)?.pass_on())
}
