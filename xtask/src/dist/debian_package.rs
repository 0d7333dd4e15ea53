//! `voltsim_VERSION_amd64.deb`.

use super::{Build, stage};
use crate::error::Result;
use crate::{files, process};
use std::fs;
use std::path::PathBuf;
use std::process::Command;

/// glibc that the binaries need: that of Debian 12, on which the package is built, or newer.
const DEPENDS: &str = "libc6 (>= 2.34), libgcc-s1";

pub(super) fn make(build: &Build<'_>) -> Result<PathBuf> {
    let root = build.output.join("debian");
    files::remove_folder(&root)?;
    files::copy_tree(&build.stage, &root.join("usr"))?;
    let control = format!(
        "Package: voltsim\nVersion: {}\nArchitecture: amd64\nMaintainer: The Voltsim developers\n\
         Section: science\nPriority: optional\nDepends: {DEPENDS}\nInstalled-Size: {}\n\
         Description: runs CUDA programs without a GPU and times them on a model of one\n \
         Voltsim stands in for libcudart and libcuda, executes the PTX of an unmodified CUDA\n \
         program on the CPU, and models the SMs and the memory system of Volta GPUs.\n",
        build.version,
        files::size(&build.stage)?.div_ceil(1024),
    );
    stage::write(&root.join("DEBIAN/control"), &control)?;
    let package = build.artefact(&format!("voltsim_{}_amd64.deb", build.version));
    let mut dpkg = Command::new("dpkg-deb");
    dpkg.args(["--root-owner-group", "--build"]).arg(&root).arg(&package);
    process::quiet(dpkg.env("SOURCE_DATE_EPOCH", build.time.to_string()))?;
    let _ = fs::remove_dir_all(root);
    Ok(package)
}
