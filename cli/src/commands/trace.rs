//! `voltsim trace`: a run's timeline, for Perfetto.

use std::ffi::OsString;
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use saved_run::outputs::STATUS;
use voltsim_checkpoint::atomic_file::{Durability, Unfinished};

use crate::failure::Failure;
use crate::libraries;
use crate::model;
use crate::outputs;
use crate::program;
use crate::supervise;

/// Run a program and write its timeline: every CUDA call, kernel, copy and NVTX range
///
/// The file is opened by <https://ui.perfetto.dev> and by Chrome's about:tracing. Calls stand on the tracks of the
/// program's threads, with their arguments, results and what output pointers were given; kernels, copies and fills on
/// those of their streams. With --mode detailed, the streams of each device have simulated time, and threads the host's:
/// both begin at 0. The exit status is the program's; a signal that ends the program ends the command too.
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(flatten)]
    options: program::Options,

    #[command(flatten)]
    model: model::Options,

    /// The file to write
    #[arg(short, long, value_name = "FILE", default_value = "trace.json")]
    output: PathBuf,

    /// The program and its arguments
    #[arg(required = true, trailing_var_arg = true, value_name = "PROGRAM")]
    program: Vec<OsString>,
}

/// Starts the program and closes the file when it has ended.
pub(crate) fn run(args: &Args) -> Result<ExitCode, Failure> {
    let output = program::absolute(&args.output)?;
    outputs::check("--output", &output)?;
    let unfinished = Unfinished::create(&output).map_err(|error| Failure::in_file(&output, error))?;
    unfinished.file().write_all(b"[\n").map_err(|error| Failure::in_file(&output, error))?;
    let mut command = program::command(&args.program, &args.options)?;
    args.model.set(&mut command)?;
    command.env("VOLTSIM_TRACE", unfinished.here());
    command.env("NVTX_INJECTION64_PATH", libraries::core()?);
    let ended = match args.options.checks() {
        true => supervise::run_checked(command),
        false => supervise::run(command),
    };
    let closed = close(unfinished.here()).and_then(|()| unfinished.finish(Durability::Synced));
    closed.map_err(|error| Failure::in_file(&output, error).with_status(STATUS))?;
    Ok(ended?.pass_on())
}

/// Makes a whole list of what has been written: entries that all end in a comma, the last perhaps cut off.
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
