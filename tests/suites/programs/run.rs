//! Run of a compiled program under the command, and its results.

use libtest_mimic::{Completion, Failed};
use std::fs::File;
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, ExitStatus};
use std::time::{Duration, Instant};
use voltsim_tests::catalogue::{Mode, Program};

/// Folder of the compiled programs.
const PROGRAMS: &str = "VOLTSIM_TEST_PROGRAMS";
/// Path of the `voltsim` command.
const COMMAND: &str = "VOLTSIM_TEST_COMMAND";

/// Program with its runner.
#[derive(Clone, Copy)]
pub(crate) struct Runner<'a> {
    pub(crate) program: &'a Program,
    pub(crate) command: &'a Path,
    pub(crate) executable: &'a Path,
}

/// Results of a run.
pub(crate) struct Outcome {
    /// Exit status, or `None` after the time limit.
    pub(crate) status: Option<ExitStatus>,
    pub(crate) stdout: String,
    pub(crate) stderr: String,
}

/// Passes the command and the compiled program to a function, if both exist.
pub(crate) fn with_executable(
    program: &Program,
    mode: Mode,
    work: impl FnOnce(Runner<'_>) -> Result<(), Failed>,
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
    work(Runner { program, command: &command, executable: &executable }).map(|()| Completion::Completed)
}

impl Outcome {
    pub(crate) fn failed(&self, complaint: &str) -> Failed {
        let Outcome { stdout, stderr, .. } = self;
        Failed::from(format!("{complaint}\n--- stdout\n{}--- stderr\n{}", tail(stdout), tail(stderr)))
    }
}

impl Runner<'_> {
    /// Runs the program in a new folder until its end or time limit.
    pub(crate) fn run(self, arguments: &[&str], variables: &[(&str, &str)]) -> Result<Outcome, Failed> {
        let Runner { program, command, executable } = self;
        let mut run = Command::new(command);
        run.args(arguments)
            .args(program.check.iter().flat_map(|checks| ["--check", checks]))
            .args(program.device.iter().flat_map(|device| ["--device", device]))
            .args(program.devices.iter().flat_map(|devices| ["--devices", devices]))
            .arg("--")
            .arg(executable)
            .args(&program.args)
            .env("VOLTSIM_DETERMINISTIC", "1")
            .envs(variables.iter().copied());
        self.outcome(&mut run)
    }

    /// Runs the command without a program.
    pub(crate) fn run_without_program(self, arguments: &[&str]) -> Result<Outcome, Failed> {
        self.outcome(Command::new(self.command).args(arguments).env("VOLTSIM_DETERMINISTIC", "1"))
    }

    fn outcome(self, run: &mut Command) -> Result<Outcome, Failed> {
        let folder = tempfile::tempdir()?;
        let (stdout, stderr) = (folder.path().join("stdout"), folder.path().join("stderr"));
        let mut child = run
            .current_dir(folder.path())
            .stdout(File::create(&stdout)?)
            .stderr(File::create(&stderr)?)
            // A separate process group allows ending a hanging program with its children.
            .process_group(0)
            .spawn()?;
        let status = wait(&mut child, self.program.time_limit)?;
        let read =
            |path| Ok::<_, std::io::Error>(String::from_utf8_lossy(&std::fs::read(path)?).into_owned());
        Ok(Outcome { status, stdout: read(stdout)?, stderr: read(stderr)? })
    }
}

/// Waits for `child`. After `limit`, ends its process group and returns `None`.
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

/// Returns the last part of `text`, with a line end.
fn tail(text: &str) -> String {
    let lines: Vec<&str> = text.lines().collect();
    let shown = &lines[lines.len().saturating_sub(30)..];
    shown.iter().map(|line| format!("{line}\n")).collect()
}
