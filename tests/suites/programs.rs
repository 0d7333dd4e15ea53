//! Real CUDA programs, compiled by nvcc and clang, run under `voltsim run` and checking their own numbers.
//!
//! `cargo xtask test` compiles them and says where they are; without it every test here is reported as ignored.
//!
//! Some of them run once more with every check (`voltsim run --check all`), which must find nothing; with
//! `VOLTSIM_TEST_EVERY_CHECK=1` all that are not wrong on purpose do. And some run once more on the timing model
//! (`voltsim run --mode detailed`), with `VOLTSIM_TEST_EVERY_TIMED=1` all; those that it cannot time must be refused. And some
//! are saved at random points and resumed (`voltsim run --checkpoint`, `voltsim resume`), with `VOLTSIM_TEST_EVERY_RESUMED=1` all
//! that can be, and have to print the same; in some of these runs all launches are timed, and the points lie inside of them.

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use std::fs::File;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitCode, ExitStatus};
use std::time::{Duration, Instant};
use voltsim_tests::catalogue::{self, Mode, Program};

/// The folder with the compiled programs.
const PROGRAMS: &str = "VOLTSIM_TEST_PROGRAMS";
/// The `voltsim` command.
const COMMAND: &str = "VOLTSIM_TEST_COMMAND";
/// Set: every program runs with every check.
const EVERY_CHECK: &str = "VOLTSIM_TEST_EVERY_CHECK";

/// Set: every program runs on the timing model.
const EVERY_TIMED: &str = "VOLTSIM_TEST_EVERY_TIMED";
/// Options of a run on the timing model.
const DETAILED: &[&str] = &["--mode", "detailed"];

/// Programs that run on the timing model whenever the suite runs.
const TIMED: [&str; 15] = [
    "atomics_scopes",
    "cooperative_groups",
    "cub_device",
    "divergence",
    "graph_capture",
    "grid_sync",
    "host_functions",
    "inline_ptx",
    "local_memory",
    "memory_copies",
    "separate_compilation",
    "shared_memory",
    "spin_lock",
    "stream_memory_operations",
    "streams",
];

/// Set: every program is saved and resumed.
const EVERY_RESUMED: &str = "VOLTSIM_TEST_EVERY_RESUMED";

/// Programs that are saved and resumed whenever the suite runs.
const RESUMED: [&str; 14] = [
    "bfs",
    "convolution",
    "cub_device",
    "cub_sorting",
    "device_malloc",
    "graph_conditional",
    "graph_memory",
    "heat",
    "host_functions",
    "managed_memory",
    "stream_memory_operations",
    "surfaces",
    "symbols",
    "virtual_memory",
];

/// Programs of which no run can be saved and resumed, or not with the same output: they print times, have processes or threads
/// whose calls come in any order, memory of other processes, or print from many CTAs.
const NOT_RESUMED: [&str; 7] = [
    "device_printf",
    "external_memory",
    "graph_capture",
    "host_threads",
    "interprocess",
    "large_module",
    "thousand_threads",
];

/// Programs that are saved inside of timed launches and resumed whenever the suite runs.
const TIMED_RESUMED: [&str; 5] =
    ["atomics_scopes", "grid_sync", "local_memory", "shared_memory", "spin_lock"];

/// Points at which a program is saved.
const POINTS: u64 = 3;

/// Programs that the timing model refuses, with what it says.
const REFUSED: [(&str, &str); 1] = [("clusters", "cannot be timed: it has clusters of CTAs")];

/// Programs that run with every check whenever the suite runs: each has something that checks could take for a mistake,
/// and runs for a second or two.
const CHECKED: [&str; 12] = [
    "atomics_scopes",
    "cooperative_groups",
    "divergence",
    "grid_sync",
    "inline_ptx",
    "local_memory",
    "memory_copies",
    "reduction",
    "scan",
    "separate_compilation",
    "shared_memory",
    "spin_lock",
];

