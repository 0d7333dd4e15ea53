//! The folder a program's `LD_LIBRARY_PATH` and `PATH` point to: the front libraries under their sonames, the core, and
//! commands that stand in for the vendor's.
//!
//! It lies beside what cargo built (`target/<profile>/voltsim-lib`) and holds links, so that a new build needs no new
//! folder. An installed folder holds the files themselves and is used as it is.

use api_table::Library;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the folder beside the executable.
pub const NAME: &str = "voltsim-lib";

/// The library with the simulator, as cargo names it and the fronts look for it.
pub const CORE: &str = "libvoltsim_core.so";

/// Why there is no library folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link or folder could not be made.
    #[error("cannot make {path}: {error}")]
    Make {
        /// The file or folder.
        path: PathBuf,
        /// Why.
        error: io::Error,
    },
    /// A library is missing and there is no checkout to build it from.
    #[error("{path} is missing, and {checkout} is no checkout to build it from")]
    Missing {
        /// The library.
        path: PathBuf,
        /// Where the sources were expected.
        checkout: PathBuf,
    },
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(io::Error),
    /// Cargo failed; it has said why.
    #[error("building the libraries failed ({0})")]
    Build(std::process::ExitStatus),
}

/// The library to preload into programs that have the runtime linked in.
pub const STATIC: &str = "libvoltsim_static.so";

/// The library to preload into all programs, for those that open CUDA's libraries by path.
pub const DLOPEN: &str = "libvoltsim_dlopen.so";

/// The library to preload into programs whose runs are saved or resumed.
pub const THREADS: &str = "libvoltsim_threads.so";

/// The names of the front for NVRTC.
const NVRTC: [&str; 3] = ["libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"];

/// The stand-in for the vendor's assembler, in the folder.
pub const PTXAS: &str = "ptxas";

/// Name in the folder and name in cargo's output of each library; `libcuda.so` is what some clients open.
fn names() -> impl Iterator<Item = (&'static str, String)> {
    let built = |library: Library| format!("lib{}.so", library.crate_name());
    let fronts = Library::ALL.into_iter().map(move |library| (library.soname(), built(library)));
    let nvrtc = NVRTC.into_iter().map(|name| (name, "libvoltsim_nvrtc.so".to_owned()));
    fronts.chain(nvrtc).chain([
        ("libcuda.so", built(Library::Cuda)),
        (CORE, CORE.to_owned()),
        (STATIC, STATIC.to_owned()),
        (DLOPEN, DLOPEN.to_owned()),
        (THREADS, THREADS.to_owned()),
        (PTXAS, "voltsim_ptxas".to_owned()),
    ])
}

/// The packages that make the libraries.
fn packages() -> impl Iterator<Item = &'static str> {
    [
        "cudart-shim",
        "front-cudart-11",
        "front-cudart-12",
        "front-cudart-13",
        "front-cuda",
        "front-nvml",
        "front-static",
        "front-dlopen",
        "front-threads",
        "standin-nvrtc",
        "standin-ptxas",
    ]
    .into_iter()
}

/// The complete folder inside `output`, the folder cargo builds into or an executable was installed to.
/// Libraries that are missing are built when `checkout` holds the sources.
pub fn prepare(output: &Path, checkout: &Path) -> Result<PathBuf, Error> {
    let folder = output.join(NAME);
    let complete = || names().all(|(name, _)| folder.join(name).exists());
    if complete() {
        return Ok(folder);
    }
    if let Some((_, built)) = names().find(|(_, built)| !output.join(built).exists()) {
        if !checkout.join("cudart-shim/Cargo.toml").exists() {
            return Err(Error::Missing { path: output.join(built), checkout: checkout.to_owned() });
        }
        // Minutes go by in silence otherwise; standard output belongs to the program that is going to run.
        eprintln!("voltsim: building the libraries in {} (once, some minutes)", output.display());
        build(output, checkout)?;
    }
    link(output, &folder)?;
    Ok(folder)
}

/// Builds the libraries into `output`, whose last component is the profile's folder (`debug`, `release`).
pub fn build(output: &Path, checkout: &Path) -> Result<(), Error> {
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.current_dir(checkout).args(["build", "--quiet"]);
    if let Some(target) = output.parent() {
        cargo.arg("--target-dir").arg(target);
    }
    match output.file_name().and_then(|name| name.to_str()) {
        None | Some("debug") => {}
        Some(profile) => {
            cargo.args(["--profile", profile]);
        }
    }
    for package in packages() {
        cargo.args(["--package", package]);
    }
    let status = cargo.stdout(Stdio::null()).status().map_err(Error::Start)?;
    if status.success() { Ok(()) } else { Err(Error::Build(status)) }
}

/// Links each library of `output` into `folder` under the name programs ask for.
fn link(output: &Path, folder: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::Make { path, error }
    };
    std::fs::create_dir_all(folder).map_err(failed(folder))?;
    for (name, built) in names() {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        let target = Path::new("..").join(&built);
        // Made under another name and moved, as another process may be doing the same.
        let temporary = folder.join(format!(".{name}.{}", std::process::id()));
        let _ = std::fs::remove_file(&temporary);
        std::os::unix::fs::symlink(&target, &temporary).map_err(failed(&temporary))?;
        std::fs::rename(&temporary, &path).map_err(failed(&path))?;
        if !output.join(&built).exists() {
            return Err(Error::Missing { path: output.join(&built), checkout: output.to_owned() });
        }
    }
    Ok(())
}
