//! `cargo xtask test`.

use crate::error::{Error, Result};
use crate::programs::Extent;
use crate::workspace::{self, Workspace};
use crate::{clients, debian, kernels, micro, process, programs, projects, python_package, toolchain};
use std::panic::resume_unwind;
use std::process::Command;
use std::thread::{self, Scope, ScopedJoinHandle};
use std::time::Instant;

/// The tests of the engine alone.
const ENGINE_TESTS: [&str; 10] =
    ["--test", "atomics", "--test", "sanitizer", "--test", "engine", "--test", "oracle", "--test", "ptx"];

/// Measures the timing model's host instructions in a release build. The whole workspace is
/// selected, so cargo reuses the release build's features.
const MODEL_COST: [&str; 8] =
    ["test", "--release", "--workspace", "--test", "gpu", "--", "--ignored", "stay_within_a_tenth"];

/// Suites of the fast lane: they need no CUDA program and no release build.
const FAST: [&str; 17] = [
    "corpus",
    "tidy",
    "book",
    "reference",
    "dependency_rule",
    "module_cycles",
    "ptx",
    "errors",
    "forms",
    "link",
    "lower",
    "shape",
    "engine",
    "atomics",
    "sm",
    "sm_memory",
    "memory_side",
];

/// Runs the fast lane: format, unit tests, and the suites of [`FAST`].
pub(crate) fn fast() -> Result<()> {
    let workspace = Workspace::find();
    let mut report = Report::default();
    let mut counts = Counts::default();
    report.step("cargo fmt", || process::shown(&mut workspace.cargo(&["fmt", "--all", "--check"])));
    report.step("fast lane", || {
        let mut command = workspace.cargo(&["test", "--workspace", "--no-fail-fast", "--lib", "--bins"]);
        command.args(FAST.iter().flat_map(|suite| ["--test", suite]));
        process::seen(&mut command, |line| counts.add(line))
    });
    report.close(&counts, &[])
}

/// Runs every step. A failed step does not stop later ones, so one run shows every failure.
pub(crate) fn run(filter: Option<&str>) -> Result<()> {
    let workspace = Workspace::find();
    let mut report = Report::default();
    let mut skipped = debian::install_missing();
    let locked: &[&str] = if workspace::is_ci() { &["--locked"] } else { &[] };
    let cargo = |arguments: &[&str]| workspace.cargo(&[&arguments[..1], locked, &arguments[1..]].concat());

    thread::scope(|scope| {
        let programs = in_idle_time(scope, || programs::set_up_and_compile(&workspace, Extent::Usual));
        if filter.is_none() {
            report.step("cargo fmt", || process::shown(&mut workspace.cargo(&["fmt", "--all", "--check"])));
            let clippy = ["clippy", "--workspace", "--all-targets", "--", "-D", "warnings"];
            report.step("cargo clippy", || process::shown(&mut cargo(&clippy)));
        }
        report.step("release build", || workspace.build());
        let compiled = report.step("CUDA programs", || joined(programs).map(|()| true));
        if !compiled {
            skipped.push("CUDA programs".to_owned());
        }
    });
    if filter.is_none() {
        thread::scope(|scope| {
            let tests =
                in_idle_time(scope, || process::quiet(&mut cargo(&["test", "--workspace", "--no-run"])));
            report.step("client suites", || clients::small(&workspace));
            report.step("kernels of stand-ins", || kernels::are_current(&workspace));
            report.step("micro-benchmarks", || micro::quick(&workspace).map(|()| true));
            report.step("Python package", || python_package::check(&workspace));
            report.step("worked examples", || projects::check_all(&workspace));
            report.step("tests' build", || joined(tests).map(|_| true));
        });
        if debian::is_present("valgrind") {
            report.step("cost of the model", || {
                // A filter that matches no test succeeds as well.
                let mut counts = Counts::default();
                let mut command = cargo(&MODEL_COST);
                let passed = process::seen(command.arg("--nocapture"), |line| counts.add(line))?;
                Ok(passed && counts.passed > 0)
            });
        }
    }
    let mut counts = Counts::default();
    report.step("cargo test", || {
        let mut command = cargo(&["test", "--workspace", "--no-fail-fast"]);
        command.args(filter);
        command.env("VOLTSIM_TEST_PROGRAMS", programs::folder(&workspace));
        command.env("VOLTSIM_TEST_COMMAND", workspace.command());
        command.env("VOLTSIM_TEST_TOOLKIT", toolchain::toolkit(&workspace));
        process::seen(&mut command, |line| counts.add(line))
    });
    report.step("files by the API", || {
        let tests = cargo(&["test", "--workspace", "--test", "ptx", "--"]);
        let mut command = Command::new(workspace.command());
        command.args(["run", "--device", "h100", "--"]).arg(tests.get_program()).args(tests.get_args());
        command.args(filter).current_dir(&workspace.root).env("VOLTSIM_PTX_DRIVER", "libcuda.so.1");
        process::shown(&mut command)
    });
    // Optimisation across the whole unit without checks may expose faults that debug builds hide.
    report.step("released engine", || {
        let mut command = cargo(&["test", "--release", "--workspace", "--no-fail-fast"]);
        command.args(ENGINE_TESTS).args(filter);
        process::seen(&mut command, |line| counts.add(line))
    });
    report.close(&counts, &skipped)
}