fn main() -> ExitCode {
    let arguments = Arguments::from_args();
    let Some(programs) = catalogue::own_programs() else { return ExitCode::FAILURE };
    let every_check = std::env::var_os(EVERY_CHECK).is_some();
    let every_timed = std::env::var_os(EVERY_TIMED).is_some();
    let every_resumed = std::env::var_os(EVERY_RESUMED).is_some();
    let mut trials = Vec::new();
    for program in programs {
        let checked = every_check || CHECKED.contains(&program.name.as_str());
        if checked && program.check.is_none() && program.mistakes.is_none() {
            let mode = program.modes[0];
            let limit = program.time_limit * 10;
            let program = Program { check: Some("all".to_owned()), time_limit: limit, ..program.clone() };
            trials.push(Trial::ignorable_test(format!("{}::checked", program.name), move || {
                run(&program, mode, &[])
            }));
        }
        let refused = REFUSED.iter().find(|(name, _)| *name == program.name);
        let timed = every_timed || refused.is_some() || TIMED.contains(&program.name.as_str());
        if timed && program.check.is_none() {
            let mode = program.modes[0];
            let program = Program { time_limit: program.time_limit * 10, ..program.clone() };
            trials.push(Trial::ignorable_test(format!("{}::timed", program.name), move || match refused {
                None => run(&program, mode, DETAILED),
                Some((_, complaint)) => run_refused(&program, mode, complaint),
            }));
        }
        let resumed = every_resumed || RESUMED.contains(&program.name.as_str());
        if resumed && program.check.is_none() && !NOT_RESUMED.contains(&program.name.as_str()) {
            let mode = program.modes[0];
            let program = program.clone();
            trials.push(Trial::ignorable_test(format!("{}::resumed", program.name), move || {
                save_and_resume(&program, mode)
            }));
        }
        let can_be_timed = program.check.is_none() && refused.is_none();
        let timed = every_resumed || TIMED_RESUMED.contains(&program.name.as_str());
        if timed && can_be_timed && !NOT_RESUMED.contains(&program.name.as_str()) {
            let mode = program.modes[0];
            let program = Program { time_limit: program.time_limit * 10, ..program.clone() };
            trials.push(Trial::ignorable_test(format!("{}::timed_resumed", program.name), move || {
                save_and_resume_timed(&program, mode)
            }));
        }
        for mode in program.modes.clone() {
            let program = program.clone();
            let name = format!("{}::{}", program.name, mode.name());
            trials.push(Trial::ignorable_test(name, move || run(&program, mode, &[])));
        }
    }
    libtest_mimic::run(&arguments, trials).exit_code()
}

/// What a run left behind.
struct Outcome {
    /// `None` when it ran past its time limit.
    status: Option<ExitStatus>,
    stdout: String,
    stderr: String,
}

fn run(program: &Program, mode: Mode, options: &[&str]) -> Result<Completion, Failed> {
    run_and_judge(program, mode, options, |outcome| judge(program, outcome))
}

/// Runs a program on the timing model, which has to complain of it.
fn run_refused(program: &Program, mode: Mode, complaint: &str) -> Result<Completion, Failed> {
    run_and_judge(program, mode, DETAILED, |Outcome { status, stderr, .. }| match status {
        None => Err(format!("still running after {:?}", program.time_limit)),
        Some(status) if status.success() => Err("it was not refused".to_owned()),
        Some(_) if stderr.contains(complaint) => Ok(()),
        Some(_) => Err(format!("standard error does not contain {complaint:?}")),
    })
}

fn run_and_judge(
    program: &Program,
    mode: Mode,
    options: &[&str],
    judge: impl FnOnce(&Outcome) -> Result<(), String>,
) -> Result<Completion, Failed> {
    with_executable(program, mode, |command, executable| {
        let arguments = [&["run"], options].concat();
        let outcome = start_and_wait(program, command, &arguments, executable)?;
        judge(&outcome).map_err(|complaint| outcome.failed(&complaint))
    })
}

