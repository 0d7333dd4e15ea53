//! `voltsim checkpoint`: looks at checkpoints, kernel streams and checksums without running
//! anything.

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
    /// Describe the contents and origin of a checkpoint, kernel stream or file of checksums
    Info {
        /// File written by `voltsim run --checkpoint`, `--image` or `--checksums`
        file: PathBuf,
    },
    /// Check every byte of checkpoints, kernel streams and files of checksums
    Verify {
        /// File written by `voltsim run --checkpoint`, `--image` or `--checksums`
        #[arg(required = true)]
        files: Vec<PathBuf>,
    },
    /// Convert a checkpoint of another build or an older version for this build
    ///
    /// Every byte is checked. Sections of older versions are converted, and the others are copied.
    /// The old file stays. Program, libraries, device and GPU must be those of the saved run.
    ///
    /// The command refuses sections of newer or unsupported versions, and launches that have begun
    /// in another build. The command also refuses states of another version of the timing model,
    /// unless --cold leaves them out.
    ///
    /// The new file of a series holds all its pages. A folder of a series is converted to a new
    /// folder. A checkpoint of this build is copied.
    Convert {
        /// File of `voltsim run --checkpoint`, or folder of `voltsim run --checkpoint-every`
        #[arg(value_name = "OLD")]
        file: PathBuf,
        /// New file, which replaces a file of that name when it is whole, or new or empty folder
        #[arg(short, long, value_name = "NEW")]
        output: PathBuf,
        /// Leave out a state of the timing model (caches, statistics) that has another version
        #[arg(long)]
        cold: bool,
    },
    /// Find the first difference of two checkpoints, kernel streams or files of checksums
    ///
    /// Checkpoints are compared by circumstances, steps, allocations and memory. Of kernel streams,
    /// the command finds the first launch that differs, or the memory before it. Of checksums, the
    /// command finds the first launch after which they differ. The exit status is 1 when they
    /// differ.
    Diff {
        /// First file
        first: PathBuf,
        /// Second file
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
