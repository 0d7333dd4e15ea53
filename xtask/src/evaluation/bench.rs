//! `cargo xtask bench`: speed of the engine on whole programs, speed of the timing model, and cost
//! of a start.

use crate::error::{Error, Result};
use crate::programs::Extent;
use crate::workspace::Workspace;
use crate::{debian, files, guided, process, programs};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use std::collections::HashMap;
use std::fs;
use std::hint::black_box;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::thread;
use std::time::Instant;
use voltsim_tests::catalogue::{self, Mode};

mod cache_model;
mod peers;
mod rows;

use rows::{Choice, row_name};

/// Further benchmarks.
#[derive(clap::Subcommand)]
pub(crate) enum Subject {
    /// Run programs on GPGPU-Sim, and their traces on Accel-Sim, and on Voltsim with the same
    /// configuration.
    Peers {
        /// Folder with a built GPGPU-Sim, and optionally Accel-Sim.
        folder: PathBuf,
    },
}

/// Runs per measurement. The shortest counts; runs alternate between modes, since the machine's
/// load varies.
const RUNS: usize = 5;
/// Runs per measurement of the slower timing model.
const TIMED_RUNS: usize = 3;

/// A benchmark: `kernel`, as `program` launches it for `size`.
struct Measured {
    name: &'static str,
    program: &'static str,
    size: &'static str,
    kernel: &'static str,
}

const MEASURED: [Measured; 7] = [
    Measured { name: "sgemm_naive", program: "matrix_multiply", size: "512", kernel: "multiply_naive" },
    Measured { name: "sgemm_tiled", program: "matrix_multiply", size: "512", kernel: "multiply_tiled" },
    Measured { name: "saxpy", program: "saxpy", size: "16777216", kernel: "saxpy" },
    Measured { name: "bfs", program: "bfs", size: "1000000", kernel: "bfs_levels" },
    Measured { name: "bfs_queue", program: "bfs", size: "1000000", kernel: "bfs_queue" },
    Measured { name: "histogram", program: "histogram", size: "16777216", kernel: "histogram" },
    Measured { name: "nbody", program: "nbody", size: "8192", kernel: "nbody" },
];

/// Ways to execute CTAs.
const MODES: [(&str, &[&str]); 3] = [
    ("1 thread", &["--threads", "1"]),
    ("2 threads", &["--threads", "2"]),
    ("deterministic", &["--threads", "2", "--deterministic"]),
];

/// Timed benchmarks on the model of a TITAN V, smaller since the model is a hundred times slower.
/// The second size is for callgrind's count of host instructions.
const TIMED: [(Measured, &str); 4] = [
    (
        Measured { name: "sgemm_naive", program: "matrix_multiply", size: "512", kernel: "multiply_naive" },
        "128",
    ),
    (Measured { name: "saxpy", program: "saxpy", size: "1048576", kernel: "saxpy" }, "65536"),
    (Measured { name: "bfs", program: "bfs", size: "50000", kernel: "bfs_levels" }, "5000"),
    (Measured { name: "heat", program: "heat", size: "1500", kernel: "heat_step" }, "64"),
];

/// One thread that waits for memory, among the micro-benchmarks: the cost of idle SMs and cycles.
const IDLE: Measured =
    Measured { name: "one_thread", program: "pointer_chase", size: "", kernel: "chase_global" };

/// Ways to run the model.
const TIMED_MODES: [(&str, &[&str]); 2] = [
    ("detailed, 1 thread", &["--mode", "detailed", "--threads", "1"]),
    ("detailed, 2 threads", &["--mode", "detailed", "--threads", "2"]),
];

/// Hybrid modes, each a group of rows, with their aim: times the speed of detailed mode.
const HYBRIDS: [Hybrid; 2] = [
    Hybrid {
        group: "hybrid-alu",
        mode: ("hybrid-alu, 1 thread", &["--mode", "hybrid-alu", "--threads", "1"]),
        aim: 3.0,
    },
    Hybrid {
        group: "hybrid-memory",
        mode: ("hybrid-memory, 1 thread", &["--mode", "hybrid-memory", "--threads", "1"]),
        aim: 10.0,
    },
];

