//! `voltsim record`: starts a program and records what the warps of its kernels execute.

use std::ffi::OsString;
use std::process::ExitCode;

use launch_capture::BadSelection;

use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::paths::empty_folder;
use crate::program;
use crate::supervise;

/// Record the instructions of a program's warps, for `voltsim time`
///
/// Each launch becomes a file in the folder. The file kernelslist.g names the launches, and the
/// copies to the device, in the program's order. Kernels are executed as machine code, without a
/// timing model. The exit status is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given<taking::Record>,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the program to its end.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut options = args.given.options.clone();
    if let Some(only) = options.only.as_ref().filter(|only| only.value.ctas().is_some()) {
        return Err(Failure::new(format_args!("--only={}: {}", only.text(), BadSelection::Ctas)));
    }
    options.record = options.record.as_deref().map(empty_folder).transpose()?;
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    Ok(supervise::run(program)?.pass_on())
}
