//! Options of commands that save a run, and the end of such a run: has it come to the point?

use std::fs;
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};
use std::time::SystemTime;

use saved_run::{Point, outputs};
use tempfile::NamedTempFile;

use crate::commands::empty_folder;
use crate::failure::Failure;
use crate::program::{self, absolute};
use crate::supervise;

/// Exit status of a run that succeeded but was not saved, or did not go on from its checkpoint.
pub(crate) const NOT_DONE: u8 = 87;

/// Whether the run is saved.
#[derive(clap::Args)]
#[group(id = "checkpoint")]
pub(crate) struct Options {
    /// Save the run at a point: kernel=N is before the launch of that number, kernel=N,cta=M,ctas=T,instructions=Y when the CTAs before M are over and T from there on have executed Y warp instructions each; of a launch that is timed kernel=N,cycle=C after C core cycles, and kernel=N,cta=M when M CTAs are over
    #[arg(long = "checkpoint", value_name = "POINT", requires = "output", group = "when")]
    point: Option<Point>,

    /// Save the run after each so many launches, to a folder that must not exist, or be empty; each file needs those before it
    #[arg(long = "checkpoint-every", value_name = "LAUNCHES", requires = "output", group = "when")]
    #[arg(value_parser = clap::value_parser!(u64).range(1..))]
    every: Option<u64>,

    /// File for the checkpoint, which is replaced when the new one is whole, or folder for the files of --checkpoint-every
    #[arg(short, long, value_name = "FILE|DIR", requires = "when")]
    output: Option<PathBuf>,

    /// End the program when the checkpoint is written
    #[arg(long, requires = "point")]
    stop: bool,
}

impl Options {
    /// Is a checkpoint wanted?
    pub(crate) fn is_wanted(&self) -> bool {
        self.output.is_some()
    }

    /// Runs the command, which saves its run if that is wanted and goes on from `resumed` if there is such a file. Its status
    /// is the program's, or 87 when the program succeeds and what is wanted was not done.
    pub(crate) fn run(&self, mut command: Command, resumed: Option<&Path>) -> Result<ExitCode, Failure> {
        self.set(&mut command)?;
        program::preload(&mut command, library_folder::THREADS)?;
        let outcome =
            NamedTempFile::new().map_err(|error| Failure::new(format_args!("no temporary file: {error}")))?;
        if let Some(file) = resumed {
            command.env("VOLTSIM_RESUME", absolute(file)?).env("VOLTSIM_RESUME_STATUS", outcome.path());
        }
        // A folder is another when there is a file in it.
        let before = self.output.as_deref().map(|file| (file, identity(file)));
        let ended = supervise::run(command)?;
        if ended.is_by_signal() || ended.status == outputs::STATUS {
            drop(outcome);
            return Ok(ended.pass_on());
        }
        let status = ended.status;
        let was_saved = before.is_none_or(|(file, before)| self.was_saved(file, before));
        let was_resumed = resumed.is_none_or(|file| was_resumed(file, outcome.path()));
        Ok(ExitCode::from(if status == 0 && !(was_saved && was_resumed) { NOT_DONE } else { status }))
    }

    /// Tells the program's libraries.
    fn set(&self, command: &mut Command) -> Result<(), Failure> {
        let Some(output) = &self.output else { return Ok(()) };
        if let Some(launches) = self.every {
            command.env("VOLTSIM_CHECKPOINT_EVERY", launches.to_string());
            command.env("VOLTSIM_CHECKPOINT_FILE", empty_folder(output)?);
        }
        if let Some(point) = self.point {
            command.env("VOLTSIM_CHECKPOINT", point.to_string());
            command.env("VOLTSIM_CHECKPOINT_FILE", absolute(output)?);
        }
        if self.stop {
            command.env("VOLTSIM_CHECKPOINT_STOP", "1");
        }
        Ok(())
    }

    /// Is the file, or what is in the folder, another than before? If not, tells so.
    fn was_saved(&self, file: &Path, before: Option<Identity>) -> bool {
        if identity(file) != before {
            return true;
        }
        let point = match (self.point, self.every) {
            (Some(point), _) => point.to_string(),
            (None, every) => format!("launch {}", every.unwrap_or(0) + 1),
        };
        eprintln!("voltsim: {} was not written: the program has not come to {point}", file.display());
        false
    }
}

/// Has the run gone on from the checkpoint, as its libraries say in a file? If it has ended before, tells so.
fn was_resumed(file: &Path, outcome: &Path) -> bool {
    let outcome = fs::read_to_string(outcome).unwrap_or_default();
    if outcome.is_empty() {
        eprintln!("voltsim: {}: the program has ended before the point of the checkpoint", file.display());
    }
    outcome == "resumed\n"
}

/// File's number, and when it was changed.
pub(crate) type Identity = (u64, SystemTime);

/// What tells a file from the one that replaces it.
pub(crate) fn identity(file: &Path) -> Option<Identity> {
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.modified().ok()?))
}
