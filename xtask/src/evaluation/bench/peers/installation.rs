//! Locates a built GPGPU-Sim, and optionally Accel-Sim, and starts them.

use super::clock::Moment;
use super::output::{Launch, Reader};
use crate::error::{Error, Result};
use crate::{files, process};
use std::fs;
use std::io::Write as _;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Configuration of a TITAN V, below `configs/tested-cfgs`.
const CONFIGURATION: &str = "configs/tested-cfgs/SM7_TITANV";

/// Processor seconds after which a run is abandoned; the simulators wait busily.
const PATIENCE: &str = "--cpu=3600";

/// GPGPU-Sim starts cuobjdump in the working folder: with `-lptx FILE` to list the PTX inside, with
/// `-xptx NAME FILE` to extract one.
const CUOBJDUMP: &str = r#"#!/bin/sh
set -e
case $1 in
-lptx)
    "$VOLTSIM" extract "$2" -o extracted >extract.log
    for file in extracted/*.ptx; do echo "PTX file: ${file#extracted/}"; done ;;
-xptx) cp "extracted/$2" . ;;
*) echo "cuobjdump: $*: not done here" >&2; exit 1 ;;
esac
"#;

/// Builds found in a folder.
pub(super) struct Installation {
    /// Folder of GPGPU-Sim's `libcudart.so.11.0`.
    library: PathBuf,
    /// GPGPU-Sim's option file, which Voltsim imports too.
    pub(super) options: PathBuf,
    accel_sim: Option<AccelSim>,
    /// The parts of a CUDA installation that GPGPU-Sim requires.
    cuda: PathBuf,
    /// The `voltsim` command.
    voltsim: PathBuf,
}

struct AccelSim {
    program: PathBuf,
    /// Further options: latencies of machine instructions.
    options: PathBuf,
}

impl Installation {
    /// Searches `folder` for a built GPGPU-Sim, or a built Accel-Sim with GPGPU-Sim in or beside
    /// it.
    pub(super) fn find(folder: &Path, ptxas: &Path, voltsim: PathBuf, work: &Path) -> Result<Self> {
        let folder = fs::canonicalize(folder).map_err(Error::file(folder))?;
        let missing = |what| Error::Peer { folder: folder.clone(), what };
        let has = |file: &'static str| move |tree: &PathBuf| tree.join(file).exists();
        let inside = ["", "gpgpu-sim", "gpu-simulator/gpgpu-sim", "accel-sim/gpu-simulator/gpgpu-sim"];
        let tree = inside.map(|inside| folder.join(inside)).into_iter().find(has("libcuda"));
        let tree = tree.ok_or_else(|| missing("a tree of GPGPU-Sim"))?;
        let options = tree.join(CONFIGURATION).join("gpgpusim.config");
        if !options.exists() {
            return Err(missing("GPGPU-Sim's configs/tested-cfgs/SM7_TITANV/gpgpusim.config"));
        }
        let library = library(&tree)?.ok_or_else(|| {
            missing("lib/gcc-*/cuda-11*/release/libcudart.so, GPGPU-Sim built with CUDA 11")
        })?;
        let inside = ["", "gpu-simulator", "accel-sim/gpu-simulator"].map(|inside| folder.join(inside));
        let accel_sim = inside.into_iter().find(has("bin/release/accel-sim.out")).map(|tree| AccelSim {
            program: tree.join("bin/release/accel-sim.out"),
            options: tree.join(CONFIGURATION).join("trace.config"),
        });
        let cuda = work.join("cuda");
        let programs = cuda.join("bin");
        fs::create_dir_all(&programs).map_err(Error::file(&programs))?;
        files::link(ptxas, &programs.join("ptxas"))?;
        let cuobjdump = programs.join("cuobjdump");
        fs::write(&cuobjdump, CUOBJDUMP).map_err(Error::file(&cuobjdump))?;
        fs::set_permissions(&cuobjdump, fs::Permissions::from_mode(0o755))
            .map_err(Error::file(&cuobjdump))?;
        Ok(Self { library, options, accel_sim, cuda, voltsim })
    }

    pub(super) fn has_accel_sim(&self) -> bool {
        self.accel_sim.is_some()
    }

    /// Runs a program on GPGPU-Sim in a fresh `folder`; the program must confirm its results.
    pub(super) fn gpgpu_sim(&self, program: &Path, size: &str, folder: &Path) -> Result<Vec<Launch>> {
        files::remove_folder(folder)?;
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let options = folder.join("gpgpusim.config");
        fs::copy(&self.options, &options).map_err(Error::file(&self.options))?;
        let mut command = self.command(folder);
        command.arg(program).arg(size);
        let reader = read(&mut command, folder)?;
        if reader.passed() { Ok(reader.launches().to_vec()) } else { Err(ended_early(folder)) }
    }

    /// Runs Accel-Sim in `folder` on a folder of `launches` traces.
    pub(super) fn accel_sim(&self, traces: &Path, launches: usize, folder: &Path) -> Result<Vec<Launch>> {
        let Some(AccelSim { program, options }) = &self.accel_sim else {
            return Err(Error::Peer { folder: folder.to_owned(), what: "bin/release/accel-sim.out" });
        };
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let mut command = self.command(folder);
        command.arg(program).arg("-trace").arg(traces.join("kernelslist.g"));
        command.arg("-config").arg(&self.options).arg("-config").arg(options);
        let ended = read(&mut command, folder)?.launches().to_vec();
        if ended.len() == launches { Ok(ended) } else { Err(ended_early(folder)) }
    }

    /// Start of a command whose output arrives line by line.
    fn command(&self, folder: &Path) -> Command {
        // Both exec the program, so the process number is the program's.
        let mut command = Command::new("prlimit");
        command.args([PATIENCE, "stdbuf", "-oL"]).current_dir(folder);
        command.env("LD_LIBRARY_PATH", &self.library).env("CUDA_INSTALL_PATH", &self.cuda);
        command.env("PTXAS_CUDA_INSTALL_PATH", &self.cuda).env("VOLTSIM", &self.voltsim);
        // Without the variable GPGPU-Sim searches for sections that CUDA 6 and later lack.
        command.env("CUOBJDUMP_SIM_FILE", "unused");
        command
    }
}