/// Does something with the command and the compiled program, if these are there.
fn with_executable(
    program: &Program,
    mode: Mode,
    work: impl FnOnce(&Path, &Path) -> Result<(), Failed>,
) -> Result<Completion, Failed> {
    let place = |name| std::env::var_os(name).map(PathBuf::from);
    let (Some(programs), Some(command)) = (place(PROGRAMS), place(COMMAND)) else {
        return Ok(Completion::ignored_with("not compiled; run `cargo xtask test`"));
    };
    let executable = program.executable(&programs, mode);
    if !executable.exists() {
        let reason = match program.is_long {
            true => "long; run `cargo xtask programs --long`".to_owned(),
            false => format!("no compiler for mode {}", mode.name()),
        };
        return Ok(Completion::ignored_with(reason));
    }
    work(&command, &executable).map(|()| Completion::Completed)
}

impl Outcome {
    fn failed(&self, complaint: &str) -> Failed {
        let Outcome { stdout, stderr, .. } = self;
        Failed::from(format!("{complaint}\n--- stdout\n{}--- stderr\n{}", tail(stdout), tail(stderr)))
    }

    fn ended(&self) -> (Option<i32>, &str) {
        (self.status.and_then(|status| status.code()), &self.stdout)
    }
}

/// Saves a program's runs at points between launches and inside of them, and goes on from each: it has to end as ever, and to
/// print what it prints when it is left alone.
fn save_and_resume(program: &Program, mode: Mode) -> Result<Completion, Failed> {
    with_executable(program, mode, |command, executable| {
        let folder = tempfile::tempdir()?;
        let name = |file: &str| folder.path().join(file).to_string_lossy().into_owned();
        let (summary, file) = (name("summary.json"), name("run.vck"));
        let alone = start_and_wait(program, command, &["run", "--summary", &summary], executable)?;
        let counted: serde_json::Value = serde_json::from_slice(&std::fs::read(&summary)?)?;
        let kernels = counted["kernels"].as_array().into_iter().flatten();
        let launches: u64 = kernels.filter_map(|kernel| kernel["launches"].as_u64()).sum();
        for dice in dice(program).take(launches as usize) {
            let kernel = 1 + (dice >> 33) % launches;
            let inside = format!("kernel={kernel},cta=0,ctas=3,instructions={}", dice % 97);
            for point in [format!("kernel={kernel}"), inside] {
                let _ = std::fs::remove_file(&file);
                let arguments = ["run", "--checkpoint", &point, "-o", &file];
                let saved = start_and_wait(program, command, &arguments, executable)?;
                // Launches by kernels are counted too, and some launches cannot be stopped inside.
                if !Path::new(&file).exists() {
                    continue;
                }
                let resumed = start_and_wait(program, command, &["resume", &file], executable)?;
                for (what, outcome) in [("saved", saved), ("resumed", resumed)] {
                    if outcome.ended() != alone.ended() {
                        return Err(
                            outcome.failed(&format!("{what} at {point} it does not end as it does alone"))
                        );
                    }
                }
            }
        }
        Ok(())
    })
}

/// Numbers that the program's name draws, so that points are the same in each run of the suite.
fn dice(program: &Program) -> impl Iterator<Item = u64> {
    let seed =
        program.name.bytes().fold(17, |seed: u64, byte| seed.wrapping_mul(31).wrapping_add(byte.into()));
    (0..POINTS).map(move |number| seed.wrapping_mul(6_364_136_223_846_793_005_u64.wrapping_add(2 * number)))
}

