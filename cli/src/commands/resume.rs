//! `voltsim resume`: starts a program that goes on from a checkpoint.

use std::ffi::OsString;
use std::path::PathBuf;
use std::process::ExitCode;

use run_options::Key;
use saved_run::SavedRun;

use super::checkpoint::unreadable;
use super::replay::Replay;
use crate::checkpoint;
use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::model;
use crate::program::{self, Prepared};
use crate::supervise;

/// Resume a program from a checkpoint, or run the launches of a kernel stream
///
/// The program starts from its beginning, with the arguments and files of the saved run. Kernels
/// before the point are not executed: the checkpoint provides their results for the host. A program
/// that makes other calls than before is stopped, and the error names the first difference. The
/// exit status is the program's, or 87 when the program succeeds without reaching the point.
///
/// A kernel stream (`voltsim run --image`) needs no program. The launches run one after the other,
/// each with the memory that it had, under their old numbers. A refused launch gives status 88, and
/// ends the run only with --strict.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// File of `voltsim run --checkpoint` or `voltsim run --image`
    #[arg(value_name = "CHECKPOINT")]
    file: PathBuf,

    #[command(flatten)]
    given: Given<taking::Resume>,

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
    SavedRun::open(&args.file)
        .and_then(|saved| saved.about())
        .map_err(|error| unreadable(&args.file, &error))?;
    if args.program.is_empty() {
        return Err(Failure::in_file(&args.file, "a checkpoint needs the program that was saved")
            .remedy("add -- PROGRAM; only kernel streams (voltsim run --image) go without"));
    }
    let mut options = args.given.options.clone();
    if options.check.is_some() {
        return Err(Failure::new(
            "--check needs the whole run: what was written before the point is not known",
        )
        .remedy("Leave --check out, or use voltsim run"));
    }
    model::settle(&mut options)?;
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    checkpoint::run(program, Some(&args.file))
}

/// The process that runs launches of a kernel stream.
fn stream(args: &Args) -> Result<Prepared, Failure> {
    let refused = |what: &str| Failure::in_file(&args.file, format_args!("this is a kernel stream: {what}"));
    if !args.program.is_empty() {
        return Err(refused("it runs without a program").remedy("leave the program out"));
    }
    let for_checkpoints =
        [Key::resume_cold, Key::resume_any_arguments, Key::resume_any_program, Key::checkpoint_file];
    if for_checkpoints.into_iter().any(|key| args.given.options.text(key).is_some()) {
        let options = "--cold, --any-arguments, --any-program and --checkpoint are for checkpoints";
        return Err(refused(options).remedy("leave them out"));
    }
    let mut replay = Replay::new(&args.file)?;
    if let Some(launches) = &args.launches {
        replay.launches.clone_from(launches);
    }
    let mut options = args.given.options.clone();
    model::settle(&mut options)?;
    replay.prepare(options, args.given.profile.as_deref())
}
