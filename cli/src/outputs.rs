//! Files that an option names. Each appears whole or not at all, and a program's libraries report
//! the outcome of theirs.

use std::fmt::Display;
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use run_options::{Key, RunOptions};
use saved_run::outputs::{self, Outcome, STATUS};
use tempfile::TempDir;
use voltsim_checkpoint::atomic_file::folder_of;
use voltsim_checkpoint::output::{self, Output};

use crate::failure::Failure;
use crate::paths::absolute;

/// Checks that an option's output can be written, before hours of work. A file of that name stays.
pub(crate) fn check(option: &str, file: &Path) -> Result<(), Failure> {
    let refused = |what: &dyn Display| Failure::new(format_args!("{option} {}: {what}", file.display()));
    if file.as_os_str().is_empty() {
        return Err(
            Failure::new(format_args!("{option}: the name of the file is empty")).remedy("name a file")
        );
    }
    let folder = folder_of(file);
    output::check(file).map_err(|error| match error.kind() {
        _ if file.is_dir() => refused(&"this is a folder").remedy("name a file in it"),
        _ if !folder.exists() => {
            let what = format_args!("the folder {} is not there", folder.display());
            refused(&what).remedy(format!("make it: mkdir -p {}", folder.display()))
        }
        _ if !folder.is_dir() => {
            let what = format_args!("{} is a file, and no folder", folder.display());
            refused(&what).remedy("name a file in a folder")
        }
        _ => refused(&reason(&error)).remedy("name a file in a folder that can be written"),
    })
}

/// An error of the system without its number.
fn reason(error: &io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
}

/// The absolute path of an option's output, once it is known that it can be written.
pub(crate) fn settled(option: Key, file: &Path) -> Result<PathBuf, Failure> {
    check(&option.declaration().flag(), file)?;
    absolute(file)
}

/// Refuses one file for two outputs, each of which would replace the other. Devices such as `/dev/null`
/// may serve several.
pub(crate) fn distinct(outputs: &[(String, PathBuf)]) -> Result<(), Failure> {
    for (number, (option, file)) in outputs.iter().enumerate() {
        let is_device = file.exists() && !file.is_file();
        let other = outputs[..number].iter().find(|(_, other)| other == file && !is_device);
        if let Some((other, _)) = other {
            let message = format_args!("{option} {}: {other} names this file too", file.display());
            return Err(Failure::new(message).remedy("name another file"));
        }
    }
    Ok(())
}

/// Empties an output that grows line by line.
pub(crate) fn empty(file: &Path) -> Result<(), Failure> {
    write(file, "")
}

/// Writes an output at once.
pub(crate) fn write(file: &Path, contents: impl AsRef<[u8]>) -> Result<(), Failure> {
    write_with(file, |output| output.write_all(contents.as_ref()))
}

/// Writes an output; `fill` gives its bytes.
pub(crate) fn write_with(
    file: &Path,
    fill: impl FnOnce(&mut Output) -> io::Result<()>,
) -> Result<(), Failure> {
    let written = Output::create(file).and_then(|mut output| {
        fill(&mut output)?;
        output.finish()
    });
    written.map_err(|error| unwritable(file, &error).with_status(STATUS))
}

/// The failure of an output.
pub(crate) fn unwritable(file: &Path, error: &io::Error) -> Failure {
    let failure = Failure::in_file(file, format_args!("the file cannot be written: {}", reason(error)));
    match error.kind() {
        io::ErrorKind::StorageFull | io::ErrorKind::QuotaExceeded | io::ErrorKind::FileTooLarge => failure
            .remedy(
                "free room on the disk, or name a file on another disk; a file of that name is unchanged",
            ),
        io::ErrorKind::NotFound | io::ErrorKind::NotADirectory => {
            failure.remedy("make the folder first, or check the path")
        }
        io::ErrorKind::IsADirectory => failure.remedy("name a file, not a folder"),
        io::ErrorKind::PermissionDenied | io::ErrorKind::ReadOnlyFilesystem => {
            failure.remedy("check the permissions of the folder, or name a file in another one")
        }
        _ => failure,
    }
}

/// Reports of a program's libraries about its outputs, in a folder.
pub(crate) struct Told {
    folder: TempDir,
    /// Outputs that are written when a process ends.
    at_exit: Vec<PathBuf>,
    /// An output, and the file that the user has named in its place.
    renamed: Option<(PathBuf, PathBuf)>,
}

impl Told {
    /// Names the folder in the options of a run.
    pub(crate) fn by(options: &mut RunOptions, renamed: Option<(PathBuf, PathBuf)>) -> Result<Told, Failure> {
        let folder = tempfile::tempdir()
            .map_err(|error| Failure::new(format_args!("no temporary folder: {error}")))?;
        options.output_status = Some(folder.path().to_owned());
        let RunOptions { checksums, coverage, image, statistics, report, summary, .. } = &*options;
        let at_exit =
            [checksums, coverage, image, statistics, report, summary].into_iter().flatten().cloned();
        Ok(Told { folder, at_exit: at_exit.collect(), renamed })
    }

    /// The exit status of a program that ends with a status.
    pub(crate) fn status(&self, status: u8) -> u8 {
        let is_missing = status == 0 && self.is_missing();
        if is_missing {
            eprintln!(
                "voltsim: exit status {STATUS} instead of 0: an output could not be written, as is said above"
            );
        }
        if is_missing { STATUS } else { status }
    }

    /// True if an output is missing. Outputs that no process has tried to write are named.
    fn is_missing(&self) -> bool {
        let folder = self.folder.path();
        let mut is_missing = outputs::has_any(folder, Outcome::Failed);
        let is_known = |file: &PathBuf| {
            [Outcome::Written, Outcome::Failed].into_iter().any(|outcome| outputs::has(folder, outcome, file))
        };
        for file in self.at_exit.iter().filter(|file| !is_known(file)) {
            is_missing = true;
            let named = self.renamed.as_ref().filter(|(output, _)| output == file);
            let file = named.map_or(file, |(_, named)| named);
            eprintln!(
                "voltsim: {} was not written: the program has launched no kernel, or has ended without its exit handlers",
                file.display()
            );
        }
        is_missing
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use super::*;

    #[test]
    fn a_file_that_is_there_keeps_its_contents() {
        let folder = tempfile::tempdir().expect("a folder");
        let file = folder.path().join("log");
        fs::write(&file, "kept").expect("written");
        check("--log", &file).expect("can be written");
        assert_eq!(fs::read_to_string(&file).expect("readable"), "kept");
        assert!(check("--log", &folder.path().join("new")).is_ok());
        assert!(!folder.path().join("new").exists(), "a check makes no file");
    }

    #[test]
    fn what_cannot_be_written_is_named_with_the_option() {
        let folder = tempfile::tempdir().expect("a folder");
        let said = |name: &str| check("--log", &folder.path().join(name)).expect_err("refused").to_string();
        assert!(said("").contains("this is a folder"), "{}", said(""));
        let missing = said("none/log");
        assert!(missing.starts_with("--log ") && missing.contains("none is not there"), "{missing}");
    }
}
