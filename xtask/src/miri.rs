//! `cargo xtask miri`: tests of `unsafe` code, interpreted by Miri on a nightly toolchain.

use crate::error::{Error, Result};
use crate::process;
use crate::workspace::Workspace;
use std::process::Command;

/// Options of `cargo test` for each run of Miri. Miri knows neither reserved address ranges nor the
/// vector instructions of the host, so device memory and the engine's ops are left out. Miri calls no
/// C code either, so checkpoints (zstd) and the libraries for programs are left out too.
const SUBJECTS: [&[&str]; 1] = [&["--package", "warp-stream", "--lib", "host_cache"]];

/// Runs every subject, and fails if one fails.
pub(crate) fn run() -> Result<()> {
    let workspace = Workspace::find();
    let mut failed = Vec::new();
    for subject in SUBJECTS {
        let mut miri = Command::new("rustup");
        miri.args(["run", "nightly", "cargo", "miri", "test"]).args(subject);
        // Tests read and write files.
        miri.current_dir(&workspace.root).env("MIRIFLAGS", "-Zmiri-disable-isolation").env_remove("CARGO");
        if !process::shown(&mut miri)? {
            failed.push(subject.join(" "));
        }
    }
    if failed.is_empty() { Ok(()) } else { Err(Error::Steps(failed.join(", "))) }
}