/// The same with runs that are timed, saved inside of launches: statistics have to be the same too, with one thread and two.
fn save_and_resume_timed(program: &Program, mode: Mode) -> Result<Completion, Failed> {
    with_executable(program, mode, |command, executable| {
        let folder = tempfile::tempdir()?;
        let name = |file: &str| folder.path().join(file).to_string_lossy().into_owned();
        let (statistics, file) = (name("run.json"), name("run.vck"));
        let run = |arguments: &[&str], threads: &str| {
            let model = ["--statistics", &statistics, "--threads", threads];
            let arguments = [arguments, DETAILED, &model].concat();
            let outcome = start_and_wait(program, command, &arguments, executable)?;
            Ok::<_, Failed>((outcome, std::fs::read_to_string(&statistics)?))
        };
        let (alone, counted) = run(&["run"], "1")?;
        let all: serde_json::Value = serde_json::from_str(&counted)?;
        let launches: Vec<_> = all["launches"]
            .as_array()
            .into_iter()
            .flatten()
            .filter_map(|launch| Some((launch["launch"].as_u64()?, launch["cycles"].as_u64()?)))
            .collect();
        let mut points = 0;
        for (dice, threads) in dice(program).take(launches.len()).zip([["1", "2"], ["2", "1"], ["2", "2"]]) {
            let (kernel, cycles) = launches[(dice >> 33) as usize % launches.len()];
            let point = format!("kernel={kernel},cycle={}", cycles * (dice % 97) / 100);
            let _ = std::fs::remove_file(&file);
            let saved = run(&["run", "--checkpoint", &point, "-o", &file], threads[0])?;
            // Some launches cannot be stopped inside, or have ended before.
            if !Path::new(&file).exists() {
                continue;
            }
            points += 1;
            let resumed = run(&["resume", &file], threads[1])?;
            for (what, (outcome, same)) in [("saved", saved), ("resumed", resumed)] {
                if outcome.ended() != alone.ended() || same != counted {
                    let complaint = format!("{what} at {point} it does not end, or count, as it does alone");
                    return Err(outcome.failed(&complaint));
                }
            }
        }
        if points == 0 {
            return Err("it could be saved at none of its points".into());
        }
        Ok(())
    })
}

fn start_and_wait(
    program: &Program,
    command: &Path,
    arguments: &[&str],
    executable: &Path,
) -> Result<Outcome, Failed> {
    let folder = tempfile::tempdir()?;
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let checks = program.check.iter().flat_map(|checks| ["--check", checks]);
    let mut child = Command::new(command)
        .args(arguments)
        .args(checks)
        .args(program.device.iter().flat_map(|device| ["--device", device]))
        .args(program.devices.iter().flat_map(|devices| ["--devices", devices]))
        .arg("--")
        .arg(executable)
        .args(&program.args)
        .current_dir(folder.path())
        .env("VOLTSIM_DETERMINISTIC", "1")
        .stdout(File::create(&stdout)?)
        .stderr(File::create(&stderr)?)
        // A group of its own, so that a program that hangs is ended with all its children.
        .process_group(0)
        .spawn()?;
    let status = wait(&mut child, program.time_limit)?;
    let read = |path| Ok::<_, std::io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
    Ok(Outcome { status, stdout: read(stdout)?, stderr: read(stderr)? })
}

/// Waits for `child`; ends its process group and gives `None` when it runs longer than `limit`.
fn wait(child: &mut Child, limit: Duration) -> std::io::Result<Option<ExitStatus>> {
    let start = Instant::now();
    while start.elapsed() < limit {
        if let Some(status) = child.try_wait()? {
            return Ok(Some(status));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
    Command::new("kill").args(["-KILL", "--", &format!("-{}", child.id())]).status()?;
    child.wait()?;
    Ok(None)
}

/// What is wrong with a run, if anything.
fn judge(program: &Program, outcome: &Outcome) -> Result<(), String> {
    let status = outcome.status.ok_or_else(|| format!("still running after {:?}", program.time_limit))?;
    if let Some(signal) = status.signal() {
        return Err(format!("ended by signal {signal}"));
    }
    if status.code() != Some(program.status) {
        return Err(format!("{status}"));
    }
    if outcome.stdout.lines().last() != Some("PASS") {
        return Err("the last line is not PASS".to_owned());
    }
    if let Some(line) = outcome.stdout.lines().find(|line| line.contains("voltsim")) {
        return Err(format!("standard output is the program's alone, but has {line:?}"));
    }
    if let Some(line) =
        program.stdout.iter().find(|wanted| !outcome.stdout.lines().any(|line| line == **wanted))
    {
        return Err(format!("standard output has no line {line:?}"));
    }
    if let Some(text) = program.stderr.iter().find(|wanted| !outcome.stderr.contains(wanted.as_str())) {
        return Err(format!("standard error does not contain {text:?}"));
    }
    Ok(())
}

/// The last part of `text`, with a line end.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(30)..];
    shown.iter().map(|line| format!("{line}\n")).collect()
}
