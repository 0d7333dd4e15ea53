//! CUDA 12.9 laid out as clang expects a CUDA installation.

use super::{link, remove_folder};
use crate::error::{Error, Result};
use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

/// Debian's clang, the newest in Debian 12.
pub(crate) const CLANG: &str = "/usr/bin/clang++-19";

/// clang hands images over as `--image=profile=`, which fatbinary 13 no longer knows and fatbinary 12.9 is in no package.
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

/// Lays CUDA 12.9 out in `cuda12` from `packages`; gives nothing when clang is not there.
pub(super) fn set_up(packages: &Path, cuda12: &Path) -> Result<Option<PathBuf>> {
    if !Path::new(CLANG).exists() {
        return Ok(None);
    }
    let nvidia = packages.join("nvidia");
    remove_folder(cuda12)?;
    for folder in ["bin", "include", "lib64", "nvvm"] {
        let path = cuda12.join(folder);
        fs::create_dir_all(&path).map_err(Error::file(&path))?;
    }
    for package in ["cuda_runtime", "cuda_nvcc", "cuda_cccl"] {
        link_entries(&nvidia.join(package).join("include"), &cuda12.join("include"))?;
    }
    // clang includes this header of cuRAND for a side effect of its own; an empty one does.
    write(&cuda12.join("include/curand_mtgp32_kernel.h"), "")?;
    link(nvidia.join("cuda_nvcc/bin/ptxas"), &cuda12.join("bin/ptxas"))?;
    link(nvidia.join("cuda_nvcc/nvvm/libdevice"), &cuda12.join("nvvm/libdevice"))?;
    link(nvidia.join("cuda_runtime/lib/libcudart.so.12"), &cuda12.join("lib64/libcudart.so"))?;
    let fatbinary = cuda12.join("bin/fatbinary");
    write(&fatbinary, FATBINARY)?;
    fs::set_permissions(&fatbinary, fs::Permissions::from_mode(0o755)).map_err(Error::file(&fatbinary))?;
    Ok(Some(cuda12.to_owned()))
}

fn write(path: &Path, text: &str) -> Result<()> {
    fs::write(path, text).map_err(Error::file(path))
}

/// Links every entry of `from` into `to`; folders that several packages share (`crt`) are merged.
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
