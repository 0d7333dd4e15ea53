//! The CUDA compilers: nvcc 13 from PyPI, and Debian's clang 19 with CUDA 12.9's headers for Volta itself.
//!
//! They lie in `target/toolchain`; the wheels they come from are kept in the download cache.

use crate::error::{Error, Result};
use crate::process;
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

mod clang;
pub(crate) use clang::CLANG;

pub(crate) struct Toolchain {
    /// CUDA 13, with `bin/nvcc`, `include` and `lib`.
    pub(crate) cuda13: PathBuf,
    /// CUDA 12.9 as clang expects it, when clang is there.
    pub(crate) cuda12: Option<PathBuf>,
    /// What programs are compiled with, for their stamps.
    pub(crate) ingredients: Ingredients,
}

impl Toolchain {
    /// Sets the compilers up; quick when nothing changed.
    pub(crate) fn set_up(workspace: &Workspace) -> Result<Self> {
        let folder = workspace.target.join("toolchain");
        let requirements = workspace.root.join("tests/toolchain/requirements.txt");
        let packages = folder.join("packages");
        let mut ingredients = Ingredients::default();
        ingredients.file(&requirements)?;
        let stamp = ingredients.stamp(&packages);
        if !stamp.is_current() {
            remove_folder(&packages)?;
            install_packages(&workspace.cache.join("wheels"), &requirements, &folder, &packages)?;
        }
        let cuda13 = packages.join("nvidia/cu13");
        link("libcudart.so.13", &cuda13.join("lib/libcudart.so"))?;
        let cuda12 = clang::set_up(&packages, &folder.join("cuda12"))?;
        stamp.write()?;
        Ok(Self { cuda13, cuda12, ingredients })
    }

    pub(crate) fn nvcc(&self) -> Command {
        Command::new(self.cuda13.join("bin/nvcc"))
    }
}

/// Installs `requirements` into `packages` with a pip of its own, from `wheels` when they are all there.
fn install_packages(wheels: &Path, requirements: &Path, folder: &Path, packages: &Path) -> Result<()> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    fs::create_dir_all(wheels).map_err(Error::file(wheels))?;
    let venv = folder.join("venv");
    remove_folder(&venv)?;
    process::quiet(Command::new("/usr/bin/python3").args(["-m", "venv"]).arg(&venv))?;
    let pip = |task: &str, wheels_option: &str| {
        let mut pip = Command::new(venv.join("bin/pip"));
        pip.args([
            "--disable-pip-version-check",
            "--quiet",
            task,
            "--no-deps",
            "--require-hashes",
            "--requirement",
        ]);
        pip.arg(requirements).arg(wheels_option).arg(wheels);
        pip
    };
    let install = || {
        let mut pip = pip("install", "--find-links");
        process::quiet(pip.arg("--no-index").arg("--target").arg(packages))
    };
    if install().is_err() {
        println!("downloading the CUDA compilers to {}", wheels.display());
        process::quiet(pip("download", "--dest").args(["--only-binary", ":all:"]))?;
        install()?;
    }
    Ok(())
}

fn remove_folder(folder: &Path) -> Result<()> {
    match fs::remove_dir_all(folder) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => Err(Error::file(folder)(error)),
        _ => Ok(()),
    }
}

/// Makes `link` a symbolic link to `target`.
fn link(target: impl AsRef<Path>, link: &Path) -> Result<()> {
    match fs::remove_file(link) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => return Err(Error::file(link)(error)),
        _ => {}
    }
    std::os::unix::fs::symlink(target, link).map_err(Error::file(link))
}
