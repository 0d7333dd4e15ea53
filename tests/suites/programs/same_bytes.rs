//! Determinism of timed programs with racing SMs: identical output and statistics with any number of
//! threads, in every run.

use libtest_mimic::{Completion, Failed};
use voltsim_tests::catalogue::{Mode, Program};

use crate::run::{Outcome, Runner, with_executable};

/// Programs with races.
pub(crate) const RACING: [&str; 5] =
    ["racing_bfs", "racing_bulk_copies", "racing_prints", "racing_products", "racing_writes"];

/// Numbers of threads.
const THREADS: [&str; 4] = ["1", "2", "3", "7"];
/// Runs per number of threads.
const RUNS: usize = 5;

/// Runs the program with each number of threads, and compares each run with the first.
pub(crate) fn compare(program: &Program, mode: Mode) -> Result<Completion, Failed> {
    with_executable(program, mode, |runner| {
        let first = timed(runner, THREADS[0])?;
        for threads in THREADS {
            for run in 1..=RUNS {
                let (outcome, statistics) = timed(runner, threads)?;
                if outcome.stdout != first.0.stdout {
                    return Err(
                        outcome.failed(&format!("run {run} with {threads} threads prints different text"))
                    );
                }
                if statistics != first.1 {
                    return Err(
                        outcome.failed(&format!("run {run} with {threads} threads has different statistics"))
                    );
                }
            }
        }
        Ok(())
    })
}

/// Makes a timed run that must pass. Returns its outcome and statistics.
fn timed(runner: Runner<'_>, threads: &str) -> Result<(Outcome, Vec<u8>), Failed> {
    let folder = tempfile::tempdir()?;
    let file = folder.path().join("statistics.json");
    let options =
        ["run", "--mode", "detailed", "--threads", threads, "--statistics", &file.to_string_lossy()];
    let outcome = runner.run(&options, &[("VOLTSIM_DETERMINISTIC", "0")])?;
    match outcome.status {
        Some(status) if status.success() => Ok((outcome, std::fs::read(&file)?)),
        _ => Err(outcome.failed(&format!("it fails with {threads} threads"))),
    }
}
