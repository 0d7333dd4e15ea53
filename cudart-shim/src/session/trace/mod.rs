//! Timeline of a run: API calls by thread; kernels, copies and fills by stream; NVTX markers and
//! ranges. The file `VOLTSIM_TRACE` has the Trace Event Format, for Perfetto and Chrome's tracing
//! page.
//!
//! Host times start at the first event of the first process, which the file's first entry records.
//! Work on a modelled device uses simulated time since device start and appears as a separate
//! process.
//!
//! Each event is one line in a single write. Events of several threads and processes therefore do
//! not mix, and a killed program leaves a usable trace. The command that started the program closes
//! the list (`voltsim trace`).

mod simulated;

use crate::host::environment::options;
use crate::host::log::{Arguments, argument, exported_name};
use crate::host::output_files::Lines;
use crate::session::state::Session;
use parking_lot::Mutex;
use rustc_hash::FxHashSet;
use serde::Serialize;
use std::collections::BTreeMap;
use std::fmt;
use std::fs::File;
use std::os::unix::fs::FileExt as _;
use std::path::Path;
use std::sync::OnceLock;

pub(crate) use simulated::{Span, collected, took};

/// First track number of streams. Lower numbers are threads.
const FIRST_STREAM: u64 = 1 << 32;

/// First process number of devices with simulated time. Process ids on Linux are at most 2^22.
const FIRST_DEVICE: u32 = 1 << 30;
/// Most devices of a process.
const DEVICES: u32 = 16;

/// The trace file and its start time.
struct Sink {
    lines: Lines,
    /// Start in microseconds of the host's monotonic clock.
    start: f64,
}

/// First line of the file.
const HEAD: &str = "[\n";
/// Name of the entry with the start time, on the host's monotonic clock.
const START: &str = "trace_start";

/// State of the timeline.
pub(crate) struct Trace {
    sink: OnceLock<Option<Sink>>,
    /// Processes and tracks that have been named.
    named: Mutex<Option<FxHashSet<(u32, u64)>>>,
}

impl Trace {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { sink: OnceLock::new(), named: Mutex::new(None) }
    }
}

fn sink(session: &'static Session) -> Option<&'static Sink> {
    let open = || {
        let path = options().trace.as_deref()?;
        let lines = Lines::open("VOLTSIM_TRACE", path)?;
        let start = start_in(&lines, path);
        Some(Sink { lines, start })
    };
    session.trace.sink.get_or_init(open).as_ref()
}

/// Tells whether a timeline is written.
pub(crate) fn enabled(session: &'static Session) -> bool {
    sink(session).is_some()
}

/// A trace event, with times in microseconds.
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

fn write(session: &'static Session, event: &Event<'_>) {
    let Some(Sink { lines, .. }) = sink(session) else { return };
    if let Ok(text) = serde_json::to_string(event) {
        lines.add(&(text + ",\n"));
    }
}

/// Host time in microseconds since the start of the trace.
pub(crate) fn now(session: &'static Session) -> f64 {
    let start = sink(session).map_or(0.0, |sink| sink.start);
    monotonic() - start
}

/// The start time in the file's first entry. The first process writes that entry.
fn start_in(lines: &Lines, path: &Path) -> f64 {
    let own = monotonic();
    if lines.length() <= HEAD.len() as u64 {
        let head = if lines.length() == 0 { HEAD } else { "" };
        let entry = serde_json::json!({ "name": START, "ph": "M", "pid": 0, "args": { "us": own } });
        lines.add(&format!("{head}{entry},\n"));
    }
    // If two processes raced, the first entry counts.
    let mut bytes = [0; 256];
    let length = File::open(path).and_then(|file| file.read_at(&mut bytes, 0)).unwrap_or(0);
    let text = String::from_utf8_lossy(&bytes[..length]);
    let entry = text.lines().nth(1).map(|line| line.trim_end_matches(','));
    let entry = entry.and_then(|entry| serde_json::from_str::<serde_json::Value>(entry).ok());
    let told = entry.filter(|entry| entry["name"] == START).and_then(|entry| entry["args"]["us"].as_f64());
    told.unwrap_or(own)
}

/// Host's monotonic clock in microseconds, shared by all processes.
fn monotonic() -> f64 {
    let mut time = libc::timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: the structure is local, and Linux has this clock.
    unsafe { libc::clock_gettime(libc::CLOCK_MONOTONIC, &mut time) };
    time.tv_sec as f64 * 1e6 + time.tv_nsec as f64 / 1e3
}

/// Microseconds since `start`, rounded to nanoseconds.
fn since(session: &'static Session, start: f64) -> Option<f64> {
    Some(rounded(now(session) - start))
}

/// Microseconds, rounded to nanoseconds.
fn rounded(microseconds: f64) -> f64 {
    (microseconds * 1e3).round() / 1e3
}

/// Track of the calling thread.
fn thread_track() -> u64 {
    // SAFETY: gettid has no precondition.
    unsafe { libc::gettid() as u64 }
}

fn event<'a>(name: &'a str, category: &'a str, phase: &'a str, time: f64, track: u64) -> Event<'a> {
    let process = std::process::id();
    Event { name, category, phase, time, duration: None, process, track, args: BTreeMap::new() }
}

