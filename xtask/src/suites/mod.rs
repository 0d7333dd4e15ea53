//! `cargo xtask suites`: programs of benchmark suites, from checkouts beside the repository.
//! `tests/outside` holds the list and describes each suite.

mod build;
mod graph;
mod input;
mod judge;
mod list;

use crate::error::{Error, Result};
use crate::modes::Times;
use crate::toolchain::Toolchain;
use crate::workspace::Workspace;
use build::Build;
use clap::Args;
use judge::{Candidate, Mode};
use list::{Program, Suite};
use serde::Serialize;
use std::fs;
use std::path::PathBuf;

/// `cargo xtask suites`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Folder with the checkouts; tests/outside/README.md names the repositories.
    #[arg(value_name = "DIR")]
    checkouts: PathBuf,
    /// Suites and programs (`SUITE/PROGRAM`) to run; all without.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Leave detailed mode out.
    #[arg(long)]
    functional: bool,
    /// Run the programs with this `voltsim` instead of building one.
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
    /// Also write the table to this file.
    #[arg(long, value_name = "FILE")]
    json: Option<PathBuf>,
}

/// A table row: one program in one mode.
#[derive(Serialize)]
struct Row {
    program: String,
    built: bool,
    /// Mode; `None` if the program is not run.
    mode: Option<Mode>,
    outcome: Outcome,
    /// Summary of the check.
    check: Option<String>,
    /// Difference of the build from the suite's own.
    adaptation: Option<String>,
    seconds: Option<f64>,
    /// Detailed over functional time, of a detailed run.
    ratio: Option<f64>,
    /// Reason why the program is left out or fails.
    reason: Option<String>,
}

#[derive(Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "kebab-case")]
enum Outcome {
    Passed,
    Failed,
    LeftOut,
}

/// Builds and runs the selected programs; fails if one does not pass.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let suites = list::read(&list::folder(&workspace))?;
    for name in &arguments.names {
        let names_any = |suite: &Suite| suite.programs.iter().any(|program| is_named(name, suite, program));
        if !suites.iter().any(names_any) {
            return Err(Error::NoProgram(name.clone()));
        }
    }
    let checkouts = fs::canonicalize(&arguments.checkouts).map_err(Error::file(&arguments.checkouts))?;
    let command = match &arguments.command {
        Some(command) => std::path::absolute(command).map_err(Error::file(command))?,
        None if workspace.build()? => workspace.command(),
        None => return Err(Error::Steps("release build".to_owned())),
    };
    let toolchain = Toolchain::set_up(&workspace)?;
    let bench = Bench { workspace, toolchain, command, checkouts, is_quick: arguments.functional };
    println!(
        "{:<24} {:<6} {:<11} {:<9} {:>8} {:>7}  check or reason",
        "program", "built", "mode", "outcome", "seconds", "ratio"
    );
    let mut rows = Vec::new();
    for suite in &suites {
        for program in &suite.programs {
            let names = &arguments.names;
            if names.is_empty() || names.iter().any(|name| is_named(name, suite, program)) {
                rows.extend(bench.rows(suite, program)?);
            }
        }
    }
    if let Some(file) = &arguments.json {
        let text = serde_json::to_string_pretty(&rows).map_err(|error| Error::file(file)(error.into()))?;
        fs::write(file, text + "\n").map_err(Error::file(file))?;
    }
    verdict(&rows)
}

/// True if `name` names the suite or the program.
fn is_named(name: &str, suite: &Suite, program: &Program) -> bool {
    name == suite.suite || name.split_once('/') == Some((&suite.suite, &program.name))
}

/// Differences of suite and program from the suite's own build.
fn adaptation(suite: &Suite, program: &Program) -> Option<String> {
    let texts: Vec<&str> =
        [&suite.adaptation, &program.adaptation].into_iter().flatten().map(String::as_str).collect();
    (!texts.is_empty()).then(|| texts.join(" "))
}

/// Tools to build and run all programs.
struct Bench {
    workspace: Workspace,
    toolchain: Toolchain,
    command: PathBuf,
    checkouts: PathBuf,
    is_quick: bool,
}

