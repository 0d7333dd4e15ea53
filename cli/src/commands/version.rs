//! `voltsim version`: the build, and the vector instructions of this host.

use std::env;
use std::fs;
use std::io::Write;
use std::path::Path;
use std::process::{Command, ExitCode};

use crate::failure::Failure;
use crate::libraries;

/// Show the version, the commit of the build, and the vector instructions of this host
#[derive(clap::Args)]
pub(crate) struct Args {}

/// File of an installation that names the commit of the build, in the library folder.
const COMMIT: &str = "COMMIT";

pub(crate) fn run(_: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let executable = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
    let folder = libraries::folder()?;
    writeln!(out, "voltsim {}", env!("CARGO_PKG_VERSION"))?;
    writeln!(out, "commit      {}", commit(&folder).unwrap_or_else(|| "unknown".to_owned()))?;
    writeln!(out, "command     {}", executable.display())?;
    writeln!(out, "libraries   {}", folder.display())?;
    writeln!(out, "host level  {} (x86-64-v2 is required)", host_level())?;
    Ok(ExitCode::SUCCESS)
}

/// The commit that an installation records, or the checkout's.
fn commit(folder: &Path) -> Option<String> {
    if let Ok(text) = fs::read_to_string(folder.join(COMMIT)) {
        return Some(text.trim().to_owned());
    }
    let git = Command::new("git")
        .arg("-C")
        .arg(libraries::checkout())
        .args(["rev-parse", "--short=12", "HEAD"])
        .output();
    let git = git.ok().filter(|git| git.status.success())?;
    Some(format!("{} (checkout)", String::from_utf8_lossy(&git.stdout).trim()))
}

/// Best level of vector instructions that the engine would use, by the name of `VOLTSIM_HOST_LEVEL`.
fn host_level() -> &'static str {
    if is_x86_feature_detected!("avx512f") && is_x86_feature_detected!("avx512bw") {
        "avx512"
    } else if is_x86_feature_detected!("avx2") {
        "avx2"
    } else {
        "baseline"
    }
}
