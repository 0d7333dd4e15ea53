//! `cargo xtask micro`: runs the micro-benchmarks of `evaluation/micro` on the timing model and compares
//! with measurements on cards.

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use crate::{process, programs};
use expected::{Expected, Judgement};
use std::path::{Path, PathBuf};
use std::process::Command;
use voltsim_tests::catalogue::{self, Mode, Program};

mod expected;

#[derive(clap::Args)]
pub(crate) struct Arguments {
    /// Names of micro-benchmarks, or parts of names; all without.
    names: Vec<String>,
    /// The modelled GPU.
    #[arg(long, value_name = "NAME", default_value = "titan-v")]
    gpu: String,
    /// The `voltsim` command to run them with, instead of one that is built before.
    #[arg(long, value_name = "VOLTSIM")]
    command: Option<PathBuf>,
}

/// A line of a benchmark's output.
#[derive(Debug, PartialEq)]
struct Row {
    name: String,
    value: f64,
    unit: String,
}

/// Benchmarks of a few seconds: one of the SM, one of the L2.
const QUICK: [&str; 2] = ["instruction_latency", "l2_write_policy"];

/// Runs the quick benchmarks with the built command, in every test run.
pub(crate) fn quick(workspace: &Workspace) -> Result<()> {
    run(&Arguments {
        names: QUICK.map(str::to_owned).to_vec(),
        gpu: "titan-v".to_owned(),
        command: Some(workspace.command()),
    })
}

/// Compiles and runs the selected benchmarks, prints a table, and fails for a missing row or one
/// outside its bounds.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let command = match &arguments.command {
        Some(command) => command.clone(),
        None if workspace.build()? => workspace.command(),
        None => return Err(Error::Steps("release build".to_owned())),
    };
    let folder = workspace.target.join("micro");
    let chosen = chosen(&workspace.root, &arguments.names)?;
    programs::compile(&workspace, chosen.clone(), &folder)?;
    let table = catalogue::micro_benchmarks(&workspace.root).join("expected.csv");
    let mut expected = expected::read(&table, &arguments.gpu)?;
    let mut outside = Vec::new();
    println!("{:<34} {:>10} {:<11} {:>17} {:>9}  source", "row", "model", "unit", "measured", "deviation");
    for program in &chosen {
        let mut voltsim = Command::new(&command);
        voltsim.args(["run", "--mode", "detailed", "--gpu", &arguments.gpu, "--"]);
        let executable = program.executable(&folder, Mode::Shared);
        for row in rows(&executable, &process::quiet(voltsim.arg(&executable))?)? {
            let place = expected.iter().position(|expected| expected.name == row.name);
            let measured = place.map(|place| expected.swap_remove(place));
            if print(&row, measured.as_ref()) == Some(Judgement::Outside) {
                outside.push(row.name);
            }
        }
    }
    if arguments.names.is_empty() {
        let missing = expected.into_iter().filter(Expected::is_judged);
        outside.extend(missing.map(|row| format!("{} (not printed)", row.name)));
    }
    if outside.is_empty() { Ok(()) } else { Err(Error::Outside(outside.join(", "))) }
}

/// Benchmarks whose names contain one of `names`.
fn chosen(root: &Path, names: &[String]) -> Result<Vec<Program>> {
    let mut programs = catalogue::micro_programs(root)?;
    programs
        .retain(|program| names.is_empty() || names.iter().any(|name| program.name.contains(name.as_str())));
    Ok(programs)
}

/// Rows of a benchmark's output.
fn rows(program: &Path, output: &str) -> Result<Vec<Row>> {
    let rows = output.lines().map(row).collect::<Option<Vec<_>>>().filter(|rows| !rows.is_empty());
    rows.ok_or_else(|| Error::Silent { program: program.to_owned(), what: "rows `name value unit` alone" })
}

fn row(line: &str) -> Option<Row> {
    let mut words = line.split(' ');
    let row = Row {
        name: words.next()?.to_owned(),
        value: words.next()?.parse().ok()?,
        unit: words.next()?.to_owned(),
    };
    words.next().is_none().then_some(row)
}

/// Prints a row with its measurement and returns the verdict.
fn print(row: &Row, measured: Option<&Expected>) -> Option<Judgement> {
    let Row { name, value, unit } = row;
    let Some(measured) = measured else {
        println!("{name:<34} {value:>10.2} {unit:<11} {:>17}", "-");
        return None;
    };
    let Expected { low, high, source, .. } = measured;
    let range = if low == high { format!("{low}") } else { format!("{low}..{high}") };
    let judgement = measured.judge(*value, unit);
    let deviation = 100.0 * measured.deviation(*value);
    println!(
        "{name:<34} {value:>10.2} {unit:<11} {range:>17} {deviation:>+8.1}%  {source}{}",
        judgement.note()
    );
    Some(judgement)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn row_is_name_value_and_unit() {
        let expected = Row { name: "latency.l1".to_owned(), value: 28.5, unit: "cycles".to_owned() };
        assert_eq!(row("latency.l1 28.5 cycles"), Some(expected));
        assert_eq!(row("latency.l1 28.5"), None);
        assert_eq!(row("a line of text"), None);
    }

    #[test]
    fn benchmark_without_rows_is_an_error() {
        assert!(rows(Path::new("chase"), "").is_err());
        assert!(rows(Path::new("chase"), "chase.cu:1: no device\nFAIL\n").is_err());
    }

    #[test]
    fn every_benchmark_is_in_the_catalogue() {
        let all = chosen(&catalogue::checkout(), &[]).unwrap();
        assert!(all.iter().any(|program| program.name == "pointer_chase"));
        let some = chosen(&catalogue::checkout(), &["stream".to_owned()]).unwrap();
        assert_eq!(some.len(), 1);
    }
}
