//! Runs a program in its modes and checks the results.

use super::list::{Check, MEMORY, OUTPUT, Program};
use crate::error::{Error, Result};
use crate::files;
use crate::modes::Times;
use crate::process;
use serde::Serialize;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

/// Time limit of a detailed run in seconds.
const DETAILED_SECONDS: u64 = 600;
/// Exit status of `timeout` at the limit.
const OVERDUE: i32 = 124;
const STANDARD_OUTPUT: &str = "standard-output.txt";
const STANDARD_ERROR: &str = "standard-error.txt";
const CHECKSUMS: &str = "checksums.txt";

/// Mode of a program's run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub(super) enum Mode {
    Functional,
    /// Functional with CTAs in a fixed order: the second run of a program without detailed mode.
    Ordered,
    Detailed,
}

impl Mode {
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::Functional => "functional",
            Self::Ordered => "ordered",
            Self::Detailed => "detailed",
        }
    }

    fn options(self) -> &'static [&'static str] {
        match self {
            Self::Functional => &["--mode", "functional"],
            Self::Ordered => &["--mode", "functional", "--deterministic"],
            Self::Detailed => &["--mode", "detailed"],
        }
    }

    /// Modes of a program; only one if no result must be equal in another.
    pub(super) fn of(program: &Program, is_quick: bool) -> Vec<Self> {
        let compares = program.check.as_ref().is_some_and(|check| !check.same.is_empty());
        if program.functional_only.is_none() && !is_quick {
            vec![Self::Functional, Self::Detailed]
        } else if compares {
            vec![Self::Functional, Self::Ordered]
        } else {
            vec![Self::Functional]
        }
    }
}

/// A completed run.
pub(super) struct Run {
    pub(super) seconds: f64,
    /// Reason why the run is wrong.
    pub(super) fault: Option<String>,
}

/// A built program.
pub(super) struct Candidate<'a> {
    pub(super) program: &'a Program,
    pub(super) check: &'a Check,
    pub(super) executable: &'a Path,
    /// Suite folder.
    pub(super) root: &'a Path,
    /// Folder of the program's build and runs.
    pub(super) folder: &'a Path,
    /// The `voltsim` command.
    pub(super) command: &'a Path,
}

impl Candidate<'_> {
    /// Runs the program with its inputs in a folder of the mode.
    pub(super) fn run(&self, mode: Mode) -> Result<Run> {
        let folder = self.of(mode);
        files::remove_folder(&folder)?;
        fs::create_dir_all(&folder).map_err(Error::file(&folder))?;
        self.program.inputs.iter().try_for_each(|input| input.write(&folder, self.root))?;
        let create = |name: &str| {
            let path = folder.join(name);
            File::create(&path).map_err(Error::file(&path))
        };
        let seconds = if mode == Mode::Detailed { DETAILED_SECONDS } else { self.program.seconds };
        let mut command = Command::new("timeout");
        command.args(["--kill-after=10", &seconds.to_string()]).arg(self.command).arg("run");
        command.args(mode.options()).args(&self.program.voltsim);
        if self.check.same.iter().any(|result| result == MEMORY) {
            command.args(["--checksums", CHECKSUMS]);
        }
        command.arg("--").arg(self.executable).args(&self.program.arguments).current_dir(&folder);
        command.stdout(create(STANDARD_OUTPUT)?).stderr(create(STANDARD_ERROR)?);
        let start = Instant::now();
        let status = process::status(&mut command)?;
        let taken = start.elapsed().as_secs_f64();
        let fault = match status.code() {
            Some(OVERDUE) => Some(format!("no end within {seconds} s")),
            Some(code) if code == self.program.status => self.fault(&folder)?,
            _ => Some(format!("{status}: {}", last_words(&folder))),
        };
        Ok(Run { seconds: taken, fault })
    }

    /// Times after repetitions, if functional mode was the slower one.
    pub(super) fn confirmed(&self, times: Times) -> Result<Times> {
        times.confirmed(|| {
            let seconds = |mode| self.run(mode).map(|run| run.seconds);
            Ok(Times { functional: seconds(Mode::Functional)?, detailed: seconds(Mode::Detailed)? })
        })
    }

    fn of(&self, mode: Mode) -> PathBuf {
        self.folder.join(mode.name())
    }

    /// Faults of the results in a run's folder.
    fn fault(&self, folder: &Path) -> Result<Option<String>> {
        let output = read(&folder.join(STANDARD_OUTPUT))?;
        let has = |text: &&String| contains(&output, text.as_bytes());
        if let Some(text) = self.check.output.iter().find(|text| !has(text)) {
            return Ok(Some(format!("standard output does not contain `{text}`")));
        }
        if let Some(text) = self.check.never.iter().find(has) {
            return Ok(Some(format!("standard output contains `{text}`")));
        }
        let results = self.check.same.iter().filter(|result| ![OUTPUT, MEMORY].contains(&result.as_str()));
        let mut files = results.chain(self.check.equal.iter().map(|[written, _]| written));
        if let Some(file) = files.find(|file| !folder.join(file).exists()) {
            return Ok(Some(format!("{file} is not written")));
        }
        for [written, solution] in &self.check.equal {
            if read(&folder.join(written))? != read(&folder.join(solution))? {
                return Ok(Some(format!("{written} is not {solution}")));
            }
        }
        Ok(None)
    }

    /// Differences between runs in two modes.
    pub(super) fn difference(&self, one: Mode, other: Mode) -> Result<Option<String>> {
        for result in &self.check.same {
            let of = |mode| self.result(result, &self.of(mode));
            if of(one)? != of(other)? {
                return Ok(Some(format!("{result} differs between {} and {}", one.name(), other.name())));
            }
        }
        Ok(None)
    }

    /// A result in the form compared.
    fn result(&self, result: &str, folder: &Path) -> Result<Vec<u8>> {
        match result {
            OUTPUT => {
                let output = read(&folder.join(STANDARD_OUTPUT))?;
                let is_kept =
                    |line: &&[u8]| !self.check.except.iter().any(|word| contains(line, word.as_bytes()));
                Ok(output.split(|byte| *byte == b'\n').filter(is_kept).flatten().copied().collect())
            }
            MEMORY => read(&folder.join(CHECKSUMS)),
            file => read(&folder.join(file)),
        }
    }
}

fn read(path: &Path) -> Result<Vec<u8>> {
    fs::read(path).map_err(Error::file(path))
}

fn contains(bytes: &[u8], text: &[u8]) -> bool {
    !text.is_empty() && bytes.windows(text.len()).any(|window| window == text)
}

/// Last line of standard error, or of standard output if that is empty.
fn last_words(folder: &Path) -> String {
    let last = |name| {
        let text = fs::read(folder.join(name)).unwrap_or_default();
        String::from_utf8_lossy(&text).lines().rfind(|line| !line.trim().is_empty()).map(str::to_owned)
    };
    last(STANDARD_ERROR).or_else(|| last(STANDARD_OUTPUT)).unwrap_or_default()
}
