//! `cargo xtask modes`: the time of each CUDA program of the repository in functional and in detailed
//! mode. Functional mode must be the faster one.

use crate::error::{Error, Result};
use crate::workspace::Workspace;
use crate::{process, programs};
use clap::Args;
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use voltsim_tests::catalogue::{self, Program};

/// Time limit of a run in seconds.
const SECONDS: u64 = 600;

/// `cargo xtask modes`.
#[derive(Args)]
pub(crate) struct Arguments {
    /// Programs of `examples` and `tests/programs`; all without.
    #[arg(value_name = "NAME")]
    names: Vec<String>,
    /// Run the programs with this `voltsim` instead of building one.
    #[arg(long, value_name = "FILE")]
    command: Option<PathBuf>,
}

/// Host time of a program in both modes, in seconds.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Times {
    pub(crate) functional: f64,
    pub(crate) detailed: f64,
}

impl Times {
    /// Seconds by which two runs of a program that does nothing differ.
    const NOISE: f64 = 0.02;
    /// Repetitions before functional mode counts as slower.
    const REPETITIONS: usize = 8;

    /// Detailed over functional time.
    pub(crate) fn ratio(self) -> f64 {
        self.detailed / self.functional.max(f64::MIN_POSITIVE)
    }

    /// True if functional mode is slower by more than noise.
    pub(crate) fn is_slower(self) -> bool {
        self.functional > self.detailed + Self::NOISE
    }

    /// Repeats both runs while functional mode is the slower one, and keeps the shortest times. Other work
    /// on the machine makes a run longer, never shorter.
    pub(crate) fn confirmed(mut self, mut repeat: impl FnMut() -> Result<Self>) -> Result<Self> {
        for _ in 0..Self::REPETITIONS {
            if !self.is_slower() {
                break;
            }
            let again = repeat()?;
            self.functional = self.functional.min(again.functional);
            self.detailed = self.detailed.min(again.detailed);
        }
        Ok(self)
    }
}

/// Measures the selected programs; fails if a functional run fails or takes longer than the detailed run.
pub(crate) fn run(arguments: &Arguments) -> Result<()> {
    let workspace = Workspace::find();
    let mut listed = catalogue::programs(&workspace.root)?;
    if let Some(name) = arguments.names.iter().find(|name| !listed.iter().any(|one| one.name == **name)) {
        return Err(Error::NoCudaProgram(name.clone()));
    }
    let names = &arguments.names;
    listed.retain(|program| !program.is_long && (names.is_empty() || names.contains(&program.name)));
    let command = match &arguments.command {
        Some(command) => std::path::absolute(command).map_err(Error::file(command))?,
        None if workspace.build()? => workspace.command(),
        None => return Err(Error::Steps("release build".to_owned())),
    };
    programs::compile(&workspace, listed.clone(), &programs::folder(&workspace))?;
    println!("{:<28} {:>10} {:>10} {:>8}  note", "program", "functional", "detailed", "ratio");
    let (mut failed, mut faster, mut compared) = (Vec::new(), 0, 0);
    for program in &listed {
        let row = Runs::of(&workspace, &command, program).measure()?;
        let seconds = |time: Option<f64>| time.map_or_else(String::new, |time| format!("{time:.2}"));
        let times = row.functional.zip(row.detailed);
        let ratio = row.times().map_or_else(String::new, |times| format!("{:.1}", times.ratio()));
        println!(
            "{:<28} {:>10} {:>10} {ratio:>8}  {}",
            program.name,
            seconds(row.functional),
            seconds(row.detailed),
            row.note
        );
        compared += usize::from(times.is_some());
        faster += usize::from(row.times().is_some_and(|times| !times.is_slower()));
        if row.is_failure() {
            failed.push(program.name.clone());
        }
    }
    println!("functional mode is faster in {faster} of {compared} programs that run in both modes");
    if failed.is_empty() { Ok(()) } else { Err(Error::Steps(failed.join(", "))) }
}

/// Result of a program.
struct Row {
    functional: Option<f64>,
    detailed: Option<f64>,
    note: String,
}

impl Row {
    fn times(&self) -> Option<Times> {
        let (functional, detailed) = self.functional.zip(self.detailed)?;
        Some(Times { functional, detailed })
    }

