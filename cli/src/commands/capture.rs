//! `voltsim capture`: starts a program and saves its kernel launches.

use std::ffi::OsString;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use launch_capture::Selection;
use voltsim_checkpoint::atomic_file;

use crate::failure::Failure;
use crate::model::follow_ranges;
use crate::program;
use crate::supervise;

/// Save kernel launches of a program, each in a folder that runs again on its own
///
/// A folder holds the kernel's PTX, its parameters, and every buffer that a pointer may reach. `voltsim replay` runs it,
/// `voltsim compare` runs it in two ways, and it can go into a bug report. The program is a child of this
/// process, whose exit status is the program's.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Folder for the launches' folders; must not exist, or be empty
    #[arg(short, long, value_name = "DIR")]
    output: PathBuf,

    /// Which launches: kernel=GLOB, launch=A..B, nvtx=GLOB, operator=GLOB, profiler=on, with commas between; all by default
    #[arg(long, value_name = "SELECTION")]
    only: Option<String>,

    /// Save the buffers after each launch too, so that a replay can be compared with them
    #[arg(long)]
    results: bool,

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
        command.env("VOLTSIM_CAPTURE_ONLY", only);
    }
    command.env("VOLTSIM_CAPTURE", empty_folder(&args.output)?);
    if args.results {
        command.env("VOLTSIM_CAPTURE_RESULTS", "1");
    }
    Ok(supervise::run(command)?.pass_on())
}

/// The selection of an option. Fails unless it is one of whole launches.
pub(crate) fn check_selection(option: &str, only: &str) -> Result<Selection, Failure> {
    let selection = only.parse::<Selection>().and_then(Selection::of_whole_launches);
    selection.map_err(|error| Failure::new(format_args!("{option}: {error}")))
}

/// Makes the folder, unless it is there and empty but for what killed runs have left unfinished; gives its absolute path.
pub(crate) fn empty_folder(folder: &Path) -> Result<PathBuf, Failure> {
    let failed = |error| Failure::in_file(folder, error);
    fs::create_dir_all(folder).map_err(failed)?;
    atomic_file::clear(folder);
    if fs::read_dir(folder).map_err(failed)?.next().is_some() {
        return Err(Failure::in_file(folder, "the folder is not empty")
            .remedy("Name a new folder, or remove what is in this one"));
    }
    program::absolute(folder)
}