impl Bench {
    /// Builds and runs a program; prints and returns a row per run.
    fn rows(&self, suite: &Suite, program: &Program) -> Result<Vec<Row>> {
        let start = Row {
            program: format!("{}/{}", suite.suite, program.name),
            built: false,
            mode: None,
            outcome: Outcome::Failed,
            check: program.check.as_ref().map(list::Check::describe),
            adaptation: adaptation(suite, program),
            seconds: None,
            ratio: None,
            reason: None,
        };
        let alone = |outcome, reason| vec![Row { outcome, reason: Some(reason), ..start.again() }.printed()];
        if let Some(reason) = &program.left_out {
            return Ok(alone(Outcome::LeftOut, reason.clone()));
        }
        let Some(check) = &program.check else {
            return Ok(alone(Outcome::Failed, "the list has neither a check nor a reason".to_owned()));
        };
        let Some(root) = build::root(&self.checkouts, suite, program) else {
            let places = program.root.clone().unwrap_or_else(|| suite.roots.join(" or "));
            return Ok(alone(Outcome::Failed, format!("the sources are not in {places}")));
        };
        let folder = self.workspace.target.join("suites").join(&start.program);
        let Self { workspace, toolchain, .. } = self;
        let build = Build { workspace, toolchain, suite, program, root: &root, folder: &folder };
        match build.run() {
            Ok(executable) => {
                let (root, executable, folder, command) = (&root, &executable, &folder, &self.command);
                self.runs(&start, &Candidate { program, check, executable, root, folder, command })
            }
            Err(error @ Error::Command { .. }) => Ok(alone(Outcome::Failed, first_error(&error.to_string()))),
            Err(error) => Err(error),
        }
    }

    /// Runs a program in its modes.
    fn runs(&self, start: &Row, candidate: &Candidate<'_>) -> Result<Vec<Row>> {
        let program = candidate.program;
        let mut rows: Vec<Row> = Vec::new();
        for mode in Mode::of(program, self.is_quick) {
            let run = candidate.run(mode)?;
            let before = rows.first().filter(|row| row.outcome == Outcome::Passed).and_then(|row| row.mode);
            let fault = match (run.fault, before) {
                (None, Some(before)) => candidate.difference(before, mode)?,
                (fault, _) => fault,
            };
            let functional = rows.first().filter(|_| mode == Mode::Detailed).and_then(|row| row.seconds);
            let times = functional.map(|functional| Times { functional, detailed: run.seconds });
            let times = times.filter(|_| fault.is_none()).map(|times| candidate.confirmed(times));
            let times = times.transpose()?;
            let slower = || "functional mode is slower than detailed mode".to_owned();
            let fault = fault.or_else(|| times.filter(|times| times.is_slower()).map(|_| slower()));
            let outcome = if fault.is_none() { Outcome::Passed } else { Outcome::Failed };
            let row = Row {
                built: true,
                mode: Some(mode),
                outcome,
                seconds: Some(times.map_or(run.seconds, |times| times.detailed)),
                ratio: times.map(Times::ratio),
                reason: fault,
                ..start.again()
            };
            rows.push(row.printed());
        }
        if let Some(reason) = &program.functional_only {
            let row = Row {
                built: true,
                mode: Some(Mode::Detailed),
                outcome: Outcome::LeftOut,
                reason: Some(reason.clone()),
                ..start.again()
            };
            rows.push(row.printed());
        }
        Ok(rows)
    }
}

impl Row {
    /// Another row of the same program.
    fn again(&self) -> Self {
        Self {
            program: self.program.clone(),
            check: self.check.clone(),
            adaptation: self.adaptation.clone(),
            reason: None,
            ..*self
        }
    }

    fn printed(self) -> Self {
        let outcome = match self.outcome {
            Outcome::Passed => "passed",
            Outcome::Failed => "FAILED",
            Outcome::LeftOut => "left out",
        };
        let seconds = self.seconds.map_or_else(String::new, |seconds| format!("{seconds:.1}"));
        let (built, mode) = (if self.built { "yes" } else { "no" }, self.mode.map_or("", Mode::name));
        let about = self.reason.as_ref().or(self.check.as_ref()).map_or("", String::as_str);
        let ratio = self.ratio.map_or_else(String::new, |ratio| format!("{ratio:.1}"));
        println!("{:<24} {built:<6} {mode:<11} {outcome:<9} {seconds:>8} {ratio:>7}  {about}", self.program);
        self
    }
}

/// First error line of a compiler's output.
fn first_error(output: &str) -> String {
    let line = output.lines().find(|line| line.contains("error") || line.contains("undefined reference"));
    line.or_else(|| output.lines().next()).unwrap_or_default().to_owned()
}

/// Prints the counts; fails if a program does not pass.
fn verdict(rows: &[Row]) -> Result<()> {
    let of = |outcome| rows.iter().filter(move |row| row.outcome == outcome);
    let passed = |mode| of(Outcome::Passed).filter(|row| row.mode == Some(mode)).count();
    let failed: Vec<&str> = of(Outcome::Failed).map(|row| row.program.as_str()).collect();
    println!(
        "{} passed in functional mode, {} in detailed mode; {} left out; {} failed",
        passed(Mode::Functional),
        passed(Mode::Detailed),
        of(Outcome::LeftOut).count(),
        failed.len()
    );
    if failed.is_empty() { Ok(()) } else { Err(Error::Steps(failed.join(", "))) }
}
