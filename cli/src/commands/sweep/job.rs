//! Jobs: a launch of a kernel stream timed for a GPU, in a process of its own.

use std::collections::BTreeSet;
use std::env;
use std::ffi::{OsStr, OsString};
use std::fmt;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Arc;

use launch_capture::{Configuration, KernelStream, Plan, Representative, UntilStable};
use rustix::system::uname;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};
use tempfile::Builder;
use timing::specification::GpuSpec;

use super::beside;
use super::family::Family;
use crate::commands::replay::Replay;
use crate::failure::Failure;
use crate::{libraries, program};

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

/// What a job has found out.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize, Serialize)]
pub(super) struct Timed {
    /// The launch.
    pub(super) launch: u64,
    /// Cycles of the core's clock.
    pub(super) cycles: u64,
    /// Those of them that were simulated.
    pub(super) simulated_cycles: u64,
    /// Cycles by which it may be off, if not all were simulated.
    pub(super) unsure_cycles: u64,
}

/// A job, by number, with what it has found out if it was chosen.
pub(super) type Known<'a> = (usize, &'a Job, Option<Timed>);

/// The part of a run's statistics that is read.
#[derive(Deserialize)]
struct Statistics {
    launches: Vec<Timed>,
}

impl Jobs {
    /// Those of a plan; results go to `folder`.
    pub(super) fn of(plan: &Plan, file: &Path, folder: &Path) -> Result<Jobs, Failure> {
        let path = beside(file, &plan.stream);
        let stream = KernelStream::open(&path)?;
        let engine = digest_of_engine()?;
        let device = env::var_os("VOLTSIM_DEVICE").unwrap_or_else(|| stream.about().device.clone().into());
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

    /// What is known of a plan's launches from the jobs of a configuration that were chosen.
    pub(super) fn families(
        &self,
        plan: &Plan,
        configuration: usize,
        chosen: &BTreeSet<usize>,
    ) -> Result<Vec<Family>, Failure> {
        let sms = self.specs.get(configuration).map_or(1, |spec| spec.chip.sms);
        Ok(Family::all(plan, sms, &self.results(configuration, chosen)?))
    }
}

/// Settings of the environment that a job's command does not set itself. A result must not depend on what is not in its name.
fn settings_beside(command: &Command) -> Vec<OsString> {
    let known = ["VOLTSIM_CACHE", "VOLTSIM_DEVICE", "VOLTSIM_THREADS"];
    let set: Vec<&OsStr> = command.get_envs().map(|(name, _)| name).chain(known.map(OsStr::new)).collect();
    let names = env::vars_os().map(|(name, _)| name);
    names.filter(|name| name.as_encoded_bytes().starts_with(b"VOLTSIM_") && !set.contains(&&**name)).collect()
}

/// How the names of folders of jobs begin that this machine works on.
fn unfinished_here() -> String {
    format!(".job-{}-", uname().nodename().to_string_lossy())
}

/// Removes what jobs of this machine have left that were killed.
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

/// What tells this simulator from other builds of it.
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

    /// What it has said.
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
        let mut command = replay.command(&program::Options::default())?;
        for name in settings_beside(&command) {
            command.env_remove(name);
        }
        command
            .env("VOLTSIM_MODE", "detailed")
            .env("VOLTSIM_GPU", &self.gpu.gpu)
            .env("VOLTSIM_SET", self.gpu.set.join("\n"))
            .env("VOLTSIM_STATISTICS", &statistics)
            .stdin(Stdio::null())
            .stdout(log)
            .stderr(errors);
        if let Some(stable) = &self.until_stable {
            command.env("VOLTSIM_UNTIL_STABLE", stable.to_string());
        }
        if env::var_os("VOLTSIM_THREADS").is_none() {
            // Jobs run beside each other.
            command.env("VOLTSIM_THREADS", "1");
        }
        let status =
            command.status().map_err(|error| Failure::new(format_args!("starting a job: {error}")))?;
        if !status.success() {
            return Err(Failure::in_file(&self.log(), format_args!("the job has ended with {status}")));
        }
        self.timed_in(&statistics)?;
        fs::rename(&statistics, &self.result).map_err(|error| Failure::in_file(&self.result, error))?;
        // What a job with a result has said is of no use.
        let _ = fs::remove_file(self.log());
        Ok(())
    }

    /// Its result.
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
        // What a kernel launches has the number of its launch.
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