/// A hybrid mode of the timing model.
struct Hybrid {
    group: &'static str,
    mode: (&'static str, &'static [&'static str]),
    aim: f64,
}

/// One kernel in one mode. `native_ratio` is its time over that of the same loops in C++ on one
/// core. With the model, warp instructions are machine instructions.
#[derive(Serialize)]
struct Row {
    name: &'static str,
    mode: &'static str,
    warp_instructions: u64,
    seconds: f64,
    warp_instructions_per_second: f64,
    lane_instructions_per_second: f64,
    native_ratio: Option<f64>,
    /// Simulated, with the timing model.
    kilocycles_per_second: Option<f64>,
    /// Host instructions per timed warp instruction, of a recording of a smaller size.
    host_instructions: Option<f64>,
}

impl Row {
    fn new(measured: &Measured, mode: &'static str, run: &KernelSummary, native: Option<f64>) -> Row {
        Row {
            name: measured.name,
            mode,
            warp_instructions: run.warp_instructions,
            seconds: run.seconds,
            warp_instructions_per_second: run.warp_instructions as f64 / run.seconds,
            lane_instructions_per_second: run.lane_instructions as f64 / run.seconds,
            native_ratio: native.map(|native| run.seconds / native),
            kilocycles_per_second: run.cycles.map(|cycles| cycles as f64 / run.seconds / 1e3),
            host_instructions: None,
        }
    }

    fn print(&self) {
        println!(
            "{:<12} {:<20} {:>10} {:>9.3} {:>11.2} {:>11.3} {:>9} {:>11} {:>10}",
            self.name,
            self.mode,
            self.warp_instructions,
            self.seconds,
            self.warp_instructions_per_second / 1e6,
            self.lane_instructions_per_second / 1e9,
            self.native_ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}")),
            self.kilocycles_per_second.map_or_else(String::new, |rate| format!("{rate:.0}")),
            self.host_instructions.map_or_else(String::new, |count| format!("{count:.0}"))
        );
    }
}

/// Fields of `--summary` used here.
#[derive(Deserialize)]
struct Summary {
    kernels: Vec<KernelSummary>,
}

#[derive(Deserialize)]
struct KernelSummary {
    /// Source name with parameter types.
    name: String,
    /// Mangled name, if it differs.
    mangled: Option<String>,
    warp_instructions: u64,
    lane_instructions: u64,
    seconds: f64,
    /// Simulated cycles, if timed.
    #[serde(skip)]
    cycles: Option<u64>,
}

impl KernelSummary {
    /// Mangled name of the kernel.
    fn mangled(&self) -> &str {
        self.mangled.as_deref().unwrap_or(&self.name)
    }
}

/// Fields of `--statistics` used here.
#[derive(Deserialize)]
struct Statistics {
    launches: Vec<TimedLaunch>,
    total: Total,
}

#[derive(Deserialize)]
struct Total {
    counters: Counters,
}

#[derive(Deserialize)]
struct Counters {
    #[serde(rename = "sm.warp_instructions")]
    warp_instructions: u64,
}

#[derive(Deserialize)]
struct TimedLaunch {
    /// Source name with parameter types.
    kernel: String,
    simulated_cycles: u64,
}

/// Measures `subject`, or engine and model, of the release or guided build; prints a table and
/// writes the rows to `json`.
pub(crate) fn run(
    subject: Option<&Subject>,
    rows: &[String],
    guided: bool,
    json: Option<&Path>,
) -> Result<()> {
    let choice = Choice::new(rows, &row_names())?;
    let workspace = Workspace::find();
    let command = match guided {
        true => guided::command(&workspace)?,
        false if workspace.build()? => workspace.command(),
        false => return Err(Error::Steps("release build".to_owned())),
    };
    match subject {
        Some(Subject::Peers { folder }) => write_json(&peers::run(&workspace, command, folder)?, json),
        None => write_json(&engine_and_model(&workspace, command, &choice)?, json),
    }
}

/// Group of the engine's rows.
const FUNCTIONAL: &str = "functional";
const DETAILED: &str = "detailed";
const HOST: &str = "host";
/// Group of the host's rows.
const SCALING: &str = "scaling";
const START: &str = "start";

fn row_names() -> Vec<String> {
    let functional = MEASURED.iter().map(|measured| (FUNCTIONAL, measured.name));
    let timed = TIMED.iter().map(|(measured, _)| (DETAILED, measured.name));
    let of_hybrid = |hybrid: &'static Hybrid| TIMED.iter().map(|(measured, _)| (hybrid.group, measured.name));
    let hybrid = HYBRIDS.iter().flat_map(of_hybrid);
    let others = [(DETAILED, IDLE.name), (HOST, SCALING), (HOST, START)];
    let cache_model = cache_model::PROGRAMS.iter().map(|(name, _)| (cache_model::GROUP, *name));
    functional
        .chain(timed)
        .chain(hybrid)
        .chain(cache_model)
        .chain(others)
        .map(|(group, name)| row_name(group, name))
        .collect()
}

/// Runs the chosen kernels in every mode and prints a table.
fn engine_and_model(workspace: &Workspace, command: PathBuf, choice: &Choice) -> Result<Vec<Row>> {
    programs::set_up_and_compile(workspace, Extent::Usual)?;
    let bench = Bench { command, programs: programs::folder(workspace) };
    let mut rows = Vec::new();
    let mut natives = HashMap::new();
    println!(
        "{:<12} {:<20} {:>10} {:>9} {:>11} {:>11} {:>9} {:>11} {:>10}",
        "kernel",
        "mode",
        "warp inst",
        "seconds",
        "M warp/s",
        "G lane/s",
        "x native",
        "k cycles/s",
        "host inst"
    );
    for measured in MEASURED.iter().filter(|measured| choice.has(FUNCTIONAL, measured.name)) {
        if !natives.contains_key(measured.kernel) {
            natives.extend(bench.natives(measured)?);
        }
        let native = natives.get(measured.kernel).ok_or_else(|| bench.silent(measured, "its native time"))?;
        for ((mode, _), run) in MODES.into_iter().zip(bench.shortest(measured, MODES, RUNS)?) {
            let row = Row::new(measured, mode, &run, Some(*native));
            row.print();
            rows.push(row);
        }
    }
    print_scaling(&rows, MODES.len());
    let before = rows.len();
    println!();
    for (measured, small) in TIMED.iter().filter(|(measured, _)| choice.has(DETAILED, measured.name)) {
        let shortest = bench.shortest(measured, TIMED_MODES, TIMED_RUNS)?;
        let counted = bench.host_instructions(measured, small)?;
        for ((mode, _), run) in TIMED_MODES.into_iter().zip(shortest) {
            let row = Row { host_instructions: counted, ..Row::new(measured, mode, &run, None) };
            row.print();
            rows.push(row);
        }
    }
    print_scaling(&rows[before..], TIMED_MODES.len());
    for hybrid in &HYBRIDS {
        bench.hybrid(hybrid, choice, &mut rows)?;
    }
    if choice.has(DETAILED, IDLE.name) {
        let idle = bench.idle(workspace)?;
        idle.print();
        rows.push(idle);
    }
    for (name, size) in cache_model::PROGRAMS {
        if choice.has(cache_model::GROUP, name) {
            let folder = workspace.target.join("bench-cache-model");
            cache_model::print(&bench.command, &bench.program(name), size, &folder)?;
        }
    }
    if choice.has(HOST, SCALING) {
        print_host_scaling();
    }
    if choice.has(HOST, START) {
        bench.print_start()?;
    }
    Ok(rows)
}

/// Writes the results to a file, if one is given.
fn write_json<T: Serialize>(measured: &T, file: Option<&Path>) -> Result<()> {
    let Some(path) = file else { return Ok(()) };
    let text = serde_json::to_string_pretty(measured).map_err(|error| Error::file(path)(error.into()))?;
    fs::write(path, text + "\n").map_err(Error::file(path))
}

/// Prints the speed of two threads relative to one, for each kernel of `modes` rows.
fn print_scaling(rows: &[Row], modes: usize) {
    println!();
    for modes in rows.chunks(modes) {
        if let [one, two, ..] = modes {
            println!("{:<12} two threads {:.2} times one", one.name, one.seconds / two.seconds);
        }
    }
}

/// Prints the same ratio for the host: the upper bound.
fn print_host_scaling() {
    let seconds = |threads: usize| (0..RUNS).map(|_| spin(threads)).fold(f64::INFINITY, f64::min);
    println!("{:<12} two threads {:.2} times one", "the host", 2.0 * seconds(1) / seconds(2));
}

/// Seconds in which `threads` threads each do the same arithmetic without memory accesses.
fn spin(threads: usize) -> f64 {
    let start = Instant::now();
    thread::scope(|scope| {
        for seed in 0..threads as u64 {
            scope.spawn(move || {
                let sum = (0..100_000_000u64).fold(seed, |sum, i| black_box(sum.wrapping_mul(31) ^ i));
                black_box(sum)
            });
        }
    });
    start.elapsed().as_secs_f64()
}

/// Parses a run's output file.
fn read<T: DeserializeOwned>(path: &Path) -> Result<T> {
    let text = fs::read_to_string(path).map_err(Error::file(path))?;
    serde_json::from_str(&text).map_err(|error| Error::file(path)(error.into()))
}

struct Bench {
    command: PathBuf,
    programs: PathBuf,
}

impl Bench {
    fn program(&self, name: &str) -> PathBuf {
        self.programs.join(Mode::Shared.name()).join(name)
    }

