//! Kernel checkers enabled by `VOLTSIM_CHECK`: a comma-separated list of checks, or `all`.
//!
//! Findings go to standard error or are appended to the file `VOLTSIM_CHECK_REPORT`, as text, or as
//! JSON lines if its name ends in `.jsonl`. `VOLTSIM_CHECK_STATUS` names a file that receives a
//! line per error, from which `voltsim run` derives its exit status.

use crate::host::environment::options;
use crate::host::output_files::Lines;
use crate::session::state::session;
use functional::fault::Spot;
use functional::sanitizer::{Checker, Finding, Severity};
use serde_json::{Value, json};
use std::fs::File;
use std::io::Write;
use std::path::Path;
use std::sync::{Arc, OnceLock};
use warp_stream::kernel_name::signature;

/// State of the checkers.
pub(crate) struct Sanitizer {
    checker: OnceLock<Option<Arc<Checker>>>,
    /// File that receives findings.
    report: OnceLock<Option<Lines>>,
}

impl Sanitizer {
    /// The state before the first call.
    pub(crate) const fn new() -> Self {
        Self { checker: OnceLock::new(), report: OnceLock::new() }
    }
}

/// The process's checker, if enabled.
pub(crate) fn checker() -> Option<Arc<Checker>> {
    session().sanitizer.checker.get_or_init(start).clone()
}

/// Records a host write to device memory.
pub(crate) fn note_written(address: usize, bytes: usize) {
    if let Some(Some(checker)) = session().sanitizer.checker.get() {
        checker.written(address as u64, bytes as u64);
    }
}

/// Records a copy within device memory.
pub(crate) fn note_copied(to: usize, from: usize, bytes: usize) {
    if let Some(Some(checker)) = session().sanitizer.checker.get() {
        checker.copied(to as u64, from as u64, bytes as u64);
    }
}

fn start() -> Option<Arc<Checker>> {
    let checks = options().check.clone()?;
    Some(Arc::new(Checker::new(checks, Box::new(report))))
}

/// Reports a finding.
fn report(finding: &Finding) {
    tell(&finding.to_string(), || json_of(finding));
    if finding.severity == Severity::Error
        && let Some(path) = &options().check_status
    {
        append("VOLTSIM_CHECK_STATUS", path, finding.check.name());
    }
}

/// Reports the count of each error at exit.
pub(crate) fn summarise() {
    let Some(Some(checker)) = session().sanitizer.checker.get() else { return };
    if let Some(summary) = checker.summary() {
        let counts = || {
            let counted = checker.findings();
            let counts =
                counted.iter().map(|(finding, count)| json!({"title": finding.title, "count": count}));
            json!({ "summary": counts.collect::<Vec<Value>>() })
        };
        tell(&summary, counts);
    }
}

fn tell(text: &str, json: impl FnOnce() -> Value) {
    let Some(path) = &options().check_report else {
        eprintln!("{text}");
        return;
    };
    let lines = path.extension().is_some_and(|extension| extension == "jsonl");
    let text = if lines { json().to_string() } else { text.to_owned() };
    if let Some(report) = session().sanitizer.report.get_or_init(|| Lines::open("VOLTSIM_CHECK_REPORT", path))
    {
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
        "kernel": signature(&finding.kernel),
        "mangled_kernel": finding.kernel,
        "parties": parties.collect::<Vec<Value>>(),
        "details": finding.details,
    })
}
