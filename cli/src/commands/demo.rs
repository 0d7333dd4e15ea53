//! `voltsim demo`: builds and runs the program in `examples/demo`, which needs no CUDA at all.

use std::fs;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode};

use run_options::RunOptions;
use saved_run::Point;
use serde::Deserialize;

use crate::failure::Failure;
use crate::given::hand_over;
use crate::libraries;
use crate::paths::absolute;

/// Build and run a small CUDA program, and show the executed instructions of its kernels
///
/// The program is C, compiled by cc. The program hands PTX, made from CUDA C++, to the CUDA
/// runtime, as code of nvcc does.
#[derive(clap::Args)]
pub(crate) struct Args {
    /// Save the run to a file after its first kernel
    #[arg(long, value_name = "FILE")]
    checkpoint: Option<PathBuf>,
}

/// Shown parts of the summary that the core writes.
#[derive(Deserialize)]
struct Summary {
    device: Option<String>,
    api_calls: u64,
    kernels: Vec<Kernel>,
}

#[derive(Deserialize)]
struct Kernel {
    name: String,
    launches: u64,
    warp_instructions: u64,
    lane_instructions: u64,
    seconds: f64,
}

/// Compiles, runs, reports. The exit status is the program's.
pub(crate) fn run(args: &Args, out: &mut dyn Write) -> Result<ExitCode, Failure> {
    let sources = libraries::checkout().join("examples/demo");
    let folder = libraries::folder()?;
    let program = compile(&sources, &folder)?;
    let summary_file = program.with_extension("summary.json");
    let _ = fs::remove_file(&summary_file);
    out.flush()?;
    let mut command = Command::new(&program);
    libraries::prepend(&mut command, "LD_LIBRARY_PATH", folder.as_os_str());
    let options = RunOptions {
        summary: Some(summary_file.clone()),
        checkpoint: args.checkpoint.as_ref().map(|_| Point { kernel: 2, inside: None }),
        checkpoint_file: args.checkpoint.as_deref().map(absolute).transpose()?,
        ..RunOptions::default()
    };
    hand_over(&options, &mut command);
    let status = command.status().map_err(|error| Failure::in_file(&program, error))?;
    let text = fs::read(&summary_file).map_err(|error| Failure::in_file(&summary_file, error))?;
    let summary = serde_json::from_slice(&text).map_err(|error| Failure::in_file(&summary_file, error))?;
    report(&summary, out)?;
    if let Some(file) = &args.checkpoint {
        writeln!(out, "\nResume from {0}: voltsim resume {0} -- {1}", file.display(), program.display())?;
    }
    match status.code().and_then(|code| u8::try_from(code).ok()) {
        Some(code) => Ok(ExitCode::from(code)),
        None => Err(Failure::in_file(&program, status)),
    }
}

/// Compiles the demo into the library folder's neighbourhood; gives the program's path.
fn compile(sources: &Path, folder: &Path) -> Result<PathBuf, Failure> {
    let source = sources.join("demo.c");
    let program = folder.with_file_name("voltsim-demo");
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

fn report(summary: &Summary, out: &mut dyn Write) -> Result<(), Failure> {
    let device = summary.device.as_deref().unwrap_or("no device");
    writeln!(out, "\n{device}, {} CUDA calls", summary.api_calls)?;
    for kernel in &summary.kernels {
        writeln!(
            out,
            "  {}: {} launches, {} warp instructions, {} lane instructions, {:.1} ms, {:.0} M warp instructions/s",
            kernel.name,
            kernel.launches,
            kernel.warp_instructions,
            kernel.lane_instructions,
            kernel.seconds * 1e3,
            kernel.warp_instructions as f64 / kernel.seconds.max(1e-9) / 1e6,
        )?;
    }
    Ok(())
}
