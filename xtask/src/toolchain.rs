//! The CUDA compilers: nvcc 13 from PyPI, and for Volta Debian's clang 19 with CUDA 12.9 and clang
//! 16 with 11.8.
//!
//! The compilers lie in `target/toolchain`, the downloaded wheels in the download cache.

use crate::error::Result;
use crate::files;
use crate::python::{Beside, Python};
use crate::stamp::Ingredients;
use crate::workspace::Workspace;
use std::path::{Path, PathBuf};
use std::process::Command;

mod clang;
pub(crate) use clang::Clang;

pub(crate) struct Toolchain {
    /// CUDA 13, with `bin/nvcc`, `include` and `lib`.
    pub(crate) cuda13: PathBuf,
    /// CUDA 12.9, with `include`.
    pub(crate) cuda12: PathBuf,
    /// clang 19 with CUDA 12.9, if installed.
    pub(crate) clang12: Option<Clang>,
    /// clang 16 with CUDA 11.8, if installed.
    pub(crate) clang11: Option<Clang>,
    /// `ptxas` of CUDA 11.8, 12.9 and 13.5.
    pub(crate) assemblers: [PathBuf; 3],
    /// Compiler versions, for the stamps of programs.
    pub(crate) ingredients: Ingredients,
}

/// Folder of CUDA 13 and 12.9 within the toolchain.
const PACKAGES: &str = "packages";

fn folder(workspace: &Workspace) -> PathBuf {
    workspace.target.join("toolchain")
}

/// CUDA 13, with `bin/nvcc`, `include` and `lib`, after set-up.
pub(crate) fn toolkit(workspace: &Workspace) -> PathBuf {
    folder(workspace).join(PACKAGES).join("nvidia/cu13")
}

impl Toolchain {
    /// Sets up the compilers, unless up to date.
    pub(crate) fn set_up(workspace: &Workspace) -> Result<Self> {
        let folder = folder(workspace);
        let mut ingredients = Ingredients::default();
        let mut packages_of = |requirements: &str, packages: &str| {
            let requirements = workspace.root.join("tests/toolchain").join(requirements);
            ingredients.file(&requirements)?;
            install_once(workspace, &requirements, &folder, folder.join(packages))
        };
        let packages = packages_of("requirements.txt", PACKAGES)?;
        let packages11 = packages_of("requirements-cuda11.txt", "packages11")?;
        let cuda13 = toolkit(workspace);
        files::link("libcudart.so.13", &cuda13.join("lib/libcudart.so"))?;
        let clang12 = Clang::set_up(&clang::CUDA_12, &packages, &folder)?;
        let clang11 = Clang::set_up(&clang::CUDA_11, &packages11, &folder)?;
        let cuda12 = packages.join("nvidia/cuda_runtime");
        let older = |packages: &Path| packages.join("nvidia/cuda_nvcc/bin/ptxas");
        let assemblers = [older(&packages11), older(&packages), cuda13.join("bin/ptxas")];
        Ok(Self { cuda13, cuda12, clang12, clang11, assemblers, ingredients })
    }

    pub(crate) fn nvcc(&self) -> Command {
        Command::new(self.cuda13.join("bin/nvcc"))
    }
}

/// NVRTC of CUDA 11.8, the last that compiles for Volta as the compiler of the measurements did.
pub(crate) fn nvrtc11(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = workspace.root.join("tests/toolchain/requirements-nvrtc11.txt");
    let folder = folder(workspace);
    let packages = install_once(workspace, &requirements, &folder, folder.join("nvrtc11"))?;
    Ok(packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.11.2"))
}

/// NVRTC of CUDA 12.9, which compiles the kernels of the stand-ins.
pub(crate) fn nvrtc12(workspace: &Workspace) -> Result<PathBuf> {
    let requirements = workspace.root.join("tests/toolchain/requirements-kernels.txt");
    let folder = folder(workspace);
    let packages = install_once(workspace, &requirements, &folder, folder.join("nvrtc12"))?;
    Ok(packages.join("nvidia/cuda_nvrtc/lib/libnvrtc.so.12"))
}

/// Installs `requirements` into `packages` unless present, and returns the folder.
fn install_once(
    workspace: &Workspace,
    requirements: &Path,
    folder: &Path,
    packages: PathBuf,
) -> Result<PathBuf> {
    let mut ingredients = Ingredients::default();
    ingredients.file(requirements)?;
    let stamp = ingredients.stamp(&packages);
    if !stamp.is_current() {
        files::remove_folder(&packages)?;
        Python::create(folder.join("venv"), Beside::Nothing, workspace.downloads())?
            .install(requirements, &packages)?;
        stamp.write()?;
    }
    Ok(packages)
}
