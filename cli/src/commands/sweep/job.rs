//! Jobs: a launch of a kernel stream timed for a GPU, in a process of its own.

use std::collections::BTreeSet;
use std::ffi::OsString;
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::Arc;

use launch_capture::{Configuration, KernelStream, Plan, Representative, UntilStable};
use run_options::values::{Changes, Mode};
use run_options::{DECLARATIONS, Key, Reading, RunOptions};
use rustix::system::uname;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::Builder;
use timing::specification::GpuSpec;

use super::beside;
use super::control::Control;
use super::kernel_cluster::KernelCluster;
use crate::commands::replay::Replay;
use crate::failure::Failure;
use crate::libraries;

/// A launch that is timed for a GPU.
pub(super) struct Job {
    pub(super) group: usize,
    pub(super) configuration: usize,
    pub(super) launch: Representative,
    kernel: String,
    gpu: Configuration,
    until_stable: Option<UntilStable>,
    stream: PathBuf,
    result: PathBuf,
}

/// The jobs of a plan: for each configuration, each launch that is timed.
pub(super) struct Jobs {
    pub(super) all: Vec<Job>,
    /// The GPUs of the configurations.
    pub(super) specs: Vec<Arc<GpuSpec>>,
}

/// Result of a job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Timed {
    /// The launch.
    pub(super) launch: u64,
    /// Cycles of the core's clock.
    pub(super) cycles: u64,
    /// Simulated cycles among them.
    pub(super) simulated_cycles: u64,
    /// Error bound in cycles of an extrapolated launch.
    pub(super) unsure_cycles: u64,
}

/// A job with its number, and the result of a chosen one.
pub(super) type Known<'a> = (usize, &'a Job, Option<Timed>);

/// The part of a run's statistics that is read.
#[derive(Deserialize)]
struct Statistics {
    launches: Vec<Timed>,
}

impl Jobs {
    /// Jobs of a plan; results go to `folder`.
    pub(super) fn of(plan: &Plan, file: &Path, folder: &Path) -> Result<Jobs, Failure> {
        let path = beside(file, &plan.stream);
        let stream = KernelStream::open(&path)?;
        let engine = digest_of_engine()?;
        let device = Reading::of_variables().options.device.unwrap_or_else(|| stream.about().device.clone());
        let device = OsString::from(device);
        let (mut all, mut specs) = (Vec::new(), Vec::new());
        for (number, configuration) in plan.configurations.iter().enumerate() {
            let changes = configuration.set.iter().map(String::as_str);
            let spec = GpuSpec::changed(&configuration.gpu, changes).map_err(|error| {
                Failure::in_file(file, format_args!("configuration {}: {error}", configuration.name))
            })?;
            let launches = plan.groups.iter().enumerate();
            let launches =
                launches.flat_map(|(number, group)| group.timed.iter().map(move |it| (number, group, it)));
            for (position, group, launch) in launches {
                let mut hasher = Sha256::new();
                hasher.update(engine);
                hasher.update(format!("{spec:?}, {device:?}, {:?}", plan.until_stable));
                let none =
                    || Failure::in_file(&path, format_args!("it does not have launch {}", launch.launch));
                hasher.update(stream.identity(launch.launch).ok_or_else(none)?);
                let name =
                    hasher.finalize().iter().take(16).map(|byte| format!("{byte:02x}")).collect::<String>();
                all.push(Job {
                    group: position,
                    configuration: number,
                    launch: launch.clone(),
                    kernel: group.name(),
                    gpu: configuration.clone(),
                    until_stable: plan.until_stable,
                    stream: path.clone(),
                    result: folder.join(name).with_extension("json"),
                });
            }
            specs.push(Arc::new(spec));
        }
        Ok(Jobs { all, specs })
    }

    /// The jobs of a configuration, by number; those that were chosen with their results.
    pub(super) fn results(
        &self,
        configuration: usize,
        chosen: &BTreeSet<usize>,
    ) -> Result<Vec<Known<'_>>, Failure> {
        let own = self.all.iter().enumerate().filter(|(_, job)| job.configuration == configuration);
        let result = |(number, job): (usize, &Job)| chosen.contains(&number).then(|| job.timed()).transpose();
        own.map(|(number, job)| Ok((number, job, result((number, job))?))).collect()
    }

    /// Kernels of a plan's launches, with the results of the chosen jobs of a configuration. `control`
    /// has the same jobs in a fast mode, all done.
    pub(super) fn clusters(
        &self,
        plan: &Plan,
        configuration: usize,
        chosen: &BTreeSet<usize>,
        control: Option<&Jobs>,
    ) -> Result<Vec<KernelCluster>, Failure> {
        let sms = self.specs.get(configuration).map_or(1, |spec| spec.chip.sms);
        let control = control.map(|jobs| Control::of(jobs, configuration)).transpose()?;
        Ok(KernelCluster::all(plan, sms, &self.results(configuration, chosen)?, control.as_ref()))
    }
}

