//! CUDA 12.9 and 11.8 in the layout of an installation that clang expects.

use crate::error::{Error, Result};
use crate::files::{link, remove_folder};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// A CUDA version and Debian's clang that supports it.
pub(super) struct Version {
    compiler: &'static str,
    /// Folder of the installation.
    folder: &'static str,
    /// Packages with headers.
    headers: &'static [&'static str],
    /// Runtime library.
    library: &'static str,
}

/// CUDA 12.9 with the newest clang in Debian 12.
pub(super) const CUDA_12: Version = Version {
    compiler: "/usr/bin/clang++-19",
    folder: "cuda12",
    headers: &["cuda_runtime", "cuda_nvcc", "cuda_cccl"],
    library: "libcudart.so.12",
};

/// CUDA 11.8 with the last clang that supports it.
pub(super) const CUDA_11: Version = Version {
    compiler: "/usr/bin/clang++-16",
    folder: "cuda11",
    headers: &["cuda_runtime", "cuda_nvcc"],
    library: "libcudart.so.11.0",
};

/// A clang with its CUDA.
pub(crate) struct Clang {
    /// The compiler.
    pub(crate) compiler: &'static str,
    /// The installation.
    pub(crate) cuda: PathBuf,
}

/// clang passes images as `--image=profile=`, which fatbinary 13 rejects; no package has fatbinary
/// 12.9.
const FATBINARY: &str = r#"#!/bin/bash
arguments=()
for argument in "$@"; do
    case $argument in
        --image=profile=sm_*) kind=elf; rest=${argument#--image=profile=sm_} ;;
        --image=profile=compute_*) kind=ptx; rest=${argument#--image=profile=compute_} ;;
        *) arguments+=("$argument"); continue ;;
    esac
    arguments+=("--image3=kind=$kind,sm=${rest%%,*},${rest#*,}")
done
exec "$(dirname "$0")/../../packages/nvidia/cu13/bin/fatbinary" "${arguments[@]}"
"#;

impl Clang {
    /// Lays out CUDA below `folder` from `packages`; `None` without the compiler.
    pub(super) fn set_up(version: &Version, packages: &Path, folder: &Path) -> Result<Option<Self>> {
        if !Path::new(version.compiler).exists() {
            return Ok(None);
        }
        let (nvidia, cuda) = (packages.join("nvidia"), folder.join(version.folder));
        remove_folder(&cuda)?;
        for folder in ["bin", "include", "lib64", "nvvm"] {
            let path = cuda.join(folder);
            fs::create_dir_all(&path).map_err(Error::file(&path))?;
        }
        for package in version.headers {
            link_entries(&nvidia.join(package).join("include"), &cuda.join("include"))?;
        }
        // clang includes this header of cuRAND for a side effect; an empty one suffices.
        write(&cuda.join("include/curand_mtgp32_kernel.h"), "")?;
        link(nvidia.join("cuda_nvcc/bin/ptxas"), &cuda.join("bin/ptxas"))?;
        link(nvidia.join("cuda_nvcc/nvvm/libdevice"), &cuda.join("nvvm/libdevice"))?;
        link(nvidia.join("cuda_runtime/lib").join(version.library), &cuda.join("lib64/libcudart.so"))?;
        let fatbinary = cuda.join("bin/fatbinary");
        write(&fatbinary, FATBINARY)?;
        fs::set_permissions(&fatbinary, fs::Permissions::from_mode(0o755))
            .map_err(Error::file(&fatbinary))?;
        Ok(Some(Self { compiler: version.compiler, cuda }))
    }
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Error::file(path))
}

/// Links every entry of `from` into `to`; folders shared by several packages (`crt`) are merged.
fn link_entries(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::file(from))? {
        let entry = entry.map_err(Error::file(from))?;
        let (source, destination) = (entry.path(), to.join(entry.file_name()));
        if source.is_dir() {
            fs::create_dir_all(&destination).map_err(Error::file(&destination))?;
            link_entries(&source, &destination)?;
        } else {
            link(&source, &destination)?;
        }
    }
    Ok(())
}
