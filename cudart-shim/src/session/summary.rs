//! Run summary, written at exit as JSON to the file `VOLTSIM_SUMMARY`.

use crate::host::environment::options;
use crate::host::log;
use crate::host::output_files;
use crate::host::present_call;
use crate::session::ending::{self, End};
use crate::session::simulator::Simulator;
use crate::session::state::Session;
use functional::launch::LaunchStatistics;
use parking_lot::Mutex;
use saved_run::KernelCounts;
use serde::Serialize;
use std::borrow::Cow;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stream_engine::{Scope, is_engine_thread};
use warp_stream::kernel_name::signature;

/// Longest wait for unfinished work at exit. The driver does not wait: it ends kernels with the
/// program.
const PATIENCE: Duration = Duration::from_secs(2);

/// Launch counts of a kernel.
#[derive(Default)]
struct Launches {
    finished: KernelCounts,
    /// Warp instructions that ran as machine code of the host.
    native_instructions: u64,
    /// Launches in progress.
    running: u64,
    /// Launches in progress at exit.
    unfinished: u64,
}

/// State of the summary.
pub(crate) struct LaunchCounts {
    /// Launch counts by kernel.
    kernels: Mutex<BTreeMap<String, Launches>>,
}

impl LaunchCounts {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { kernels: Mutex::new(BTreeMap::new()) }
    }
}

/// Guard of a running launch.
pub(crate) struct RunningLaunch<'k> {
    session: &'static Session,
    kernel: &'k str,
}

/// Counts the start of a launch.
pub(crate) fn begin<'a>(session: &'static Session, kernel: &'a str) -> RunningLaunch<'a> {
    with_launches(session, kernel, |launches| launches.running += 1);
    RunningLaunch { session, kernel }
}

impl Drop for RunningLaunch<'_> {
    fn drop(&mut self) {
        with_launches(self.session, self.kernel, |launches| {
            launches.running = launches.running.saturating_sub(1)
        });
    }
}

fn with_launches(session: &'static Session, kernel: &str, change: impl FnOnce(&mut Launches)) {
    let mut kernels = session.launch_counts.kernels.lock();
    match kernels.get_mut(kernel) {
        Some(launches) => change(launches),
        None => change(kernels.entry(kernel.to_owned()).or_default()),
    }
}

#[derive(Serialize)]
struct KernelSummary<'a> {
    name: Cow<'a, str>,
    /// Name in the PTX, if different.
    #[serde(skip_serializing_if = "Option::is_none")]
    mangled: Option<&'a str>,
    launches: u64,
    /// Launches that were unfinished at exit. The other counts exclude them.
    #[serde(skip_serializing_if = "is_zero")]
    unfinished: u64,
    warp_instructions: u64,
    lane_instructions: u64,
    /// Warp instructions among them that ran as machine code of the host.
    native_instructions: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Summary<'a> {
    device: Option<&'a str>,
    api_calls: u64,
    /// Unsupported functions that were called.
    not_supported: Vec<&'static str>,
    kernels: Vec<KernelSummary<'a>>,
    /// Signal that ended the run early.
    #[serde(skip_serializing_if = "Option::is_none")]
    partial: Option<&'static str>,
}

fn is_zero(count: &u64) -> bool {
    *count == 0
}

/// Counts a completed launch.
pub(crate) fn add(session: &'static Session, kernel: &str, statistics: &LaunchStatistics) {
    with_launches(session, kernel, |Launches { finished, native_instructions, .. }| {
        *native_instructions += statistics.native_instructions;
        finished.count += 1;
        finished.warp_instructions += statistics.warp_instructions;
        finished.lane_instructions += statistics.lane_instructions;
        finished.seconds += statistics.elapsed.as_secs_f64();
    });
}

