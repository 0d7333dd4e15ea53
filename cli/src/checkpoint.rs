//! Options of commands that save a run, and the end of such a run: has it come to the point?

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use nix::sys::personality::{self, Persona};
use saved_run::Point;
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::program::absolute;
use crate::supervise;

/// Exit status of a run that succeeded but was not saved, or did not go on from its checkpoint.
pub(crate) const NOT_DONE: u8 = 87;

/// Whether the run is saved.
#[derive(clap::Args)]
#[group(id = "checkpoint")]
pub(crate) struct Options {
    /// Save the run at a point: kernel=N is before the launch of that number
    #[arg(long = "checkpoint", value_name = "POINT", requires = "output")]
    point: Option<Point>,

    /// File for the checkpoint; it is replaced when the new one is whole
    #[arg(short, long, value_name = "FILE", requires = "point")]
    output: Option<PathBuf>,

    /// End the program when the checkpoint is written
    #[arg(long, requires = "point")]
    stop: bool,
}

impl Options {
    /// Is a checkpoint wanted?
    pub(crate) fn is_wanted(&self) -> bool {
        self.point.is_some()
    }

    /// Runs the command, which saves its run if that is wanted and goes on from `resumed` if there is such a file. Its status
    /// is the program's, or 87 when the program succeeds and what is wanted was not done.
    pub(crate) fn run(&self, mut command: Command, resumed: Option<&Path>) -> Result<ExitCode, Failure> {
        keep_addresses();
        let before = self.output.as_deref().map(|file| (file, identity(file)));
        if let (Some(point), Some(file)) = (self.point, &self.output) {
            command
                .env("VOLTSIM_CHECKPOINT", point.to_string())
                .env("VOLTSIM_CHECKPOINT_FILE", absolute(file)?);
        }
        if self.stop {
            command.env("VOLTSIM_CHECKPOINT_STOP", "1");
        }
        let outcome =
            NamedTempFile::new().map_err(|error| Failure::new(format_args!("no temporary file: {error}")))?;
        if let Some(file) = resumed {
            command.env("VOLTSIM_RESUME", absolute(file)?).env("VOLTSIM_RESUME_STATUS", outcome.path());
        }
        let status = supervise::run(command)?;
        let mut done = true;
        if let Some((file, before)) = before
            && identity(file) == before
        {
            let point = self.point.map(|point| point.to_string()).unwrap_or_default();
            eprintln!("voltsim: {} was not written: the program has not come to {point}", file.display());
            done = false;
        }
        let resumption = fs::read_to_string(outcome.path()).unwrap_or_default();
        if let Some(file) = resumed
            && resumption != "resumed\n"
        {
            if resumption.is_empty() {
                eprintln!(
                    "voltsim: {}: the program has ended before the point of the checkpoint",
                    file.display()
                );
            }
            done = false;
        }
        Ok(ExitCode::from(if status == 0 && !done { NOT_DONE } else { status }))
    }
}

/// What tells a file from the one that replaces it.
fn identity(file: &Path) -> Option<(u64, std::time::SystemTime)> {
    use std::os::unix::fs::MetadataExt;
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.modified().ok()?))
}

/// The program's own memory lies at the same addresses in each run, where the system allows that; they may be among a
/// kernel's arguments.
fn keep_addresses() {
    if let Ok(persona) = personality::get() {
        let _ = personality::set(persona | Persona::ADDR_NO_RANDOMIZE);
    }
}
