//! Findings of the sanitizer: each error once, with its count.

use std::fmt;

use parking_lot::Mutex;
use rustc_hash::FxHashMap;
use warp_stream::kernel_name::signature;

use super::Check;
use crate::engine::grid::Grid;
use crate::fault::Spot;

/// Severity of a finding.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Severity {
    /// Error of the program.
    Error,
    /// Undefined or suspicious behaviour that works on existing GPUs.
    Warning,
}

/// Threads of a CTA and their action at an instruction.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Party {
    /// Action: `write`.
    pub role: String,
    /// Threads: `thread (3,0,0)`.
    pub threads: String,
    /// CTA within the grid.
    pub cta: [u32; 3],
    /// Instruction.
    pub spot: Spot,
}

/// A finding. The displayed text has several lines and no final line end.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Finding {
    /// Check that made the finding.
    pub check: Check,
    /// Severity.
    pub severity: Severity,
    /// One-line description.
    pub title: String,
    /// Kernel name; absent for a mistake of the host.
    pub kernel: Option<String>,
    /// Number of the launch in the process, if known.
    pub launch: Option<u64>,
    /// Threads involved, the ones at fault first.
    pub parties: Vec<Party>,
    /// Additional facts.
    pub details: Vec<String>,
    /// The host's stack at the call, the innermost frame first; empty if unknown.
    pub host: Vec<String>,
}

impl fmt::Display for Finding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let warning = if self.severity == Severity::Warning { "warning: " } else { "" };
        writeln!(f, "voltsim check {}: {warning}{}", self.check.name(), self.title)?;
        let mut lines = Vec::new();
        if let Some(kernel) = &self.kernel {
            let launch = self.launch.map(|launch| format!(", launch {launch}")).unwrap_or_default();
            lines.push(format!("in kernel {}{launch}", signature(kernel)));
        }
        for Party { role, threads, cta: [x, y, z], spot } in &self.parties {
            let function = match &self.kernel {
                Some(kernel) if *kernel == spot.function => String::new(),
                _ => format!(", in function {}", signature(&spot.function)),
            };
            lines.push(format!("{role} by {threads} of CTA ({x},{y},{z}){function}"));
            lines.push(format!("    {spot}"));
        }
        lines.extend(self.details.iter().cloned());
        if !self.host.is_empty() {
            lines.push("called from".to_owned());
            lines.extend(self.host.iter().map(|frame| format!("    {frame}")));
        }
        write!(f, "    {}", lines.join("\n    "))
    }
}

/// Identity of a finding: kind, program, and instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub(crate) struct Key {
    pub(crate) kind: &'static str,
    pub(crate) program: u64,
    pub(crate) sites: [u32; 2],
}

/// Receiver of findings.
pub trait Reporter: Send + Sync {
    /// Tells whether the user does not want to hear of the finding. Such a finding counts nowhere.
    fn is_suppressed(&self, finding: &Finding) -> bool;

    /// Receives a finding at its first occurrence. `is_shown` is false beyond the limit of findings.
    fn found(&self, finding: &Finding, is_shown: bool);
}

/// All findings so far.
pub(crate) struct Findings {
    reporter: Box<dyn Reporter>,
    /// Number of findings that are shown and kept; further ones are only counted.
    limit: usize,
    found: Mutex<FindingCounts>,
}

#[derive(Default)]
struct FindingCounts {
    known: FxHashMap<Key, Known>,
    kept: Vec<(Finding, u64)>,
    left_out: u64,
    suppressed: u64,
}

/// The place of the count of a finding.
#[derive(Clone, Copy)]
enum Known {
    Kept(usize),
    LeftOut,
    Suppressed,
}

impl FindingCounts {
    fn increment(&mut self, known: Known) {
        match known {
            Known::Kept(at) => self.kept[at].1 += 1,
            Known::LeftOut => self.left_out += 1,
            Known::Suppressed => self.suppressed += 1,
        }
    }
}

impl fmt::Debug for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Findings").field("kept", &self.found.lock().kept).finish_non_exhaustive()
    }
}

impl Findings {
    pub(crate) fn new(limit: usize, reporter: Box<dyn Reporter>) -> Findings {
        Findings { reporter, limit, found: Mutex::default() }
    }

    /// Counts a finding of a launch; `describe` is called at the first occurrence.
    pub(crate) fn add(&self, grid: &Grid<'_>, key: Key, describe: impl FnOnce() -> Finding) {
        if grid.origin.is_left_out {
            return;
        }
        self.count(key, || Finding { launch: grid.origin.number, host: grid.origin.frames(), ..describe() });
    }

    /// Counts a finding of a function's text, which belongs to no launch.
    pub(crate) fn count(&self, key: Key, describe: impl FnOnce() -> Finding) {
        let mut found = self.found.lock();
        let known = match found.known.get(&key) {
            Some(known) => *known,
            None => {
                let known = self.keep(&mut found, describe());
                found.known.insert(key, known);
                known
            }
        };
        found.increment(known);
    }

    /// Counts a finding that cannot occur again.
    pub(crate) fn add_alone(&self, finding: Finding) {
        let mut found = self.found.lock();
        let known = self.keep(&mut found, finding);
        found.increment(known);
    }

    /// Reports a new finding, and keeps it with a count of 0.
    fn keep(&self, found: &mut FindingCounts, finding: Finding) -> Known {
        if self.reporter.is_suppressed(&finding) {
            return Known::Suppressed;
        }
        let is_shown = found.kept.len() < self.limit;
        self.reporter.found(&finding, is_shown);
        if !is_shown {
            return Known::LeftOut;
        }
        found.kept.push((finding, 0));
        Known::Kept(found.kept.len() - 1)
    }

    pub(crate) fn all(&self) -> Vec<(Finding, u64)> {
        self.found.lock().kept.clone()
    }

    /// Summary of the findings, one line each; `None` without findings.
    pub(crate) fn summary(&self) -> Option<String> {
        let found = self.found.lock();
        if found.kept.is_empty() && found.suppressed == 0 && found.left_out == 0 {
            return None;
        }
        let count = |severity| found.kept.iter().filter(|(finding, _)| finding.severity == severity).count();
        let (errors, warnings) = (count(Severity::Error), count(Severity::Warning));
        let counted =
            |count: usize, noun: &str| format!("{count} {noun}{}", if count == 1 { "" } else { "s" });
        let mut text =
            format!("voltsim check: {}, {}", counted(errors, "mistake"), counted(warnings, "warning"));
        if found.left_out > 0 {
            text += &format!("; {} more occurrences of others", found.left_out);
        }
        if found.suppressed > 0 {
            text += &format!("; {} occurrences suppressed", found.suppressed);
        }
        for (finding, times) in &found.kept {
            let place = finding.parties.first().map(|party| party.spot.place().to_string());
            let kernel = finding.kernel.as_deref().map(signature);
            let place: Vec<String> = kernel.map(|name| name.to_string()).into_iter().chain(place).collect();
            text += &format!("\n    {times:>8} x {}: {}", finding.check.name(), finding.title);
            if !place.is_empty() {
                text += &format!(" ({})", place.join(", "));
            }
        }
        Some(text)
    }
}
