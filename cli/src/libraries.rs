//! Where the libraries a program is to load lie, and how a program is told of them.

use std::env;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::Failure;

/// The checkout this command was built from; it need not exist any more.
pub(crate) fn checkout() -> &'static Path {
    Path::new(concat!(env!("CARGO_MANIFEST_DIR"), "/.."))
}

/// Folder with `libcudart.so.*`, `libcuda.so.1` and the core, beside this executable. What is missing there is built.
pub(crate) fn folder() -> Result<PathBuf, Failure> {
    let executable = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
    let beside = executable.parent().unwrap_or(Path::new("."));
    library_folder::prepare(beside, checkout()).map_err(|error| {
        Failure::new(error).remedy("Build the libraries: cargo build --release --workspace in the checkout")
    })
}

/// The library with the simulator.
pub(crate) fn core() -> Result<PathBuf, Failure> {
    Ok(folder()?.join(library_folder::CORE))
}

/// Puts `first` before what the environment variable `name` holds, as `LD_LIBRARY_PATH` and `LD_PRELOAD` read it.
pub(crate) fn prepend(command: &mut Command, name: &str, first: &OsStr) {
    let mut value = OsString::from(first);
    if let Some(present) = env::var_os(name).filter(|present| !present.is_empty()) {
        value.push(":");
        value.push(present);
    }
    command.env(name, value);
}
