//! Client suites: the tests of other projects that use CUDA, run on the simulator.
//! `tests/clients/README.md` tells of each.

mod checkout;
mod crate_tests;
mod cupy;
mod offload;
mod pass_list;
mod pytest;
mod pytorch;
mod tinygrad;

use crate::error::{Error, Result};
use crate::python::Beside;
use crate::workspace::Workspace;
use clap::{Args, ValueEnum};
use std::ffi::OsString;
use std::path::{Path, PathBuf};

use tinygrad::Tinygrad;

/// `cargo xtask clients`.
#[derive(Args, Default)]
pub(crate) struct Arguments {
    /// The suites to run, each whole; without, a small part of every suite, as in CI.
    suites: Vec<Suite>,
    /// A checkout of tinygrad's repository, for its tests of operations, types and its JIT (needs
    /// Debian's python3-torch).
    #[arg(long, value_name = "FOLDER")]
    tinygrad: Option<PathBuf>,
    /// A clone of github.com/NVIDIA/cuda-python, whose tests are put into the cache folder for
    /// cuda-bindings and cuda-core.
    #[arg(long, value_name = "FOLDER")]
    cuda_python: Option<PathBuf>,
    /// Put what passes now into the pass lists.
    #[arg(long)]
    accept: bool,
    /// Run the suites with this `voltsim` instead of building one.
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Suite {
    Tinygrad,
    NumbaCuda,
    #[value(name = "numba-cuda-13")]
    NumbaCuda13,
    Triton,
    Curand,
    GccOffload,
    Cudarc,
    Cubecl,
    Nvrtc,
    CudaBindings,
    CudaCore,
    Cupy,
    Taichi,
    Pytorch,
    #[value(name = "pytorch-2.6")]
    Pytorch26,
}

impl Suite {
    fn name(self) -> String {
        self.to_possible_value().map_or_else(String::new, |name| name.get_name().to_owned())
    }

    fn is_pytorch(self) -> bool {
        matches!(self, Self::Pytorch | Self::Pytorch26)
    }

    /// Runs the suite; true if all listed tests pass.
    fn run(self, workspace: &Workspace, command: &Path, part: Part, accept: bool) -> Result<bool> {
        let suite = match self {
            Self::Tinygrad => return Tinygrad::set_up(workspace, command)?.run(part),
            Self::NumbaCuda => &pytest::NUMBA_CUDA,
            Self::NumbaCuda13 => &pytest::NUMBA_CUDA_13,
            Self::Triton => &pytest::TRITON,
            Self::Curand => &pytest::CURAND,
            Self::GccOffload => return offload::run(workspace, command, part, accept),
            Self::Cudarc => return crate_tests::CUDARC.run(workspace, command, part, accept),
            Self::Cubecl => return crate_tests::CUBECL.run(workspace, command, part, accept),
            Self::Nvrtc => &pytest::NVRTC,
            Self::CudaBindings => &pytest::CUDA_BINDINGS,
            Self::CudaCore => &pytest::CUDA_CORE,
            Self::Cupy => &pytest::CUPY,
            Self::Taichi => &pytest::TAICHI,
            Self::Pytorch => return pytorch::PYTORCH.run(workspace, command, part, accept),
            Self::Pytorch26 => return pytorch::PYTORCH_2_6.run(workspace, command, part, accept),
        };
        suite.run(workspace, command, part, accept)
    }
}

/// Extent of a suite's run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Part {
    /// The part that CI has time for.
    Small,
    Whole,
}

/// Folder of the environment `name`, whose packages `tests/clients/NAME-requirements.txt` lists.
pub(crate) fn environment(workspace: &Workspace, name: &str) -> Result<PathBuf> {
    pytest::environment(workspace, name, Beside::Nothing)
}

/// Search path of the libraries that CuPy's environment needs beside its packages.
pub(crate) fn cupy_libraries(workspace: &Workspace, environment: &Path, part: Part) -> Result<OsString> {
    cupy::libraries(workspace, environment, part)
}

/// Runs the small parts of all suites; true if all listed tests pass.
pub(crate) fn small(workspace: &Workspace) -> Result<bool> {
    small_with(workspace, &workspace.command())
}

fn small_with(workspace: &Workspace, command: &Path) -> Result<bool> {
    let mut passed = true;
    for suite in Suite::value_variants() {
        passed &= suite.run(workspace, command, Part::Small, false)?;
    }
    Ok(passed)
}

/// `cargo xtask test NAME` for a suite of PyTorch: runs it whole. `None` for another name.
pub(crate) fn run_by_name(name: &str) -> Option<Result<()>> {
    let suite = Suite::value_variants().iter().find(|suite| suite.name() == name && suite.is_pytorch())?;
    Some(run(&Arguments { suites: vec![*suite], ..Arguments::default() }))
}

/// `cargo xtask clients`.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let command = match &arguments.command {
        Some(command) => std::path::absolute(command).map_err(Error::file(command))?,
        None if workspace.build()? => workspace.command(),
        None => return Err(Error::Steps("release build".to_owned())),
    };
    if let Some(clone) = &arguments.cuda_python {
        checkout::CUDA_PYTHON.unpack(&workspace, clone)?;
    }
    if arguments.suites.is_empty() && arguments.tinygrad.is_none() {
        return verdict("client suites", small_with(&workspace, &command)?);
    }
    let mut failed = Vec::new();
    for suite in &arguments.suites {
        let passed = suite.run(&workspace, &command, Part::Whole, arguments.accept)?;
        if !passed {
            failed.push(suite.name());
        }
    }
    if let Some(checkout) = &arguments.tinygrad {
        let checkout = std::fs::canonicalize(checkout).map_err(Error::file(checkout))?;
        let tinygrad = Tinygrad::set_up(&workspace, &command)?;
        if !tinygrad.checkout(&workspace, &checkout, arguments.accept)? {
            failed.push("tinygrad's repository".to_owned());
        }
    }
    verdict(&failed.join(", "), failed.is_empty())
}

fn verdict(what: &str, passed: bool) -> Result<()> {
    if passed { Ok(()) } else { Err(Error::Steps(what.to_owned())) }
}

/// Folder of the pytest plugin that records outcomes.
fn plugin(workspace: &Workspace) -> PathBuf {
    lists(workspace).join("plugin")
}

/// Folder of the lists and the clients' helpers.
fn lists(workspace: &Workspace) -> PathBuf {
    workspace.root.join("tests/clients")
}

/// Tests of a suite that are not run; the list gives a reason for each.
fn left_out(workspace: &Workspace, suite: &str) -> Result<Vec<String>> {
    let path = lists(workspace).join(format!("{suite}-left-out.txt"));
    if !path.exists() {
        return Ok(Vec::new());
    }
    let text = read(&path)?;
    let lines = text.lines().filter(|line| !line.starts_with('#'));
    Ok(lines.filter_map(|line| line.split_once('\t')).map(|(name, _)| name.to_owned()).collect())
}

/// Text of a file in a suite's folder; the error names the file.
fn read(path: &Path) -> Result<String> {
    std::fs::read_to_string(path).map_err(Error::file(path))
}
