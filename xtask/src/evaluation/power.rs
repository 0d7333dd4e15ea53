//! `cargo xtask power`: runs kernels whose power was measured on a GV100 on its model and compares
//! watts.
//!
//! The programs are Rodinia's, Parboil's and those of NVIDIA's samples, compiled by the user. A
//! program without an executable counts as an error of 100 %.

mod fit;
mod programs;

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use serde_json::Value;

use crate::error::{Error, Result};
use crate::files;
use crate::process;
use crate::workspace::Workspace;
use fit::Row;
use programs::{PROGRAMS, Program};

/// The measurements.
const TABLE: &str = "evaluation/measurements/gv100-power.csv";

/// Clock of the cores while the power was measured, as far as it is known.
const CLOCK: &str = "1447";

/// Parts of the energy: those of events, then those over time.
const PARTS: [&str; 8] = ["core", "l1", "interconnect", "l2", "dram", "active_static", "idle", "constant"];

/// Programs to run, and their location.
#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Folder with the executables, named as in the table. They link the shared runtime and hold
    /// PTX. A folder `data` beside them holds the input of dct8x8.
    #[arg(long, value_name = "DIR")]
    programs: PathBuf,
    /// Clock of SMs, crossbar and L2 in MHz.
    #[arg(long, value_name = "MHZ", default_value = CLOCK)]
    clock: String,
    /// Only these programs; all without.
    #[arg(long, value_name = "NAME")]
    only: Vec<String>,
    /// Compare the statistics of an earlier run where there are some.
    #[arg(long)]
    reuse: bool,
    /// Change a value of the GPU, as `power.fetch=150pJ`.
    #[arg(long, value_name = "KEY=VALUE")]
    set: Vec<String>,
}

/// A measured kernel.
struct Measured {
    row: String,
    program: String,
    kernel: String,
    watts: f64,
}

/// Runs the programs and prints the model's watts beside the card's.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let table = workspace.root.join(TABLE);
    let measured = measured(&fs::read_to_string(&table).map_err(Error::file(&table))?)
        .ok_or_else(|| Error::Set { path: table, reason: "a line lacks a field".to_owned() })?;
    let wanted = |name: &str| arguments.only.is_empty() || arguments.only.iter().any(|only| only == name);
    let mut statistics: BTreeMap<&str, Value> = BTreeMap::new();
    for program in PROGRAMS.iter().filter(|program| wanted(program.name)) {
        if let Some(run) = statistics_of(&workspace, arguments, program)? {
            statistics.insert(program.name, run);
        }
    }
    let mut rows = Vec::new();
    let mut missing = Vec::new();
    println!(
        "{:<24} {:<32} {:>8} {:>8} {:>8} {:>8}",
        "row", "kernel", "launches", "model W", "card W", "error"
    );
    for kernel in measured.iter().filter(|kernel| wanted(&kernel.program)) {
        let parts = statistics.get(kernel.program.as_str()).and_then(|run| parts(run, &kernel.kernel));
        let Some((launches, parts)) = parts else {
            println!(
                "{:<24} {:<32} {:>8} {:>8} {:>8.1}   100.0 %",
                kernel.row, kernel.kernel, "-", "-", kernel.watts
            );
            missing.push(kernel.row.as_str());
            continue;
        };
        let watts: f64 = parts.iter().sum();
        let error = 100.0 * (watts / kernel.watts - 1.0);
        println!(
            "{:<24} {:<32} {launches:>8} {watts:>8.1} {:>8.1} {error:>+7.1} %",
            kernel.row, kernel.kernel, kernel.watts
        );
        rows.push(Row { program: kernel.program.clone(), parts, watts: kernel.watts });
    }
    summary(&rows, &missing);
    Ok(())
}

fn summary(rows: &[Row], missing: &[&str]) {
    let errors: Vec<f64> = rows.iter().map(|row| fit::error(row, &fit::NO_CHANGE)).collect();
    let built = errors.iter().sum::<f64>() / errors.len().max(1) as f64;
    let all =
        (errors.iter().sum::<f64>() + missing.len() as f64) / (rows.len() + missing.len()).max(1) as f64;
    println!("mean error of the {} kernels that ran: {:.1} %", rows.len(), 100.0 * built);
    println!("mean error of all {} kernels: {:.1} %", rows.len() + missing.len(), 100.0 * all);
    if !missing.is_empty() {
        println!("without an executable, counted as 100 %: {}", missing.join(", "));
    }
    if rows.len() > 2 {
        let found = fit::cross_validated(rows);
        println!(
            "scales fitted to all rows: events {:.2}, static and idle power {:.2}",
            found.scales.events, found.scales.time
        );
        println!(
            "mean error of rows under scales fitted to the other programs: {:.1} %",
            100.0 * found.error
        );
    }
}