/// Execution counts so far by kernel, without host time, which differs between runs.
pub(crate) fn counts(session: &'static Session) -> BTreeMap<String, KernelCounts> {
    let kernels = session.launch_counts.kernels.lock();
    let finished = kernels.iter().filter(|(_, launches)| launches.finished.count > 0);
    let without_time = |counts: &KernelCounts| KernelCounts { seconds: 0.0, ..*counts };
    finished.map(|(name, launches)| (name.clone(), without_time(&launches.finished))).collect()
}

/// PTX names of the kernels with completed launches.
pub(crate) fn kernels_launched(session: &'static Session) -> Vec<String> {
    ending::of(&session.launch_counts.kernels)
        .map(|kernels| kernels.keys().cloned().collect())
        .unwrap_or_default()
}

/// Restores execution counts.
pub(crate) fn set_counts(session: &'static Session, counts: BTreeMap<String, KernelCounts>) {
    let launches = |finished| Launches { finished, ..Launches::default() };
    *session.launch_counts.kernels.lock() =
        counts.into_iter().map(|(name, counts)| (name, launches(counts))).collect();
}

/// Gives unfinished work a short time to complete, so that reports include it, then ends it. The
/// work may be endless, or may contain the very function that called `exit`.
pub(crate) fn end_work(session: &'static Session) {
    if session.process().forked.load(Ordering::Relaxed) || is_engine_thread() {
        return;
    }
    let end = Instant::now() + PATIENCE;
    for simulator in session.started() {
        // Running launches are reported before they end.
        let is_at_work = !simulator.engine.wait_until(Scope::Context, end);
        if is_at_work {
            report_unfinished(session, simulator);
        }
        let _ = simulator.engine.shutdown(Duration::ZERO);
    }
}

fn report_unfinished(session: &'static Session, simulator: &Simulator) {
    let mut kernels = session.launch_counts.kernels.lock();
    kernels.values_mut().for_each(|launches| launches.unfinished = launches.running);
    let running = kernels.iter().filter(|(_, launches)| launches.unfinished > 0);
    let names: Vec<_> = running.map(|(name, _)| signature(name)).collect();
    let running = match names.is_empty() {
        true => "some work was unfinished".to_owned(),
        false => format!("a launch of {} was unfinished", names.join(", of ")),
    };
    eprintln!(
        "voltsim: the program ended without waiting for device {}: {running} after {} more seconds, and the reports \
         omit it; call cudaDeviceSynchronize before the program ends",
        simulator.ordinal,
        PATIENCE.as_secs()
    );
}

fn wanted() -> Option<&'static Path> {
    options().summary.as_deref()
}

/// Tells whether the file is requested.
pub(crate) fn is_wanted() -> bool {
    wanted().is_some()
}

/// Writes the file. A process without API calls keeps an existing file.
pub(crate) fn write(session: &'static Session, end: End) {
    let Some(path) = wanted() else { return };
    if present_call::calls() == 0 && output_files::is_written(path) {
        return;
    }
    let Some(kernels) = ending::of(&session.launch_counts.kernels) else { return };
    let kernels = kernels
        .iter()
        .map(|(name, Launches { finished, native_instructions, running, unfinished })| KernelSummary {
            name: signature(name),
            mangled: (signature(name) != name.as_str()).then_some(name),
            launches: finished.count,
            unfinished: if end == End::Exit { *unfinished } else { *running },
            warp_instructions: finished.warp_instructions,
            lane_instructions: finished.lane_instructions,
            native_instructions: *native_instructions,
            seconds: finished.seconds,
        })
        .filter(|kernel| kernel.launches + kernel.unfinished > 0)
        .collect();
    let summary = Summary {
        device: session.started().next().map(|simulator| simulator.profile.name.as_str()),
        api_calls: present_call::calls(),
        not_supported: log::stubs_called(),
        kernels,
        partial: end.cause(),
    };
    output_files::write("VOLTSIM_SUMMARY", path, |output| {
        Ok(serde_json::to_writer_pretty(output, &summary)?)
    });
}
