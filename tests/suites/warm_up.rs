//! Launches that are timed alone, with cold caches and after a warm-up, beside the same launches in a run that is timed as a whole.
//!
//! `cargo xtask test` compiles the programs and says where they are. One program is looked at whenever the suite runs; with
//! `VOLTSIM_TEST_EVERY_WARMED=1` all that are listed here are, and the table that is printed has them all.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use voltsim_tests::catalogue::{self, Program};

/// The folder with the compiled programs.
const PROGRAMS: &str = "VOLTSIM_TEST_PROGRAMS";
/// The `voltsim` command.
const COMMAND: &str = "VOLTSIM_TEST_COMMAND";
/// Set: every program of the list is looked at.
const EVERY: &str = "VOLTSIM_TEST_EVERY_WARMED";

/// Programs of several launches, and how far cycles of a warm launch may be off. Per cent.
const CASES: [(&str, f64); 7] = [
    ("heat", 5.0),
    ("bfs", 5.0),
    ("convolution", 5.0),
    ("reduction", 5.0),
    ("scan", 5.0),
    ("sort", 5.0),
    ("transpose", 5.0),
];

/// The one that is looked at whenever the suite runs.
const USUAL: &str = "heat";

/// Launches of a program that are timed alone, at most.
const SAMPLES: usize = 4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let programs = match catalogue::programs(&catalogue::checkout()) {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let every = std::env::var_os(EVERY).is_some();
    let cases = CASES.iter().filter(|(name, _)| every || *name == USUAL);
    let trials = cases.filter_map(|(name, bound)| {
        let program = programs.iter().find(|program| program.name == *name)?.clone();
        Some(Trial::ignorable_test(format!("{name}::warmed"), move || compare(&program, *bound)))
    });
    libtest_mimic::run(&arguments, trials.collect()).exit_code()
}

/// A program with what starts it.
struct Runs<'a> {
    command: PathBuf,
    executable: PathBuf,
    program: &'a Program,
    folder: tempfile::TempDir,
}

/// A launch, by its number: its kernel and cycles.
type Launches = BTreeMap<u64, (String, f64)>;

impl Runs<'_> {
    /// The launches that are timed with these options.
    fn timed(&self, options: &[&str]) -> Result<Launches, Failed> {
        let file = self.folder.path().join("run.json");
        let status = Command::new(&self.command)
            .args(["run", "--mode", "detailed", "--statistics"])
            .arg(&file)
            .args(options)
            .arg("--")
            .arg(&self.executable)
            .args(&self.program.args)
            .current_dir(self.folder.path())
            .stdout(Stdio::null())
            .status()?;
        if !status.success() {
            return Err(format!("with {options:?} it ends with {status}").into());
        }
        let all: serde_json::Value = serde_json::from_slice(&std::fs::read(&file)?)?;
        let launches = all["launches"].as_array().into_iter().flatten();
        let read = |launch: &serde_json::Value| {
            let kernel = launch["kernel"].as_str()?.to_owned();
            Some((launch["launch"].as_u64()?, (kernel, launch["cycles"].as_f64()?)))
        };
        Ok(launches.filter_map(read).collect())
    }

    /// Cycles of a launch that is timed alone.
    fn alone(&self, launch: u64, warm_up: Option<&str>) -> Result<f64, Failed> {
        let only = format!("launch={launch}");
        let warm_up = warm_up.iter().flat_map(|extent| ["--warm-up", extent]);
        let options: Vec<&str> = ["--only", &only].into_iter().chain(warm_up).collect();
        let launches = self.timed(&options)?;
        let (_, cycles) = launches.get(&launch).ok_or_else(|| format!("launch {launch} was not timed"))?;
        Ok(*cycles)
    }
}

/// Times launches of a program alone, and compares their cycles with those that they have in the whole run.
fn compare(program: &Program, bound: f64) -> Result<Completion, Failed> {
    let place = |name| std::env::var_os(name).map(PathBuf::from);
    let (Some(programs), Some(command)) = (place(PROGRAMS), place(COMMAND)) else {
        return Ok(Completion::ignored_with("not compiled; run `cargo xtask test`"));
    };
    let executable = program.executable(&programs, program.modes[0]);
    if !Path::exists(&executable) {
        return Ok(Completion::ignored_with("no compiler"));
    }
    let runs = Runs { command, executable, program, folder: tempfile::tempdir()? };
    let full = runs.timed(&[])?;
    let later: Vec<_> = full.iter().skip(1).collect();
    let mut sums = [0.0; 4];
    for sample in 0..SAMPLES.min(later.len()) {
        let (launch, (kernel, cycles)) = later[sample * later.len() / SAMPLES.min(later.len())];
        let cold = runs.alone(*launch, None)?;
        let one = runs.alone(*launch, Some("launches=1"))?;
        let all = runs.alone(*launch, Some("launches=all"))?;
        let kernel = kernel.get(..kernel.len().min(24)).unwrap_or_default();
        print_row(&format!("{} {launch} {kernel}", program.name), [*cycles, cold, one, all]);
        sums.iter_mut().zip([*cycles, cold, one, all]).for_each(|(sum, cycles)| *sum += cycles);
    }
    print_row(&format!("{} together", program.name), sums);
    let off = off(sums[0], sums[3]);
    if off.abs() > bound {
        return Err(format!("warm launches are {off:.1} % off").into());
    }
    Ok(Completion::Completed)
}

/// How far cycles are off. Per cent.
fn off(full: f64, alone: f64) -> f64 {
    (alone / full - 1.0) * 100.0
}

/// Cycles in the whole run; how far cold ones, and those after one and all launches before, are off.
fn print_row(name: &str, [full, cold, one, all]: [f64; 4]) {
    let [cold, one, all] = [cold, one, all].map(|cycles| off(full, cycles));
    println!("{name:40} {full:9} cycles, cold {cold:+6.1} %, after one {one:+6.1} %, after all {all:+6.1} %");
}