/// Rows of the table; `None` if a line lacks a field.
fn measured(text: &str) -> Option<Vec<Measured>> {
    let lines = text.lines().filter(|line| !line.starts_with('#')).skip(1);
    lines
        .map(|line| {
            let mut fields = line.split(',');
            Some(Measured {
                row: fields.next()?.to_owned(),
                program: fields.next()?.to_owned(),
                kernel: fields.next()?.to_owned(),
                watts: fields.next()?.parse().ok()?,
            })
        })
        .collect()
}

/// Statistics of a program's run in its own folder; `None` if there is no executable.
fn statistics_of(workspace: &Workspace, arguments: &Arguments, program: &Program) -> Result<Option<Value>> {
    let folder = workspace.target.join("power").join(program.name);
    let file = folder.join(format!("statistics-{}.json", arguments.clock));
    if !(arguments.reuse && file.exists()) {
        let executable = arguments.programs.join(program.executable.unwrap_or(program.name));
        let Ok(executable) = fs::canonicalize(&executable) else { return Ok(None) };
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        program.inputs.iter().try_for_each(|input| input.write(&folder))?;
        let data = arguments.programs.join("data");
        if let Ok(data) = fs::canonicalize(&data) {
            files::link(data, &folder.join("data"))?;
        }
        eprintln!("running {}", program.name);
        let mut command = Command::new(workspace.command());
        command.current_dir(&folder).args(["run", "--gpu", "gv100", "--mode", "detailed"]);
        for clock in ["core", "crossbar", "l2"] {
            command.arg("--set").arg(format!("clocks.{clock}={}", arguments.clock));
        }
        arguments.set.iter().for_each(|change| {
            command.arg("--set").arg(change);
        });
        if !program.only.is_empty() {
            command.args(["--only", program.only]);
        }
        if program.until_stable {
            command.arg("--until-stable");
        }
        command.arg("--statistics").arg(&file).arg(executable).args(program.arguments);
        process::quiet(&mut command)?;
    }
    read(&file).map(Some)
}

fn read(file: &Path) -> Result<Value> {
    let text = fs::read_to_string(file).map_err(Error::file(file))?;
    serde_json::from_str(&text)
        .map_err(|error| Error::Set { path: file.to_owned(), reason: error.to_string() })
}

/// Launches of a kernel, and their mean watts by part; `None` without launches or energies.
fn parts(run: &Value, kernel: &str) -> Option<(usize, [f64; 8])> {
    let launches = run["launches"].as_array()?.iter();
    let own: Vec<&Value> = launches.filter(|launch| is_of(launch, kernel)).collect();
    let sum =
        |counter: &str| own.iter().map(|launch| launch["counters"][counter].as_f64()).sum::<Option<f64>>();
    let nanoseconds = sum("gpu.nanoseconds").filter(|nanoseconds| *nanoseconds > 0.0)?;
    let mut watts = [0.0; 8];
    for (watts, part) in watts.iter_mut().zip(PARTS) {
        *watts = 1e-3 * sum(&format!("power.{part}"))? / nanoseconds;
    }
    Some((own.len(), watts))
}

/// True for a launch of a kernel, whose signature may have a result, template arguments and a name
/// space.
fn is_of(launch: &Value, kernel: &str) -> bool {
    let signature = launch["kernel"].as_str().unwrap_or_default();
    let end = signature.find(['(', '<']).unwrap_or(signature.len());
    signature[..end].rsplit([' ', ':']).next() == Some(kernel)
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn every_measured_program_has_its_arguments() {
        let text = include_str!("../../../evaluation/measurements/gv100-power.csv");
        let measured = measured(text).unwrap();
        assert_eq!(measured.len(), 26);
        for kernel in &measured {
            let known = PROGRAMS.iter().any(|program| program.name == kernel.program);
            assert!(known && kernel.watts > 50.0, "{}", kernel.row);
        }
    }

    #[test]
    fn kernel_is_found_by_its_whole_name() {
        let launch = |signature: &str| json!({ "kernel": signature });
        assert!(is_of(&launch("void mergeSortSharedKernel<1u>(unsigned int*)"), "mergeSortSharedKernel"));
        assert!(is_of(&launch("srad(float, int)"), "srad"));
        assert!(!is_of(&launch("srad2(float, int)"), "srad"));
    }
}
