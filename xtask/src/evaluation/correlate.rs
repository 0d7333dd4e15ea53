//! `cargo xtask correlate`: runs programs profiled on a GV100 on its model and compares with the
//! measurements.
//!
//! The programs are Rodinia's and polybench-gpu's, compiled by the user. Arguments and input files
//! reproduce the measured launches: the same kernels, grids and blocks.

use super::inputs::Input;
use crate::error::{Error, Result};
use crate::files;
use crate::process;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

/// The measurements.
const TABLE: &str = "evaluation/measurements/gv100-ncu.csv";

/// Options of a run: the measured card with cold caches, as under a profiler.
const OPTIONS: [&str; 5] = ["run", "--gpu", "gv100", "--set", "launch.cold=true"];

/// Column of Accel-Sim's prediction.
const ACCEL_SIM: &str = "accelsim_cycles";

/// Programs to run, and their location.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with the executables, named as in the table: b+tree, backprop, hotspot, lud, nw,
    /// pathfinder, 2DConvolution, atax, gemm. They link the shared runtime and hold PTX.
    #[arg(long, value_name = "DIR")]
    programs: PathBuf,
    /// Mode of the timing model: detailed, hybrid-alu or hybrid-memory.
    #[arg(long, value_name = "MODE", default_value = "detailed")]
    mode: String,
    /// Only these programs; all without.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Compare the statistics of an earlier run where there are some.
    #[arg(long)]
    reuse: bool,
    /// Also write all launches and metrics to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A program with the arguments and inputs of the measured launches.
struct Measured {
    name: &'static str,
    arguments: &'static [&'static str],
    inputs: &'static [Input],
}

const PROGRAMS: [Measured; 9] = [
    Measured {
        name: "b+tree",
        arguments: &["file", "keys.txt", "command", "commands.txt"],
        inputs: &[Input::Keys("keys.txt", 1_000_000), Input::Text("commands.txt", "j 6000 3000\nk 10000\n")],
    },
    Measured { name: "backprop", arguments: &["65536"], inputs: &[] },
    Measured {
        name: "hotspot",
        arguments: &["512", "2", "2", "temperatures.txt", "powers.txt", "output.txt"],
        inputs: &[
            Input::Numbers("temperatures.txt", 512 * 512, 323.0, 342.0),
            Input::Numbers("powers.txt", 512 * 512, 0.0, 0.01),
        ],
    },
    // The table has the first hundred launches of lud and nw.
    Measured { name: "lud", arguments: &["-s", "2048"], inputs: &[] },
    Measured { name: "nw", arguments: &["2048", "10"], inputs: &[] },
    Measured { name: "pathfinder", arguments: &["100000", "100", "20"], inputs: &[] },
    Measured { name: "2DConvolution", arguments: &[], inputs: &[] },
    Measured { name: "atax", arguments: &[], inputs: &[] },
    Measured { name: "gemm", arguments: &[], inputs: &[] },
];

/// Runs the programs and prints the model's errors.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let chosen = |program: &&Measured| {
        arguments.only.is_empty() || arguments.only.iter().any(|name| name == program.name)
    };
    let folder = workspace.target.join("correlate");
    let compared = folder.join("compared");
    files::remove_folder(&compared)?;
    fs::create_dir_all(&compared).map_err(Error::file(&compared))?;
    for program in PROGRAMS.iter().filter(chosen) {
        let statistics = statistics(&workspace, arguments, program, &folder.join(program.name))?;
        files::link(&statistics, &compared.join(program.name).with_added_extension("json"))?;
    }
    let correlate = || {
        let mut command = Command::new(workspace.command());
        command.arg("correlate").arg(&compared).arg(workspace.root.join(TABLE));
        command
    };
    print!("{}", process::quiet(correlate().args(["--beside", ACCEL_SIM]))?);
    if let Some(file) = &arguments.json {
        fs::write(file, process::quiet(correlate().arg("--json"))?).map_err(Error::file(file))?;
    }
    Ok(())
}

/// Statistics of a program's run in its own folder.
fn statistics(
    workspace: &Workspace,
    arguments: &Arguments,
    program: &Measured,
    folder: &Path,
) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let mode = &arguments.mode;
    let file = match mode.as_str() {
        "detailed" => folder.join("statistics.json"),
        mode => folder.join(format!("statistics-{mode}.json")),
    };
    if arguments.reuse && file.exists() {
        return Ok(file);
    }
    program.inputs.iter().try_for_each(|input| input.write(folder))?;
    println!("running {} in mode {mode}", program.name);
    let executable = arguments.programs.join(program.name);
    let executable = fs::canonicalize(&executable).map_err(Error::file(&executable))?;
    let mut command = Command::new(workspace.command());
    command.current_dir(folder).args(OPTIONS).args(["--mode", mode]).arg("--statistics").arg(&file);
    process::quiet(command.arg(executable).args(program.arguments))?;
    Ok(file)
}
