//! Reports of a program's libraries to `voltsim run` on the files that they write: a folder with an
//! empty file each.
//!
//! Empty files can be created on a full disk and under a file-size limit.

use std::fs::{self, File};
use std::io;
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

/// Exit status of a run that succeeded although an output could not be written.
pub const STATUS: u8 = 89;

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

/// Reports the outcome of an output.
///
/// # Errors
/// The folder is gone.
pub fn tell(folder: &Path, outcome: Outcome, output: &Path) -> io::Result<()> {
    File::create(folder.join(outcome.mark(output))).map(drop)
}

/// True if a process reported this outcome of the output.
pub fn has(folder: &Path, outcome: Outcome, output: &Path) -> bool {
    folder.join(outcome.mark(output)).exists()
}

/// True if any output had this outcome.
pub fn has_any(folder: &Path, outcome: Outcome) -> bool {
    let mut marks = fs::read_dir(folder).into_iter().flatten().flatten();
    marks.any(|mark| mark.file_name().as_encoded_bytes().starts_with(outcome.word().as_bytes()))
}

#[cfg(test)]
mod tests {
    #![allow(clippy::unwrap_used)]

    use super::*;

    #[test]
    fn output_is_keyed_by_path_and_outcome() {
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
