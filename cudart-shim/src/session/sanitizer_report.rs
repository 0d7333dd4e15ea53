//! Kernel checkers enabled by `VOLTSIM_CHECK`: a comma-separated list of checks, or `all`.
//!
//! Findings go to standard error or are appended to the file `VOLTSIM_CHECK_REPORT`, as text, or as
//! JSON lines if its name ends in `.jsonl`. `VOLTSIM_CHECK_STATUS` names a file that receives a
//! line per error, from which `voltsim run` derives its exit status.

use crate::abi::call::Api;
use crate::abi::error::{self, Error};
use crate::host::environment::options;
use crate::host::output_files::Lines;
use crate::host::{call_site, log, present_call};
use crate::session::state::Session;
use functional::fault::Spot;
use functional::memory::Allocation;
use functional::sanitizer::{Checker, Finding, LaunchOrigin, Origin, Reporter, Severity};
use launch_capture::Marks;
use parking_lot::Mutex;
use run_options::suppressions::Suppressions;
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use warp_stream::kernel_name::signature;

/// Findings that are shown where the options name no limit.
const LIMIT: u32 = 100;

/// Calls that return the error of an earlier call.
const REPEATING: [&str; 2] = ["cudaGetLastError", "cudaPeekAtLastError"];

/// State of the checkers.
pub(crate) struct Sanitizer {
    checker: OnceLock<Option<Arc<Checker>>>,
    /// File that receives findings.
    report: OnceLock<Option<Lines>>,
    /// Launches so far that `check_only` names.
    chosen: Mutex<u64>,
}

impl Sanitizer {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { checker: OnceLock::new(), report: OnceLock::new(), chosen: Mutex::new(0) }
    }
}

/// The process's checker, if enabled.
pub(crate) fn checker(session: &'static Session) -> Option<Arc<Checker>> {
    session.sanitizer.checker.get_or_init(|| start(session)).clone()
}

