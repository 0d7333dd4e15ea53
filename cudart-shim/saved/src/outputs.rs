//! The folder by which a program's libraries tell `voltsim run` of the files that they write: an empty file for each.
//!
//! Empty files can be made where a disk is full and where no file may grow.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Exit status of a run that succeeded although an output could not be written.
pub const STATUS: u8 = 89;

/// The environment variable with the folder's name.
pub const VARIABLE: &str = "VOLTSIM_OUTPUT_STATUS";

/// Variables with names of outputs that libraries write when a process ends.
pub const AT_EXIT: [&str; 5] =
    ["VOLTSIM_CHECKSUMS", "VOLTSIM_COVERAGE", "VOLTSIM_IMAGE", "VOLTSIM_STATISTICS", "VOLTSIM_SUMMARY"];

/// Outcome of an output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// The output is whole.
    Written,
    /// The output could not be written, or not all of it.
    Failed,
}

impl Outcome {
    fn word(self) -> &'static str {
        match self {
            Outcome::Written => "written",
            Outcome::Failed => "failed",
        }
    }

    fn mark(self, output: &Path) -> String {
        let name = blake3::hash(output.as_os_str().as_bytes()).to_hex();
        format!("{}-{name}", self.word())
    }
}

/// Tells what has become of an output.
///
/// # Errors
/// The folder is gone.
pub fn tell(folder: &Path, outcome: Outcome, output: &Path) -> io::Result<()> {
    File::create(folder.join(outcome.mark(output))).map(drop)
}

/// Has an output come to this in some process?
pub fn has(folder: &Path, outcome: Outcome, output: &Path) -> bool {
    folder.join(outcome.mark(output)).exists()
}

/// Has some output come to this?
pub fn has_any(folder: &Path, outcome: Outcome) -> bool {
    let mut marks = fs::read_dir(folder).into_iter().flatten().flatten();
    marks.any(|mark| mark.file_name().as_encoded_bytes().starts_with(outcome.word().as_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn an_output_is_known_by_its_path_and_outcome() {
        let folder = tempfile::tempdir().unwrap();
        let [whole, half] = ["/a b/whole.json", "half"].map(Path::new);
        tell(folder.path(), Outcome::Written, whole).unwrap();
        assert!(!has_any(folder.path(), Outcome::Failed));
        tell(folder.path(), Outcome::Failed, half).unwrap();
        tell(folder.path(), Outcome::Failed, half).unwrap();
        assert!(has_any(folder.path(), Outcome::Failed));
        assert!(has(folder.path(), Outcome::Written, whole) && has(folder.path(), Outcome::Failed, half));
        assert!(!has(folder.path(), Outcome::Written, half) && !has(folder.path(), Outcome::Failed, whole));
    }
}
