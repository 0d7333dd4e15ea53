//! Jobs as an array of Slurm's, which decides where and when each runs.

use std::env;
use std::fmt::Write as _;
use std::io;
use std::path::Path;
use std::process::{Command, Stdio};

use super::{Args, Phase};
use crate::failure::Failure;
use crate::model;
use crate::paths::absolute;

/// Submits jobs, by their numbers, and waits for the end of all of them.
pub(super) fn run(
    args: &Args,
    phase: &Phase,
    folder: &Path,
    numbers: impl Iterator<Item = usize>,
) -> Result<(), Failure> {
    let own = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
    let mut array = ranges(numbers);
    if let Some(jobs) = args.jobs {
        let _ = write!(array, "%{jobs}");
    }
    let plan = absolute(&args.plan)?;
    let mut task = format!("{} sweep {} -o {}", quoted(&own), quoted(&plan), quoted(folder));
    let vary = format!("--vary={}", args.vary);
    for option in model::words(&args.given.options).chain([vary]).chain(phase.words()) {
        let _ = write!(task, " {}", quoted(Path::new(&option)));
    }
    let _ = write!(task, " --job \"$SLURM_ARRAY_TASK_ID\"");
    let mut command = Command::new("sbatch");
    command
        .arg(format!("--array={array}"))
        .args(["--wait", "--job-name=voltsim"])
        .arg(format!("--output={}", folder.join("slurm-%A_%a.log").display()))
        .args(&args.slurm_option)
        .arg(format!("--wrap={task}"))
        .stdout(Stdio::null());
    let status = command.status().map_err(|error| match error.kind() {
        io::ErrorKind::NotFound => Failure::new("there is no sbatch on this machine")
            .remedy("run this where Slurm is, or leave --slurm out"),
        _ => Failure::new(format_args!("sbatch: {error}")),
    })?;
    if !status.success() {
        // sbatch ends with the status of the array's worst task. Results show which tasks failed.
        eprintln!("voltsim: sbatch has ended with {status}");
    }
    Ok(())
}

/// Ascending numbers as Slurm has them: `0-3,7`.
fn ranges(numbers: impl Iterator<Item = usize>) -> String {
    let numbers: Vec<usize> = numbers.collect();
    let runs = numbers.chunk_by(|one, next| one + 1 == *next).filter_map(|run| {
        let (first, last) = (run.first()?, run.last()?);
        Some(if first == last { first.to_string() } else { format!("{first}-{last}") })
    });
    runs.collect::<Vec<_>>().join(",")
}

/// A path as a word of a shell.
fn quoted(path: &Path) -> String {
    format!("'{}'", path.to_string_lossy().replace('\'', r"'\''"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_that_follow_each_other_are_a_range() {
        assert_eq!(ranges([0, 1, 2, 5, 7, 8].into_iter()), "0-2,5,7-8");
    }

    #[test]
    fn a_path_with_quotes_and_blanks_is_one_word() {
        assert_eq!(quoted(Path::new("/a b/it's")), r"'/a b/it'\''s'");
    }
}
