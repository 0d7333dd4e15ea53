//! The folder on a program's `LD_LIBRARY_PATH` and `PATH`: front libraries under their sonames, the
//! core, and commands that replace the vendor's.
//!
//! A checkout has the folder beside cargo's output (`target/<profile>/voltsim-lib`), filled with
//! links that stay valid over builds. An installation has the folder at [`INSTALLED`], with the files
//! themselves.

use api_table::Library;
use std::io;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

/// Name of the folder beside the executable.
pub const NAME: &str = "voltsim-lib";

/// Folder of an installation, relative to the folder of the executable (`PREFIX/bin`).
pub const INSTALLED: &str = "../lib/voltsim";

/// Library with the simulator, under cargo's name, for which the fronts look.
pub const CORE: &str = "libvoltsim_core.so";

/// Reason why there is no library folder.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// A link or folder cannot be created.
    #[error("cannot make {path}: {error}")]
    Make {
        /// The file or folder.
        path: PathBuf,
        /// The system's error.
        error: io::Error,
    },
    /// A library is missing, without sources to build it.
    #[error("{path} is missing and {checkout} holds no sources to build it from")]
    Missing {
        /// The library.
        path: PathBuf,
        /// Expected location of the sources.
        checkout: PathBuf,
    },
    /// Cargo could not be started.
    #[error("cannot start cargo: {0}")]
    Start(io::Error),
    /// Cargo failed and printed the reason.
    #[error("building the libraries failed ({0})")]
    Build(std::process::ExitStatus),
}

/// Library to preload into programs with a static runtime.
pub const STATIC: &str = "libvoltsim_static.so";

/// Library to preload into all programs, for those that open CUDA's libraries by path.
pub const DLOPEN: &str = "libvoltsim_dlopen.so";

/// Library to preload into programs whose runs are saved or resumed.
pub const THREADS: &str = "libvoltsim_threads.so";

/// Sonames of the NVRTC front.
const NVRTC: [&str; 3] = ["libnvrtc.so.11.2", "libnvrtc.so.12", "libnvrtc.so.13"];

/// Soname of the library of collective operations.
const NCCL: &str = "libnccl.so.2";

/// Folder, within the library folder, of libraries that take the place of the vendor's where a run asks
/// for them.
pub const STAND_INS: &str = "stand-ins";

/// The libraries of [`STAND_INS`], with their names in the library folder, and cargo's names.
const STAND_IN_NAMES: [(&str, &str); 9] = [
    ("stand-ins/libcublas.so.11", BLAS),
    ("stand-ins/libcublas.so.12", BLAS),
    ("stand-ins/libcublas.so.13", BLAS),
    ("stand-ins/libcublasLt.so.11", BLAS),
    ("stand-ins/libcublasLt.so.12", BLAS),
    ("stand-ins/libcublasLt.so.13", BLAS),
    ("stand-ins/libcufft.so.10", FFT),
    ("stand-ins/libcufft.so.11", FFT),
    ("stand-ins/libcufft.so.12", FFT),
];

const BLAS: &str = "libvoltsim_blas.so";
const FFT: &str = "libvoltsim_fft.so";

/// Replacement of the vendor's assembler, in the folder.
pub const PTXAS: &str = "ptxas";

/// Cargo's name of a front.
fn built(library: Library) -> String {
    format!("lib{}.so", library.crate_name())
}

/// Name of a front in the folder: its soname, under which the loader finds the front.
///
/// The fronts of nvJitLink have other names. Programs use nvJitLink where it is installed, and do
/// without it elsewhere. So the front takes the place of an installed library alone
/// (`preload/dlopen`).
pub fn name_of(library: Library) -> &'static str {
    match library {
        Library::NvJitLink12 => "libvoltsim_nvjitlink_12.so",
        Library::NvJitLink13 => "libvoltsim_nvjitlink_13.so",
        _ => library.soname(),
    }
}

