//! Runs of one launch with changes of the GPU.

use std::fs::{self, File};
use std::path::Path;
use std::process::Stdio;

use run_options::values::Changes;
use run_options::{DECLARATIONS, Key, RunOptions};
use serde::Deserialize;

use crate::commands::replay::Replay;
use crate::failure::Failure;

/// Variables that a run takes from this process; others would change some runs only.
const TAKEN: [Key; 3] = [Key::cache, Key::device, Key::threads];

/// Lines of a failed run's messages that are shown.
const SHOWN: usize = 12;

/// A launch of a kernel stream.
pub(super) struct Launch<'a> {
    pub(super) stream: &'a Path,
    /// Number in the program's run.
    pub(super) number: u64,
    /// GPU, mode and changes of every run.
    pub(super) options: &'a RunOptions,
    /// Folder for the files of a run.
    pub(super) folder: &'a Path,
}

#[derive(Deserialize)]
struct Statistics {
    launches: Vec<Record>,
}

#[derive(Deserialize)]
struct Record {
    launch: u64,
    cycles: u64,
}

impl Launch<'_> {
    /// Core cycles of the launch with more changes of the GPU, children included.
    pub(super) fn cycles(&self, changes: &[String]) -> Result<u64, Failure> {
        let (statistics, log) = (self.folder.join("statistics.json"), self.folder.join("log"));
        let mut replay = Replay::new(self.stream)?;
        replay.launches = format!("launch={}", self.number);
        let given = self.options.set.iter().flat_map(|set| set.0.iter().cloned());
        let set = Changes(given.chain(changes.iter().cloned()).collect());
        let options = RunOptions {
            mode: self.options.mode,
            gpu: self.options.gpu.clone(),
            set: Some(set).filter(|set| !set.0.is_empty()),
            threads: self.options.threads,
            statistics: Some(statistics.clone()),
            ..RunOptions::default()
        };
        let failed = |error| Failure::in_file(&log, error);
        let messages = File::create(&log).map_err(failed)?;
        let errors = messages.try_clone().map_err(failed)?;
        let mut command = replay.prepare(options, None)?.into_command();
        for declaration in DECLARATIONS.iter().filter(|declaration| !TAKEN.contains(&declaration.key)) {
            command.env_remove(declaration.variable);
        }
        command.stdin(Stdio::null()).stdout(messages).stderr(errors);
        let status =
            command.status().map_err(|error| Failure::new(format_args!("starting a run: {error}")))?;
        let what = if changes.is_empty() { "no change".to_owned() } else { changes.join(" ") };
        if !status.success() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let lines: Vec<&str> = said.lines().collect();
            let last = lines.get(lines.len().saturating_sub(SHOWN)..).unwrap_or(&[]).join("\n  ");
            return Err(Failure::new(format_args!("the run with {what} has ended with {status}:\n  {last}"))
                .remedy("see whether voltsim resume runs the launch of a kernel stream"));
        }
        let text = fs::read(&statistics).map_err(|error| Failure::in_file(&statistics, error))?;
        let read: Statistics =
            serde_json::from_slice(&text).map_err(|error| Failure::in_file(&statistics, error))?;
        let own = read.launches.iter().filter(|record| record.launch == self.number);
        match own.map(|record| record.cycles).sum() {
            0 => Err(Failure::new(format_args!("the run with {what} has timed no launch {}", self.number))
                .remedy("a launch with clusters cannot be timed: see docs/limits.md")),
            cycles => Ok(cycles),
        }
    }
}
