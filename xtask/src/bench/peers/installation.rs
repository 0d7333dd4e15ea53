//! Where a built GPGPU-Sim lies, and an Accel-Sim if it does, and how they are started.

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

/// The configuration of a TITAN V, below `configs/tested-cfgs`.
const CONFIGURATION: &str = "configs/tested-cfgs/SM7_TITANV";

/// Seconds on a processor after which a run is given up; who waits in there does so busily.
const PATIENCE: &str = "--cpu=3600";

/// GPGPU-Sim starts cuobjdump with `-lptx FILE` for a list of the PTX in there, and with `-xptx NAME FILE` for one of
/// them, in the working folder.
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

/// What has been built in a folder.
pub(super) struct Installation {
    /// Folder with GPGPU-Sim's `libcudart.so.11.0`.
    library: PathBuf,
    /// GPGPU-Sim's options, for Voltsim to import too.
    pub(super) options: PathBuf,
    accel_sim: Option<AccelSim>,
    /// A CUDA installation, as far as GPGPU-Sim asks for one.
    cuda: PathBuf,
    /// The `voltsim` command.
    voltsim: PathBuf,
}

struct AccelSim {
    program: PathBuf,
    /// What it has beside GPGPU-Sim's options: latencies of machine instructions.
    options: PathBuf,
}

impl Installation {
    /// Looks in `folder`: a built tree of GPGPU-Sim, or of Accel-Sim with GPGPU-Sim's in or beside it.
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

    /// Runs a program on GPGPU-Sim in `folder`, which is made anew; the program has to find its results right.
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

    /// Runs Accel-Sim in `folder` on a folder of traces with so many launches.
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

    /// The beginning of a command whose output arrives line by line.
    fn command(&self, folder: &Path) -> Command {
        // Both turn into the program, so that the process is its.
        let mut command = Command::new("prlimit");
        command.args([PATIENCE, "stdbuf", "-oL"]).current_dir(folder);
        command.env("LD_LIBRARY_PATH", &self.library).env("CUDA_INSTALL_PATH", &self.cuda);
        command.env("PTXAS_CUDA_INSTALL_PATH", &self.cuda).env("VOLTSIM", &self.voltsim);
        // Without it it looks for sections that it does not ask for from CUDA 6 on.
        command.env("CUOBJDUMP_SIM_FILE", "unused");
        command
    }
}

/// The folder with the library of a tree that was built with CUDA 11, with which the programs are compiled.
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

/// Name of the file with what a run printed, in its folder.
const LOG: &str = "output.log";

/// Runs a simulator, and reads what it prints.
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

/// A run that did not come to its end, with the last that it printed. Its exit status may be 0 all the same.
fn ended_early(folder: &Path) -> Error {
    let log = folder.join(LOG);
    let text = fs::read(&log).unwrap_or_default();
    let text = String::from_utf8_lossy(&text).into_owned();
    let last =
        text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or("nothing").to_owned();
    Error::EndedEarly { log, last }
}
