//! Accuracy of partial timed runs: single launches with cold caches and after a warm-up, plans and sweeps,
//! compared with a full timed run.
//!
//! `cargo xtask test` compiles the programs and gives their location. By default the suite tests one
//! program; `VOLTSIM_TEST_EVERY_PARTIAL=1` tests and tabulates all.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitCode, Stdio};
use voltsim_tests::catalogue::{self, Program};

/// Folder of the compiled programs.
const PROGRAMS: &str = "VOLTSIM_TEST_PROGRAMS";
/// Path of the `voltsim` command.
const COMMAND: &str = "VOLTSIM_TEST_COMMAND";
/// Set to test every program.
const EVERY: &str = "VOLTSIM_TEST_EVERY_PARTIAL";

/// Examples of several launches with arguments, and the allowed error of a warm launch's cycles in percent.
const CASES: [(&str, &[&str], f64); 11] = [
    ("heat", &[], 5.0),
    ("heat", &["600"], 5.0),
    ("bfs", &[], 5.0),
    ("bfs", &["4000"], 5.0),
    ("convolution", &[], 5.0),
    ("matrix_multiply", &[], 5.0),
    ("nbody", &[], 5.0),
    ("reduction", &[], 5.0),
    ("scan", &[], 5.0),
    ("sort", &[], 5.0),
    ("transpose", &[], 5.0),
];

/// Examples with arguments, and the allowed error in percent for the middle half of a launch's CTAs, timed
/// alone and warm. With few waves of CTAs, the joint start of the first and the isolated end of the last
/// matter more.
const WINDOWS: [(&str, &[&str], f64); 5] = [
    ("saxpy", &[], 15.0),
    ("saxpy", &["4194304"], 5.0),
    ("heat", &["1000"], 30.0),
    ("matrix_multiply", &["512"], 60.0),
    ("vector_add", &[], 60.0),
];

/// Programs of many launches, and the allowed error of a sweep's estimate in percent, also with a tenth of
/// the instructions.
const PLANNED: [(&str, &[&str], f64); 14] = [
    ("heat", &[], 5.0),
    ("bfs", &[], 5.0),
    ("bfs", &["200000"], 5.0),
    ("cub_device", &[], 5.0),
    ("cub_sorting", &[], 5.0),
    ("graph_capture", &[], 5.0),
    ("graph_conditional", &[], 5.0),
    ("graph_construction", &[], 5.0),
    ("graph_memory", &[], 5.0),
    ("graph_update", &[], 5.0),
    ("host_threads", &[], 5.0),
    ("scan", &[], 5.0),
    ("sort", &[], 5.0),
    ("thrust_algorithms", &[], 5.0),
];

/// Sweeps of each program: until the estimate meets its own bound, and with at most a tenth of the
/// instructions.
const SWEEPS: [&[&str]; 2] = [&[], &["--budget", "10%", "--within", "0.1%"]];

/// Programs whose launch order, and hence plan, differs between runs: host threads launch kernels, or graph
/// branches use streams.
const IN_ANY_ORDER: [&str; 2] = ["host_threads", "graph_capture"];

/// Default program.
const USUAL: &str = "heat";

/// Limit of launches of a program that are timed alone.
const SAMPLES: usize = 4;

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let Some(programs) = catalogue::own_programs() else { return ExitCode::FAILURE };
    let every = std::env::var_os(EVERY).is_some();
    let warmed = trials(&CASES, every, &programs, "warmed", warmed);
    let planned = trials(&PLANNED, every, &programs, "planned", planned);
    let windows = trials(&WINDOWS, every, &programs, "warmed_window", warmed_window);
    libtest_mimic::run(&arguments, warmed.chain(windows).chain(planned).collect()).exit_code()
}

/// Compares partial runs of a program with a full timed run. An error above the bound in percent is a
/// failure.
type Compare = fn(&Runs<'_>, f64) -> Result<(), Failed>;

fn trials(
    cases: &'static [(&str, &[&str], f64)],
    every: bool,
    programs: &[Program],
    suite: &str,
    compare: Compare,
) -> impl Iterator<Item = Trial> {
    let is_usual = |name: &str, arguments: &[&str]| name == USUAL && arguments.is_empty();
    let wanted = cases.iter().filter(move |(name, arguments, _)| every || is_usual(name, arguments));
    wanted.filter_map(move |(name, arguments, bound)| {
        let program = programs.iter().find(|program| program.name == *name)?.clone();
        let args = if arguments.is_empty() { program.args.clone() } else { words(arguments) };
        let program = Program { args, ..program };
        let trial = format!("{}::{suite}", [&[*name], *arguments].concat().join(" "));
        let run = move || match Runs::of(&program)? {
            Ok(runs) => compare(&runs, *bound).map(|()| Completion::Completed),
            Err(lacking) => Ok(lacking),
        };
        Some(Trial::ignorable_test(trial, run))
    })
}

fn words(words: &[&str]) -> Vec<String> {
    words.iter().map(|word| (*word).to_owned()).collect()
}

/// Program with its runner.
struct Runs<'a> {
    command: PathBuf,
    executable: PathBuf,
    program: &'a Program,
    folder: tempfile::TempDir,
}