/// Runs `work` beside the next steps on the core they leave idle while they download or compile a
/// crate that others depend on.
fn in_idle_time<'s, T: Send + 's>(
    scope: &'s Scope<'s, '_>,
    work: impl FnOnce() -> T + Send + 's,
) -> ScopedJoinHandle<'s, T> {
    scope.spawn(|| {
        // The priority applies to this thread and its children; without it the run takes longer.
        let _ = rustix::process::nice(19);
        work()
    })
}

/// Result of the work in idle time.
fn joined<T>(work: ScopedJoinHandle<'_, T>) -> T {
    work.join().unwrap_or_else(|panic| resume_unwind(panic))
}

/// Outcomes of the steps.
#[derive(Default)]
struct Report {
    lines: Vec<String>,
    failed: Vec<&'static str>,
}

impl Report {
    /// Runs a step; true if it succeeded.
    fn step(&mut self, name: &'static str, run: impl FnOnce() -> Result<bool>) -> bool {
        println!("== {name}");
        let start = Instant::now();
        let succeeded = run().unwrap_or_else(|error| {
            eprintln!("{error}");
            false
        });
        let verdict = if succeeded { "ok" } else { "FAILED" };
        self.lines.push(format!("{name:<16} {verdict:<6} {:>6.1} s", start.elapsed().as_secs_f64()));
        if !succeeded {
            self.failed.push(name);
        }
        succeeded
    }

    fn close(self, counts: &Counts, skipped: &[String]) -> Result<()> {
        println!("\n== summary");
        for line in &self.lines {
            println!("{line}");
        }
        for tests in skipped {
            println!("skipped: {tests}");
        }
        for name in &counts.failures {
            println!("failed: {name}");
        }
        let verdict = if self.failed.is_empty() { "ok" } else { "FAILED" };
        println!(
            "test result: {verdict}. {} passed; {} failed; {} ignored",
            counts.passed, counts.failed, counts.ignored
        );
        if !self.failed.is_empty() {
            return Err(Error::Steps(self.failed.join(", ")));
        }
        if workspace::is_ci() && !skipped.is_empty() {
            return Err(Error::Skipped(skipped.join(", ")));
        }
        Ok(())
    }
}

/// Totals of the test runners' output.
#[derive(Default)]
struct Counts {
    /// Names of the failed tests.
    failures: Vec<String>,
    passed: u64,
    failed: u64,
    ignored: u64,
}

impl Counts {
    /// Adds a line such as `test NAME ... FAILED` or `test result: ok. 3 passed; 0 failed; …`;
    /// ignores others.
    fn add(&mut self, line: &str) {
        if let Some(name) = line.strip_prefix("test ").and_then(|rest| rest.strip_suffix("FAILED")) {
            self.failures.push(name.trim_end_matches([' ', '.']).to_owned());
        }
        let Some((_, results)) = line.strip_prefix("test result: ").and_then(|rest| rest.split_once(". "))
        else {
            return;
        };
        for result in results.split("; ") {
            let (number, kind) = result.split_once(' ').unwrap_or_default();
            let number = number.parse().unwrap_or(0);
            match kind {
                "passed" => self.passed += number,
                "failed" => self.failed += number,
                "ignored" => self.ignored += number,
                _ => {}
            }
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may panic")]
mod tests {
    use super::*;
    use std::collections::BTreeSet;

    #[test]
    fn fast_lane_names_test_targets_of_the_workspace() {
        let arguments = ["metadata", "--no-deps", "--offline", "--format-version", "1"];
        let metadata = process::quiet(&mut Workspace::find().cargo(&arguments)).unwrap();
        let metadata: serde_json::Value = serde_json::from_str(&metadata).unwrap();
        let packages = metadata["packages"].as_array().unwrap();
        let targets = packages.iter().flat_map(|package| package["targets"].as_array().unwrap());
        let tests = targets.filter(|target| target["kind"][0] == "test");
        let names: BTreeSet<&str> = tests.filter_map(|target| target["name"].as_str()).collect();
        for suite in FAST {
            assert!(names.contains(suite), "`{suite}` is no test target");
        }
    }
}
