//! NVIDIA's compiler of PyPI: nvcc with its headers, `cudart`, and libnvvm.

use std::fs;
use std::io::ErrorKind;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::Deserialize;

use super::download::Download;
use super::{Contents, Recipe, Site, run, write_whole};
use crate::failure::Failure;

pub(super) const RECIPE: Recipe = Recipe {
    name: "nvcc",
    version: 1,
    contents: "CUDA compiler 13.5; needs gcc",
    bytes: 420 << 20,
    is_compiler: true,
    downloads,
    make,
};

/// Place of the toolkit in the packages.
const TOOLKIT: &str = "nvidia/cu13";

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    wheels: Vec<Download>,
}

fn downloads() -> Result<Vec<Download>, Failure> {
    let parts: Parts = toml::from_str(include_str!("nvcc.toml"))
        .map_err(|error| Failure::new(format_args!("nvcc.toml: {error}")))?;
    Ok(parts.wheels)
}

/// Unpacks the packages and links the toolkit's folders, so that `FOLDER/bin/nvcc` is the compiler.
fn make(site: &Site<'_>) -> Result<Contents, Failure> {
    let python = site.python.map_or_else(|| PathBuf::from("python3"), PathBuf::from);
    let mut install = Command::new(python);
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]);
    install.args(["--no-warn-script-location", "--upgrade", "--target"]).arg(site.folder.join("packages"));
    for wheel in downloads()? {
        install.arg(site.downloads.fetch(&wheel)?);
    }
    run(install, "unpacking the compiler's packages").map_err(|failure| {
        failure.remedy("Install pip: apt-get install python3-pip; --python names another Python")
    })?;
    for folder in ["bin", "include", "lib", "nvvm"] {
        link(&PathBuf::from("packages").join(TOOLKIT).join(folder), &site.folder.join(folder))?;
    }
    // nvcc looks for `lib64`, and the linker for names without a version.
    link("lib".as_ref(), &site.folder.join("lib64"))?;
    let cudart = site.folder.join("lib/libcudart.so");
    if !cudart.exists() {
        link("libcudart.so.13".as_ref(), &cudart)?;
    }
    write_whole(&site.folder.join("device.toml"), "base = \"titan-v\"\n")?;
    Ok(Contents { device: "device.toml".into(), preload: Vec::new() })
}

/// Makes `at` a link to `target`; a link of an interrupted set-up is replaced.
fn link(target: &Path, at: &Path) -> Result<(), Failure> {
    match fs::remove_file(at) {
        Err(error) if error.kind() != ErrorKind::NotFound => return Err(Failure::in_file(at, error)),
        _ => {}
    }
    symlink(target, at).map_err(|error| Failure::in_file(at, error))
}
