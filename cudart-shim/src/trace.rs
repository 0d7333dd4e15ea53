//! The timeline of a run: each API call on its thread, each kernel, copy and fill on its stream, the program's own NVTX
//! marks and ranges. Written to the file that `VOLTSIM_TRACE` names, in the Trace Event Format, which Perfetto and
//! Chrome's tracing page open.
//!
//! One event a line, each written at once, so that the events of several threads and processes do not mix and a program
//! that is killed leaves what it has done. Whoever starts the program closes the list (`voltsim trace`).

use crate::environment;
use crate::log::{Arguments, argument, exported_name};
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::io::Write as _;
use std::sync::OnceLock;

static SINK: OnceLock<Option<File>> = OnceLock::new();
/// Tracks that have their name.
static NAMED: Mutex<Option<FxHashSet<u64>>> = Mutex::new(None);

/// Tracks of streams begin here; those below are threads.
const FIRST_STREAM: u64 = 1 << 32;

fn sink() -> Option<&'static File> {
    let open = || {
        let path = environment::variable("VOLTSIM_TRACE")?;
        match File::options().append(true).create(true).open(&path) {
            Ok(file) => {
                if file.metadata().is_ok_and(|data| data.len() == 0) {
                    let _ = (&file).write_all(b"[\n");
                }
                Some(file)
            }
            Err(error) => {
                eprintln!("voltsim: VOLTSIM_TRACE: cannot open {}: {error}", path.display());
                None
            }
        }
    };
    SINK.get_or_init(open).as_ref()
}

/// Whether there is a timeline.
pub(crate) fn enabled() -> bool {
    sink().is_some()
}

/// An event. Times are in microseconds of the host's monotonic clock.
#[derive(Serialize)]
struct Event<'a> {
    name: &'a str,
    #[serde(rename = "cat")]
    category: &'a str,
    #[serde(rename = "ph")]
    phase: &'a str,
    #[serde(rename = "ts")]
    time: f64,
    #[serde(rename = "dur", skip_serializing_if = "Option::is_none")]
    duration: Option<f64>,
    #[serde(rename = "pid")]
    process: u32,
    #[serde(rename = "tid")]
    track: u64,
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    args: BTreeMap<&'a str, String>,
}

fn write(event: &Event<'_>) {
    let Some(mut file) = sink() else { return };
    if let Ok(mut text) = serde_json::to_vec(event) {
        text.extend_from_slice(b",\n");
        // A full disk must not fail the program's call.
        let _ = file.write_all(&text);
    }
}

/// Now, microseconds.
pub(crate) fn now() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is ours, and the clock exists on Linux.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Microseconds since then, to the nanosecond.
fn since(start: f64) -> Option<f64> {
    Some(((now() - start) * 1e3).round() / 1e3)
}

/// The track of the calling thread.
fn thread_track() -> u64 {
    // SAFETY: gettid has no precondition.
    unsafe { libc::gettid() as u64 }
}

fn event<'a>(name: &'a str, category: &'a str, phase: &'a str, time: f64, track: u64) -> Event<'a> {
    let process = std::process::id();
    Event { name, category, phase, time, duration: None, process, track, args: BTreeMap::new() }
}

/// A call of the API that began at `start` and has just ended. After a success what its pointers lead to is shown too.
pub(crate) fn call(
    name: &str,
    arguments: Arguments<'_>,
    start: f64,
    result: &dyn fmt::Display,
    succeeded: bool,
) {
    let name = exported_name(name);
    let shown = arguments.iter().map(|(name, value)| (*name, argument(*value, succeeded)));
    let mut args: BTreeMap<_, _> = shown.collect();
    args.insert("result", result.to_string());
    write(&Event { duration: since(start), args, ..event(&name, "api", "X", start, thread_track()) });
}

/// Work of a stream that began at `start` and has just ended.
pub(crate) fn work(stream: u64, name: &str, category: &str, start: f64, args: BTreeMap<&str, String>) {
    let track = FIRST_STREAM + stream;
    if NAMED.lock().get_or_insert_default().insert(track) {
        let args = BTreeMap::from([("name", format!("stream {stream}"))]);
        write(&Event { args, ..event("thread_name", "__metadata", "M", start, track) });
    }
    write(&Event { duration: since(start), args, ..event(name, category, "X", start, track) });
}

/// A mark of the program.
pub(crate) fn mark(name: &str) {
    let event = event(name, "nvtx", "i", now(), thread_track());
    write(&event);
}

/// A range of the program on the calling thread begins; ranges of a thread nest.
pub(crate) fn begin_range(name: &str) {
    write(&event(name, "nvtx", "B", now(), thread_track()));
}

/// The calling thread's innermost range ends.
pub(crate) fn end_range() {
    write(&event("", "nvtx", "E", now(), thread_track()));
}

/// A range that may end on another thread: it began at `start` and has just ended.
pub(crate) fn free_range(name: &str, start: f64) {
    write(&Event { duration: since(start), ..event(name, "nvtx", "X", start, thread_track()) });
}

/// The program's name for a thread.
pub(crate) fn name_thread(thread: u64, name: &str) {
    let args = BTreeMap::from([("name", name.to_owned())]);
    write(&Event { args, ..event("thread_name", "__metadata", "M", now(), thread) });
}