/// Launch of a timed run.
struct Launch {
    kernel: String,
    ctas: u64,
    cycles: f64,
}

/// Launches by number.
type Launches = BTreeMap<u64, Launch>;

impl<'a> Runs<'a> {
    /// Returns the runs of a program, or the reason why it is not compiled.
    fn of(program: &'a Program) -> Result<Result<Runs<'a>, Completion>, Failed> {
        let place = |name| std::env::var_os(name).map(PathBuf::from);
        let (Some(programs), Some(command)) = (place(PROGRAMS), place(COMMAND)) else {
            return Ok(Err(Completion::ignored_with("not compiled; run `cargo xtask test`")));
        };
        let executable = program.executable(&programs, program.modes[0]);
        if !Path::exists(&executable) {
            return Ok(Err(Completion::ignored_with("no compiler")));
        }
        Ok(Ok(Runs { command, executable, program, folder: tempfile::tempdir()? }))
    }

    /// Runs a command in the folder.
    fn run(&self, command: &mut Command) -> Result<(), Failed> {
        let status = command.current_dir(self.folder.path()).stdout(Stdio::null()).status()?;
        if status.success() { Ok(()) } else { Err(format!("{command:?} ends with {status}").into()) }
    }

    /// Returns the launches timed with these options, in order.
    fn timed(&self, options: &[&str]) -> Result<Launches, Failed> {
        let file = self.folder.path().join("run.json");
        let mut command = Command::new(&self.command);
        command.args(["run", "--mode", "detailed", "--statistics"]).arg(&file).args(options);
        command.env("CUDA_LAUNCH_BLOCKING", "1");
        self.run(command.arg("--").arg(&self.executable).args(&self.program.args))?;
        let all: serde_json::Value = serde_json::from_slice(&std::fs::read(&file)?)?;
        let launches = all["launches"].as_array().into_iter().flatten();
        let read = |launch: &serde_json::Value| {
            let kernel = launch["kernel"].as_str()?.to_owned();
            let ctas = launch["grid"].as_array()?.iter().filter_map(serde_json::Value::as_u64).product();
            Some((launch["launch"].as_u64()?, Launch { kernel, ctas, cycles: launch["cycles"].as_f64()? }))
        };
        Ok(launches.filter_map(read).collect())
    }

    /// Makes and returns a plan.
    fn plan(&self) -> Result<String, Failed> {
        let mut plan = Command::new(&self.command);
        self.run(plan.args(["plan", "--"]).arg(&self.executable).args(&self.program.args))?;
        Ok(std::fs::read_to_string(self.folder.path().join("plan.toml"))?)
    }

    /// Returns the cycles of a launch that is timed alone, or of some of its CTAs (`launch=N,ctas=A..B`).
    fn alone(&self, only: &str, warm_up: Option<&str>) -> Result<f64, Failed> {
        let warm_up = warm_up.iter().flat_map(|extent| ["--warm-up", extent]);
        let options: Vec<&str> = ["--only", only].into_iter().chain(warm_up).collect();
        let launches = self.timed(&options)?;
        let launch = launches.first_key_value().ok_or_else(|| format!("{only}: the launch was not timed"))?;
        Ok(launch.1.cycles)
    }

    /// Returns the program with its arguments.
    fn name(&self) -> String {
        [std::slice::from_ref(&self.program.name), &self.program.args].concat().join(" ")
    }
}

/// Times launches of a program alone, and compares their cycles with the full run.
fn warmed(runs: &Runs<'_>, bound: f64) -> Result<(), Failed> {
    let full = runs.timed(&[])?;
    let name = runs.name();
    let later: Vec<_> = full.iter().skip(1).collect();
    let mut sums = [0.0; 5];
    for sample in 0..SAMPLES.min(later.len()) {
        let (number, launch) = later[sample * later.len() / SAMPLES.min(later.len())];
        let only = format!("launch={number}");
        let before = full.get(&(number - 1)).map_or(0, |before| before.ctas);
        let half = format!("ctas={}", before.div_ceil(2));
        let cold = runs.alone(&only, None)?;
        let some = runs.alone(&only, Some(&half))?;
        let one = runs.alone(&only, Some("launches=1"))?;
        let all = runs.alone(&only, Some("launches=all"))?;
        let kernel = launch.kernel.get(..launch.kernel.len().min(24)).unwrap_or_default();
        let row = [launch.cycles, cold, some, one, all];
        print_row(&format!("{name} {number} {kernel} {half}"), row);
        sums.iter_mut().zip(row).for_each(|(sum, cycles)| *sum += cycles);
    }
    print_row(&format!("{name} together"), sums);
    let off = off(sums[0], sums[4]);
    if off.abs() > bound { Err(format!("warm launches are {off:.1} % off").into()) } else { Ok(()) }
}

/// Times the middle half of the last launch's CTAs, and compares twice their cycles with the launch's
/// cycles.
fn warmed_window(runs: &Runs<'_>, bound: f64) -> Result<(), Failed> {
    let full = runs.timed(&[])?;
    let (number, Launch { ctas, cycles, .. }) = full.last_key_value().ok_or("nothing was timed")?;
    let window = ctas / 4..ctas * 3 / 4;
    let share = (window.end - window.start) as f64 / *ctas as f64;
    let only = format!("launch={number},ctas={}..{}", window.start, window.end);
    let timed = |warm_up: Option<&str>| Ok::<_, Failed>(runs.alone(&only, warm_up)? / share);
    let half = format!("ctas={}", window.start / 2);
    let row = [
        *cycles,
        timed(None)?,
        timed(Some(&half))?,
        timed(Some("ctas=all"))?,
        timed(Some("launches=all,ctas=all"))?,
    ];
    print_row(&format!("{} {only} {half}", runs.name()), row);
    let off = off(row[0], row[4]);
    if off.abs() > bound { Err(format!("a warm window is {off:.1} % off").into()) } else { Ok(()) }
}

/// Plans and sweeps a program, and compares the estimates with the cycles of the full run.
fn planned(runs: &Runs<'_>, bound: f64) -> Result<(), Failed> {
    let full: f64 = runs.timed(&[])?.values().map(|launch| launch.cycles).sum();
    let plan = runs.plan()?;
    if !IN_ANY_ORDER.contains(&runs.program.name.as_str()) && plan != runs.plan()? {
        return Err("a second plan differs".into());
    }
    let offs = SWEEPS.map(|options| estimated(runs, options, full));
    for off in offs {
        let off = off?;
        if off.abs() > bound {
            return Err(format!("an estimate is {off:.1} % off").into());
        }
    }
    Ok(())
}

/// Sweeps a plan. Returns the error of the estimate in percent.
fn estimated(runs: &Runs<'_>, options: &[&str], full: f64) -> Result<f64, Failed> {
    runs.run(Command::new(&runs.command).args(["sweep", "plan.toml"]).args(options))?;
    let file = runs.folder.path().join("plan.results/estimate.json");
    let estimate: serde_json::Value = serde_json::from_slice(&std::fs::read(&file)?)?;
    let total = &estimate["configurations"][0];
    let of = |what: &str| total[what].as_f64().unwrap_or_default();
    let groups = total["groups"].as_array().map(Vec::as_slice).unwrap_or_default();
    let launches: u64 = groups.iter().filter_map(|group| group["launches"].as_u64()).sum();
    let timed: usize = groups.iter().filter_map(|group| group["timed"].as_array()).map(Vec::len).sum();
    let off = off(full, of("cycles"));
    let [cycles, work, within] = [of("timed") / full, of("work"), of("bound")].map(|part| part * 100.0);
    let name = [&[runs.name().as_str()], options].concat().join(" ");
    println!(
        "{name:40} {full:9} cycles, estimate {off:+6.1} ± {within:.1} %, timed {timed} of {launches} launches, {cycles:5.1} % and {work:5.1} % of instructions"
    );
    Ok(off)
}

/// Returns the relative error of cycles in percent.
fn off(full: f64, alone: f64) -> f64 {
    (alone / full - 1.0) * 100.0
}

/// Prints the cycles of the full run and the errors of isolated launches: cold, after some CTAs, after a
/// launch and after all.
fn print_row(name: &str, [full, cold, some, one, all]: [f64; 5]) {
    let [cold, some, one, all] = [cold, some, one, all].map(|cycles| off(full, cycles));
    println!(
        "{name:60} {full:9} cycles, cold {cold:+6.1} %, after some {some:+6.1} %, after one {one:+6.1} %, after all {all:+6.1} %"
    );
}
