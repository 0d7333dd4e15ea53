//! Files that a run is going to write: the ones that cannot be written are refused before the program starts.

use std::fs::File;
use std::path::{Path, PathBuf};

use crate::failure::Failure;

/// The absolute path of a file that can be written. A file that is there keeps its contents.
pub(crate) fn check(option: &str, file: &Path) -> Result<PathBuf, Failure> {
    let refused =
        |what: &dyn std::fmt::Display| Failure::new(format_args!("{option} {}: {what}", file.display()));
    if file.as_os_str().is_empty() {
        return Err(
            Failure::new(format_args!("{option}: the name of the file is empty")).remedy("name a file")
        );
    }
    if file.is_dir() {
        return Err(refused(&"this is a folder").remedy("name a file in it"));
    }
    if file.exists() {
        let opened = File::options().append(true).open(file);
        opened.map_err(|error| refused(&reason(&error)).remedy("name a file that can be written"))?;
        return crate::program::absolute(file);
    }
    let folder = file.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    if !folder.exists() {
        let what = format_args!("the folder {} is not there", folder.display());
        return Err(refused(&what).remedy(format!("make it: mkdir -p {}", folder.display())));
    }
    if !folder.is_dir() {
        let what = format_args!("{} is a file, and no folder", folder.display());
        return Err(refused(&what).remedy("name a file in a folder"));
    }
    let probe = tempfile::Builder::new().prefix(".voltsim-").tempfile_in(folder);
    probe.map_err(|error| refused(&reason(&error)).remedy("name a file in a folder that can be written"))?;
    crate::program::absolute(file)
}

/// An error of the system without its number.
fn reason(error: &std::io::Error) -> String {
    let text = error.to_string();
    text.split(" (os error").next().unwrap_or(&text).to_owned()
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
        assert_eq!(check("--log", &file).expect("can be written"), file);
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
