//! Programs whose launches run again from a kernel stream, without the program.

use libtest_mimic::{Completion, Failed};
use voltsim_tests::catalogue::{Mode, Program};

use super::judge;
use super::run::{Outcome, Runner, with_executable};

/// Programs without a runnable stream, with the reason.
pub(crate) const NOT_STREAMED: [(&str, &str); 4] = [
    ("machine_code_resources", "it launches no kernels"),
    ("memory_attributes", "it launches no kernels"),
    ("peer_devices", "it has two devices"),
    ("sass_only", "it launches no kernels"),
];

/// Programs with a failing launch, whose streams end with this error.
const FAILING: [(&str, &str); 3] = [
    ("device_assert", "CUDA_ERROR_ASSERT"),
    ("device_trap", "CUDA_ERROR_LAUNCH_FAILED"),
    ("surfaces", "CUDA_ERROR_LAUNCH_FAILED"),
];

/// Writes a program's launches to a stream and runs them.
pub(crate) fn write_and_run(program: &Program, mode: Mode) -> Result<Completion, Failed> {
    with_executable(program, mode, |runner| {
        let folder = tempfile::tempdir()?;
        let file = folder.path().join("all.vks").display().to_string();
        let outcome = runner.run(&["run", "--image", &file], &[])?;
        judge(program, &outcome).map_err(|complaint| outcome.failed(&complaint))?;
        let about = succeeding(runner, &["checkpoint", "info", &file])?;
        let launches = about.stdout.lines().find_map(|line| line.strip_prefix("launches")).map(str::trim);
        if let Some((_, complaint)) = FAILING.iter().find(|(name, _)| *name == program.name) {
            return failing(runner, &["resume", &file], complaint);
        }
        let again = succeeding(runner, &["resume", &file])?;
        let executed = again.stdout.lines().filter(|line| line.starts_with("launch ")).count();
        match launches.and_then(|launches| launches.parse::<usize>().ok()) {
            Some(launches) if launches == executed && executed > 0 => Ok(()),
            _ => Err(again.failed(&format!("it has {launches:?} launches, and {executed} were executed"))),
        }
    })
}

fn failing(runner: Runner<'_>, arguments: &[&str], complaint: &str) -> Result<(), Failed> {
    let outcome = runner.run_without_program(arguments)?;
    let fails = outcome.status.and_then(|status| status.code()).is_some_and(|code| code != 0);
    let does = fails && outcome.stderr.contains(complaint);
    if does { Ok(()) } else { Err(outcome.failed(&format!("it does not fail with {complaint}"))) }
}

fn succeeding(runner: Runner<'_>, arguments: &[&str]) -> Result<Outcome, Failed> {
    let outcome = runner.run_without_program(arguments)?;
    let succeeds = outcome.status.is_some_and(|status| status.success());
    if succeeds { Ok(outcome) } else { Err(outcome.failed(&format!("{} fails", arguments.join(" ")))) }
}
