//! Tests of several processes and of full disks start this program again as a child.

#![allow(dead_code, clippy::unwrap_used)]

pub mod memory;

use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

/// Names the folder to the child.
const CHILD: &str = "TEST_CHILD_FOLDER";

/// What to put before a child so that no file may grow beyond 0 blocks, as if the disk were full.
pub const NO_ROOM: &str = "trap '' XFSZ; ulimit -f 0;";

/// The folder that this process is to work in as a child, if it is one.
pub fn child_folder() -> Option<PathBuf> {
    std::env::var_os(CHILD).map(PathBuf::from)
}

/// This program again, running only `test`, with `before` run by the shell that starts it.
pub fn child(test: &str, folder: &Path, before: &str) -> Command {
    let mut shell = Command::new("sh");
    let script = format!("{before} exec \"$0\" --exact {test} --nocapture");
    shell.args(["-c", &script]).arg(std::env::current_exe().unwrap());
    shell.env(CHILD, folder).stdout(Stdio::piped()).stderr(Stdio::piped());
    shell
}

/// Fails with what the child said if it failed.
pub fn assert_succeeds(child: Output) {
    assert!(child.status.success(), "{}", String::from_utf8_lossy(&child.stderr));
}

/// The names of the files in a folder, in order.
pub fn names(folder: &Path) -> Vec<String> {
    let name = |entry: std::io::Result<std::fs::DirEntry>| entry.unwrap().file_name().into_string().unwrap();
    let mut names: Vec<String> = std::fs::read_dir(folder).unwrap().map(name).collect();
    names.sort();
    names
}
