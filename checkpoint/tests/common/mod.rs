//! Child processes for tests of concurrency and full disks, which rerun this program.

#![allow(dead_code, clippy::unwrap_used)]

pub mod memory;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Environment variable with the child's folder.
const CHILD: &str = "TEST_CHILD_FOLDER";

/// Shell commands that limit files to 0 blocks, like a full disk.
pub const NO_ROOM: &str = "trap '' XFSZ; ulimit -f 0;";

/// Returns the folder of this process if it is a child.
pub fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// Returns a command that reruns this program with only `test`, after the shell commands `before`.
pub fn child(test: &str, folder: &Path, before: &str) -> Command {
    let mut shell = Command::new("sh");
    let script = format!("{before} exec \"$0\" --exact {test} --nocapture");
    shell.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    shell.env(CHILD, folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Panics with the output of a failed child.
pub fn assert_succeeds(child: Output) {
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

/// Returns the sorted names of the files in a folder.
pub fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}
