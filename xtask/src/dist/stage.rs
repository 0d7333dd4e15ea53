//! The prefix tree: stripped binaries, the prebuilt demo, man pages, completions, licences.

use super::{Build, git, licences, tar};
use crate::error::{Error, Result};
use crate::{files, process};
use std::collections::HashMap;
use std::fs;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

/// Shells of `voltsim completions`, and the place of each shell's file.
const COMPLETIONS: [(&str, &str); 3] = [
    ("bash", "share/bash-completion/completions/voltsim"),
    ("zsh", "share/zsh/site-functions/_voltsim"),
    ("fish", "share/fish/vendor_completions.d/voltsim.fish"),
];

/// Makes the tree afresh.
pub(super) fn make(build: &Build<'_>) -> Result<()> {
    let stage = &build.stage;
    files::remove_folder(stage)?;
    let (bin, libraries) = (stage.join("bin"), stage.join("lib/voltsim"));
    for folder in [&bin, &libraries.join(library_folder::STAND_INS)] {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    let release = build.workspace.target.join("release");
    strip(&release.join("voltsim"), &bin.join("voltsim"))?;
    // Several sonames share a library: the first name holds the file, the others are links.
    let mut first: HashMap<String, String> = HashMap::new();
    for (name, built) in library_folder::names() {
        let target = libraries.join(name);
        match first.get(&built) {
            // Names of one library lie in one folder.
            Some(original) => symlink(Path::new(original).file_name().unwrap_or_default(), &target)
                .map_err(Error::file(&target))?,
            None => {
                strip(&release.join(&built), &target)?;
                first.insert(built, name.into());
            }
        }
    }
    compile_demo(build, &libraries)?;
    write(&libraries.join("COMMIT"), &git(build.workspace, &["rev-parse", "--short=12", "HEAD"])?)?;
    generated(build)?;
    licences::write(build, &stage.join("share/doc/voltsim"))
}

/// Copies `from` without symbols that the loader does not need.
fn strip(from: &Path, to: &Path) -> Result<()> {
    let mut strip = Command::new("strip");
    process::quiet(strip.arg("--strip-unneeded").arg("-o").arg(to).arg(from)).map(drop)
}

/// An archive with the debug symbols of the command and the core.
pub(super) fn debug_symbols(build: &Build<'_>) -> Result<PathBuf> {
    let folder = build.output.join("debug");
    files::remove_folder(&folder)?;
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    for name in ["voltsim", library_folder::CORE] {
        let mut objcopy = Command::new("objcopy");
        objcopy.args(["--only-keep-debug", "--compress-debug-sections"]);
        objcopy.arg(build.workspace.target.join("release").join(name));
        process::quiet(objcopy.arg(folder.join(format!("{name}.debug"))))?;
    }
    let archive = build.artefact(&format!("voltsim-{}-debug.tar.gz", build.version));
    process::quiet(tar(build, &folder, &archive).args(["--gzip", "."]))?;
    Ok(archive)
}

/// Compiles the demo, so that an installation needs no compiler for it.
fn compile_demo(build: &Build<'_>, libraries: &Path) -> Result<()> {
    let sources = build.workspace.root.join("examples/demo");
    let mut cc = Command::new(std::env::var_os("CC").unwrap_or_else(|| "cc".into()));
    cc.args(["-O2", "-s", "-o"]).arg(libraries.join("voltsim-demo"));
    cc.arg(format!("-DPTX_FILE=\"{}\"", sources.join("kernels.ptx").display()));
    cc.arg(sources.join("demo.c")).arg(libraries.join("libcudart.so.13"));
    process::quiet(&mut cc).map(drop)
}

/// Man pages and completions, which the command writes.
fn generated(build: &Build<'_>) -> Result<()> {
    let command = || Command::new(build.stage.join("bin/voltsim"));
    for (shell, place) in COMPLETIONS {
        write(&build.stage.join(place), &process::quiet(command().args(["completions", shell]))?)?;
    }
    let pages = build.stage.join("share/man/man1");
    fs::create_dir_all(&pages).map_err(Error::file(&pages))?;
    process::quiet(command().arg("man").arg(&pages)).map(drop)
}

/// Writes a file, and the folders that hold it.
pub(super) fn write(file: &Path, text: &str) -> Result<()> {
    if let Some(folder) = file.parent() {
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
    }
    fs::write(file, text).map_err(Error::file(file))
}