/// The checker, if a device has started with one.
fn started(session: &'static Session) -> Option<&'static Arc<Checker>> {
    session.sanitizer.checker.get()?.as_ref()
}

/// Records a host write to device memory.
pub(crate) fn note_written(session: &'static Session, address: usize, bytes: usize) {
    if let Some(checker) = started(session) {
        checker.written(address as u64, bytes as u64);
    }
}

/// Records a copy within device memory.
pub(crate) fn note_copied(session: &'static Session, to: usize, from: usize, bytes: usize) {
    if let Some(checker) = started(session) {
        checker.copied(to as u64, from as u64, bytes as u64);
    }
}

/// Records that the present call has freed an allocation.
pub(crate) fn note_freed(session: &'static Session, address: u64) {
    if let Some(checker) = started(session) {
        checker.freed(address, present_call::origin());
    }
}

/// The launch that the present call makes, as findings name it.
pub(crate) fn origin_of(session: &'static Session, kernel: &str, number: u64, marks: &Marks) -> LaunchOrigin {
    if started(session).is_none() {
        return LaunchOrigin::default();
    }
    LaunchOrigin {
        number: Some(number),
        is_left_out: !is_chosen(session, kernel, number, marks),
        call: call_site::here(),
    }
}

/// Tells whether the user has chosen a launch for checking, and counts it.
fn is_chosen(session: &'static Session, kernel: &str, number: u64, marks: &Marks) -> bool {
    let options = options();
    let only = options.check_only.as_ref().map(|only| &only.value.0);
    if !session.selections.checked.note(only.is_none_or(|only| only.contains(kernel, number, marks))) {
        return false;
    }
    let mut chosen = session.sanitizer.chosen.lock();
    *chosen += 1;
    let skipped = u64::from(options.check_skip.unwrap_or(0));
    let count = options.check_count.map_or(u64::MAX, u64::from);
    *chosen > skipped && *chosen - skipped <= count
}

/// Tells whether NVTX ranges select launches.
pub(crate) fn needs_ranges() -> bool {
    options().check_only.as_ref().is_some_and(|only| only.value.0.needs_ranges())
}

/// Reports a failed API call.
pub(crate) fn call_failed(session: &'static Session, api: Api, name: &'static str, error: Error) {
    let Some(checker) = checker(session).filter(|checker| checker.checks_calls()) else { return };
    if REPEATING.contains(&name) {
        return;
    }
    let code = match api {
        Api::Runtime => error.code(),
        Api::Driver => error.driver_code(),
    };
    let text = error::texts(error.code()).and_then(|texts| match api {
        Api::Runtime => texts.runtime_name,
        Api::Driver => texts.driver_name,
    });
    let text = text.map_or_else(|| code.to_string(), |text| text.to_string_lossy().into_owned());
    if let Origin::Call { number, .. } = present_call::origin() {
        checker.report_call(&log::exported_name(name), number, &text, call_site::here().as_ref());
    }
}

/// Reports allocations that the end of a context frees, as `is_lost` tells.
pub(crate) fn context_ends(session: &'static Session, is_lost: impl Fn(&Allocation) -> bool) {
    if let Some(checker) = started(session) {
        checker.report_leaks("the end of their context", is_lost);
    }
}

fn start(session: &'static Session) -> Option<Arc<Checker>> {
    let checks = options().check.clone()?;
    let suppressions = match &options().check_suppressions {
        Some(file) => Suppressions::read(file).unwrap_or_else(|error| {
            eprintln!("voltsim: VOLTSIM_CHECK_SUPPRESSIONS: {error}; all findings are shown");
            Suppressions::default()
        }),
        None => Suppressions::default(),
    };
    let limit = options().check_limit.unwrap_or(LIMIT) as usize;
    Some(Arc::new(Checker::new(checks, limit, Box::new(Output { session, suppressions }))))
}

/// Receives findings as the options say.
struct Output {
    session: &'static Session,
    suppressions: Suppressions,
}

impl Reporter for Output {
    fn is_suppressed(&self, finding: &Finding) -> bool {
        self.suppressions.contain(finding)
    }

    fn found(&self, finding: &Finding, is_shown: bool) {
        if is_shown {
            tell(self.session, &finding.to_string(), || json_of(finding));
        }
        if finding.severity == Severity::Error
            && let Some(path) = &options().check_status
        {
            append("VOLTSIM_CHECK_STATUS", path, finding.check.name());
        }
    }
}

/// Reports allocations that are never freed, and the count of each error, at exit.
pub(crate) fn summarise(session: &'static Session) {
    let Some(checker) = started(session) else { return };
    checker.report_leaks("the end of the program", |_| true);
    if let Some(summary) = checker.summary() {
        let counts = || {
            let counted = checker.findings();
            let counts =
                counted.iter().map(|(finding, count)| json!({"title": finding.title, "count": count}));
            json!({ "summary": counts.collect::<Vec<Value>>() })
        };
        tell(session, &summary, counts);
    }
}

fn tell(session: &'static Session, text: &str, json: impl FnOnce() -> Value) {
    let Some(path) = &options().check_report else {
        eprintln!("{text}");
        return;
    };
    let lines = path.extension().is_some_and(|extension| extension == "jsonl");
    let text = if lines { json().to_string() } else { text.to_owned() };
    if let Some(report) = session.sanitizer.report.get_or_init(|| Lines::open("VOLTSIM_CHECK_REPORT", path)) {
        report.add(&format!("{text}\n"));
    }
}

/// Appends a line in a single write, so that lines of several processes do not mix.
fn append(setting: &str, path: &Path, text: &str) {
    let file = File::options().append(true).create(true).open(path);
    if let Err(error) = file.and_then(|mut file| file.write_all(format!("{text}\n").as_bytes())) {
        eprintln!("voltsim: {setting}: cannot write {}: {error}", path.display());
    }
}

fn json_of(finding: &Finding) -> Value {
    let parties = finding.parties.iter().map(|party| {
        let Spot { function, instruction, place, file, line, inlined } = &party.spot;
        json!({
            "role": party.role,
            "threads": party.threads,
            "cta": party.cta,
            "function": signature(function),
            "mangled_function": function,
            "instruction": instruction,
            "ptx_line": place.line,
            "file": file,
            "line": line,
            "inlined_file": inlined.as_ref().map(|(file, _)| file),
            "inlined_line": inlined.as_ref().map(|(_, line)| line),
        })
    });
    json!({
        "check": finding.check.name(),
        "severity": match finding.severity { Severity::Error => "error", Severity::Warning => "warning" },
        "title": finding.title,
        "kernel": finding.kernel.as_deref().map(|kernel| signature(kernel).to_string()),
        "mangled_kernel": finding.kernel,
        "launch": finding.launch,
        "parties": parties.collect::<Vec<Value>>(),
        "details": finding.details,
        "host": finding.host,
    })
}
