//! `voltsim trace`: a run's timeline, for Perfetto.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use run_options::values::LogTarget;
use saved_run::outputs::STATUS;
use voltsim_checkpoint::atomic_file::{Durability, Unfinished};

use crate::failure::Failure;
use crate::given::{Given, taking};
use crate::model;
use crate::outputs;
use crate::paths::absolute;
use crate::program;
use crate::supervise;

/// Run a program and write its timeline: every CUDA call, kernel, copy and NVTX range
///
/// <https://ui.perfetto.dev> and Chrome's about:tracing open the file. The tracks of the program's
/// threads hold calls with arguments, results and values of output pointers. The tracks of streams
/// hold kernels, copies and fills. Threads have the host's time. With --mode detailed, streams have
/// simulated time. Both begin at 0. The exit status is the program's; a signal that ends the program
/// ends the command too.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    given: Given<taking::Trace>,

    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program and closes the file when it has ended.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let output = absolute(&args.output)?;
    outputs::check("--output", &output)?;
    if let Some(LogTarget::File(log)) = &args.given.options.log {
        let named = [("--output", output.clone()), ("--log", absolute(log)?)];
        outputs::distinct(&named.map(|(option, file)| (option.to_owned(), file)))?;
    }
    let unfinished = Unfinished::create(&output).map_err(|error| Failure::in_file(&output, error))?;
    unfinished.file().write_all(b"[\n").map_err(|error| Failure::in_file(&output, error))?;
    let mut options = args.given.options.clone();
    model::settle(&mut options)?;
    options.trace = Some(unfinished.here().to_owned());
    let program = program::prepare(&args.program, options, args.given.profile.as_deref())?;
    let ended = match program.all_options().check {
        Some(_) => supervise::run_checked(program),
        None => supervise::run(program),
    };
    let closed = close(unfinished.here()).and_then(|()| unfinished.finish(Durability::Synced));
    closed.map_err(|error| Failure::in_file(&output, error).with_status(STATUS))?;
    Ok(ended?.pass_on())
}

/// Makes a whole list of what has been written: entries that all end in a comma, the last perhaps
/// cut off.
fn close(path: &Path) -> std::io::Result<()> {
    /// No entry is longer.
    const TAIL: u64 = 1 << 20;
    let mut file = File::options().read(true).write(true).open(path)?;
    let length = file.metadata()?.len();
    let start = length.saturating_sub(TAIL);
    let mut tail = Vec::new();
    file.seek(SeekFrom::Start(start))?;
    file.read_to_end(&mut tail)?;
    let end = tail
        .windows(2)
        .rposition(|pair| pair == b",\n")
        .map_or(b"[\n".len() as u64, |end| start + end as u64);
    file.set_len(end)?;
    file.seek(SeekFrom::End(0))?;
    file.write_all(b"\n]\n")
}
