//! `voltsim record`: starts a program and records what the warps of its kernels execute.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use super::capture::{check_selection, empty_folder};
use crate::failure::Failure;
use crate::model::follow_ranges;
use crate::program;
use crate::supervise;

/// What recordings look like.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
enum Format {
    /// Compact, with all that the timing model can use
    Recording,
    /// The text traces of Accel-Sim, as of SASS for Volta
    Accelsim,
}

/// Record what the warps of a program's kernels execute, for `voltsim time`
///
/// Each launch becomes a file in the folder; kernelslist.g names them, and the copies to the device, in the program's order.
/// Kernels are executed as machine code, without a timing model. The program is a child of this process, whose exit status is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the recordings; must not exist, or be empty
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// What the recordings look like
    #[arg(long, value_enum, default_value = "recording")]
    format: Format,

    /// Which launches: kernel=GLOB, launch=A..B, nvtx=GLOB, operator=GLOB, profiler=on, with commas between; all by default
    #[arg(long, value_name = "SELECTION")]
    only: Option<String>,

    #[command(flatten)]
    options: program::Options,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Runs the program to its end.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let mut command = program::command(&args.program, &args.options)?;
    if let Some(only) = &args.only {
        follow_ranges(&mut command, &check_selection("--only", only)?)?;
        command.env("VOLTSIM_ONLY", only);
    }
    if args.format == Format::Accelsim {
        command.env("VOLTSIM_RECORD_FORMAT", "accelsim");
    }
    command.env("VOLTSIM_RECORD", empty_folder(&args.output)?);
    Ok(supervise::run(command)?.pass_on())
}
