//! Real CUDA programs, compiled by nvcc and clang, run under `voltsim run` and checking their own numbers.
//!
//! `cargo xtask test` compiles them and says where they are; without it every test here is reported as ignored.
//!
//! Some of them run once more with every check (`voltsim run --check all`), which must find nothing; with
//! `VOLTSIM_TEST_EVERY_CHECK=1` all that are not wrong on purpose do. And some run once more on the timing model
//! (`voltsim run --mode detailed`), with `VOLTSIM_TEST_EVERY_TIMED=1` all; those that it cannot time must be refused.

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
const TIMED: [&str; 11] = [
    "atomics_scopes",
    "cooperative_groups",
    "cub_device",
    "divergence",
    "grid_sync",
    "inline_ptx",
    "local_memory",
    "memory_copies",
    "separate_compilation",
    "shared_memory",
    "spin_lock",
];

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
    let programs = match catalogue::programs(&catalogue::checkout()) {
        Ok(programs) => programs,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    let every_check = std::env::var_os(EVERY_CHECK).is_some();
    let every_timed = std::env::var_os(EVERY_TIMED).is_some();
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
    let outcome = start_and_wait(program, &command, options, &executable)?;
    judge(&outcome).map_err(|complaint| {
        let Outcome { stdout, stderr, .. } = outcome;
        Failed::from(format!("{complaint}\n--- stdout\n{}--- stderr\n{}", tail(&stdout), tail(&stderr)))
    })?;
    Ok(Completion::Completed)
}

fn start_and_wait(
    program: &Program,
    command: &Path,
    options: &[&str],
    executable: &Path,
) -> Result<Outcome, Failed> {
    let folder = tempfile::tempdir()?;
    let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
    let checks = program.check.iter().flat_map(|checks| ["--check", checks]);
    let mut child = Command::new(command)
        .arg("run")
        .args(options)
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
