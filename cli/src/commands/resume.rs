//! `voltsim resume`: starts a program that goes on from a checkpoint.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::{Command, ExitCode};

use saved_run::SavedRun;

use super::checkpoint::unreadable;
use super::replay::Replay;
use crate::checkpoint;
use crate::checksums;
use crate::failure::Failure;
use crate::model;
use crate::program;
use crate::supervise;

/// Go on from a checkpoint, or run the launches of a kernel stream
///
/// The program runs from its beginning, with the same arguments and files as when it was saved; its kernels before the
/// point are not executed, and what they have brought to the host comes from the checkpoint. A program that does something
/// else than it did is stopped with an error that names the first difference. The exit status is the program's, or 87 when
/// the program succeeds but did not go on from the checkpoint.
///
/// A kernel stream (voltsim run --image) needs no program: its launches are run one after the other, each with the memory that
/// it had. Launches keep their numbers. The exit status is 88 when a launch was refused; the others run all the same, but for
/// --strict.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// What `voltsim run --checkpoint` or `voltsim run --image` has written
    #[arg(value_name = "CHECKPOINT")]
    file: PathBuf,

    #[command(flatten)]
    options: program::Options,

    #[command(flatten)]
    model: model::Options,

    /// Begin with the timing model's caches empty, where the checkpoint has what was in them
    #[arg(long)]
    cold: bool,

    /// Let launches before the point have other arguments than when the program was saved, and tell the first: for programs that are saved inside of a launch and leave parts of its arguments uninitialised, as PyTorch's optimizers do
    #[arg(long)]
    any_arguments: bool,

    /// Go on though the program's file, or that of a library with code for devices, is another than when the program was saved, and tell which: it has to make the same calls up to the point
    #[arg(long)]
    any_program: bool,

    #[command(flatten)]
    checkpoint: checkpoint::Options,

    #[command(flatten)]
    checksums: checksums::Options,

    /// Run only these launches of a kernel stream: kernel=GLOB,launch=A..B
    #[arg(long, value_name = "SELECTION", conflicts_with = "program")]
    launches: Option<String>,

    /// The program and its arguments; none for a kernel stream
    #[arg(last = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    if launch_capture::is_stream(&args.file) {
        return Ok(supervise::run(stream(args)?)?.pass_on());
    }
    if args.program.is_empty() {
        return Err(Failure::in_file(&args.file, "a checkpoint needs the program that was saved")
            .remedy("add -- PROGRAM; only kernel streams (voltsim run --image) go without"));
    }
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
    args.checksums.set(&mut command)?;
    if args.cold {
        command.env("VOLTSIM_RESUME_COLD", "1");
    }
    if args.any_arguments {
        command.env("VOLTSIM_RESUME_ANY_ARGUMENTS", "1");
    }
    if args.any_program {
        command.env("VOLTSIM_RESUME_ANY_PROGRAM", "1");
    }
    args.checkpoint.run(command, Some(&args.file))
}

/// The command that runs launches of a kernel stream.
fn stream(args: &Args) -> Result<Command, Failure> {
    let refused = |what: &str| Failure::in_file(&args.file, format_args!("this is a kernel stream: {what}"));
    if !args.program.is_empty() {
        return Err(refused("it runs without a program").remedy("leave the program out"));
    }
    if args.cold || args.any_arguments || args.any_program || args.checkpoint.is_wanted() {
        let options = "--cold, --any-arguments, --any-program and --checkpoint are for checkpoints";
        return Err(refused(options).remedy("leave them out"));
    }
    let mut replay = Replay::new(&args.file)?;
    if let Some(launches) = &args.launches {
        replay.launches.clone_from(launches);
    }
    let mut command = replay.command(&args.options)?;
    args.model.set(&mut command)?;
    args.checksums.set(&mut command)?;
    Ok(command)
}