    /// Seconds of the program's kernels as C++ on the host, by kernel name.
    fn natives(&self, measured: &Measured) -> Result<Vec<(String, f64)>> {
        let mut command = Command::new(&self.command);
        command.arg("run").arg("--").arg(self.program(measured.program)).args([measured.size, "--native"]);
        let output = process::quiet(&mut command)?;
        let line = |line: &str| {
            let (kernel, seconds) = line.strip_prefix("native ")?.split_once(' ')?;
            Some((kernel.to_owned(), seconds.parse().ok()?))
        };
        Ok(output.lines().filter_map(line).collect())
    }

    /// Shortest of the runs in each mode.
    fn shortest<const COUNT: usize>(
        &self,
        measured: &Measured,
        modes: [(&str, &[&str]); COUNT],
        runs: usize,
    ) -> Result<Vec<KernelSummary>> {
        let run = |(_, options): (_, &[&str])| self.kernel(measured, options);
        let mut shortest = modes.map(run).into_iter().collect::<Result<Vec<_>>>()?;
        for _ in 1..runs {
            for (shortest, mode) in shortest.iter_mut().zip(modes) {
                let run = run(mode)?;
                if run.seconds < shortest.seconds {
                    *shortest = run;
                }
            }
        }
        Ok(shortest)
    }

