//! What the run did, written as JSON to the file `VOLTSIM_SUMMARY` names when the process ends.

use crate::check;
use crate::checksums;
use crate::coverage;
use crate::entry;
use crate::environment;
use crate::kernel_stream;
use crate::log;
use crate::model;
use crate::process::process;
use crate::simulator;
use functional::launch::LaunchStatistics;
use parking_lot::Mutex;
use saved_run::KernelCounts;
use serde::Serialize;
use std::collections::BTreeMap;
use std::ffi::OsString;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};
use stream_engine::{Scope, is_engine_thread};

/// How long the end of the process waits for work at most.
const PATIENCE: Duration = Duration::from_secs(60);

/// Launches by kernel.
static KERNELS: Mutex<BTreeMap<String, KernelCounts>> = Mutex::new(BTreeMap::new());

#[derive(Serialize)]
struct KernelSummary<'a> {
    name: &'a str,
    launches: u64,
    warp_instructions: u64,
    lane_instructions: u64,
    seconds: f64,
}

#[derive(Serialize)]
struct Summary<'a> {
    device: Option<&'a str>,
    api_calls: u64,
    /// Functions that were called and are not supported.
    not_supported: Vec<&'static str>,
    kernels: Vec<KernelSummary<'a>>,
}

/// Counts a finished launch.
pub(crate) fn add(kernel: &str, statistics: &LaunchStatistics) {
    let mut kernels = KERNELS.lock();
    if !kernels.contains_key(kernel) {
        kernels.insert(kernel.to_owned(), KernelCounts::default());
    }
    if let Some(launches) = kernels.get_mut(kernel) {
        launches.count += 1;
        launches.warp_instructions += statistics.warp_instructions;
        launches.lane_instructions += statistics.lane_instructions;
        launches.seconds += statistics.elapsed.as_secs_f64();
    }
}

/// What launches have executed so far, by kernel. The time that it took is left out, as another run takes another one.
pub(crate) fn counts() -> BTreeMap<String, KernelCounts> {
    let kernels = KERNELS.lock();
    kernels.iter().map(|(name, counts)| (name.clone(), KernelCounts { seconds: 0.0, ..*counts })).collect()
}

/// Goes on from what launches have executed.
pub(crate) fn set_counts(counts: BTreeMap<String, KernelCounts>) {
    *KERNELS.lock() = counts;
}

/// Writes this file, those that other parts of the run are asked for, and the checkers' summary. Runs after the program's own exit handlers and destructors, since libraries
/// are closed last.
#[used]
#[unsafe(link_section = ".fini_array")]
static WRITE_AT_EXIT: extern "C" fn() = {
    extern "C" fn at_exit() {
        // Nobody is left to tell.
        let _ = std::panic::catch_unwind(|| {
            let statistics = model::gpu_name().is_some();
            if wanted().is_some()
                || statistics
                || coverage::is_wanted()
                || check::checker().is_some()
                || kernel_stream::is_wanted()
                || checksums::is_wanted()
            {
                wait_for_work();
            }
            write();
            model::write_statistics();
            coverage::write();
            kernel_stream::finish();
            checksums::finish();
            check::summarise();
        });
    }
    at_exit
};

/// Lets the work end that the program has not waited for, so that the reports have it. Work may be without end, or the
/// function that calls `exit` part of it.
fn wait_for_work() {
    if process().forked.load(Ordering::Relaxed) || is_engine_thread() {
        return;
    }
    let end = Instant::now() + PATIENCE;
    for simulator in simulator::started() {
        while matches!(simulator.engine.is_complete(Scope::Context), Ok(false)) {
            if Instant::now() >= end {
                eprintln!(
                    "voltsim: after {} s the device was still at work: what was asked for lacks that",
                    PATIENCE.as_secs()
                );
                return;
            }
            let _ = simulator.engine.step();
            std::thread::sleep(Duration::from_millis(1));
        }
    }
}

fn wanted() -> Option<OsString> {
    environment::variable("VOLTSIM_SUMMARY")
}

fn write() {
    let Some(path) = wanted() else { return };
    // A kernel may still be running, on a thread that the end of the process stopped.
    let Some(kernels) = KERNELS.try_lock() else { return };
    let kernels = kernels
        .iter()
        .map(|(name, launches)| KernelSummary {
            name,
            launches: launches.count,
            warp_instructions: launches.warp_instructions,
            lane_instructions: launches.lane_instructions,
            seconds: launches.seconds,
        })
        .collect();
    let summary = Summary {
        device: simulator::started().next().map(|simulator| simulator.profile.name.as_str()),
        api_calls: entry::calls(),
        not_supported: log::stubs_called(),
        kernels,
    };
    let written = serde_json::to_vec_pretty(&summary)
        .map_err(std::io::Error::from)
        .and_then(|text| std::fs::write(&path, text));
    if let Err(error) = written {
        eprintln!("voltsim: VOLTSIM_SUMMARY: cannot write {}: {error}", path.display());
    }
}
