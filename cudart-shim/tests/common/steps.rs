//! Programs whose runs are saved or followed launch by launch, and a folder for what such runs write.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;
use tempfile::TempDir;

/// Launches of `steps`.
pub const LAUNCHES: u64 = 14;

/// A program of `tests/settings`.
pub fn compiled(name: &str) -> PathBuf {
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/settings").join(name).with_extension("c");
    super::compile(&source).expect("the program compiles")
}

/// The program with launches of several kernels and memory of all kinds; the same file for all, since a checkpoint is of a file.
pub fn steps() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("steps"))
}

/// A program whose own memory has the same addresses in each run, as `voltsim run --checkpoint` starts it.
pub fn command(program: &Path) -> Command {
    let mut command = super::command(Path::new("setarch"));
    command.arg("--addr-no-randomize").arg(program);
    command
}

/// What a program has printed.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A folder for checkpoints and checksums.
pub struct Place {
    pub folder: TempDir,
}

impl Place {
    pub fn new() -> Place {
        Place { folder: tempfile::tempdir().expect("a folder") }
    }

    pub fn path(&self, name: &str) -> String {
        self.folder.path().join(name).to_str().expect("a name in UTF-8").to_owned()
    }
}