/// Adds an API call that began at `start` and just ended. After success, the values behind its
/// pointers are included.
pub(crate) fn call(
    session: &'static Session,
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
    write(
        session,
        &Event { duration: since(session, start), args, ..event(&name, "api", "X", start, thread_track()) },
    );
}

/// A work item of a stream.
pub(crate) struct Work<'a> {
    /// Number of the stream.
    pub(crate) stream: u64,
    /// Name of the work.
    pub(crate) name: &'a str,
    /// Kind of the work.
    pub(crate) category: &'a str,
    /// Further arguments.
    pub(crate) args: BTreeMap<&'a str, String>,
}

/// Adds a work item that began at host time `start` and just ended.
pub(crate) fn work(session: &'static Session, work: Work<'_>, start: f64) {
    write_work(session, work, std::process::id(), start, since(session, start));
}

/// Adds a work item with simulated time on a device.
pub(crate) fn simulated_work(
    session: &'static Session,
    work: Work<'_>,
    device: usize,
    Span { start, end }: Span,
) {
    let process = FIRST_DEVICE + std::process::id() * DEVICES + device as u32;
    if session.trace.named.lock().get_or_insert_default().insert((process, 0)) {
        let args = BTreeMap::from([("name", format!("device {device} (simulated time)"))]);
        write(session, &Event { args, process, ..event("process_name", "__metadata", "M", 0.0, 0) });
    }
    let host = std::process::id();
    if session.trace.named.lock().get_or_insert_default().insert((host, 0)) {
        let args = BTreeMap::from([("name", "host (host time)".to_owned())]);
        write(session, &Event { args, ..event("process_name", "__metadata", "M", 0.0, 0) });
    }
    write_work(session, work, process, rounded(start), Some(rounded(end - start)));
}

fn write_work(session: &'static Session, work: Work<'_>, process: u32, start: f64, duration: Option<f64>) {
    let Work { stream, name, category, args } = work;
    let track = FIRST_STREAM + stream;
    if session.trace.named.lock().get_or_insert_default().insert((process, track)) {
        let args = BTreeMap::from([("name", format!("stream {stream}"))]);
        write(session, &Event { args, process, ..event("thread_name", "__metadata", "M", start, track) });
    }
    write(session, &Event { duration, args, process, ..event(name, category, "X", start, track) });
}

/// Adds a marker of the program.
pub(crate) fn mark(session: &'static Session, name: &str) {
    let event = event(name, "nvtx", "i", now(session), thread_track());
    write(session, &event);
}

/// Opens a range of the calling thread. Ranges of a thread nest.
pub(crate) fn begin_range(session: &'static Session, name: &str) {
    write(session, &event(name, "nvtx", "B", now(session), thread_track()));
}

/// Closes the calling thread's innermost range.
pub(crate) fn end_range(session: &'static Session) {
    write(session, &event("", "nvtx", "E", now(session), thread_track()));
}

/// Adds a range from `start` to now, which may have begun on another thread.
pub(crate) fn free_range(session: &'static Session, name: &str, start: f64) {
    write(
        session,
        &Event { duration: since(session, start), ..event(name, "nvtx", "X", start, thread_track()) },
    );
}

/// Sets the program's name for a thread.
pub(crate) fn name_thread(session: &'static Session, thread: u64, name: &str) {
    let args = BTreeMap::from([("name", name.to_owned())]);
    write(session, &Event { args, ..event("thread_name", "__metadata", "M", now(session), thread) });
}
