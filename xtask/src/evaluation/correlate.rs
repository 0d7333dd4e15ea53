//! `cargo xtask correlate`: runs programs profiled on a GV100 on its model and compares with the
//! measurements.
//!
//! The programs are Rodinia's and polybench-gpu's, compiled by the user. Arguments and input files
//! reproduce the measured launches: the same kernels, grids and blocks. With `--examples` the
//! repository's examples run instead, and detailed mode stands for the card.

use super::inputs::{Input, TREE_COMMANDS};
use crate::error::{Error, Result};
use crate::files;
use crate::process;
use crate::programs;
use crate::workspace::Workspace;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{self, Mode};

/// The measurements.
const TABLE: &str = "evaluation/measurements/gv100-ncu.csv";

/// Options of a run: the measured card with cold caches, as under a profiler.
const OPTIONS: [&str; 4] = ["--gpu", "gv100", "--set", "launch.cold=true"];

/// Mode that stands for the card beside the examples.
const DETAILED: &str = "detailed";

/// Mode without cycles: the command of the same name.
const CACHE_MODEL: &str = "cache-model";

/// Column of Accel-Sim's prediction.
const ACCEL_SIM: &str = "accelsim_cycles";

/// Programs to run, and their location.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with the executables, named as in the table: b+tree, backprop, hotspot, lud, nw,
    /// pathfinder, 2DConvolution, atax, gemm. They link the shared runtime and hold PTX.
    #[arg(long, value_name = "DIR", required_unless_present = "examples")]
    programs: Option<PathBuf>,
    /// Compare the repository's examples with their own detailed runs instead.
    #[arg(long, conflicts_with = "programs")]
    examples: bool,
    /// Mode of the timing model: detailed, hybrid-alu or hybrid-memory; or cache-model.
    #[arg(long, value_name = "MODE", default_value = DETAILED)]
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
        inputs: &[Input::Keys("keys.txt", 1_000_000), TREE_COMMANDS],
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

/// A program to run.
struct Program {
    name: String,
    executable: PathBuf,
    arguments: Vec<String>,
    inputs: &'static [Input],
}

impl Program {
    /// The chosen programs.
    fn chosen(workspace: &Workspace, arguments: &Arguments) -> Result<Vec<Program>> {
        let mut all = match &arguments.programs {
            Some(folder) => PROGRAMS.iter().map(|measured| Program::measured(measured, folder)).collect(),
            None => Program::examples(workspace)?,
        };
        let only = &arguments.only;
        all.retain(|program| only.is_empty() || only.contains(&program.name));
        Ok(all)
    }

    fn measured(measured: &Measured, folder: &Path) -> Program {
        Program {
            name: measured.name.to_owned(),
            executable: folder.join(measured.name),
            arguments: measured.arguments.iter().map(|argument| (*argument).to_owned()).collect(),
            inputs: measured.inputs,
        }
    }

    /// The repository's examples, compiled.
    fn examples(workspace: &Workspace) -> Result<Vec<Program>> {
        let mut listed = catalogue::programs(&workspace.root)?;
        let examples = workspace.root.join("examples");
        listed.retain(|program| program.folder.as_ref().is_some_and(|folder| folder.starts_with(&examples)));
        let folder = programs::folder(workspace);
        programs::compile(workspace, listed.clone(), &folder)?;
        let example = |program: catalogue::Program| Program {
            executable: program.executable(&folder, Mode::Shared),
            name: program.name,
            arguments: program.args,
            inputs: &[],
        };
        Ok(listed.into_iter().map(example).collect())
    }
}

/// Runs the programs and prints the model's errors.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let folder = workspace.target.join("correlate");
    let programs = Program::chosen(&workspace, arguments)?;
    let ran = |mode: &str| -> Result<PathBuf> {
        let compared = folder.join(format!("compared-{mode}"));
        files::remove_folder(&compared)?;
        fs::create_dir_all(&compared).map_err(Error::file(&compared))?;
        for program in &programs {
            let own = folder.join(&program.name);
            let statistics = statistics(&workspace, mode, arguments.reuse, program, &own)?;
            files::link(&statistics, &compared.join(&program.name).with_added_extension("json"))?;
        }
        Ok(compared)
    };
    let card = if arguments.examples { ran(DETAILED)? } else { workspace.root.join(TABLE) };
    let compared = ran(&arguments.mode)?;
    let correlate = || {
        let mut command = Command::new(workspace.command());
        command.arg("correlate").arg(&compared).arg(&card);
        command
    };
    let has_cycles = !arguments.examples && arguments.mode != CACHE_MODEL;
    let beside: &[&str] = if has_cycles { &["--beside", ACCEL_SIM] } else { &[] };
    print!("{}", process::quiet(correlate().args(beside))?);
    if let Some(file) = &arguments.json {
        fs::write(file, process::quiet(correlate().arg("--json"))?).map_err(Error::file(file))?;
    }
    Ok(())
}

/// Statistics of a program's run in its own folder, or its report of the cache model.
fn statistics(
    workspace: &Workspace,
    mode: &str,
    reuse: bool,
    program: &Program,
    folder: &Path,
) -> Result<PathBuf> {
    fs::create_dir_all(folder).map_err(Error::file(folder))?;
    let file = match mode {
        DETAILED => folder.join("statistics.json"),
        mode => folder.join(format!("statistics-{mode}.json")),
    };
    if reuse && file.exists() {
        return Ok(file);
    }
    program.inputs.iter().try_for_each(|input| input.write(folder))?;
    println!("running {} in mode {mode}", program.name);
    let executable = fs::canonicalize(&program.executable).map_err(Error::file(&program.executable))?;
    let mut command = Command::new(workspace.command());
    command.current_dir(folder);
    match mode {
        CACHE_MODEL => command.arg(CACHE_MODEL).args(OPTIONS).arg("-o").arg(&file),
        mode => command.arg("run").args(OPTIONS).args(["--mode", mode]).arg("--statistics").arg(&file),
    };
    process::quiet(command.arg("--").arg(executable).args(&program.arguments))?;
    Ok(file)
}