    /// Runs the program once and returns the kernel's totals.
    fn kernel(&self, measured: &Measured, options: &[&str]) -> Result<KernelSummary> {
        self.run(measured, options, &self.program(measured.program))
    }

    /// Runs the program at another path once.
    fn run(&self, measured: &Measured, options: &[&str], program: &Path) -> Result<KernelSummary> {
        let [summary, statistics] =
            ["summary", "statistics"].map(|what| self.programs.join(format!("bench-{what}.json")));
        let is_timed = options.contains(&"--mode");
        let mut command = Command::new(&self.command);
        command.arg("run").args(options).arg("--summary").arg(&summary);
        if is_timed {
            command.arg("--only").arg(format!("kernel={}", measured.kernel));
            command.arg("--statistics").arg(&statistics);
        }
        command.arg("--").arg(program).args(Some(measured.size).filter(|size| !size.is_empty()));
        process::quiet(&mut command)?;
        let summary: Summary = read(&summary)?;
        let found = summary.kernels.into_iter().find(|summary| summary.name.contains(measured.kernel));
        let mut found = found.ok_or_else(|| self.silent(measured, "its kernel's summary"))?;
        if is_timed {
            let Statistics { launches, .. } = read(&statistics)?;
            let own = launches.iter().filter(|launch| launch.kernel == found.name);
            found.cycles = Some(own.map(|launch| launch.simulated_cycles).sum());
        }
        Ok(found)
    }

