//! Runs a workload on a GPU and reads what the model has counted.

use std::collections::BTreeMap;
use std::env;
use std::fs;
use std::process::Command;
use std::time::Instant;

use cache_model::accesses::{LaunchAccesses, Reader};
use clap::ValueEnum;
use run_options::values::{Changes, Mode};
use run_options::{Key, RunOptions};
use serde::Deserialize;

use super::workload::Workload;
use crate::failure::Failure;
use crate::given::hand_over;

/// A GPU that is measured: a GPU file that comes with the program, and values that are changed in
/// it.
#[derive(Clone, Copy, Debug)]
pub(super) struct Configuration {
    pub(super) gpu: &'static str,
    /// `section.key=value` each.
    pub(super) changes: &'static [&'static str],
}

/// Result of one launch.
#[derive(Deserialize, Debug)]
pub(super) struct Launch {
    pub(super) kernel: String,
    /// Core cycles.
    pub(super) cycles: u64,
    /// By `section.name`.
    counters: BTreeMap<String, Option<u64>>,
}

#[derive(Deserialize)]
struct Statistics {
    launches: Vec<Launch>,
}

impl Launch {
    /// The sum of counters.
    ///
    /// # Errors
    /// The model has no such counter.
    pub(super) fn count(&self, names: &[&str]) -> Result<u64, Failure> {
        names.iter().try_fold(0, |sum, name| {
            let count = self.counters.get(*name).copied().flatten();
            count
                .map(|count| sum + count)
                .ok_or_else(|| Failure::new(format_args!("the model counts no {name}")))
        })
    }

    /// Nanoseconds.
    pub(super) fn nanoseconds(&self) -> Result<u64, Failure> {
        self.count(&["gpu.nanoseconds"])
    }
}

impl Configuration {
    /// A GPU as its file has it.
    pub(super) const fn plain(gpu: &'static str) -> Configuration {
        Configuration { gpu, changes: &[] }
    }

    /// The workload's launches on this GPU, with arrays of so many elements, in their order.
    pub(super) fn measure(&self, workload: Workload, elements: u32) -> Result<Vec<Launch>, Failure> {
        self.measure_with(workload, elements, None)
    }

    /// As [`measure`](Self::measure), on one thread, with the seconds that the process took.
    pub(super) fn clock(&self, workload: Workload, elements: u32) -> Result<(Vec<Launch>, f64), Failure> {
        let start = Instant::now();
        let launches = self.measure_with(workload, elements, Some(1))?;
        Ok((launches, start.elapsed().as_secs_f64()))
    }

    fn measure_with(
        &self,
        workload: Workload,
        elements: u32,
        threads: Option<u32>,
    ) -> Result<Vec<Launch>, Failure> {
        let scratch = tempfile::tempdir().map_err(|error| Failure::in_file(&env::temp_dir(), error))?;
        let file = scratch.path().join("statistics.json");
        let options = RunOptions {
            mode: Some(Mode::Detailed),
            gpu: Some(self.gpu.to_owned()),
            set: Some(Changes(self.changes.iter().map(|change| (*change).to_owned()).collect())),
            statistics: Some(file.clone()),
            threads,
            ..RunOptions::default()
        };
        start(workload, elements, &options)
            .map_err(|message| Failure::new(format_args!("{}: {message}", self.gpu)))?;
        let text = fs::read(&file).map_err(|error| Failure::in_file(&file, error))?;
        let statistics: Statistics =
            serde_json::from_slice(&text).map_err(|error| Failure::in_file(&file, error))?;
        Ok(statistics.launches)
    }
}

/// The accesses of the workload's launches, with arrays of so many elements.
pub(super) fn accesses(workload: Workload, elements: u32) -> Result<Vec<LaunchAccesses>, Failure> {
    let scratch = tempfile::tempdir().map_err(|error| Failure::in_file(&env::temp_dir(), error))?;
    let file = scratch.path().join("accesses");
    let options =
        RunOptions { mode: Some(Mode::Functional), accesses: Some(file.clone()), ..RunOptions::default() };
    start(workload, elements, &options)?;
    let mut reader = Reader::open(&file).map_err(Failure::new)?;
    let mut launches = Vec::new();
    while let Some(launch) = reader.next_launch().map_err(Failure::new)? {
        launches.push(launch);
    }
    Ok(launches)
}

/// Launches the workload in a process of its own.
fn start(workload: Workload, elements: u32, options: &RunOptions) -> Result<(), Failure> {
    let own = env::current_exe().map_err(|error| Failure::new(format_args!("own path: {error}")))?;
    let name = workload.to_possible_value().map(|value| value.get_name().to_owned()).unwrap_or_default();
    let mut command = Command::new(own);
    // The experiment's name is there for the command line's sake; the workload decides.
    command.args(["experiment", "coalescer", "--here", &name, "--elements", &elements.to_string()]);
    hand_over(options, &mut command);
    command.env_remove(Key::only.declaration().variable);
    let output = command
        .output()
        .map_err(|error| Failure::new(format_args!("cannot start a process of its own: {error}")))?;
    if !output.status.success() {
        let message = String::from_utf8_lossy(&output.stderr);
        return Err(Failure::new(format_args!("{name}: {}", message.trim_end())));
    }
    Ok(())
}
