//! `voltsim checkpoint`: looks at checkpoints, kernel streams and checksums without running anything.

mod checksums;
mod convert;
mod streams;

use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use launch_capture::is_stream;
use saved_run::checksums::is_checksums;
use saved_run::{SavedError, SavedRun, Unreadable};

use crate::failure::Failure;

/// Exit status of a comparison that has found differences.
const DIFFERENT: u8 = 1;

/// Look at checkpoints, kernel streams and checksums of memory
#[derive(clap::Args)]
pub(crate) struct Args {
    #[command(subcommand)]
    task: Task,
}

#[derive(clap::Subcommand)]
enum Task {
    /// Say what a checkpoint, kernel stream or file of checksums is of, and what it holds
    Info {
        /// What `voltsim run --checkpoint`, `--image` or `--checksums` has written
        file: PathBuf,
    },
    /// Check every byte of checkpoints, kernel streams and files of checksums
    Verify {
        /// What `voltsim run --checkpoint`, `--image` or `--checksums` has written
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Make a checkpoint of another build, or of an older version, one that this build resumes
    ///
    /// Every byte is checked. Sections of older versions are brought forward, others carried over; the old file stays. The program,
    /// libraries, device and GPU have to be those that it was made with, as before. Refused by name: sections of newer versions and of
    /// too old ones, launches that have begun in another build, and states of another version of the timing model, unless
    /// --cold leaves them out. A file of a series gets all its pages; of the folder of a series all files are converted, to a new folder.
    /// A checkpoint that is of this build already is copied.
    Convert {
        /// What `voltsim run --checkpoint` has written, or the folder of `voltsim run --checkpoint-every`
        #[arg(value_name = "OLD")]
        file: PathBuf,
        /// The new file, which is replaced when it is whole, or the new folder, which must not exist, or be empty
        #[arg(short, long, value_name = "NEW")]
        output: PathBuf,
        /// Leave out the state of the timing model, which is caches and statistics so far, if it is of another version
        #[arg(long)]
        cold: bool,
    },
    /// Compare two checkpoints (circumstances, steps, allocations, memory), or find the first launch at which two kernel streams differ, or the memory before it, or the first launch after which the checksums of two runs do. The exit status is 1 when they differ
    Diff {
        /// One
        first: PathBuf,
        /// The other
        second: PathBuf,
    },
}

/// Runs the task.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    match &args.task {
        Task::Info { file } if is_stream(file) => streams::info(file, out)?,
        Task::Info { file } if is_checksums(file) => checksums::info(file, out)?,
        Task::Info { file } => info(file, out)?,
        Task::Verify { files } => {
            for file in files {
                if is_stream(file) {
                    streams::verify(file)?;
                } else if is_checksums(file) {
                    checksums::verify(file)?;
                } else {
                    let verified = SavedRun::open(file).and_then(|saved| saved.verify());
                    verified.map_err(|error| unreadable(file, &error))?;
                }
                writeln!(out, "{}: whole", file.display())?;
            }
        }
        Task::Convert { file, output, cold } => convert::run(file, output, *cold, out)?,
        Task::Diff { first, second } if is_stream(first) && is_stream(second) => {
            if let Some(difference) = streams::first_difference(first, second)? {
                writeln!(out, "{difference}")?;
                return Ok(ExitCode::from(DIFFERENT));
            }
        }
        Task::Diff { first, second } if is_checksums(first) || is_checksums(second) => {
            if checksums::diff(first, second, out)? {
                return Ok(ExitCode::from(DIFFERENT));
            }
        }
        Task::Diff { first, second } => return diff(first, second, out),
    }
    Ok(ExitCode::SUCCESS)
}

/// A checkpoint that cannot be read.
pub(super) fn unreadable(file: &Path, error: &SavedError) -> Failure {
    let failure = match error {
        SavedError::File(_) | SavedError::Write { .. } => Failure::new(error),
        _ => Failure::in_file(file, error),
    };
    failure.remedy(error.remedy())
}

fn info(file: &Path, out: &mut dyn Write) -> Result<(), Failure> {
    let failed = |error: SavedError| unreadable(file, &error);
    let saved = SavedRun::open(file).map_err(failed)?;
    write!(out, "{}", saved.about().map_err(failed)?)?;
    let steps = saved.steps().map_err(failed)?.try_fold(0_u64, |count, step| step.map(|_| count + 1));
    writeln!(out, "steps       {} before the point", steps.map_err(failed)?)?;
    let threads = saved.turns().map_err(failed)?.threads();
    if threads > 1 {
        writeln!(
            out,
            "threads     {threads}, which make their calls in the same order when the run is resumed"
        )?;
    }
    for device in saved.devices().map_err(failed)? {
        let allocations = &device.memory.allocations;
        let bytes: u64 = allocations.iter().map(|allocation| allocation.size).sum();
        writeln!(out, "device {}    {} allocations, {bytes} bytes", device.number, allocations.len())?;
    }
    for base in saved.bases().map_err(failed)? {
        writeln!(out, "needs       {base}, in the same folder")?;
    }
    for (name, length) in saved.sections().map_err(failed)? {
        writeln!(out, "section     {name}, {length} bytes")?;
    }
    Ok(())
}

fn diff(first: &Path, second: &Path, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let open = |file: &Path| SavedRun::open(file).map_err(|error| unreadable(file, &error));
    let differences = saved_run::differences(&open(first)?, &open(second)?)
        .map_err(|Unreadable { run, error }| unreadable(if run == 0 { first } else { second }, &error))?;
    for difference in &differences {
        writeln!(out, "{difference}")?;
    }
    Ok(if differences.is_empty() { ExitCode::SUCCESS } else { ExitCode::from(DIFFERENT) })
}