    /// True if the functional run fails, or takes longer than the detailed one.
    fn is_failure(&self) -> bool {
        self.functional.is_none() || self.times().is_some_and(Times::is_slower)
    }
}

/// Runs of one program.
struct Runs<'a> {
    command: &'a Path,
    program: &'a Program,
    executable: Option<PathBuf>,
    folder: PathBuf,
}

impl<'a> Runs<'a> {
    fn of(workspace: &Workspace, command: &'a Path, program: &'a Program) -> Self {
        let compiled = programs::folder(workspace);
        let mut of_modes = program.modes.iter().map(|mode| program.executable(&compiled, *mode));
        let executable = of_modes.find(|path| path.exists());
        Self { command, program, executable, folder: workspace.target.join("modes").join(&program.name) }
    }

    fn measure(&self) -> Result<Row> {
        let none = |note: &str| Row { functional: None, detailed: None, note: note.to_owned() };
        let Some(executable) = &self.executable else { return Ok(none("no compiler")) };
        let functional = match self.seconds(executable, "functional")? {
            Ok(seconds) => seconds,
            Err(words) => return Ok(none(&format!("functional: {words}"))),
        };
        let detailed = match self.seconds(executable, "detailed")? {
            Ok(seconds) => seconds,
            Err(words) => {
                let note = format!("detailed: {words}");
                return Ok(Row { functional: Some(functional), detailed: None, note });
            }
        };
        let times = Times { functional, detailed }.confirmed(|| {
            let again = |mode| self.seconds(executable, mode).map(|run| run.unwrap_or(f64::INFINITY));
            Ok(Times { functional: again("functional")?, detailed: again("detailed")? })
        })?;
        let note = if times.is_slower() { "functional mode is slower" } else { "" };
        Ok(Row { functional: Some(times.functional), detailed: Some(times.detailed), note: note.to_owned() })
    }

    /// Seconds of a run in `mode`, or the last line that a failed run wrote.
    fn seconds(&self, executable: &Path, mode: &str) -> Result<std::result::Result<f64, String>> {
        let Self { program, folder, .. } = self;
        fs::create_dir_all(folder).map_err(Error::file(folder))?;
        let path = folder.join(format!("{mode}.txt"));
        let output = File::create(&path).map_err(Error::file(&path))?;
        let errors = output.try_clone().map_err(Error::file(&path))?;
        let mut run = Command::new("timeout");
        run.args(["--kill-after=10", &SECONDS.to_string()]).arg(self.command).args(["run", "--mode", mode]);
        run.args(program.device.iter().flat_map(|device| ["--device", device]));
        run.args(program.devices.iter().flat_map(|devices| ["--devices", devices]));
        run.arg("--").arg(executable).args(&program.args).current_dir(folder).stdout(output).stderr(errors);
        let start = Instant::now();
        let status = process::status(&mut run)?;
        let seconds = start.elapsed().as_secs_f64();
        let text = fs::read(&path).map_err(Error::file(&path))?;
        let text = String::from_utf8_lossy(&text);
        let passed = status.code() == Some(program.status) && text.lines().any(|line| line == "PASS");
        let last = || text.lines().rfind(|line| !line.trim().is_empty()).unwrap_or_default();
        Ok(if passed { Ok(seconds) } else { Err(format!("{status}: {}", last())) })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn shortest_times_of_repetitions_decide() {
        let mut again = [(3.0, 2.0), (0.9, 2.0)].into_iter();
        let times = Times { functional: 2.0, detailed: 1.5 }
            .confirmed(|| {
                let (functional, detailed) = again.next().expect("two repetitions suffice");
                Ok(Times { functional, detailed })
            })
            .unwrap();
        assert!(!times.is_slower());
        assert!((times.functional - 0.9).abs() < 1e-9 && (times.detailed - 1.5).abs() < 1e-9);
    }

    #[test]
    fn functional_mode_stays_slower_after_all_repetitions() {
        let slower = Times { functional: 2.0, detailed: 1.0 };
        assert!(slower.confirmed(|| Ok(slower)).unwrap().is_slower());
        assert!(!Times { functional: 0.041, detailed: 0.04 }.is_slower());
    }
}
