//! Test programs for saved and observed runs, and a directory for their files.

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

/// The program with launches of several kernels and all kinds of memory. All tests share one
/// executable, since a checkpoint identifies it.
pub fn steps() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| compiled("steps"))
}

/// A command with reproducible addresses, as `voltsim run --checkpoint` provides.
pub fn command(program: &Path) -> Command {
    let mut command = super::command(Path::new("setarch"));
    command.arg("--addr-no-randomize").arg(program);
    command
}

/// Output of a program as text.
pub fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

/// A directory for checkpoints and checksums.
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
