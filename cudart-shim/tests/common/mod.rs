//! Helpers for the tests of the built libraries.

#![allow(dead_code)]

pub mod steps;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::OnceLock;

/// Root of the checkout.
pub fn checkout() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap_or(Path::new("."))
}

/// Directory with the freshly built libraries.
pub fn libraries() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        // target/tmp is next to target/debug.
        let target = Path::new(env!("CARGO_TARGET_TMPDIR")).parent().expect("a target folder");
        let output = target.join(if cfg!(debug_assertions) { "debug" } else { "release" });
        library_folder::build(&output, checkout()).expect("the libraries build");
        library_folder::prepare(&output, checkout()).expect("the libraries are in place")
    })
}

/// Compiles a C program that uses both APIs. Returns the executable or the compiler's messages.
/// Links the runtime of CUDA 13, or of CUDA 11 if the name ends in `_11`.
pub fn compile(source: &Path) -> Result<PathBuf, String> {
    compile_with(source, &[])
}

/// Compiles the library `tests/c/library/NAME.c`.
pub fn library(name: &str) -> Result<PathBuf, String> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/c/library");
    compile_with(&folder.join(name).with_extension("c"), &["-shared", "-fPIC"])
}

/// As [`compile`], with more arguments of the compiler.
pub fn compile_with(source: &Path, flags: &[&str]) -> Result<PathBuf, String> {
    let name = source.file_stem().unwrap_or_default();
    let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let is_old = name.to_string_lossy().ends_with("_11");
    let runtime = if is_old { "libcudart.so.11.0" } else { "libcudart.so.13" };
    // Several tests may compile a program concurrently; each replaces the file atomically.
    let unfinished = tempfile::NamedTempFile::new_in(env!("CARGO_TARGET_TMPDIR"))
        .map_err(|error| error.to_string())?
        .into_temp_path();
    let output = Command::new("cc")
        .args(["-std=gnu11", "-Wall", "-Werror", "-O1", "-pthread"])
        .arg("-o")
        .arg(&unfinished)
        .arg(source)
        .args(flags)
        .arg(libraries().join(runtime))
        .arg(libraries().join("libcuda.so.1"))
        .output()
        .map_err(|error| format!("cc: {error}"))?;
    if !output.status.success() {
        return Err(String::from_utf8_lossy(&output.stderr).into_owned());
    }
    unfinished.persist(&program).map_err(|error| error.to_string())?;
    Ok(program)
}

/// A command for the program with the built libraries in its search path, no cache, and no other
/// settings.
pub fn command(program: &Path) -> Command {
    let mut command = Command::new(program);
    command.env("LD_LIBRARY_PATH", libraries());
    command.env_remove(run_options::VARIABLE);
    for declaration in run_options::DECLARATIONS {
        command.env_remove(declaration.variable);
    }
    command.env("VOLTSIM_CACHE", "off");
    command
}
