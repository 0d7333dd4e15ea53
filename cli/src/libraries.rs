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

/// Folder with `libcudart.so.*`, `libcuda.so.1` and the core, beside this executable. Missing
/// libraries are built.
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

/// Puts `first` before what the command's variable `name` holds, as `LD_LIBRARY_PATH` and
/// `LD_PRELOAD` read it.
pub(crate) fn prepend(command: &mut Command, name: &str, first: &OsStr) {
    let set = command.get_envs().find(|(set, _)| *set == name).map(|(_, value)| value.map(OsStr::to_owned));
    let present = set.unwrap_or_else(|| env::var_os(name)).filter(|present| !present.is_empty());
    let mut value = OsString::from(first);
    if let Some(present) = present {
        value.push(":");
        value.push(present);
    }
    command.env(name, value);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn last_prepended_entry_comes_first() {
        let mut command = Command::new("true");
        for name in ["b", "a"] {
            prepend(&mut command, "VOLTSIM_TEST_UNSET", OsStr::new(name));
        }
        let value =
            command.get_envs().find(|(name, _)| *name == "VOLTSIM_TEST_UNSET").and_then(|(_, value)| value);
        assert_eq!(value, Some(OsStr::new("a:b")));
    }
}