/// Name in the folder, and in cargo's output, of each library; some clients open `libcuda.so`.
pub fn names() -> impl Iterator<Item = (&'static str, String)> {
    let fronts = Library::ALL.into_iter().map(|library| (name_of(library), built(library)));
    let nvrtc = NVRTC.into_iter().map(|name| (name, "libvoltsim_nvrtc.so".to_owned()));
    let stand_ins = STAND_IN_NAMES.into_iter().map(|(name, built)| (name, built.to_owned()));
    fronts.chain(nvrtc).chain(stand_ins).chain([
        ("libcuda.so", built(Library::Cuda)),
        (NCCL, "libvoltsim_nccl.so".to_owned()),
        (CORE, CORE.to_owned()),
        (STATIC, STATIC.to_owned()),
        (DLOPEN, DLOPEN.to_owned()),
        (THREADS, THREADS.to_owned()),
        (PTXAS, "voltsim_ptxas".to_owned()),
    ])
}

/// Names of the libraries of [`STAND_INS`], as programs know them.
pub fn stand_ins() -> impl Iterator<Item = &'static str> {
    STAND_IN_NAMES.into_iter().filter_map(|(name, _)| name.rsplit('/').next())
}

/// Packages that build the libraries.
fn packages() -> impl Iterator<Item = &'static str> {
    [
        "cudart-shim",
        "front-cudart-11",
        "front-cudart-12",
        "front-cudart-13",
        "front-cuda",
        "front-nvml",
        "front-nvjitlink-12",
        "front-nvjitlink-13",
        "front-static",
        "front-dlopen",
        "front-threads",
        "standin-blas",
        "standin-fft",
        "standin-nccl",
        "standin-nvrtc",
        "standin-ptxas",
    ]
    .into_iter()
}

/// The folder of the installation that `output` belongs to, else the folder inside `output`, which
/// is completed. `output` is cargo's output or the folder of the installed executable. Missing
/// libraries are built if `checkout` holds the sources.
pub fn prepare(output: &Path, checkout: &Path) -> Result<PathBuf, Error> {
    let is_complete = |folder: &Path| names().all(|(name, _)| folder.join(name).exists());
    let installed = output.join(INSTALLED);
    if is_complete(&installed) {
        // Programs show the folder in their own messages, so `bin/..` is resolved.
        return Ok(installed.canonicalize().unwrap_or(installed));
    }
    let folder = output.join(NAME);
    if is_complete(&folder) {
        return Ok(folder);
    }
    if let Some((_, built)) = names().find(|(_, built)| !output.join(built).exists()) {
        if !checkout.join("cudart-shim/Cargo.toml").exists() {
            return Err(Error::Missing { path: output.join(built), checkout: checkout.to_owned() });
        }
        // A silent build of minutes would look like a hang. Standard output belongs to the program.
        eprintln!("voltsim: building the libraries in {} (once, some minutes)", output.display());
        build(output, checkout)?;
    }
    link(output, &folder)?;
    Ok(folder)
}

/// Builds the libraries into `output`, whose last component is the profile's folder (`debug`,
/// `release`).
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

/// Links each library of `output` into `folder` under the name that programs use.
fn link(output: &Path, folder: &Path) -> Result<(), Error> {
    let failed = |path: &Path| {
        let path = path.to_owned();
        move |error| Error::Make { path, error }
    };
    let stand_ins = folder.join(STAND_INS);
    std::fs::create_dir_all(&stand_ins).map_err(failed(&stand_ins))?;
    for (name, built) in names() {
        let path = folder.join(name);
        if path.exists() {
            continue;
        }
        let target = name.split('/').map(|_| "..").collect::<PathBuf>().join(&built);
        // A rename of a temporary link is safe against other processes that do the same.
        let temporary = path.with_added_extension(format!("{}.new", std::process::id()));
        let _ = std::fs::remove_file(&temporary);
        std::os::unix::fs::symlink(&target, &temporary).map_err(failed(&temporary))?;
        std::fs::rename(&temporary, &path).map_err(failed(&path))?;
        if !output.join(&built).exists() {
            return Err(Error::Missing { path: output.join(&built), checkout: output.to_owned() });
        }
    }
    Ok(())
}
