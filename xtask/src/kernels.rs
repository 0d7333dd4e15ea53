//! `cargo xtask kernels`: the PTX of the stand-ins is compiled anew and compared, or written.
//!
//! A source `NAME.cu` of `cudart-shim/stand-ins/kernels` has its PTX beside it. The target is
//! `compute_70`, or that of a name that ends in `_NUMBER`. The build of the libraries needs no
//! compiler of CUDA.

use crate::error::{Error, Result};
use crate::process;
use crate::toolchain;
use crate::workspace::Workspace;
use clap::Args;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{entries, has_extension};

/// Source of the program that calls NVRTC.
const COMPILE: &str = include_str!("evaluation/accuracy/compile.c");
/// Folder of the sources, a folder for each library.
const FOLDER: &str = "cudart-shim/stand-ins/kernels";
const DEFAULT_TARGET: &str = "70";

/// Arguments of the task.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Write PTX that differs, in place of failing.
    #[arg(long)]
    write: bool,
}

/// Compares or writes the PTX of all sources.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let stale = stale(&workspace)?;
    for (ptx, text) in &stale {
        println!("{} differs from its source", ptx.display());
        if arguments.write {
            fs::write(ptx, text).map_err(Error::file(ptx))?;
        }
    }
    if stale.is_empty() || arguments.write {
        return Ok(());
    }
    Err(Error::Steps("the comparison (`cargo xtask kernels --write` writes the PTX)".to_owned()))
}

/// True if the PTX of all sources is what the compiler makes of them.
pub(crate) fn are_current(workspace: &Workspace) -> Result<bool> {
    let stale = stale(workspace)?;
    stale.iter().for_each(|(ptx, _)| println!("{} differs from its source", ptx.display()));
    Ok(stale.is_empty())
}

/// PTX files that differ from what the compiler makes of their sources, with the new text.
fn stale(workspace: &Workspace) -> Result<Vec<(PathBuf, String)>> {
    let nvrtc = toolchain::nvrtc12(workspace)?;
    let folder = workspace.target.join("kernels");
    fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
    let (source, compiler) = (folder.join("compile.c"), folder.join("compile"));
    fs::write(&source, COMPILE).map_err(Error::file(&source))?;
    process::quiet(Command::new("gcc").args(["-O1", "-o"]).arg(&compiler).arg(&source).arg("-ldl"))?;
    let mut stale = Vec::new();
    for library in entries(&workspace.root.join(FOLDER))? {
        for source in entries(&library)?.into_iter().filter(|path| has_extension(path, &["cu"])) {
            let made = folder.join("made.ptx");
            let mut compile = Command::new(&compiler);
            compile.args([&nvrtc, &source]).arg(&made).args(["-std=c++17", "-default-device"]);
            compile.arg(format!("--gpu-architecture=compute_{}", target(&source)));
            compile.arg(format!("-I{}", library.display()));
            process::quiet(compile.env("LD_LIBRARY_PATH", nvrtc.parent().unwrap_or(Path::new("."))))?;
            let text = fs::read_to_string(&made).map_err(Error::file(&made))?;
            let ptx = source.with_extension("ptx");
            if fs::read_to_string(&ptx).ok().as_ref() != Some(&text) {
                stale.push((ptx, text));
            }
        }
    }
    Ok(stale)
}

/// Number of the target of a source.
fn target(source: &Path) -> &str {
    let name = source.file_stem().and_then(|name| name.to_str()).unwrap_or_default();
    let number = name.rsplit('_').next().unwrap_or_default();
    if number.parse::<u32>().is_ok() { number } else { DEFAULT_TARGET }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn name_tells_the_target() {
        assert_eq!(target(Path::new("blas/gemm_80.cu")), "80");
        assert_eq!(target(Path::new("blas/gemm_half.cu")), "70");
    }
}