    /// Host instructions per timed warp instruction of a recording of the given size, if callgrind
    /// is installed. The program itself is left out, since callgrind lacks some instructions that
    /// it is compiled to.
    fn host_instructions(&self, measured: &Measured, size: &str) -> Result<Option<f64>> {
        if !debian::is_present("valgrind") {
            return Ok(None);
        }
        let (recording, statistics) =
            (self.programs.join("bench-recording"), self.programs.join("bench-statistics.json"));
        files::remove_folder(&recording)?;
        let mut record = Command::new(&self.command);
        record
            .arg("record")
            .arg("-o")
            .arg(&recording)
            .arg("--only")
            .arg(format!("kernel={}", measured.kernel));
        process::quiet(record.arg("--").arg(self.program(measured.program)).arg(size))?;
        let mut callgrind = Command::new("valgrind");
        callgrind.args(["--tool=callgrind", "--callgrind-out-file=/dev/null"]).arg(&self.command);
        callgrind.args(["time", "--threads", "1", "--statistics"]).arg(&statistics).arg(&recording);
        let errors = process::errors(&mut callgrind)?;
        let collected = |line: &str| line.split_once("Collected : ")?.1.trim().parse().ok();
        let count: Option<f64> = errors.lines().rev().find_map(collected);
        let count = count.ok_or_else(|| self.silent(measured, "callgrind's count"))?;
        let Statistics { total, .. } = read(&statistics)?;
        Ok(Some(count / total.counters.warp_instructions as f64))
    }

    /// Measures a hybrid mode beside detailed mode, and prints the mean of the speeds' ratios.
    fn hybrid(&self, hybrid: &Hybrid, choice: &Choice, rows: &mut Vec<Row>) -> Result<()> {
        let mut ratios = Vec::new();
        for (measured, _) in TIMED.iter().filter(|(measured, _)| choice.has(hybrid.group, measured.name)) {
            let modes = [TIMED_MODES[0], hybrid.mode];
            let runs = self.shortest(measured, modes, TIMED_RUNS)?;
            if let [detailed, fast] = &runs[..] {
                ratios.push(detailed.seconds / fast.seconds);
            }
            for ((mode, _), run) in modes.into_iter().zip(&runs) {
                let row = Row::new(measured, mode, run, None);
                row.print();
                rows.push(row);
            }
        }
        if !ratios.is_empty() {
            let mean = ratios.iter().map(|ratio| ratio.ln()).sum::<f64>() / ratios.len() as f64;
            let Hybrid { group, aim, .. } = hybrid;
            println!("{group}: {:.2} times detailed (geometric mean; aim {aim})\n", mean.exp());
        }
        Ok(())
    }

    /// Simulation speed with almost no activity.
    fn idle(&self, workspace: &Workspace) -> Result<Row> {
        let folder = workspace.target.join("micro");
        let mut programs = catalogue::micro_programs(&workspace.root)?;
        programs.retain(|program| program.name == IDLE.program);
        programs::compile(workspace, programs.clone(), &folder)?;
        let program = programs.first().ok_or_else(|| self.silent(&IDLE, "its source"))?;
        let (mode, options) = TIMED_MODES[0];
        let run = self.run(&IDLE, options, &program.executable(&folder, Mode::Shared))?;
        Ok(Row::new(&IDLE, mode, &run, None))
    }

    fn silent(&self, measured: &Measured, what: &'static str) -> Error {
        Error::Silent { program: self.program(measured.program), what }
    }

    /// Wall-clock time of a small program with warm caches, and of a large module.
    fn print_start(&self) -> Result<()> {
        let mut shortest = f64::INFINITY;
        for _ in 0..10 {
            let start = Instant::now();
            process::quiet(Command::new(&self.command).arg("run").arg("--").arg(self.program("vector_add")))?;
            shortest = shortest.min(start.elapsed().as_secs_f64());
        }
        println!("\nvoltsim run -- vector_add: {:.1} ms, whole process", shortest * 1e3);
        let output = process::quiet(
            Command::new(&self.command).arg("run").arg("--").arg(self.program("large_module")),
        )?;
        for line in output.lines().filter(|line| line.contains("module")) {
            println!("{line}");
        }
        Ok(())
    }
}
