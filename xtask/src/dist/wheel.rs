//! `voltsim-VERSION-py3-none-manylinux….whl`: the stage as data of a wheel, and the Python package.
//!
//! pip installs the wheel's script to `PREFIX/bin` and its data to `PREFIX/lib/voltsim`, where the
//! command looks for its libraries. The builder maturin checks the libraries that the command needs.
//! The wheel gets the oldest manylinux tag that fits.

use super::Build;
use crate::error::{Error, Result};
use crate::{files, process};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Builder of the wheel.
const MATURIN: &str = "maturin==1.9.6";

pub(super) fn make(build: &Build<'_>) -> Result<PathBuf> {
    let tools = build.output.join("wheel-tools");
    let python = tools.join("bin/python");
    if !tools.join("bin/maturin").exists() {
        process::quiet(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&tools))?;
        let mut pip = Command::new(&python);
        process::quiet(pip.args([
            "-m",
            "pip",
            "install",
            "--quiet",
            "--disable-pip-version-check",
            MATURIN,
        ]))?;
    }
    let data = build.output.join("wheel.data");
    files::remove_folder(&data)?;
    copy_files(&build.stage.join("lib"), &data.join("data/lib"))?;
    copy_files(&build.stage.join("share"), &data.join("data/share"))?;
    let wheels = build.output.join("wheels");
    files::remove_folder(&wheels)?;
    let mut maturin = Command::new(tools.join("bin/maturin"));
    maturin.current_dir(build.workspace.root.join("python"));
    maturin.args(["build", "--release", "--strip", "--locked", "--out"]).arg(&wheels);
    // SOURCE_DATE_EPOCH would have cargo build every crate anew.
    process::quiet(maturin.env("CARGO_TARGET_DIR", &build.workspace.target))?;
    let made = fs::read_dir(&wheels).map_err(Error::file(&wheels))?.flatten().map(|entry| entry.path());
    let wheel = made.into_iter().next().ok_or_else(|| Error::Artefact {
        artefact: wheels.clone(),
        reason: "maturin wrote no wheel".to_owned(),
    })?;
    let artefact = build.artefact(&wheel.file_name().unwrap_or_default().to_string_lossy());
    fs::rename(&wheel, &artefact).map_err(Error::file(&artefact))?;
    Ok(artefact)
}

/// Copies a folder; links become files, since a wheel has no links.
fn copy_files(from: &Path, to: &Path) -> Result<()> {
    fs::create_dir_all(to).map_err(Error::file(to))?;
    let mut copy = Command::new("cp");
    process::quiet(copy.args(["-r", "--dereference", "--preserve=mode"]).arg(from.join(".")).arg(to))
        .map(drop)
}
