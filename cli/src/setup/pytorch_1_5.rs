//! PyTorch 1.5.1 of PyPI with cuBLAS 10.2 and cuDNN 7.6.5.
//!
//! The last PyTorch on PyPI with PTX for every kernel of its own. The device reports compute
//! capability 8.0: cuBLAS and cuDNN select kernels with PTX when the device is newer than all their
//! machine code.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process::Command;

use flate2::read::DeflateDecoder;
use serde::Deserialize;

use super::download::Download;
use super::python::{self, Version};
use super::{Contents, Recipe, Site, run, write_whole};
use crate::failure::Failure;

pub(super) const RECIPE: Recipe = Recipe {
    name: "pytorch",
    version: 1,
    contents: "PyTorch 1.5.1, cuBLAS 10.2, cuDNN 7.6.5, Python 3.8",
    bytes: 2_300 << 20,
    is_compiler: false,
    downloads,
    make,
};

const PYTHON: Version = Version { name: "3.8", release: "3.8.18" };

const DEVICE: &str = "\
# What programs of this environment are told they run on. Libraries take kernels with PTX on a device that is newer than
# their machine code. cuDNN 7.6.5 then has no implicit_precomp_gemm, says that it has run it, and leaves the result as it
# was; told 3.0, it has PTX for every algorithm (tests/clients/pytorch/cudnn-algorithms.tsv).
base = \"titan-v\"
[device]
compute_capability_major = { value = 8, unit = \"version\", source = \"newer than all machine code\" }
compute_capability_minor = { value = 0, unit = \"version\", source = \"newer than all machine code\" }

[device.libraries.\"libcudnn.so\"]
compute_capability_major = { value = 3, unit = \"version\", source = \"PTX for every algorithm\" }
compute_capability_minor = { value = 0, unit = \"version\", source = \"PTX for every algorithm\" }
";

/// Downloads of the recipe.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Parts {
    /// Packages of Python.
    wheels: Vec<Download>,
    /// Libraries out of packages of which nothing else is needed, as the archive has them:
    /// deflated.
    libraries: BTreeMap<String, Download>,
}

fn parts() -> Result<Parts, Failure> {
    toml::from_str(include_str!("pytorch_1_5.toml"))
        .map_err(|error| Failure::new(format_args!("pytorch_1_5.toml: {error}")))
}

fn downloads() -> Result<Vec<Download>, Failure> {
    let Parts { wheels, libraries } = parts()?;
    Ok(wheels.into_iter().chain(libraries.into_values()).collect())
}

fn make(site: &Site<'_>) -> Result<Contents, Failure> {
    let Parts { wheels, libraries } = parts()?;
    let python = python::find(PYTHON, site.python)?;
    let mut venv = Command::new(python);
    venv.args(["-m", "venv"]).arg(site.folder);
    run(venv, "making an environment of Python")?;
    let mut install = Command::new(site.folder.join("bin/python"));
    install.args(["-m", "pip", "--disable-pip-version-check", "install", "--no-deps", "--no-index"]);
    for wheel in &wheels {
        install.arg(site.downloads.fetch(wheel)?);
    }
    run(install, "installing packages")?;
    let folder = site.folder.join("lib/cuda");
    fs::create_dir_all(&folder).map_err(|error| Failure::in_file(&folder, error))?;
    let mut preload = Vec::new();
    for (library, download) in &libraries {
        inflate(&site.downloads.fetch(download)?, &folder.join(library))?;
        preload.push(PathBuf::from("lib/cuda").join(library));
    }
    write_whole(&site.folder.join("device.toml"), DEVICE)?;
    Ok(Contents { device: "device.toml".into(), preload })
}

/// Writes the file that a member of an archive holds.
fn inflate(member: &Path, path: &Path) -> Result<(), Failure> {
    let temporary = path.with_extension("part");
    let written = File::open(member).and_then(|member| {
        io::copy(&mut DeflateDecoder::new(member), &mut File::create(&temporary)?)?;
        fs::rename(&temporary, path)
    });
    written.map_err(|error| Failure::in_file(path, error))
}
