//! The program of `examples/demo`: prebuilt in an installation, compiled by cc in a checkout.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus, Stdio};

use run_options::RunOptions;
use serde::Deserialize;

use crate::failure::Failure;
use crate::given::hand_over;
use crate::libraries;

/// Name of the program in the library folder of an installation.
pub(crate) const NAME: &str = "voltsim-demo";

/// Parts of the summary that the core writes at the program's end.
#[derive(Deserialize)]
pub(crate) struct Summary {
    pub(crate) device: Option<String>,
    pub(crate) api_calls: u64,
    pub(crate) kernels: Vec<Kernel>,
}

#[derive(Deserialize)]
pub(crate) struct Kernel {
    pub(crate) name: String,
    pub(crate) launches: u64,
    pub(crate) warp_instructions: u64,
    pub(crate) lane_instructions: u64,
    pub(crate) seconds: f64,
}

/// Outcome of one execution.
pub(crate) struct Execution {
    pub(crate) program: PathBuf,
    pub(crate) status: ExitStatus,
    pub(crate) summary: Summary,
}

/// Executes the program. The program compares its results with the host's own computation and
/// exits with 1 if they differ. `shown` passes its output on.
pub(crate) fn execute(options: RunOptions, shown: bool) -> Result<Execution, Failure> {
    let folder = libraries::folder()?;
    let program = find(&folder)?;
    let results = tempfile::tempdir()
        .map_err(|error| Failure::new(format_args!("temporary folder: {error}")).remedy("Set TMPDIR"))?;
    let summary = results.path().join("summary.json");
    let mut command = Command::new(&program);
    libraries::prepend(&mut command, "LD_LIBRARY_PATH", folder.as_os_str());
    hand_over(&RunOptions { summary: Some(summary.clone()), ..options }, &mut command);
    if shown {
        command.stdout(Stdio::inherit()).stderr(Stdio::inherit());
    }
    let output = command.output().map_err(|error| Failure::in_file(&program, error))?;
    // A program that could not start its run has said why.
    let said = || String::from_utf8_lossy(&output.stderr).into_owned();
    let text = fs::read(&summary)
        .map_err(|error| Failure::in_file(&program, format_args!("no summary ({error}) {}", said())))?;
    let summary = serde_json::from_slice(&text).map_err(|error| Failure::in_file(&summary, error))?;
    Ok(Execution { program, status: output.status, summary })
}

/// The installation's program, or the checkout's, compiled beside the library folder.
fn find(folder: &Path) -> Result<PathBuf, Failure> {
    let installed = folder.join(NAME);
    if installed.exists() {
        return Ok(installed);
    }
    compile(&libraries::checkout().join("examples/demo"), folder)
}

fn compile(sources: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let source = sources.join("demo.c");
    if !source.exists() {
        return Err(Failure::in_file(&source, "the demo's source is missing")
            .remedy("Install Voltsim again, or run this in a checkout"));
    }
    let program = folder.with_file_name(NAME);
    let compiler = std::env::var_os("CC").unwrap_or_else(|| "cc".into());
    let output = Command::new(&compiler)
        .args(["-O2", "-o"])
        .arg(&program)
        .arg(format!("-DPTX_FILE=\"{}\"", sources.join("kernels.ptx").display()))
        .arg(&source)
        .arg(folder.join(api_table::Library::Cudart13.soname()))
        .output()
        .map_err(|error| {
            Failure::in_file(Path::new(&compiler), error).remedy("Install a C compiler, or name one in CC")
        })?;
    if output.status.success() {
        Ok(program)
    } else {
        Err(Failure::in_file(&source, String::from_utf8_lossy(&output.stderr).trim_end()))
    }
}
