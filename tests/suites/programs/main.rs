//! Real CUDA programs, compiled by nvcc and clang, run under `voltsim run` with self-checks.
//!
//! `cargo xtask test` compiles them and gives their location. Otherwise, every test is reported as ignored.
//!
//! Further runs:
//!
//! - Some programs run with all checks (`voltsim run --check all`), which must report nothing.
//!   `VOLTSIM_TEST_EVERY_CHECK=1` extends this to all programs without deliberate errors.
//! - Some run on the timing model (`voltsim run --mode detailed`), or all with
//!   `VOLTSIM_TEST_EVERY_TIMED=1`. Programs that it cannot time must be refused.
//! - Some run as machine code of the host (`voltsim run --tier native`), on hosts with AVX-512, or all with
//!   `VOLTSIM_TEST_EVERY_NATIVE=1`.
//! - Some are saved and resumed (`voltsim run --checkpoint`, `voltsim resume`), executed or timed, at a
//!   random point of each kind. `VOLTSIM_TEST_EVERY_RESUMED=N` extends this to all suitable programs with N
//!   points of each kind; `VOLTSIM_TEST_SEED` repeats a choice of points.
//! - All but a few are written to a kernel stream, whose launches run without the program.
//! - Racing programs run on the timing model with several numbers of threads, and must give identical
//!   bytes.

mod dice;
mod resumed;
mod run;
mod same_bytes;
mod streamed;

use libtest_mimic::{Arguments, Completion, Failed, Trial};
use resumed::{Engine, NOT_EXECUTED_RESUMED, NOT_RESUMED, NOT_TIMED_RESUMED};
use run::{Outcome, with_executable};
use std::os::unix::process::ExitStatusExt;
use std::process::ExitCode;
use streamed::NOT_STREAMED;
use voltsim_tests::catalogue::{self, Mode, Program};

/// Set to run every program with all checks.
const EVERY_CHECK: &str = "VOLTSIM_TEST_EVERY_CHECK";

/// Set to run every program on the timing model.
const EVERY_TIMED: &str = "VOLTSIM_TEST_EVERY_TIMED";
/// Options of a run on the timing model.
const DETAILED: &[&str] = &["--mode", "detailed"];

/// Programs that run on the timing model by default.
const TIMED: [&str; 16] = [
    "atomics_scopes",
    "cooperative_groups",
    "cub_device",
    "device_launches",
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

/// Set to run every program as machine code of the host.
const EVERY_NATIVE: &str = "VOLTSIM_TEST_EVERY_NATIVE";
/// Options of a run as machine code of the host.
const COMPILED: &[&str] = &["--tier", "native"];

/// Programs that run as machine code of the host by default.
const NATIVE: [&str; 12] = [
    "atomics_scopes",
    "cooperative_groups",
    "cub_device",
    "device_launches",
    "divergence",
    "grid_sync",
    "inline_ptx",
    "local_memory",
    "math_float",
    "shared_memory",
    "spin_lock",
    "warp_shuffles",
];

/// Number of points of each kind at which every program is saved and resumed.
const EVERY_RESUMED: &str = "VOLTSIM_TEST_EVERY_RESUMED";

/// Programs that are saved and resumed by default.
const RESUMED: [&str; 15] = [
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
    "memory_copies",
    "stream_memory_operations",
    "surfaces",
    "symbols",
    "virtual_memory",
];

/// Programs whose timed runs are saved and resumed by default.
const TIMED_RESUMED: [&str; 8] = [
    "atomics_scopes",
    "device_launches",
    "grid_sync",
    "local_memory",
    "racing_bfs",
    "racing_writes",
    "shared_memory",
    "spin_lock",
];

/// Programs that the timing model refuses, with the message.
const REFUSED: [(&str, &str); 1] = [("clusters", "cannot be timed: it has clusters of CTAs")];

/// Programs that run with all checks by default. Each has a construct that a check could mistake for an
/// error, and runs for a second or two.
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
    let every_resumed = std::env::var(EVERY_RESUMED).ok().map(|points| points.parse().unwrap_or(1));
    let seed = match dice::seed(every_resumed.is_some()) {
        Ok(seed) => seed,
        Err(error) => {
            eprintln!("{error}");
            return ExitCode::FAILURE;
        }
    };
    eprintln!("points at which runs are saved are drawn from VOLTSIM_TEST_SEED={seed}");
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
        let compiled = std::env::var_os(EVERY_NATIVE).is_some() || NATIVE.contains(&program.name.as_str());
        if compiled && program.check.is_none() && functional::engine::native::is_supported() {
            let (mode, program) = (program.modes[0], program.clone());
            trials.push(Trial::ignorable_test(format!("{}::native", program.name), move || {
                run(&program, mode, COMPILED)
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
        let is_in = |list: &[(&str, &str)]| list.iter().any(|(name, _)| *name == program.name);
        let can_be_timed = refused.is_none() && !is_in(&NOT_TIMED_RESUMED);
        for (engine, usual, suite, factor) in [
            (Engine::Functional, &RESUMED[..], "resumed", 1),
            (Engine::Timed, &TIMED_RESUMED[..], "timed_resumed", 10),
        ] {
            let can_be = !is_in(&NOT_RESUMED)
                && match engine {
                    Engine::Functional => !is_in(&NOT_EXECUTED_RESUMED),
                    Engine::Timed => can_be_timed,
                };
            let wanted = every_resumed.is_some() || usual.contains(&program.name.as_str());
            if wanted && can_be && program.check.is_none() {
                let mode = program.modes[0];
                let drawn = (seed, every_resumed.unwrap_or(1));
                let program = Program { time_limit: program.time_limit * factor, ..program.clone() };
                trials.push(Trial::ignorable_test(format!("{}::{suite}", program.name), move || {
                    resumed::save_and_resume(&program, mode, engine, drawn)
                }));
            }
        }
        if program.check.is_none() && program.mistakes.is_none() && !is_in(&NOT_STREAMED) {
            let (mode, program) = (program.modes[0], program.clone());
            trials.push(Trial::ignorable_test(format!("{}::streamed", program.name), move || {
                streamed::write_and_run(&program, mode)
            }));
        }
        if same_bytes::RACING.contains(&program.name.as_str()) {
            let (mode, program) = (program.modes[0], program.clone());
            trials.push(Trial::ignorable_test(format!("{}::same_bytes", program.name), move || {
                same_bytes::compare(&program, mode)
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

fn run(program: &Program, mode: Mode, options: &[&str]) -> Result<Completion, Failed> {
    run_and_judge(program, mode, options, |outcome| judge(program, outcome))
}

/// Runs a program on the timing model, which must refuse it with `complaint`.
fn run_refused(program: &Program, mode: Mode, complaint: &str) -> Result<Completion, Failed> {
    run_and_judge(program, mode, DETAILED, |Outcome { status, stderr, .. }| match status {
        None => Err(format!("still running after {:?}", program.time_limit)),
        Some(status) if status.success() => Err("the program was not refused".to_owned()),
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
    with_executable(program, mode, |runner| {
        let outcome = runner.run(&[&["run"], options].concat(), &[])?;
        judge(&outcome).map_err(|complaint| outcome.failed(&complaint))
    })
}

/// Returns the failure of a run, if any.
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
        return Err(format!("standard output must contain only the program's, but has {line:?}"));
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
