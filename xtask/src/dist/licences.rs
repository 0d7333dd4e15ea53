//! Licence texts of Voltsim and of the crates that its binaries contain.

use super::{Build, stage};
use crate::error::{Error, Result};
use crate::process;
use serde::Deserialize;
use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::fs;
use std::path::{Path, PathBuf};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    manifest_path: PathBuf,
    /// Absent for crates of the workspace.
    source: Option<String>,
}

/// Writes `LICENSE` and `THIRD-PARTY-LICENCES.txt` into `folder`.
pub(super) fn write(build: &Build<'_>, folder: &Path) -> Result<()> {
    let own = build.workspace.root.join("LICENSE");
    let licence = fs::read_to_string(&own).map_err(Error::file(&own))?;
    stage::write(&folder.join("LICENSE"), &licence)?;
    stage::write(&folder.join("THIRD-PARTY-LICENCES.txt"), &third_party(build)?)
}

/// One section for each crate that is linked into a shipped binary.
fn third_party(build: &Build<'_>) -> Result<String> {
    let linked = linked(build)?;
    let metadata =
        process::quiet(&mut build.workspace.cargo(&["metadata", "--format-version", "1", "--locked"]))?;
    let metadata: Metadata =
        serde_json::from_str(&metadata).map_err(|error| Error::Metadata(error.to_string()))?;
    let mut text = String::from("Crates that the binaries of Voltsim contain, and their licences.\n");
    let crates = metadata.packages.iter().filter(|package| {
        package.source.is_some() && linked.contains(&format!("{} v{}", package.name, package.version))
    });
    for package in crates {
        let licence = package.license.as_deref().unwrap_or("see the text below");
        let _ =
            write!(text, "\n{0}\n{1} {2}: {licence}\n{0}\n", "=".repeat(80), package.name, package.version);
        for file in texts(package.manifest_path.parent().unwrap_or(Path::new("."))) {
            let bytes = fs::read(&file).map_err(Error::file(&file))?;
            let _ = write!(text, "\n{}\n", String::from_utf8_lossy(&bytes).trim_end());
        }
    }
    Ok(text)
}

/// `NAME vVERSION` of each crate that the shipped packages link; macros run at build time only.
fn linked(build: &Build<'_>) -> Result<BTreeSet<String>> {
    let mut tree = build.workspace.cargo(&["tree", "--workspace", "--locked"]);
    for tests in ["xtask", "voltsim-tests", "isa-oracle", "fuzz-targets"] {
        tree.args(["--exclude", tests]);
    }
    let tree = process::quiet(tree.args(["--edges", "normal,no-proc-macro", "--prefix", "none"]))?;
    let name = |line: &str| line.split(' ').take(2).collect::<Vec<_>>().join(" ");
    Ok(tree.lines().map(name).collect())
}

/// Licence and notice files of a crate.
fn texts(folder: &Path) -> Vec<PathBuf> {
    let is_text = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy().to_uppercase();
        path.is_file()
            && ["LICENSE", "LICENCE", "COPYING", "NOTICE"].iter().any(|word| name.starts_with(word))
    };
    let entries = fs::read_dir(folder).into_iter().flatten().flatten();
    let mut files: Vec<_> = entries.map(|entry| entry.path()).filter(is_text).collect();
    files.sort();
    files
}