/// Variables that a job takes from this process. A result must not depend on a setting that is not
/// in its name.
const TAKEN: [Key; 3] = [Key::cache, Key::device, Key::threads];

/// Prefix of the names of this machine's job folders.
fn unfinished_here() -> String {
    format!(".job-{}-", uname().nodename().to_string_lossy())
}

/// Removes the folders of killed jobs of this machine.
pub(super) fn clear(folder: &Path) {
    let here = unfinished_here();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let is_own = entry.file_name().to_string_lossy().starts_with(&here);
        let lock = File::open(entry.path()).map(|folder| folder.try_lock());
        if is_own && !matches!(lock, Ok(Err(TryLockError::WouldBlock))) {
            // Another sweep may have removed it.
            let _ = fs::remove_dir_all(entry.path());
        }
    }
}

/// Digest of the core, which tells this build from others.
fn digest_of_engine() -> Result<[u8; 32], Failure> {
    let core = libraries::core()?;
    let bytes = fs::read(&core).map_err(|error| Failure::in_file(&core, error))?;
    Ok(Sha256::digest(bytes).into())
}

impl fmt::Display for Job {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} (launch {}) on {}", self.kernel, self.launch.launch, self.gpu.name)
    }
}

impl Job {
    /// Has it a result?
    pub(super) fn is_done(&self) -> bool {
        self.result.exists()
    }

    /// File with the job's messages.
    pub(super) fn log(&self) -> PathBuf {
        self.result.with_extension("log")
    }

    /// Does it. The result has its name when it is whole.
    pub(super) fn run(&self) -> Result<(), Failure> {
        let folder = self.result.parent().unwrap_or(Path::new("."));
        let failed = |error| Failure::in_file(folder, error);
        let own = Builder::new().prefix(&unfinished_here()).tempdir_in(folder).map_err(failed)?;
        let lock = File::open(own.path()).map_err(failed)?;
        // Other sweeps know by it that somebody works there.
        let _ = lock.try_lock();
        let statistics = own.path().join("statistics.json");
        let log = File::create(self.log()).map_err(|error| Failure::in_file(&self.log(), error))?;
        let errors = log.try_clone().map_err(|error| Failure::in_file(&self.log(), error))?;
        let mut replay = Replay::new(&self.stream)?;
        replay.launches = format!("launch={}", self.launch.launch);
        let set = Changes(self.gpu.set.clone());
        let options = RunOptions {
            mode: Some(Mode::Detailed),
            gpu: Some(self.gpu.gpu.clone()),
            set: Some(set).filter(|set| !set.0.is_empty()),
            statistics: Some(statistics.clone()),
            until_stable: self.until_stable,
            // Jobs run beside each other.
            threads: Reading::of_variables().options.threads.or(Some(1)),
            ..RunOptions::default()
        };
        let mut command = replay.prepare(options, None)?.into_command();
        for declaration in DECLARATIONS.iter().filter(|declaration| !TAKEN.contains(&declaration.key)) {
            command.env_remove(declaration.variable);
        }
        command.stdin(Stdio::null()).stdout(log).stderr(errors);
        let status =
            command.status().map_err(|error| Failure::new(format_args!("starting a job: {error}")))?;
        if !status.success() {
            return Err(Failure::in_file(&self.log(), format_args!("the job has ended with {status}")));
        }
        self.timed_in(&statistics)?;
        fs::rename(&statistics, &self.result).map_err(|error| Failure::in_file(&self.result, error))?;
        // Messages of a job with a result are of no use.
        let _ = fs::remove_file(self.log());
        Ok(())
    }

    /// Result of the job.
    pub(super) fn timed(&self) -> Result<Timed, Failure> {
        self.timed_in(&self.result)
    }

    fn timed_in(&self, file: &Path) -> Result<Timed, Failure> {
        let wrong = |reason: &dyn fmt::Display| {
            Failure::in_file(file, format_args!("this is no result of {self}: {reason}"))
                .remedy("remove the file, and start the sweep again")
        };
        let text = fs::read(file).map_err(|error| wrong(&error))?;
        let statistics: Statistics = serde_json::from_slice(&text).map_err(|error| wrong(&error))?;
        // Launches from a kernel have the number of the kernel's launch.
        let parts = statistics.launches.into_iter().filter(|timed| timed.launch == self.launch.launch);
        let whole = parts.reduce(|one, other| Timed {
            launch: one.launch,
            cycles: one.cycles + other.cycles,
            simulated_cycles: one.simulated_cycles + other.simulated_cycles,
            unsure_cycles: one.unsure_cycles + other.unsure_cycles,
        });
        whole.ok_or_else(|| wrong(&"it does not have the launch"))
    }
}