/// Library folder of a tree built with CUDA 11, the version of the programs.
fn library(tree: &Path) -> Result<Option<PathBuf>> {
    let lib = tree.join("lib");
    let entries = |folder: &Path| -> Result<Vec<PathBuf>> {
        let entries = fs::read_dir(folder).map_err(Error::file(folder))?;
        let mut paths = Vec::new();
        for entry in entries {
            paths.push(entry.map_err(Error::file(folder))?.path());
        }
        paths.sort();
        Ok(paths)
    };
    if !lib.exists() {
        return Ok(None);
    }
    for compiler in entries(&lib)?.iter().filter(|path| path.is_dir()) {
        for cuda in entries(compiler)? {
            let is_11 = cuda.file_name().is_some_and(|name| name.to_string_lossy().starts_with("cuda-11"));
            let library = cuda.join("release");
            if is_11 && library.join("libcudart.so.11.0").exists() {
                return Ok(Some(library));
            }
        }
    }
    Ok(None)
}

/// File name of a run's output.
const LOG: &str = "output.log";

/// Runs a simulator and parses its output.
fn read(command: &mut Command, folder: &Path) -> Result<Reader> {
    let path = folder.join(LOG);
    let mut log = fs::File::create(&path).map_err(Error::file(&path))?;
    let errors = log.try_clone().map_err(Error::file(&path))?;
    let mut reader = Reader::default();
    let (start, mut written) = (Instant::now(), Ok(()));
    process::each_line(command.stderr(errors), |process, line| {
        reader.line(line, || Moment::now(process, start));
        if written.is_ok() {
            written = writeln!(log, "{line}");
        }
    })?;
    written.map_err(Error::file(&path))?;
    Ok(reader)
}

/// Error of an incomplete run, with its last line. The exit status may still be 0.
fn ended_early(folder: &Path) -> Error {
    let log = folder.join(LOG);
    let text = fs::read(&log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let last =
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned();
    Error::EndedEarly { log, last }
}
