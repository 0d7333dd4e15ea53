//! Runs that are saved or resumed, and their end: has the run come to its point?

use std::fs;
use std::num::NonZero;
use std::os::unix::fs::MetadataExt;
use std::path::Path;
use std::process::ExitCode;
use std::time::SystemTime;

use run_options::RunOptions;
use saved_run::{Point, outputs};
use tempfile::NamedTempFile;

use crate::failure::Failure;
use crate::paths::{absolute, empty_folder};
use crate::program::{self, Prepared};
use crate::supervise;

/// Exit status of a run that succeeded but was not saved, or did not go on from its checkpoint.
pub(crate) const NOT_DONE: u8 = 87;

/// Runs a program that saves its run, if that is wanted, and goes on from `resumed`, if there is
/// such a file. The status is the program's, or 87 when the program succeeds and the run was not
/// saved or resumed.
pub(crate) fn run(mut program: Prepared, resumed: Option<&Path>) -> Result<ExitCode, Failure> {
    settle(&mut program.options)?;
    program::preload(&mut program.command, library_folder::THREADS)?;
    let outcome =
        NamedTempFile::new().map_err(|error| Failure::new(format_args!("no temporary file: {error}")))?;
    if let Some(file) = resumed {
        program.options.resume = Some(absolute(file)?);
        program.options.resume_status = Some(outcome.path().to_owned());
    }
    let RunOptions { checkpoint: point, checkpoint_every: every, checkpoint_file, .. } =
        program.options.clone();
    // A folder is another when there is a file in it.
    let before = checkpoint_file.map(|file| (identity(&file), file));
    let ended = supervise::run(program)?;
    if ended.is_by_signal() || ended.status == outputs::STATUS {
        drop(outcome);
        return Ok(ended.pass_on());
    }
    let status = ended.status;
    let was_saved = match before {
        Some((before, file)) if identity(&file) == before => {
            tell_unsaved(&file, point, every);
            false
        }
        _ => true,
    };
    let was_resumed = resumed.is_none_or(|file| was_resumed(file, outcome.path()));
    Ok(ExitCode::from(if status == 0 && !(was_saved && was_resumed) { NOT_DONE } else { status }))
}

/// Makes the path of the checkpoint absolute, and its folder if there are to be several.
fn settle(options: &mut RunOptions) -> Result<(), Failure> {
    let Some(output) = &options.checkpoint_file else { return Ok(()) };
    let output = match options.checkpoint_every {
        Some(_) => empty_folder(output)?,
        None => absolute(output)?,
    };
    options.checkpoint_file = Some(output);
    Ok(())
}

/// Tells that the program has not come to the point.
fn tell_unsaved(file: &Path, point: Option<Point>, every: Option<NonZero<u64>>) {
    let point = match (point, every) {
        (Some(point), _) => point.to_string(),
        (None, every) => format!("launch {}", every.map_or(0, NonZero::get) + 1),
    };
    // The user knows the file by the path that was given, whose beginning may be this folder.
    let here = std::env::current_dir().unwrap_or_default();
    let file = file.strip_prefix(here).unwrap_or(file);
    eprintln!("voltsim: {} was not written: the program has not come to {point}", file.display());
}

/// Has the run gone on from the checkpoint, as its libraries say in a file? If it has ended before,
/// tells so.
fn was_resumed(file: &Path, outcome: &Path) -> bool {
    let outcome = fs::read_to_string(outcome).unwrap_or_default();
    if outcome.is_empty() {
        eprintln!("voltsim: {}: the program has ended before the point of the checkpoint", file.display());
    }
    outcome == "resumed\n"
}

/// File's number, and when it was changed.
pub(crate) type Identity = (u64, SystemTime);

/// Inode and time of change, which tell a file from the one that replaces it.
pub(crate) fn identity(file: &Path) -> Option<Identity> {
    let data = fs::metadata(file).ok()?;
    Some((data.ino(), data.modified().ok()?))
}
